"""What does a key-value store do over a path: in closed and open loop, with more clients, servers, slower links?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import benchmarks, figures, studies
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import evidence
from labkit.point.spec import Spec, sweep
from labkit.studies import _linked, _rdma, amount, counts, size_words, statement, words

if TYPE_CHECKING:
    import pandas as pd

CLOSED, OPEN, VERBS = "kv.closed_loop", "kv.open_loop", "verbs.key_value"
OPERATIONS = {"median of the launches": "transaction_rate_per_s_mean"}
TAILS = {"median": "response_us_p50", "99th percentile": "response_us_p99"}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook about key-value stores.

    Parameters
    ----------
    stores : stores to compare, a list of redis and memcached.
    workloads : YCSB's, a list of A to F; memcached has no scan, so no E.
    sizes : size of a record, a list of multiples of 10.
    clients : connections, a list; empty leaves this out.
    servers : processes of a store, a list; empty leaves this out.
    loads : operations due in a second, a list; empty leaves the open loop out.
    transports : transports to compare, a list.
    testbed : two hosts with a link; empty leaves it out.
    rates : rates of this link, a list.
    delays, losses : delays and losses of this link, lists; packets lost are in %.
    load : operations due in a second over this link.
    link_clients : connections over this link; a single one waits for each answer, and could not keep up with the load.
    verbs_testbed : where the store over RDMA verbs runs: local or soft-roce; auto for a soft-roce that is up, or a
        device of this machine; empty leaves it out.
    """

    stores: str = "redis,memcached"
    workloads: str = "A,B,C,D,E,F"
    sizes: str = "100,1000,10000"
    clients: str = "1,2,4,8"
    servers: str = "1,2"
    loads: str = "500,1000,2000,4000"
    transports: str = "tcp,unix"
    testbed: str = "virtual-cluster:2"
    rates: str = "10mbit,100mbit"
    delays: str = "1ms,4ms"
    losses: str = "1,4"
    load: int = 200
    link_clients: int = 8
    verbs_testbed: str = _rdma.AUTO


