"""What does a remote procedure call cost over each library and transport, and how does the link change it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from labkit import benchmarks, figures, studies, testbeds
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.columns import split, split_end, statistic_column
from labkit.point.spec import Spec, sweep
from labkit.read import records
from labkit.studies import (
    _linked,
    amount,
    centre,
    counts,
    number,
    size_words,
    statement,
    words,
)
from labkit.studies._derived import of_samples
from labkit.studies.verbs_under_loss_and_delay import FACTORS, level

CALL, TCP, UNIX, MPI = "rpc.latency", "sockets.tcp_rr", "sockets.unix_rr", "mpi.latency"
OPEN, STREAM, MANY, SERVERS = "rpc.open_loop", "rpc.bandwidth", "rpc.throughput", "rpc.parameter_server"
SYSTEMS: tuple[dict[str, Any], ...] = ({"system": "grpc"}, {"system": "thrift"})
NAMES = {TCP: "TCP", UNIX: "Unix socket", MPI: "MPI over TCP"}
PYTHON = " in Python"
SCHEMES = ("uniform", "random", "skew")


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on remote procedure calls.

    Parameters
    ----------
    sizes : sizes of request and answer.
    size : size of the calls across the link and under load, B.
    testbed : two hosts with a link between them; empty leaves the link out.
    rate : rates of that link.
    delay : delay of the link, one way.
    loss : loss of packets in each direction, %.
    stream_size : size of the calls of a stream.
    clients : calling at once.
    loads : calls per second that are due; empty leaves them out.
    servers : parameter servers, with one worker and with two; empty leaves them out.
    large : size of a large buffer of their payload, B.
    mpi : whether MPI is among the transports.
    python : whether to show calls in Python beside those in C++.
    """

    sizes: str = "64,1Ki,16Ki,256Ki"
    size: int = 1024
    testbed: str = "virtual-cluster:2"
    rate: str = "10mbit,100mbit,1gbit"
    delay: str = "1ms,4ms"
    loss: str = "1,4"
    stream_size: str = "64Ki"
    clients: str = "1,2,4,8"
    loads: str = "500,1000,2000,4000"
    servers: str = "1,2"
    large: int = 1024 * 1024
    mpi: bool = True
    python: bool = True


