"""How long do users wait for services that ask services, and what do load, fan-out and link do to the tail?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from labkit import figures, studies
from labkit.errors import unknown_name
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.formats.microservices import BETWEEN, CLIENT
from labkit.options.services import Load
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_share
from labkit.studies import _linked, amount, counts, number, statement, words

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

TIERS = ("hdsearch", "router", "set_algebra", "recommend")
SOCIAL = "services.social_network"
TAILS = {"median": "response_us_p50", "95th percentile": "response_us_p95", "99th percentile": "response_us_p99"}
SLOWEST = 0.05  # share of requests with a path of their own in the figure
_SHOWN = 10  # parts of a critical path that have a row
_SIZES = {"hdsearch": [512], "router": [1000], "social_network": [256]}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook about microservices.

    Parameters
    ----------
    services : services with a mid-tier and leaves, a list of hdsearch, router, set_algebra and recommend.
    loads : requests offered in a second, a list.
    leaves : services that the mid-tier asks at once, a list; empty leaves the fan-out out.
    load : requests offered in a second with each number of leaves, and over links.
    clients : connections of the client.
    router_leaves : leaves of Router under each load, a list of table (labkit's own) and memcached.
    social_loads : requests offered in a second to the social network, a list; empty leaves it out.
    transports : transports of the social network, a list to compare.
    testbed : hosts with links between them; empty leaves them out.
    linked : service that is measured over links.
    rates : rates of these links, a list.
    delays, losses : delays and losses of these links, lists; packets lost are in %.
    """

    services: str = "hdsearch,router,set_algebra,recommend"
    loads: str = "100,200,400,800"
    leaves: str = "1,2,4,8"
    load: int = 200
    clients: int = 4
    router_leaves: str = "table,memcached"
    social_loads: str = "100,200,400"
    transports: str = "tcp,unix"
    testbed: str = "virtual-cluster:4"
    linked: str = "hdsearch"
    rates: str = "20mbit,50mbit,200mbit"
    delays: str = "1ms,4ms"
    losses: str = "1,4"


