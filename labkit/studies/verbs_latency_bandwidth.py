"""How long do messages take over RDMA verbs, and how fast do they flow, by service and operation?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from labkit import benchmarks, figures
from labkit.figures import style
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects, evidence
from labkit.point.columns import split, split_end
from labkit.point.spec import Spec, sweep
from labkit.point.units import parse_sizes
from labkit.read import records
from labkit.studies import _rdma, amount, centre, counts, resolved, size_words, statement, words

DATAGRAM = 4096  # B of the largest UD message
OPERATIONS = ("send", "write", "read", "atomic")
BESIDE = ("mpi.latency", "sockets.tcp_rr")
OVERHEAD, BOTH_WAYS = "verbs.host_overhead", "verbs.pingping"


@dataclass(frozen=True, kw_only=True)
class Parameters(_rdma.Parameters):
    """Parameters of the notebook on latency and bandwidth of verbs.

    Parameters
    ----------
    sizes : message sizes at which to measure latency; empty leaves it out.
    bandwidth_sizes : message sizes of streams; empty leaves them out.
    operations : some of send, write, read and atomic; atomic operations have 8 B.
    connections : services of the queue pairs; each operation takes those that can carry it.
    tools : the first measures everything, the others the latency over RC of `tool_sizes` beside it.
    tool_sizes : message sizes for the other tools.
    inline : limits of inline data at which to measure the latency of SEND, B; empty leaves them out.
    inline_sizes : message sizes for these limits.
    loop_sizes : message sizes at which to measure host overhead and ping-ping, by pyverbs; empty leaves them
        out.
    beside : compare with the campaign's results of MPI and TCP.
    """

    sizes: str = "8,4Ki"
    bandwidth_sizes: str = "1Ki,16Ki"
    operations: str = "send,write,read,atomic"
    connections: str = "RC,UC,UD"
    tools: str = "perftest,pyverbs"
    tool_sizes: str = "8"
    inline: str = "0,256"
    inline_sizes: str = "16,256"
    loop_sizes: str = "8,4Ki"
    beside: bool = True


class Study(_rdma.Study):
    """Latency and bandwidth of send, write, read and atomic operations over RC, UC and UD."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (
        *(f"verbs.{one}_{kind}" for kind in ("latency", "bandwidth") for one in OPERATIONS),
        OVERHEAD,
        BOTH_WAYS,
    )
    focus: ClassVar = (("verbs.write_latency", "option_connection"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Latency and bandwidth of every operation over every service that carries it; other tools over RC."""
        v = self.values
        first, *others = words(v.tools) or ["auto"]
        specs = []
        for kind, sizes in (("latency", v.sizes), ("bandwidth", v.bandwidth_sizes)):
            for operation in words(v.operations):
                for connection in [c for c in words(v.connections) if carries(c, operation)]:
                    specs += self._of(kind, operation, connection, sizes, first)
        for tool in others:
            for operation in words(v.operations):
                specs += self._of("latency", operation, "RC", v.tool_sizes, tool)
        limits = counts(v.inline, "inline")
        specs += sweep(
            "verbs.send_latency", sizes=v.inline_sizes, inline=limits, connection="RC", tool=first, **self.where
        )
        for name in (OVERHEAD, BOTH_WAYS) if v.loop_sizes.strip() else ():
            specs += sweep(name, sizes=v.loop_sizes, **self.where)
        return specs

    def _of(self, kind: str, operation: str, connection: str, sizes: str, tool: str) -> list[Spec]:
        """One operation over one service at the sizes it can have."""
        if not sizes.strip():
            return []
        possible = list(parse_sizes(sizes))
        if operation == "atomic":
            possible = [8]
        if connection == "UD":
            possible = [size for size in possible if size <= DATAGRAM]
        if not possible:
            return []
        options = {"connection": connection, "tool": tool}
        return sweep(f"verbs.{operation}_{kind}", sizes=possible, **options, **self.where)

    # ---- tables

    def rows(self, kind: str) -> pd.DataFrame:
        """Rows of ``latency`` or ``bandwidth`` of the first tool, with operation and service as in the legend."""
        every = self.every(kind)
        return every[every["engine"] == every["engine"].value_counts().index[0]] if len(every) else every

    def every(self, kind: str) -> pd.DataFrame:
        """`rows` of all tools."""
        names = [f"verbs.{operation}_{kind}" for operation in OPERATIONS]
        rows = _inlined(self.summary[self.summary["benchmark"].isin(names)], chosen=False)
        operation = rows["benchmark"].str.extract(r"\.(\w+)_")[0]
        service = rows.get("option_connection", pd.Series("", index=rows.index))
        rows = rows.assign(operation=operation, path=operation + " " + service.astype(str))
        order = {name: n for n, name in enumerate(OPERATIONS)}
        return rows.sort_values(
            ["operation", "path", "message_size_B"],
            key=lambda c: c.map(order).fillna(9) if c.name == "operation" else c,
        )

    def inlined(self) -> pd.DataFrame:
        """Latency of SEND over RC with each limit of inline data."""
        return _inlined(self.of("verbs.send_latency"), chosen=True)

    def compared(self) -> pd.DataFrame:
        """Latency over RC, of MPI, and of TCP as half of a round trip, as far as the campaign has them."""
        rows = self.rows("latency")
        parts = []
        if len(rows):
            rows = rows[rows["path"].str.endswith(" RC") & (rows["operation"] != "atomic")]
        if len(rows):
            parts.append(rows.assign(path=rows["path"] + " (" + rows["testbed"] + ")"))
        for name in BESIDE if self.values.beside else ():
            plain = [s for s in self.campaign.samples(name) if _plain(s.spec)]
            if plain:
                parts.append(_beside(records.summary(records.table(plain))))
        return pd.concat(parts) if parts else rows

    def loops(self) -> pd.DataFrame:
        """Rows of a ping-pong, of its host overhead as a latency, and of a ping-ping, all by pyverbs."""
        pong = self.of(OVERHEAD)
        own = {c: c.replace("overhead_us", "latency_us") for c in pong if c.startswith("overhead_us")}
        spent = pong.drop(columns=[c for c in pong if c.startswith("latency_us")]).rename(columns=own)
        spent = records.standing_for(spent, {"latency_us": ("overhead_us", 1.0)})
        parts = {"ping-pong, one way": pong, "host overhead of its sender": spent, "ping-ping": self.of(BOTH_WAYS)}
        return pd.concat([rows.assign(path=path) for path, rows in parts.items()])

    # ---- figures

    def loops_figure(self) -> Figure | Omitted:
        """Time of a ping-pong, its host overhead, and a ping-ping, against message size."""
        return self.drawn(figures.versus_size, self.loops(), "latency_us", series=["path"], tail=None)

    def inline_figure(self) -> Figure | Omitted:
        """Latency of SEND against message size, a line for each limit of inline data."""
        rows = self.inlined()
        if len(rows):
            limits = rows["option_inline"].map(lambda limit: f"inline up to {limit:.0f} B" if limit else "not inline")
            rows = rows.assign(data=limits)
        return self.drawn(figures.versus_size, rows, "latency_us", series=["data"], tail=None)

    def latency_figure(self) -> Figure | Omitted:
        """Latency against message size, a line for each operation and service."""
        return self.drawn(figures.versus_size, self.rows("latency"), "latency_us", series=["path"], tail=None)

    def bandwidth_figure(self) -> Figure | Omitted:
        """Bandwidth against message size, a line for each operation and service."""
        rows = self.rows("bandwidth")
        rows = rows[rows["operation"] != "atomic"] if len(rows) else rows
        return self.drawn(figures.versus_size, rows, "bandwidth_MBps", series=["path"])

    def rate_figure(self) -> Figure | Omitted:
        """Messages per second against message size, a line for each operation and service."""
        return self.drawn(figures.versus_size, self.rows("bandwidth"), "message_rate_per_s", series=["path"])

    def compared_figure(self) -> Figure | Omitted:
        """Latency of verbs, MPI and TCP on one axis."""
        rows = self.compared()
        twice = rows[rows.duplicated(["path", "message_size_B"], keep=False)] if len(rows) else rows
        more = style.varying(twice, skip=["message_size_B"]) if len(twice) else []
        return self.drawn(figures.versus_size, rows, "latency_us", series=["path", *more], tail=None)

    def both_tools(self) -> pd.DataFrame:
        """Latency over RC at the sizes that several tools measured."""
        rows = self.every("latency")
        rows = rows[rows["path"].str.endswith(" RC")] if len(rows) else rows
        shared = rows.groupby(["operation", "message_size_B"])["engine"].transform("nunique") > 1
        return rows[shared] if len(rows) else rows

    def tools_figure(self) -> Figure | Omitted:
        """Latency by the tools beside one another, at the smallest size that several measured."""
        rows = self.both_tools()
        rows = rows[rows["message_size_B"] == rows["message_size_B"].min()]
        return self.drawn(figures.bars, rows, "operation", metric="latency_us", series=["engine"])

    # ---- sentences

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        parts = (self._latency(), self._inline(), self._services(), self._bandwidth(), self._loops())
        return listed([sentence for part in parts for sentence in part])

    def _latency(self) -> Iterator[str]:
        """Each operation over RC at its smallest size."""
        rows = self.rows("latency")
        for path, group in rows.groupby("path", sort=False):
            least = group.iloc[0]
            if least["option_connection"] == "RC":
                kind = "half of a round trip" if least["operation"] in ("send", "write") else "from post to completion"
                yield f"{path}: {size_words(least['message_size_B'])} take {statement(least, 'latency_us')}, {kind}."

    def _inline(self) -> Iterator[str]:
        """How inline data differ from data that the adapter fetches, at the smallest size."""
        rows = self.inlined()
        least = rows[rows["message_size_B"] == rows["message_size_B"].min()] if len(rows) else rows
        for tool, group in least.groupby("engine"):
            ways = group.sort_values("option_inline").to_dict("records")
            without, inline = ways[0], ways[-1]
            if without["option_inline"] < without["message_size_B"] <= inline["option_inline"]:
                effect = effects.between(inline, without, "latency_us")
                values = (
                    f"{tool}: a send of {size_words(inline['message_size_B'])} takes {amount(inline, 'latency_us')} "
                    f"inline, {amount(without, 'latency_us')} if the adapter fetches the data"
                )
                yield effect.said(f"{values}: {effect.times} as long", values)

    def _services(self) -> Iterator[str]:
        """What giving up reliability changes, at the smallest size."""
        rows = self.rows("latency")
        for (operation, tool), group in rows.groupby(["operation", "engine"], sort=False):
            least = group[group["message_size_B"] == group["message_size_B"].min()].to_dict("records")
            base = next((row for row in least if row["option_connection"] == "RC"), None)
            if base is None:
                continue
            for row in least:
                if (connection := row["option_connection"]) != "RC":
                    effect, size = effects.between(row, base, "latency_us"), size_words(row["message_size_B"])
                    yield effect.said(
                        f"{tool}: {operation} over {connection} takes {effect.times} as long as over RC at {size}",
                        f"{tool}: {operation} of {size} took {amount(row, 'latency_us')} over {connection}, "
                        f"{amount(base, 'latency_us')} over RC",
                    )

    def _loops(self) -> Iterator[str]:
        """Host overhead and ping-ping at their smallest size."""
        for path, group in self.loops().groupby("path", sort=False):
            least = group.iloc[0]
            yield f"pyverbs, {path}: {size_words(least['message_size_B'])} take {statement(least, 'latency_us')}."

    def _bandwidth(self) -> Iterator[str]:
        """The best of each operation and service."""
        for path, group in self.rows("bandwidth").groupby("path", sort=False):
            if group["operation"].iloc[0] == "atomic":
                yield f"{path}: {statement(group.iloc[0], 'message_rate_per_s')} in a stream."
                continue
            known = records.sound(group, "bandwidth_MBps").to_dict("records")
            if best := max(known, key=lambda row: centre(row, "bandwidth_MBps"), default=None):
                yield (
                    f"{path}: the highest bandwidth{resolved(group, 'bandwidth_MBps')} is "
                    f"{statement(best, 'bandwidth_MBps')}, at messages of {size_words(best['message_size_B'])}."
                )

    def tools_findings(self) -> Text | Omitted:
        """How the tools differ, and the share of Python."""
        rows, sentences = self.both_tools(), []
        for (operation, size), group in rows.groupby(["operation", "message_size_B"], sort=False):
            each = ", ".join(f"{row['engine']} {statement(row, 'latency_us')}" for _, row in group.iterrows())
            sentences.append(f"{operation} over RC, {size_words(size)}: {each}.")
        if share := evidence.python_sentence(self.python_share):
            sentences.append(share)
        return listed(sentences)

    def crossed_findings(self) -> Text | Omitted:
        """What the counters of the link prove."""
        return Text(evidence.crossed_sentence(self.crossed)) if len(self.records) else NOTHING


def carries(connection: str, operation: str) -> bool:
    """Whether a service can carry an operation: UD carries only SEND, UC nothing that needs a response."""
    return operation in {"UD": ("send",), "UC": ("send", "write")}.get(connection, OPERATIONS)


def _beside(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of MPI or TCP as latency, named for the legend; for TCP half of the round trip."""
    if rows["benchmark"].iloc[0] == "mpi.latency":
        return rows.assign(
            path="MPI over " + rows["transport"] + " (" + rows["testbed"] + ", " + rows["launcher"] + ")"
        )
    halves = {
        c: c.replace("round_trip_us", "latency_us")
        for c in rows
        if (p := split(c) or split_end(c)) and p[0] == "round_trip_us"
    }
    rows = rows.drop(columns=[c for c in rows if c.startswith("latency_us")])
    rows = rows.assign(**{c: rows[c] / 2 for c in halves}).rename(columns=halves)
    rows = records.standing_for(rows, {"latency_us": ("round_trip_us", 0.5)})
    return rows.assign(path="TCP, half of a round trip (" + rows["testbed"] + ", " + rows["engine"] + ")")


def _plain(spec: Spec) -> bool:
    """Whether a spec has neither options nor its own setting, so that their line has one point at each size."""
    return not benchmarks.identity(spec).values and spec.bind == "auto" and not spec.environment and spec.ranks <= 2


def _inlined(rows: pd.DataFrame, *, chosen: bool) -> pd.DataFrame:
    """Rows with a limit of inline data, or those with the default of the tool."""
    limit = rows.get("option_inline", pd.Series(-1, index=rows.index)).fillna(-1)
    return rows[(limit >= 0) == chosen]
