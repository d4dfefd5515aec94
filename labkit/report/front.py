"""Draw the picture of the first page: the campaign's latency and its bandwidth, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labkit import figures
from labkit.columns import METRICS, statistic_column
from labkit.models import costs
from labkit.notes import joined
from labkit.records import headline_statistic
from labkit.records.factors import differing, level
from labkit.report.campaigns import Member, all_members, members
from labkit.report.content import Content
from labkit.report.figures import captioned
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.report.variables import headline_metric, title

if TYPE_CHECKING:
    import pandas as pd

FILE = "figures/front.svg"
_HEIGHT = 240  # px
_TICKS = 5  # labels of an axis, at most
_GAP = 0.07  # of the width, on both sides of the middle
_FIRST = (
    ("mpi.latency", "sockets.tcp_rr", "verbs.write_latency", "mpi.allreduce"),
    ("mpi.bandwidth", "sockets.tcp_stream", "verbs.write_bandwidth", "mpi.multi_bandwidth"),
)


def picture(sources: Sequence[Source]) -> tuple[dict[str, Any], str]:
    """Return the picture as plotly's plain data, and as Markdown with its caption; both empty where no two sizes are.

    Of several campaigns, it shows the first.
    """
    first = members(sources[0])[0]
    panels = list(_panels(first))
    if not panels:
        return {}, ""
    drawn = [_drawn(rows, metric, sources[0], first.summary) for rows, metric in panels]
    name = f"Campaign {escape(first.name)}. " if len(all_members(Content(sources, {}))) > 1 else ""
    lines = any("bound" in (trace.get("meta") or {}) for spec in drawn for trace in spec["data"])
    spec, caption = _joined(drawn), name + _caption(panels) + " Dashed lines are what the path allows." * lines
    return spec, captioned(caption, FILE, "fig-front", spec)


def front_figure(content: Content) -> str:
    """Return the picture with its caption, where there is one."""
    return content.front


def _panels(member: Member) -> Iterator[tuple[pd.DataFrame, str]]:
    """Yield the rows and the metric of each panel."""
    summary = member.summary
    for first, kind in zip(_FIRST, ("cost", "rate"), strict=True):
        names = [*first, *sorted({*summary["benchmark"]} - {*first})] if len(summary) else []
        for name in names:
            rows = member.of(name)
            metric = headline_metric(name, rows) if len(rows) else ""
            if metric and METRICS[metric].kind == kind and len(rows := _curves(rows, metric)):
                yield rows, metric
                break


def _curves(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return one setting of a benchmark on all its paths: that with the most points; none with fewer than two sizes."""
    rows = rows[rows[statistic_column(metric, headline_statistic(rows, metric))].notna()]
    others = [name for name in differing(rows) if name not in ("transport", "fingerprint")]
    if others:
        groups = [group for _, group in rows.groupby([rows[name].map(level) for name in others], sort=False)]
        rows = max(groups, key=len)
    named = rows[rows["transport"] != "auto"]
    rows = named if len(named) else rows
    return rows.drop_duplicates(["transport", "message_size_B"]) if rows["message_size_B"].nunique() > 1 else rows[:0]


def _drawn(rows: pd.DataFrame, metric: str, source: Source, summary: pd.DataFrame) -> Any:
    """Return a panel as plotly's plain data, with its bounds and without the small print below its axis."""
    drawn = figures.versus_size(rows, metric, series=["transport"], tail=None)
    drawn = figures.with_bounds(drawn, rows, source.points, lambda: costs.of(summary))
    spec = drawn.to_plotly_json()
    layout = spec["layout"]
    layout["xaxis"]["title"]["text"] = layout["xaxis"]["title"]["text"].partition("<br>")[0]
    layout["yaxis"]["title"]["text"] = f"{METRICS[metric].label} ({METRICS[metric].unit})"
    ticks = list(zip(layout["xaxis"].get("tickvals", ()), layout["xaxis"].get("ticktext", ()), strict=True))
    shown = ticks[:: -(-len(ticks) // _TICKS) or 1]
    layout["xaxis"] |= {"tickvals": [at for at, _ in shown], "ticktext": [text for _, text in shown], "tickangle": 0}
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
    return {"data": traces, "layout": layout}


def _caption(panels: Sequence[tuple[pd.DataFrame, str]]) -> str:
    """Say what each panel shows, and what its bars are."""
    sides = ("Left", "Right") if len(panels) > 1 else ("",)
    parts = []
    for side, (rows, metric) in zip(sides, panels, strict=True):
        name = str(rows["benchmark"].iloc[0])
        launches = sorted({int(one) for one in rows["launches"]})
        counts = f"{launches[0]}" if len(launches) == 1 else f"{launches[0]} to {launches[-1]}"
        family = name.partition(".")[0]
        words = f"{_family(family)} {title(name)}, {METRICS[metric].label} against message size, {counts} launches"
        parts.append(f"{side}: {words}" if side else words)
    return escape(joined(parts) + ". Bars are intervals or ranges over launches.")


def _family(name: str) -> str:
    return {"mpi": "MPI", "verbs": "RDMA"}.get(name, name)


BLOCKS = {"front-figure": front_figure}