class Study(studies.Study):
    """YCSB's workloads on each store over each path: sizes, clients, servers, loops and links."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (CLOSED, OPEN, VERBS)
    focus: ClassVar = ((CLOSED, "option_store"), (CLOSED, "transport"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Reads by size; every workload; clients and servers; operations that are due, here and over a link."""
        v, specs = self.values, list[Spec]()
        sizes, transports, stores = counts(v.sizes, "sizes"), words(v.transports), words(v.stores)
        if not (sizes and transports and stores):
            raise SpecError("sizes, transports or stores is empty. Set sizes=1000, transports=tcp and stores=redis.")
        middle = sizes[len(sizes) // 2]
        reads: dict[str, Any] = {"store": stores, "workload": "C"}
        specs += sweep(CLOSED, sizes=sizes, transport=transports, **reads)
        for workload in words(v.workloads.upper()):
            able = [store for store in stores if workload != "E" or store != "memcached"]
            specs += (
                sweep(CLOSED, sizes=[middle], transport=transports[0], store=able, workload=workload) if able else []
            )
        if v.clients:
            specs += sweep(CLOSED, sizes=[middle], transport=transports, clients=counts(v.clients, "clients"), **reads)
        if v.servers:
            most = max(counts(v.clients, "clients") or [4])
            many = counts(v.servers, "servers")
            specs += sweep(CLOSED, sizes=[middle], transport=transports[0], clients=most, servers=many, **reads)
        if v.loads:
            due = [float(load) for load in counts(v.loads, "loads")]
            specs += sweep(OPEN, sizes=[middle], transport=transports[0], rate=due, arrivals="poisson", **reads)
        changed = _linked.possible(v, delay=v.delays, loss=v.losses)
        for testbed in _linked.states(v.testbed, rate=v.rates, **changed):
            steady: dict[str, Any] = {"rate": float(v.load), "clients": v.link_clients, "arrivals": "poisson"}
            specs += sweep(OPEN, sizes=[middle], testbed=testbed, **steady, **reads)
        small = [size for size in sizes if 16 <= size <= benchmarks.get(VERBS).max_size]
        for where in _rdma.present(v.verbs_testbed, measure=v.measure) if small else ():
            specs += sweep(VERBS, sizes=small, testbed=where)
        return list(dict.fromkeys(specs))

    # ---- rows --------------------------------------------------------------------------------------------------

    def _closed(self, **options: Any) -> pd.DataFrame:
        """Rows of the closed loop on this machine with these options."""
        rows = self.of(CLOSED)
        rows = rows[rows["testbed"] == "local"] if len(rows) else rows
        for name, value in options.items():
            rows = rows[rows[f"option_{name}"] == value] if len(rows) else rows
        return rows

    def _middle(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of the size that all but the first figure have."""
        sizes = counts(self.values.sizes, "sizes")
        return rows[rows["message_size_B"] == sizes[len(sizes) // 2]] if len(rows) and sizes else rows

    def _due(self) -> pd.DataFrame:
        """Rows of the open loop on this machine."""
        rows = self.of(OPEN)
        return rows[rows["testbed"] == "local"] if len(rows) else rows

    # ---- figures -----------------------------------------------------------------------------------------------

    def size_figure(self) -> Figure | Omitted:
        """One read at a time against the size, over each path; the store over verbs beside."""
        rows = self._closed(workload="C", clients=1, servers=1)
        if len(beside := self.of(VERBS)):
            rows = self.summary.loc[[*rows.index, *beside.index]]
            stores = rows["benchmark"] == CLOSED
            rows = rows.assign(
                option_store=rows["option_store"].where(stores, "RDMA verbs") if stores.any() else "RDMA verbs",
                transport=rows["transport"].where(stores, rows["testbed"]),
            )
        return self.drawn(figures.versus_size, rows, "round_trip_us", series=["option_store", "transport"], tail="p99")

    def workload_figure(self) -> Figure | Omitted:
        """Median of every workload on each store, but scans: they take many times as long."""
        rows = self._workloads()
        rows = rows[rows["option_workload"] != "E"].sort_values("option_workload") if len(rows) else rows
        rows = rows.rename(columns={"option_workload": "workload"})
        return self.drawn(figures.bars, rows, "workload", metric="round_trip_us", series=["option_store"])

    def _workloads(self) -> pd.DataFrame:
        """Rows of every workload over the first transport, with one client and one server."""
        rows = self._middle(self._closed(clients=1, servers=1))
        return rows[rows["transport"] == words(self.values.transports)[0]] if len(rows) else rows

    def clients_figure(self) -> Figure | Omitted:
        """Operations per second against clients."""
        rows = self._rated(self._middle(self._closed(workload="C", servers=1)))
        series = ["option_store", "transport"]
        return self.drawn(figures.versus, rows, "option_clients", shown=OPERATIONS, series=series, label="clients")

    def servers_figure(self) -> Figure | Omitted:
        """Operations per second against processes of the store, with the most clients."""
        rows = self._middle(self._closed(workload="C"))
        rows = rows[rows["option_clients"] == rows["option_clients"].max()] if len(rows) else rows
        rows = rows[rows["transport"] == words(self.values.transports)[0]] if len(rows) else rows
        rows, label = self._rated(rows), "processes of the store"
        return self.drawn(
            figures.versus, rows, "option_servers", shown=OPERATIONS, series=["option_store"], label=label
        )

    def _rated(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows with the operations per second that the client counted, the median over launches."""
        return self.counted(rows, "transaction_rate_per_s")

    def loops_figure(self) -> Figure | Omitted:
        """99th percentile in the open loop against the rate, from the due moment and from the request."""
        shown = {"from when it was due": "response_us_p99", "from when it was sent": "round_trip_us_p99"}
        rows = self._due()
        shown, label = studies.present(rows, shown), "operations due per second"
        if len(rows) and not shown:
            return studies.too_few(rows)
        return self.drawn(figures.versus, rows, "option_rate", shown=shown, series=["option_store"], label=label)

    def link_figure(self, factor: str) -> Figure | Omitted:
        """Response time in the open loop against the rate, the delay or the loss of the link."""
        rows = _linked.under(self.of(OPEN), factor)
        shown = studies.present(rows, TAILS)
        label = _linked.AXES[factor]
        return self.drawn(figures.versus, rows, "level", shown=shown, series=["option_store"], label=label)

    # ---- sentences ---------------------------------------------------------------------------------------------

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        rows, sentences = self._middle(self._closed(workload="C", clients=1, servers=1)), list[str]()
        for _, row in rows.iterrows() if len(rows) else ():
            sentences.append(
                f"{row['option_store']} over {row['transport']} answers a read of a record of "
                f"{size_words(row['message_size_B'])} in {statement(row, 'round_trip_us')}."
            )
        scans = self._workloads()
        for row in scans[scans["option_workload"] == "E"].to_dict("records") if len(scans) else ():
            sentences.append(
                f"An operation of workload E (95 % scans of up to 100 records) takes {row['option_store']} "
                f"{statement(row, 'round_trip_us')}."
            )
        for store, group in self._due().groupby("option_store", sort=False) if len(self._due()) else ():
            last = group.sort_values("option_rate").iloc[-1].to_dict()
            sentences.append(
                f"{store} with {last['option_rate']:g} operations due per second: a median of "
                f"{amount(last, 'response_us')} from when an operation was due, of "
                f"{amount(last, 'round_trip_us')} from when it was sent."
            )
        for _, row in self._middle(self.of(VERBS)).iterrows():
            known = evidence.functional([row["badges"]])
            sentences.append(
                f"The store over RDMA verbs ({row['testbed']}) answers a request for a value of "
                f"{size_words(row['message_size_B'])} in {statement(row, 'round_trip_us')}"
                f"{', which shows that it works, not how fast RDMA is' if known else ''}."
            )
        if self.values.measure and self.values.verbs_testbed == _rdma.AUTO and not len(self.of(VERBS)):
            sentences.append(f"The store over RDMA verbs {_rdma.NO_RDMA}")
        sentences += _linked.slowed(_linked.under(self.of(OPEN), "delay"), "response_us", "option_store")
        sentences += _linked.left_out(self.values, delay=self.values.delays, loss=self.values.losses)
        return listed(sentences) if sentences else NOTHING
