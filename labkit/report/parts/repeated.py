"""The experiments of papers, repeated: what the paper found, its published values, and what is measured here."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from labkit import benchmarks, studies
from labkit.errors import LabkitError
from labkit.notes import joined
from labkit.reference import Number
from labkit.report import literature, markdown
from labkit.report.campaigns import Member, all_members
from labkit.report.choosing import curves, hard, metric_of, nearest, shown
from labkit.report.content import Content
from labkit.report.findings import listed
from labkit.report.literature import Experiment, Literature, matching
from labkit.report.markdown import code, escape
from labkit.report.parts.surveyed import names
from labkit.units import parse_size, plural

if TYPE_CHECKING:
    import pandas as pd

_BENCHMARKS, _PATHS = 2, 3  # that a cell shows
_WIDTH = 80  # characters of a line of a comment


def repeated(content: Content) -> str:
    """Return a section for each paper: its experiments that this report repeats, and how to repeat the others."""
    return "\n\n".join(filter(None, (_paper(paper, content) for paper in literature.papers())))


def counts(content: Content) -> str:
    """Return a sentence on how many experiments of the papers this report repeats, wholly or in part."""
    every = [one for paper in literature.papers() for one in paper.experiments]
    here = [one for one in every if matching(sorted(names(content)), one.labkit)]
    part = sum(bool(one.needs) for one in here)
    papers, rest = plural(len(literature.papers()), "paper"), len(every) - len(here)
    return (
        f"Of {len(every)} experiments of {papers}, this report repeats {len(here) - part} at the scale at hand, and "
        f"{part} in part, without the hardware of the paper; {rest} are not repeated."
    )


def _paper(paper: Literature, content: Content) -> str:
    measured = sorted(names(content))
    here = [one for one in paper.experiments if matching(measured, one.labkit)]
    key = paper.paper.key
    parts = [f"## {escape(paper.title)} {{#sec-paper-{key}}}", f"{escape(paper.paper.conditions)} [@{key}]"]
    if here:
        rows = [
            [f"**{escape(one.title)}** ({escape(one.figure)})", _found(one, paper), _here(one, content)] for one in here
        ]
        caption = f"Experiments of [@{key}] and their repetitions. {{#tbl-paper-{key}}}"
        parts.append(
            markdown.table(["experiment", "the paper", "this report: bold values, intervals"], rows, caption=caption)
        )
    parts += [one.shown for one in content.beside if one.paper == key]
    parts += _missing([one for one in paper.experiments if one not in here or one.needs], here)
    return "\n\n".join(parts)


def _found(one: Experiment, paper: Literature) -> str:
    """Say what the paper found, with its values: those of one quantity stand side by side."""
    numbers: dict[str, list[Number]] = {}
    for name in one.values:
        number = paper.paper[name]
        numbers.setdefault(number.text, []).append(number)
    values = [
        f"{escape(text)}: {', '.join(_stated(number, alike) for number in alike)}" for text, alike in numbers.items()
    ]
    return " ".join(filter(None, [escape(one.result), f"Published: {joined(values)}." if values else ""]))


def _stated(number: Number, alike: list[Number]) -> str:
    """Return a published number with its network, and with its conditions where the network does not tell it apart."""
    same = [other for other in alike if other.network == number.network]
    about = ", ".join(filter(None, [number.network, number.conditions if len(same) > 1 else ""]))
    return hard(escape(number.stated)) + (f" ({escape(about)})" if about else "")


def _here(one: Experiment, content: Content) -> str:
    """Return the values of this report, of the first benchmarks of an experiment that it measured."""
    members = all_members(content)
    texts = []
    for member in members:
        name = f"**{escape(member.name)}:** " if len(members) > 1 else ""
        texts += [f"{name}{joined(values)}"] if (values := list(_values(one, member))) else []
    chapter = _chapter(one, content)
    return joined(texts) + (f"; see @{chapter}" if chapter and texts else f"see @{chapter}" if chapter else "")


def _chapter(one: Experiment, content: Content) -> str:
    """Return the label of the chapter that shows an experiment; empty where there is none."""
    labels = {chapter.path.stem: chapter.label for chapter in content.chapters.values()}
    if one.notebook in labels:
        return labels[one.notebook]
    measured = matching(sorted(names(content)), one.labkit)
    for chapter in content.chapters.values():
        try:
            study = studies.of_notebook(chapter.path.name)
        except LabkitError:
            continue
        if set(measured) & set(study.benchmarks):
            return chapter.label
    return ""


def _values(one: Experiment, member: Member) -> Iterator[str]:
    measured = sorted({str(name) for name in member.summary["benchmark"]}) if len(member.summary) else []
    for benchmark in matching(measured, one.labkit)[:_BENCHMARKS]:
        rows: pd.DataFrame = member.of(benchmark)
        if not (metric := metric_of(rows, one.metric)):
            continue
        paths = list(curves(rows, metric))
        for path, curve in paths[:_PATHS]:
            size = parse_size(one.size) if one.size else int(curve["message_size_B"].min())
            if not one.size and metric.startswith("bandwidth"):
                size = int(curve["message_size_B"].max())
            where = f", {escape(path)}" if path else ""
            yield f"{code(benchmark)}{where}: {shown(nearest(curve, size), metric)}"
        if len(paths) > _PATHS:
            yield f"{code(benchmark)}: {len(paths) - _PATHS} more paths"


def _missing(experiments: list[Experiment], here: list[Experiment]) -> Iterator[str]:
    """Yield what was not repeated, or not as in the paper, each with what it takes and the commands."""
    if not experiments:
        return
    blocks, without = [], []
    for one in experiments:
        state = "repeated in part" if one in here else "not repeated"
        needs = f"; it needs {one.needs}" if one.needs else ""
        commands = one.command or "\n".join(f"labkit measure {name} --launches 6" for name in _known(one))
        if commands:
            about = textwrap.wrap(f"{one.title} ({one.figure}): {state}{needs}", _WIDTH)
            blocks.append("\n".join([*(f"# {line}" for line in about), commands]))
        else:
            without.append(f"*{escape(one.title)}* ({escape(one.figure)})")
    if blocks:
        text = markdown.block("\n".join(blocks), "bash")
        yield f"What is not repeated, or not as in the paper, with its commands:\n\n{text}"
    if without:
        yield f"labkit has no benchmark for {listed(without)}."


def _known(one: Experiment) -> list[str]:
    return matching(list(benchmarks.find()), one.labkit)[:_BENCHMARKS]


def published(content: Content) -> int:
    """Return the number of published values that stand beside a value of this report."""
    measured = sorted(names(content))
    every = [one for paper in literature.papers() for one in paper.experiments if matching(measured, one.labkit)]
    return sum(len(one.values) for one in every)


BLOCKS = {"papers": repeated, "papers-counts": counts}