class Study(studies.Study):
    """Calls by size, library and transport; across a link; at a rate; of parameter servers."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (CALL, TCP, UNIX, MPI, OPEN, STREAM, MANY, SERVERS)
    focus: ClassVar = ((CALL, "testbed"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Calls here by size; calls, round trips and streams across the link; clients, loads and servers here."""
        v, specs, here = self.values, list[Spec](), {"ranks": 1}
        for transport in ("tcp", "unix"):
            for system in SYSTEMS:
                specs += sweep(CALL, sizes=v.sizes, transport=transport, **system, **here)
        specs += sweep(CALL, sizes=v.sizes, transport="tcp", system="grpc", serialised=False, **here)
        for system in SYSTEMS if v.python else ():
            specs += sweep(CALL, sizes=v.sizes, transport="tcp", language="python", **system, **here)
        small = [size for size in counts(v.sizes, "sizes") if size <= benchmarks.get(UNIX).max_size]
        specs += sweep(UNIX, sizes=small, **here) if small else []
        specs += self._beside(v.sizes, "local")
        for testbed in self.links():
            for system in SYSTEMS:
                specs += sweep(CALL, sizes=v.size, testbed=testbed, transport="tcp", **system, **here)
                specs += sweep(STREAM, sizes=v.stream_size, testbed=testbed, window=16, **system, **here)
            specs += self._beside(v.size, testbed)
        for system in SYSTEMS:
            specs += sweep(MANY, sizes=v.size, clients=counts(v.clients, "clients"), **system, **here)
            if v.loads:
                rates = [float(load) for load in counts(v.loads, "loads")]
                specs += sweep(OPEN, sizes=v.size, rate=rates, **system, **here)
        if v.servers:
            options: dict[str, Any] = {"servers": counts(v.servers, "servers"), "workers": [1, 2], "large": v.large}
            options |= {"scheme": list(SCHEMES), "serialised": [True, False]}
            specs += sweep(SERVERS, sizes=0, **options, **here)
        return list(dict.fromkeys(specs))

    def _beside(self, sizes: str | int, testbed: str) -> list[Spec]:
        """The transports without a library for calls: TCP, and MPI over it."""
        specs = sweep(TCP, sizes=sizes, testbed=testbed, tool="sockperf", ranks=1)
        return specs + (sweep(MPI, sizes=sizes, testbed=testbed, ranks=2, transport="tcp") if self.values.mpi else [])

    def links(self) -> list[str]:
        """The testbed with each state of its link."""
        v = self.values
        levels = {"rate": v.rate, **_linked.possible(v, delay=v.delay, loss=v.loss)}
        options = [{factor: one} for factor in FACTORS if factor in levels for one in words(levels[factor])]
        if not v.testbed or not options:
            return []
        return [testbeds.with_options(v.testbed, **one) for one in ({}, *options)]

    @staticmethod
    def _place(testbed: str) -> str:
        """The testbed without the state of its link, which varies here."""
        return testbeds.base_of(testbed)

    # ---- tables

    @of_samples
    def rows(self) -> pd.DataFrame:
        """The summary with the path of a call in words, and round trips of MPI: twice its latency."""
        rows = self.summary.copy()
        if rows.empty:
            return rows
        for column in [name for name in rows if (parts := split(name) or split_end(name)) and parts[0] == "latency_us"]:
            trip, mpi = str(column).replace("latency_us", "round_trip_us"), rows["benchmark"] == MPI
            twice = rows[column] if str(column).endswith(("_n", "_launches")) else 2 * rows[column]
            rows[trip] = rows[trip].mask(mpi, twice) if trip in rows else twice.where(mpi)
        rows = records.standing_for(rows, {"round_trip_us": ("latency_us", 2.0)}, (rows["benchmark"] == MPI).tolist())
        return rows.assign(path=[_path(row) for row in rows.to_dict("records")])

    def here(self) -> pd.DataFrame:
        """Calls, and round trips without a library, inside this host."""
        rows = self.rows
        return rows[(rows["testbed"] == "local") & rows["benchmark"].isin([CALL, *NAMES])] if len(rows) else rows

    def across(self, factor: str, *names: str) -> pd.DataFrame:
        """Rows of benchmarks against a factor of the link, with the unchanged link except for a rate."""
        rows = self.rows
        rows = rows[(rows["testbed"] != "local") & rows["benchmark"].isin(names)] if len(rows) else rows
        if not len(rows):
            return rows
        given = [testbeds.parse(str(text))[2] for text in rows["testbed"]]
        fits = [set(options) & set(FACTORS) <= {factor} for options in given]
        rows = rows.assign(level=[level(options.get(factor, "")) for options in given])[fits]
        rows = rows[rows["level"] > 0] if factor == "rate" else rows
        return rows.sort_values(["path", "level"]) if rows["level"].nunique() > 1 else rows.iloc[:0]

    # ---- figures

    def sizes_figure(self) -> Figure | Omitted:
        """Round trip against size, a line for each path."""
        return self.drawn(figures.versus_size, self.here(), "round_trip_us", series=["path"], tail=None)

    def link_figure(self, factor: str) -> Figure | Omitted:
        """Round trip across the link against its rate, delay or loss, a line for each path."""
        rows = self.across(factor, CALL, TCP, MPI)
        shown = statistic_column("round_trip_us", "p99" if factor == "loss" else "p50")
        if len(rows) and not studies.present(rows, {shown: shown}):
            return studies.too_few(rows)
        return self.drawn(figures.versus, rows, "level", shown={shown: shown}, series=["path"], label=FACTORS[factor])

    def bandwidth_figure(self, factor: str) -> Figure | Omitted:
        """Bandwidth of calls across the link against its rate, delay or loss."""
        rows = self.across(factor, STREAM)
        return self.drawn(figures.versus, rows, "level", shown="bandwidth_MBps", series=["path"], label=FACTORS[factor])

    def clients_figure(self) -> Figure | Omitted:
        """Calls per second against the number of clients."""
        rows = self._means(MANY)
        how: dict[str, Any] = {"shown": "transaction_rate_per_s", "series": ["path"], "label": "clients"}
        return self.drawn(figures.versus, rows, "option_clients", **how)

    def load_figure(self) -> Figure | Omitted:
        """Response time against the rate at which calls are due, and the round trip beside it."""
        shown = {
            "response, median": "response_us_p50",
            "response, 99th percentile": "response_us_p99",
            "round trip, 99th percentile": "round_trip_us_p99",
        }
        rows, label = self._of(OPEN), "calls that are due in a second"
        shown = studies.present(rows, shown)
        return self.drawn(figures.versus, rows, "option_rate", shown=shown, series=["path"], label=label)

    def servers_figure(self) -> Figure | Omitted:
        """Calls per second by scheme and serialisation, with one server and worker and with more."""
        rows = self._means(SERVERS)
        if len(rows):
            rows = rows.sort_values(["option_scheme", "option_serialised", "option_servers", "option_workers"])
            kinds = [f"{_count(s, 'server')}, {_count(w, 'worker')}" for s, w in _pairs(rows)]
            forms = ["serialised" if bool(one) else "raw" for one in rows["option_serialised"]]
            rows = rows.assign(parties=kinds, payload=rows["option_scheme"] + ", " + forms)
        return self.drawn(figures.bars, rows, "payload", metric="transaction_rate_per_s", series=["parties"])

    def _means(self, name: str) -> pd.DataFrame:
        """Rows of a benchmark with means alone: how many calls clients make follows from the mean time of a call."""
        table = self.records
        others = [one for one in table if (parts := split(str(one))) and parts[1] not in ("mean", "step")]
        rows = records.summary(table.drop(columns=others)) if len(table) else table
        rows = rows[rows["benchmark"] == name] if len(rows) else rows
        return rows.assign(path=[_path(row) for row in rows.to_dict("records")]) if len(rows) else rows

    def _of(self, name: str) -> pd.DataFrame:
        rows = self.rows
        return rows[rows["benchmark"] == name] if len(rows) else rows

    # ---- sentences

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        found = [*self._libraries(), *self._languages(), *self._delays(), *self._loads()]
        found += _linked.left_out(self.values, delay=self.values.delay, loss=self.values.loss)
        return listed(found)

    def _libraries(self) -> Iterator[str]:
        """Round trip of the smallest size over each path, and its ratio to TCP's."""
        rows = self.here()
        rows = rows[rows["message_size_B"] == rows["message_size_B"].min()] if len(rows) else rows
        if not len(rows):
            return
        table = sorted(rows.to_dict("records"), key=lambda row: centre(row, "round_trip_us"))
        plain = next((row for row in table if row["benchmark"] == TCP), None)
        for row in table:
            about = _beside(row, plain) if plain and row is not plain else ""
            yield f"{size_words(row['message_size_B'])}, {row['path']}: {statement(row, 'round_trip_us')}{about}."

    def _languages(self) -> Iterator[str]:
        """What Python adds to a call of the smallest size."""
        rows = self.here()
        rows = rows[(rows["benchmark"] == CALL) & (rows["transport"] == "tcp")] if len(rows) else rows
        if not len(rows) or "option_language" not in rows:
            return
        rows = rows[rows["message_size_B"] == rows["message_size_B"].min()]
        by_path = {row["path"]: row for row in rows.to_dict("records")}
        for path, row in by_path.items():
            plain = by_path.get(path.replace(PYTHON, ""))
            if row["option_language"] == "python" and plain:
                effect = effects.between(row, plain, "round_trip_us")
                more = "more" if effect.more else "less"
                yield f"{size_words(row['message_size_B'])}, " + effect.said(
                    f"{path}: {number(abs(effect.added))} µs {more} than in C++, {effect.times} as long",
                    f"{path} takes {amount(row, 'round_trip_us')}, the same in C++ {amount(plain, 'round_trip_us')}",
                )

    def _delays(self) -> Iterator[str]:
        """What is left of a library's cost beside the longest delay."""
        rows = self.across("delay", CALL, TCP)
        if not len(rows):
            return
        most = rows[rows["level"] == rows["level"].max()]
        plain = most[most["benchmark"] == TCP]
        for row in most[most["benchmark"] == CALL].to_dict("records") if len(plain) else ():
            yield (
                f"With {number(row['level'])} ms of delay each way, {row['path']} takes "
                f"{statement(row, 'round_trip_us')}{_beside(row, plain.iloc[0].to_dict())}."
            )

    def _loads(self) -> Iterator[str]:
        """Tail of the response and of the round trip at the highest load."""
        rows = self._of(OPEN)
        rows = rows[rows["option_rate"] == rows["option_rate"].max()] if len(rows) else rows
        for row in rows.dropna(subset=["response_us_p99"]).to_dict("records") if "response_us_p99" in rows else ():
            yield (
                f"At {number(row['option_rate'])} calls per second, {row['path']}: 99 of 100 responses take at most "
                f"{number(row['response_us_p99'])} µs from when they were due, {number(row['round_trip_us_p99'])} µs "
                "from when they were sent."
            )


def _beside(row: Mapping[str, Any], plain: Mapping[str, Any]) -> str:
    """How many times TCP's round trip a call takes, as the end of a sentence; empty if no difference is certain."""
    effect = effects.between(row, plain, "round_trip_us")
    return effect.clause(f"{effect.times} TCP")


def _pairs(rows: pd.DataFrame) -> list[tuple[int, int]]:
    return [(int(s), int(w)) for s, w in zip(rows["option_servers"], rows["option_workers"], strict=True)]


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _path(row: dict[str, Any]) -> str:
    """Library and transport of a row, in words."""
    if row["benchmark"] in NAMES:
        return NAMES[row["benchmark"]]
    if not str(row["benchmark"]).startswith("rpc."):
        return str(row["benchmark"])
    name = "Thrift" if row["option_system"] == "thrift" else "gRPC"
    name += PYTHON if row.get("option_language") == "python" else ""
    name += "" if bool(row["option_serialised"]) else ", raw"
    return f"{name}, Unix socket" if row["transport"] == "unix" else f"{name}, TCP"
