"""Draw the picture of the first page: latency and bandwidth side by side, of several campaigns in each panel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from labkit import figures
from labkit.figures import axes, small_print, style, unit
from labkit.models import costs
from labkit.point.columns import METRICS
from labkit.point.notes import joined, listed
from labkit.point.units import format_size
from labkit.read.records import bases, headline_metric, sound
from labkit.read.records.factors import OPEN, differing
from labkit.report import markdown, pairing
from labkit.report.campaigns import Member, all_members, members
from labkit.report.choosing import dropped, having, widest
from labkit.report.content import Content
from labkit.report.figures import Picture
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.report.variables import title

_HEIGHT = 200  # px without its legend
_NAMED = 3  # campaigns that it shows, at most
_LINES = 8  # of a panel, at most, that libraries and launchers add
_STARTED = ("library", "launcher")
_INSIDE = 240  # px of an axis to the right, about
_GAP = 0.07  # of the width, on both sides of the middle
_FIRST = (
    ("mpi.latency", "sockets.tcp_rr", "verbs.write_latency", "mpi.allreduce"),
    ("mpi.bandwidth", "sockets.tcp_stream", "verbs.write_bandwidth", "mpi.multi_bandwidth"),
)


def picture(sources: Sequence[Source]) -> Picture | None:
    """Return the picture, not yet drawn; None without two sizes.

    Of several campaigns, it shows the first ones that have the same benchmark.
    """
    every = all_members(Content(sources, {}))
    panels = list(_panels(every[:_NAMED]))
    if not panels:
        return None
    first = members(sources[0])[0]
    only = None if len(every) > 1 else (sources[0], first.summary)
    shown = list(dict.fromkeys(name for rows, _ in panels for name in rows["campaign"]))
    drawn = [_drawn(rows, metric, only, named=len(shown) > 1) for rows, metric in panels]
    lines = any("bound" in (trace.get("meta") or {}) for spec in drawn for trace in spec["data"])
    name = f"{'Campaign' if len(shown) == 1 else 'Campaigns'} {listed([escape(one) for one in shown])}. "
    spec = _joined(drawn)
    caption = name * (len(every) > 1) + _caption(panels) + " Dashed lines are the references of the path." * lines
    absent = [escape(m.name) for n, m in enumerate(every, start=1) if not {m.name, f"{m.name} {n}"} & {*shown}]
    caption += f" Not drawn: {listed(absent)}." if absent else ""
    return Picture("front", "fig-front", caption, spec)


def front_figure(content: Content) -> str:
    """Return the picture with its caption, if there is one."""
    return markdown.here(content.show(content.front)) if content.front else ""


def _panels(every: Sequence[Member]) -> Iterator[tuple[pd.DataFrame, str]]:
    """Yield the rows and the metric of each panel: of the first benchmark that most campaigns have."""
    for first, kind in zip(_FIRST, ("cost", "rate"), strict=True):
        known = {name for member in every if len(member.summary) for name in member.summary["benchmark"]}
        best: list[pd.DataFrame] = []
        chosen = ""
        for name in (name for name in [*first, *sorted(known - {*first})] if name in known):
            metric, found = _of_benchmark(every, name, kind)
            if len(found) > len(best):
                best, chosen = found, metric
            if len(best) == len(every):
                break
        if best:
            yield pd.concat(_on_shared_paths(best), ignore_index=True), chosen


def _of_benchmark(every: Sequence[Member], name: str, kind: str) -> tuple[str, list[pd.DataFrame]]:
    """Return a metric of a kind, and the curves of each campaign that has it."""
    metric, found = "", []
    names = [one.name for one in every]
    for number, member in enumerate(every, start=1):
        rows = member.of(name)
        its = headline_metric(rows)
        if its and METRICS[its].kind == kind and metric in ("", its) and len(curves := _curves(rows, its)):
            metric = its
            called = member.name if names.count(member.name) == 1 else f"{member.name} {number}"
            found.append(curves.assign(campaign=called))
    return metric, found


def _on_shared_paths(curves: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return curves of several campaigns on the paths that all have, if there are any; note the others."""
    shared = set.intersection(*({*rows["transport"]} for rows in curves)) if len(curves) > 1 else set()
    others = sorted({path for rows in curves for path in rows["transport"]} - shared)
    if not shared or not others:
        return list(curves)
    words = f"transport {', '.join(others)}"
    return [
        rows.assign(not_drawn=joined((rows["not_drawn"].iloc[0], words)))[rows["transport"].isin(shared)]
        for rows in curves
    ]


