"""Write the Python code that draws what a view shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from labkit.apps.explorer import origin
from labkit.apps.explorer.view import HEIGHT, SIZE, View
from labkit.figures import looks, style
from labkit.io import project
from labkit.store import campaign

if TYPE_CHECKING:
    import pandas as pd

_FROM = {
    "campaign": "labkit.store",
    "records": "labkit.read",
    "costs": "labkit.models",
    "limits": "labkit.models",
    "factors": "labkit.read.records",
    "comparison": "labkit.judge",
    "comparing": "labkit.read.reference",
}


def code_for(view: View, summary: pd.DataFrame) -> str:
    """Code that reads the campaigns of a view, draws the same figure, and shows it: in a notebook or in a browser."""
    imports, steps = {"campaign", "figures", "records"}, []
    if view.where:
        names = ", ".join(f"{column!r}: {list(levels)!r}" for column, levels in view.where)
        imports.add("factors")
        steps.append(
            f"for column, levels in {{{names}}}.items():\n"
            "    if column in summary:\n"
            "        summary = summary[summary[column].map(factors.level).isin(levels)]\n"
        )
    titles = campaign.titles(view.campaigns)
    if any(name != title for name, title in titles.items()):
        steps.append(f"summary['campaign'] = summary['campaign'].replace({titles!r})\n")
    if view.by in summary:
        steps.append(f"summary = summary.sort_values({view.by!r}, kind='stable')\n")
    kept, drawn = _looks(view, summary), looks.campaigns()
    before = max((drawn.index(one) + 1 for one in titles.values() if one in drawn), default=0)  # they count too
    if kept or (len(view.campaigns) > 1 and before):
        order = f", {drawn[:before]!r}" if len(view.campaigns) > 1 and before else ""
        steps.append(f"figures.keep({kept!r}{order})  # colours, markers and dashes\n")
    steps.append(_draw(view, summary, imports))
    if view.published and view.beside(summary):
        imports.add("comparing")
        steps.append(f"figure = figures.overlay(figure, comparing.beside(summary, {view.metric!r}))\n")
    if view.bounds and view.bounded:
        imports |= {"costs", "limits"}
        steps.append(
            "curves = [\n"
            f"    limits.limit_curves(folder.samples({view.benchmark!r}), {view.metric!r}, costs.read(folder))\n"
            "    for folder in folders\n"
            "]\nfigure = figures.bounded(figure, [curve for some in curves for curve in some])\n"
        )
    if view.unit and view.relation != "ratio":
        steps.append(f"figure = figures.in_unit(figure, {view.metric!r}, {view.unit!r})\n")
    kinds = {name: kind for name, kind in view.axes().items() if not view.relation or name == "xaxis_type"}
    axes = "".join(f"{name}={kind!r}, " for name, kind in kinds.items())
    names = ", ".join(map(repr, view.campaigns))
    return f"""# {origin.line(view, summary)}
{_imports(imports)}
folders = [campaign.Campaign(campaign.find(name)) for name in [{names}]]
tables = [
    records.table(folder.samples({view.benchmark!r}), campaign=name) for name, folder in zip([{names}], folders)
]
summary = records.summary(pd.concat([table for table in tables if len(table)], ignore_index=True))
{"".join(steps)}figure.update_layout({axes}width=None, height={HEIGHT})
figure.show()
"""


def notebook(view: View, summary: pd.DataFrame) -> str:
    """A notebook with one cell that draws the same figure, in the form of nbformat."""
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "id": "figure", "metadata": {}}
    cell |= {"outputs": [], "source": code_for(view, summary)}
    book = {"cells": [cell], "metadata": project.kernel(), "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def _imports(names: set[str]) -> str:
    """Lines that import modules."""
    packages: dict[str, list[str]] = {}
    for name in sorted(names):
        packages.setdefault(_FROM.get(name, "labkit"), []).append(name)
    return "import pandas as pd\n" + "".join(
        f"from {package} import {', '.join(found)}\n" for package, found in sorted(packages.items())
    )


def _draw(view: View, summary: pd.DataFrame, imports: set[str]) -> str:
    """The call that draws."""
    if view.relation:
        imports.add("comparison")
        factor, _, level = view.base.partition("=")
        others = [name for name in view.campaigns if name != view.base]
        more = ", difference=True" if view.relation == "difference" else ""
        read = f"comparison.read(folder, {view.benchmark!r}, {view.metric!r})"
        if level:
            sides = (
                f"launches = [one for folder in folders for one in {read}]\n"
                f"sides = comparison.by_levels(launches, {factor!r})\n"
                f"sides = {{{level!r}: sides[{level!r}]}} | sides\n"
            )
        else:
            titles = campaign.titles(view.campaigns)
            ordered = [titles[name] for name in (view.base, *others)]
            sides = (
                f"sides = {{name: {read} for name, folder in zip({[*titles.values()]!r}, folders)}}\n"
                f"sides = {{name: sides[name] for name in {ordered!r}}}\n"
            )
        by = factor if level else "campaign"
        return (
            f"{sides}compared = comparison.pairwise(sides, by={by!r}, metric={view.metric!r}, force=True)\n"
            f"figure = figures.shifts(compared, {view.benchmark!r}{more})\n"
        )
    series = view.series(view.rows(summary))
    if view.x == SIZE:
        call = f"versus_size(summary, {view.metric!r}, series={series!r}, statistic={view.statistic!r}, tail=None)"
    else:
        call = f"versus(summary, {view.x!r}, {view.shown()!r}, series={series!r})"
    return f"figure = figures.{call}\n"


def _looks(view: View, summary: pd.DataFrame) -> dict[str, int]:
    """Colours and markers of the series, and of the published numbers beside them."""
    if view.relation:
        return {}
    rows = view.rows(summary)
    drawn = rows.assign(campaign=view.titled(rows["campaign"]))
    slots = {
        one.series: one.slot
        for one in looks.make_looks(style.split(drawn, view.series(rows)))
        if one.series not in looks.FIXED
    }
    if view.published and view.beside(summary):
        metas = [trace.meta for trace in view.figure(summary).data]
        slots |= {meta["series"]: meta["look"] for meta in metas if "overlay" in meta and "series" in meta}
    return slots
