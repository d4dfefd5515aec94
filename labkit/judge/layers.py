"""Breakdowns of measured messages: nested paths by difference, each path a point of a table of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labkit.models.breakdown import Breakdown, Level, Time, by_difference, combine, of_launches
from labkit.point.columns import METRICS, statistic_column
from labkit.point.testbed import parse
from labkit.read.records import headline_statistic

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Path:
    """A measured path.

    Parameters
    ----------
    name, text, kind : name, text and kind of the part that it adds to the path before, as in
        `labkit.models.breakdown.Level`.
    path : measured path, in words.
    benchmark, metric : benchmark and metric of the point.
    where : columns of the records and their required values; None for empty.
    factor : factor to the unit of the breakdown, such as 0.5 for half a round trip.
    """

    name: str
    text: str
    kind: str
    path: str
    benchmark: str
    metric: str
    where: Mapping[str, Any] = field(default_factory=dict)
    factor: float = 1.0


def time_of(table: pd.DataFrame, path: Path) -> Time | None:
    """Return the time of a path over its launches; None if it was not measured.

    Parameters
    ----------
    table : records, one row for each point and launch. If several points fit the path, the first one with the most
        launches counts.
    """
    rows = table[table["benchmark"] == path.benchmark]
    for column, value in path.where.items():
        if column not in rows:
            rows = rows if value is None else rows[:0]
        else:
            rows = rows[rows[column].isna()] if value is None else rows[rows[column] == value]
    if rows.empty:
        return None
    column = statistic_column(path.metric, headline_statistic(rows, path.metric))
    rows = rows[rows[column].notna()] if column in rows else rows[:0]
    if rows.empty:
        return None
    groups = rows.groupby("fingerprint", sort=False) if "fingerprint" in rows else [("", rows)]
    _, point = max(groups, key=lambda group: len(group[1]))
    factor = path.factor
    return combine(lambda value: value * factor, of_launches(point.sort_values("launch")[column]))


def nested(table: pd.DataFrame, title: str, paths: Sequence[Path]) -> tuple[Breakdown | None, list[str]]:
    """Return nested paths as a breakdown by difference, and the paths that were not measured.

    Parameters
    ----------
    table : records.
    paths : the shortest first. A part represents the additional work of its path, compared with the last measured path.

    Returns
    -------
    The breakdown, None if no path was measured; and the names of the paths that are missing.
    """
    times = [(path, time_of(table, path)) for path in paths]
    levels = [
        Level(name=path.name, text=path.text, kind=path.kind, path=path.path, time=time)
        for path, time in times
        if time is not None
    ]
    missing = [path.path for path, time in times if time is None]
    unit = METRICS[paths[0].metric].unit
    return (by_difference(title, unit, levels) if levels else None), missing


MEMORY, KERNEL, IP, ORDER = "through memory", "kernel, copying, waking", "UDP and IP", "TCP on top of it"


def sockets(size: int) -> list[Path]:
    """Paths of one way of a message over TCP with blocking sockets, without a network below them.

    Parameters
    ----------
    size : size of the message, B.
    """

    def trip(name: str, kind: str, over: str, benchmark: str, **where: Any) -> Path:
        return Path(
            name=name,
            text=name,
            kind=kind,
            path=f"half a round trip {over}",
            benchmark=benchmark,
            metric="round_trip_us",
            where={"message_size_B": size, **where},
            factor=0.5,
        )

    memory = Path(
        name=MEMORY,
        text=MEMORY,
        kind="library and memory",
        path="MPI through shared memory",
        benchmark="mpi.latency",
        metric="latency_us",
        where={"message_size_B": size, "transport": "shm"},
    )
    return [
        memory,
        trip(KERNEL, "kernel", "of a Unix socket", "sockets.unix_rr"),
        trip(IP, "protocols", "over UDP", "sockets.udp_rr", option_tool="sockperf"),
        trip(ORDER, "protocols", "over TCP", "sockets.tcp_rr", option_tool="sockperf"),
    ]


BINDINGS = {"c": "MPI, C kernel", "buffers": "mpi4py, buffers", "pickle": "mpi4py, pickle"}


def bindings(size: int, transport: str, testbed: str = "local") -> list[Path]:
    """Paths of one way of a message of MPI: from C, from Python with buffers, from Python with pickled objects.

    Parameters
    ----------
    size : size of the message, B.
    transport : path of the bytes.
    """
    where = {"message_size_B": size, "transport": transport, "testbed": testbed}
    return [
        Path(
            name=binding,
            text=text,
            kind="MPI" if binding == "c" else "Python",
            path=text,
            benchmark="mpi.latency",
            metric="latency_us",
            where={**where, "option_binding": binding},
        )
        for binding, text in BINDINGS.items()
    ]


def ladder(size: int, transport: str, testbed: str = "local") -> list[Path]:
    """Paths of one way of a message between one pair: verbs, UCT, UCP, MPI, Python with buffers and pickled objects.

    Parameters
    ----------
    size : size of the message, B.
    transport : path of the bytes.
    testbed : where both ends run.
    """
    where = {"message_size_B": size, "testbed": testbed}
    verbs = Path(
        name="verbs",
        text="verbs (perftest)",
        kind="verbs",
        path="verbs (perftest)",
        benchmark="verbs.send_latency",
        metric="latency_us",
        where={**where, "option_tool": "perftest", "option_completion": "poll"},
    )
    uct = Path(
        name="uct",
        text="UCT (active message)",
        kind="UCX",
        path="UCT (ucx_perftest)",
        benchmark="verbs.uct_latency",
        metric="latency_us",
        where={**where, "transport": transport, "option_operation": "am"},
    )
    ucp = Path(
        name="ucp",
        text="UCP (tag)",
        kind="UCX",
        path="UCP (ucx_perftest)",
        benchmark="verbs.ucx_latency",
        metric="latency_us",
        where={**where, "transport": transport, "option_operation": "tag"},
    )
    return [verbs, uct, ucp, *bindings(size, transport, testbed)]


def socket_tool(testbed: str) -> str:
    """Return the tool for a round trip over a blocking socket: netperf in a guest, else sockperf."""
    name, *_ = parse(testbed)
    return "netperf" if name == "soft-roce" else "sockperf"


def tcp(size: int, testbed: str = "local") -> Path:
    """One way of a message over a blocking TCP socket.

    Parameters
    ----------
    size : size of the message, B.
    """
    return Path(
        name="tcp",
        text="TCP socket, blocking",
        kind="sockets",
        path="half a round trip of a blocking TCP socket",
        benchmark="sockets.tcp_rr",
        metric="round_trip_us",
        where={"message_size_B": size, "testbed": testbed, "option_tool": socket_tool(testbed)},
        factor=0.5,
    )