def _curves(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return one setting of a benchmark on all its paths by all libraries; none with fewer than two sizes.

    It is the setting with the most points. The column ``not_drawn`` names what is not drawn. Where libraries would make
    too many lines, one of them is drawn.
    """
    every, rows = rows, sound(having(rows, metric), metric)
    open_ = rows["transport"].isin(OPEN)
    named = rows if open_.all() else rows[~open_]
    chosen, _ = widest(named, ("transport", *_STARTED))
    if len(chosen.groupby(["transport", *_STARTED])) > _LINES:
        chosen, _ = widest(named, ("transport",))
    if chosen["message_size_B"].nunique() < 2:
        return chosen[:0]
    drawn = chosen.drop_duplicates(["transport", *_STARTED, "message_size_B"])
    return drawn.assign(not_drawn=joined(filter(None, (dropped(every, drawn), _sizes_left_out(every, chosen)))))


def _sizes_left_out(rows: pd.DataFrame, chosen: pd.DataFrame) -> str:
    """Return in words the sizes that no point of a panel has."""
    gone = sorted({int(size) for size in rows["message_size_B"]} - {int(size) for size in chosen["message_size_B"]})
    return f"{'sizes' if len(gone) > 1 else 'size'} {', '.join(map(format_size, gone))}" if gone else ""


def _drawn(rows: pd.DataFrame, metric: str, bounds_of: tuple[Source, pd.DataFrame] | None, *, named: bool) -> Any:
    """Return a panel as plotly's plain data, with its bounds and without the small print below its axis.

    Parameters
    ----------
    bounds_of : the only campaign and its summary, of which the bounds are; None for several campaigns.
    named : whether each series names its campaign, as in the other panel.
    """
    path = bounds_of is not None or named or rows["transport"].nunique() > 1
    varied = {name for _, own in rows.groupby("campaign") for name in differing(own)}
    started = [name for name in _STARTED if name in varied]
    series = ["campaign"] * named + started + ["transport"] * path
    drawn = figures.versus_size(rows, metric, series=series, tail=None)
    if bounds_of:
        source, summary = bounds_of
        drawn = figures.with_bounds(drawn, rows, source.points, lambda: costs.measured_costs(summary))
    small_print.take(drawn)
    spec = drawn.to_plotly_json()
    layout = spec["layout"]
    layout["yaxis"]["title"]["text"] = f"{METRICS[metric].label} ({METRICS[metric].unit})"
    unit.readable(spec)
    layout["xaxis"] |= axes.thinned(layout["xaxis"], _INSIDE)
    return spec


def _joined(panels: Sequence[Any]) -> dict[str, Any]:
    """Return one figure of panels side by side, with one legend."""
    layout = {key: value for key, value in panels[0]["layout"].items() if key not in ("xaxis", "yaxis")}
    layout |= {"height": _HEIGHT, "showlegend": True}
    traces: list[dict[str, Any]] = []
    seen: set[str] = set()
    width = 1 / len(panels)
    gap = _GAP if len(panels) > 1 else 0.0
    for number, panel in enumerate(panels):
        end = "" if number == 0 else str(number + 1)
        domain = [number * width + (gap if number else 0), (number + 1) * width - (0 if number else gap)]
        layout[f"xaxis{end}"] = panel["layout"]["xaxis"] | {"domain": domain, "anchor": f"y{end}"}
        layout[f"yaxis{end}"] = panel["layout"]["yaxis"] | {"anchor": f"x{end}"}
        for trace in panel["data"]:
            name = str(trace.get("name"))
            shown = trace.get("showlegend") is not False and name not in seen
            seen.add(name)
            traces.append(
                {**trace, "xaxis": f"x{end}", "yaxis": f"y{end}", "showlegend": shown, "uid": f"t{len(traces)}"}
            )
    names = [str(trace.get("name")) for trace in traces if trace["showlegend"]]
    layout["height"] += pairing.legend_px(names, style.WIDTH)
    style.settle(traces, layout)
    return {"data": traces, "layout": layout}


def _caption(panels: Sequence[tuple[pd.DataFrame, str]]) -> str:
    """Say what each panel shows, and what its bars are."""
    sides = ("Left", "Right") if len(panels) > 1 else ("",)
    parts, several = [], False
    for side, (rows, metric) in zip(sides, panels, strict=True):
        name = str(rows["benchmark"].iloc[0])
        several = several or int(rows["launches"].max()) > 1
        family = name.partition(".")[0]
        words = f"{_family(family)} {title(name)}, {METRICS[metric].label} against message size, {bases(rows)}"
        missing = joined(dict.fromkeys(filter(None, rows["not_drawn"])))
        words += f" (not drawn: {missing})" if missing else ""
        parts.append(f"{side}: {words}" if side else words)
    return escape(joined(parts) + "." + (" Bars are intervals or ranges over launches." if several else ""))


def _family(name: str) -> str:
    return {"mpi": "MPI", "verbs": "RDMA"}.get(name, name)


BLOCKS = {"front-figure": front_figure}
