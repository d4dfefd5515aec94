"""The survey's table of interconnects, and the values of this report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from labkit.point.notes import Note
from labkit.point.units import format_number, format_range, format_size
from labkit.read.records import sound, value_of
from labkit.read.reference.comparing import with_arguments
from labkit.report import literature, markdown
from labkit.report.blocks import surveyed
from labkit.report.campaigns import Member, all_members
from labkit.report.choosing import by_path, hard, interval, metric_of
from labkit.report.content import Content
from labkit.report.markdown import escape

_LAYERS = (  # layer, its benchmarks of bandwidth, and of latency
    (
        "MPI",
        (
            "mpi.bandwidth",
            "mpi.multi_bandwidth",
            "mpi.bandwidth_persistent",
            "mpi.queue_depth",
            "mpi.get_bandwidth",
            "mpi.put_bandwidth",
            "mpi.pingping",
        ),
        ("mpi.latency", "mpi.latency_persistent"),
    ),
    (
        "verbs",
        ("verbs.write_bandwidth", "verbs.send_bandwidth", "verbs.read_bandwidth", "verbs.ucx_bandwidth"),
        ("verbs.write_latency", "verbs.send_latency", "verbs.ucx_latency"),
    ),
    ("TCP sockets", ("sockets.tcp_stream", "sockets.netpipe"), ("sockets.tcp_rr",)),
)
_CONDITIONS = {  # code of a badge → what it says of the path
    "shared-memory": "shared memory",
    "loopback": "loopback",
    "path-unknown": "path unknown",
    "functional": "emulated guest",
    "gpu-stand-in": "stand-in for a GPU",
    "emulated-link": "emulated link",
    "virtual-machine": "virtual machine",
}


def overview(content: Content) -> str:
    """Return the survey's table of interconnects."""
    return surveyed.printed(literature.table(1), {})


def measured(content: Content) -> str:
    """Return a table of the highest bandwidth and the lowest latency on each path of this report."""
    rows = [row for member in all_members(content) for row in _rows(member, len(all_members(content)) > 1)]
    if not rows:
        return ""
    return markdown.table(
        ["path", "highest bandwidth, one direction (Gb/s)", "lowest latency (µs)", "conditions"],
        rows,
        caption="Highest bandwidth and lowest latency on the paths of this report, with usual options. "
        "Brackets are intervals or ranges over launches. If a testbed has several settings, the one with the fewest "
        "options counts. {#tbl-paths}",
    )


def _rows(member: Member, several: bool) -> list[list[str]]:
    rows = []
    for layer, rates, costs in _LAYERS:
        fast = dict(_best(member, rates, ("bandwidth_MBps",), max))
        quick = dict(_best(member, costs, ("latency_us", "round_trip_us"), min))
        for path in dict.fromkeys([*fast, *quick]):
            name = ", ".join(part for part in (member.name if several else "", layer, path) if part)
            pair = [one.get(path, ("–", ())) for one in (fast, quick)]
            codes = {note.code for _, badges in pair for note in badges}
            conditions = ", ".join(text for code, text in _CONDITIONS.items() if code in codes)
            rows.append([escape(name), pair[0][0], pair[1][0], conditions or "–"])
    return rows


def _best(
    member: Member, names: tuple[str, ...], metrics: tuple[str, ...], pick: Callable[..., Any]
) -> Iterator[tuple[str, tuple[str, tuple[Note, ...]]]]:
    """Yield each path with the text and the badges of its best point, of all benchmarks of the first one's metric.

    A testbed with several settings is one path: that with the fewest settings counts. Points that contradict what must
    be expected are left out.
    """
    of_path: dict[str, dict[int, list[tuple[dict[str, Any], str]]]] = {}  # by path and number of settings
    chosen = ""
    for name in names:
        rows = with_arguments(member.of(name), {})
        rows = rows[~rows["fingerprint"].isin(member.doubted)] if len(rows) else rows
        metric = metric_of(rows, metrics[0]) if len(rows) else ""
        if metric not in metrics or chosen not in ("", metric):
            continue
        chosen = metric
        for path, some in by_path(sound(rows, metric), metric):
            parts = [part.partition(":")[0] for part in path.split(", ") if "=" not in part]
            by_settings = of_path.setdefault(", ".join(parts), {})
            by_settings.setdefault(path.count("="), []).extend((row, metric) for row in some.to_dict("records"))
    for path, by_settings in of_path.items():
        row, metric = pick(by_settings[min(by_settings)], key=lambda one: value_of(*one).value)
        yield path, (_text(row, metric), tuple(row["badges"]))


def _text(row: dict[str, Any], metric: str) -> str:
    value, at = value_of(row, metric), f" at {format_size(int(row['message_size_B']))}"
    if metric != "bandwidth_MBps":
        way = " round trip" if metric == "round_trip_us" else ""
        return hard(f"**{value.text}**{way}{interval(value)}") + hard(at)
    rate, low, high = (one * 8 / 1000 for one in (value.value, value.low, value.high))
    ends = "" if math.isnan(low) else f" {escape(f'[{format_range(low, high)}]')}"
    return hard(f"**{format_number(rate, width=high - low)}**{ends}") + hard(at)


BLOCKS = {"interconnects": overview, "paths": measured}