class Study(studies.Study):
    """Response times against load, fan-out and link, and the critical path of each request."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (*(f"services.{name}" for name in TIERS), SOCIAL)
    focus: ClassVar = (("services.hdsearch", "option_load"), (SOCIAL, "transport"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Each service under each load and with each fan-out; the social network; one service over links."""
        v, specs = self.values, list[Spec]()
        for name in words(v.services):
            if name not in TIERS:
                raise unknown_name("service", name, TIERS)
            leaf = {"leaf": words(v.router_leaves)} if name == "router" else {}
            specs += self._of(name, load=[float(load) for load in counts(v.loads, "loads")], **leaf)
            specs += self._of(name, load=float(v.load), leaves=counts(v.leaves, "leaves")) if v.leaves else []
        if v.social_loads:
            loads = [float(load) for load in counts(v.social_loads, "social_loads")]
            specs += self._of("social_network", load=loads, transport=words(v.transports))
        if v.testbed and v.linked not in (*TIERS, "social_network"):
            raise unknown_name("service", v.linked, (*TIERS, "social_network"))
        changed = _linked.possible(v, delay=v.delays, loss=v.losses)
        for testbed in _linked.states(v.testbed, rate=v.rates, **changed):
            specs += self._of(v.linked, load=float(v.load), testbed=testbed)
        return list(dict.fromkeys(specs))

    def _of(self, name: str, **options: Any) -> list[Spec]:
        """Points of one service."""
        return sweep(f"services.{name}", sizes=_SIZES.get(name, [0]), clients=self.values.clients, **options)

    # ---- rows --------------------------------------------------------------------------------------------------

    def tiers(self, *, local: bool = True) -> pd.DataFrame:
        """Rows of the services with leaves, on this machine or not, with their names."""
        rows = self.summary
        if rows.empty:
            return rows
        rows = rows[rows["benchmark"].isin(self.benchmarks[:-1]) & ((rows["testbed"] == "local") == local)]
        names = rows["benchmark"].str.removeprefix("services.")
        if "option_leaf" in rows:
            names = names.where(rows["option_leaf"] != "memcached", names + ", memcached leaves")
        return rows.assign(service=names)

    def _at_leaves(self) -> pd.DataFrame:
        """Rows with the number of leaves that most have."""
        rows = self.tiers()
        return rows[rows["option_leaves"] == rows["option_leaves"].mode().iloc[0]] if len(rows) else rows

    def social(self) -> pd.DataFrame:
        """Rows of the social network on this machine."""
        rows = self.of(SOCIAL)
        return rows[rows["testbed"] == "local"] if len(rows) else rows

    # ---- figures -----------------------------------------------------------------------------------------------

    def load_figure(self) -> Figure | Omitted:
        """99th percentile of the response time of each service against the load."""
        return self._versus(
            self._at_leaves(), "option_load", {"99th percentile": TAILS["99th percentile"]}, ["service"]
        )

    def quantile_figure(self) -> Figure | Omitted:
        """Median, 95th and 99th percentile of the first service against the load."""
        rows = self._at_leaves()
        rows = rows[rows["service"] == words(self.values.services)[0]] if len(rows) else rows
        return self._versus(rows, "option_load", TAILS, [])

    def fan_out_figure(self) -> Figure | Omitted:
        """Median and 99th percentile of each service against the number of leaves."""
        rows = self.tiers()
        rows = rows[rows["option_load"] == float(self.values.load)] if len(rows) else rows
        rows = rows[rows["option_leaf"] != "memcached"] if "option_leaf" in rows else rows  # under the loads only
        shown = {name: TAILS[name] for name in ("median", "99th percentile")}
        return self._versus(rows, "option_leaves", shown, ["service"])

    def social_figure(self) -> Figure | Omitted:
        """Median and 99th percentile of the social network against the load, over each transport."""
        shown = {name: TAILS[name] for name in ("median", "99th percentile")}
        return self._versus(self.social(), "option_load", shown, ["transport"])

    def link_figure(self, factor: str) -> Figure | Omitted:
        """Percentiles of a service across hosts against the rate, the delay or the loss of their links."""
        rows = self.summary
        rows = rows[rows["benchmark"] == f"services.{self.values.linked}"] if len(rows) else rows
        rows = _linked.under(rows, factor)
        return self.drawn(figures.versus, rows, "level", shown=studies.present(rows, TAILS), label=_linked.AXES[factor])

    def _versus(self, rows: pd.DataFrame, column: str, shown: dict[str, str], series: list[str]) -> Figure | Omitted:
        label = {"option_load": "requests offered per second", "option_leaves": "leaves that a request asks"}[column]
        present = studies.present(rows, shown)
        if len(rows) and not present:
            return studies.too_few(rows)
        return self.drawn(figures.versus, rows, column, shown=present, series=series, label=label)

    def path_figure(self, benchmark: str) -> Figure | Omitted:
        """Mean time of each part of the critical path, of all requests and of the slowest, under the largest load."""
        paths = self.paths(benchmark)
        if not paths:
            return NOTHING
        total = np.sum(list(paths.values()), axis=0)
        slow = total >= np.quantile(total, 1 - SLOWEST)
        stacks = []
        for title, chosen in (("all requests", slice(None)), (f"slowest {format_share(SLOWEST)}", slow)):
            means = {name: float(values[chosen].mean()) * 1e-3 for name, values in paths.items()}
            shown = [name for name in list(means)[:_SHOWN] if means[name] > 0]
            parts = [figures.Part(_text(name), means[name], _kind(name)) for name in shown]
            if rest := sum(value for name, value in means.items() if name not in shown):
                parts.append(figures.Part("all others", rest, "service"))
            stacks.append(figures.Stack(title, parts, "measured"))
        return Figure(figures.stacked(stacks, "µs", f"{benchmark}, mean of {total.size} requests of all launches"))

    def paths(self, benchmark: str) -> dict[str, NDArray[np.int64]]:
        """Parts of the critical path of every request under the largest load on this machine, ns; longest first."""
        own = [s for s in self.samples if s.spec.benchmark == benchmark and s.spec.testbed == "local"]
        own = [s for s in own if f"path_{CLIENT}_ns" in s.extras and s.spec.transport != "unix"]
        if not own:
            return {}
        most = max((s.spec.of(Load).options.load, s.spec.values.get("leaves") or 0) for s in own)
        own = [s for s in own if (s.spec.of(Load).options.load, s.spec.values.get("leaves") or 0) == most]
        names = [name for name in own[0].extras if name.startswith("path_")]
        columns = {name: np.concatenate([s.extras[name].ravel() for s in own]) for name in names}
        ordered = sorted(columns, key=lambda name: -columns[name].mean())
        return {name.removeprefix("path_").removesuffix("_ns"): columns[name] for name in ordered}

    # ---- sentences ---------------------------------------------------------------------------------------------

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences = []
        for name, group in self._at_leaves().groupby("service", sort=False) if len(self._at_leaves()) else ():
            ends = group.sort_values("option_load").iloc[[0, -1]]
            first, last = (row.to_dict() for _, row in ends.iterrows())
            service, _, leaves = str(name).partition(", ")
            sentence = (
                f"`{service}`{leaves and f' with {leaves}'} answers in {statement(first, 'response_us')} at "
                f"{first['option_load']:g} requests per second"
            )
            if last["option_load"] > first["option_load"]:
                sentence += f", and in {amount(last, 'response_us')} at {last['option_load']:g}"
            sentences.append(f"{sentence}.")
        paths = self.paths(SOCIAL)
        if paths:
            means = {name: float(values.mean()) for name, values in paths.items()}
            total = sum(means.values())
            between = 100 * means[BETWEEN] / total
            own = {name: value for name, value in means.items() if name not in (BETWEEN, CLIENT)}
            longest = max(own, key=lambda name: own[name])
            sentences.append(
                f"Of a request to the social network, {number(between)} % of the critical path is between services, "
                f"and {number(100 * own[longest] / total)} % in `{longest.replace('_', '-')}`, the longest service."
            )
        sentences += _linked.slowed(_linked.under(self.tiers(local=False), "delay"), "response_us", "service")
        sentences += _linked.left_out(self.values, delay=self.values.delays, loss=self.values.losses)
        return listed(sentences)


def _kind(name: str) -> str:
    return {CLIENT: "client", BETWEEN: "between services"}.get(name, "service")


def _text(name: str) -> str:
    texts = {CLIENT: "before the client has sent it", BETWEEN: "between services"}
    return texts.get(name, name.replace("_", "-"))
