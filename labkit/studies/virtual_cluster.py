"""The virtual cluster: verifies its links and states its limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from labkit import figures, studies, testbeds
from labkit.errors import SpecError
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.models import bounds, links
from labkit.point.spec import Spec, sweep
from labkit.point.units import plural
from labkit.store.samples.facts import EVIDENCE, FINGERPRINT
from labkit.studies import counts, number, size_words, words
from labkit.studies._derived import of_samples
from labkit.testbeds import virtual_cluster

STREAM, ALL, TRIP = "sockets.tcp_stream", "mpi.alltoall", "mpi.latency"
_SMALL = 8  # B of a message whose time is a latency
_FRAMES = 1448 / 1514  # TCP's part of full frames
_LONGER = "The rest is the work of this machine's processors."
_SHORTER = "The time is shorter because the link's token bucket lets the first bytes pass at once."
_OVER = 1.05  # of a link's rate; two frames pass unshaped, and a clock is read a little late


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook about the virtual cluster.

    Parameters
    ----------
    launches : fresh starts of every point.
    time_cap : s of timed iterations for a point and launch.
    testbed : the cluster; the switches, rate and uplink are set here.
    per_leaf : hosts at each leaf switch, where the testbed does not say.
    rates : list of rates of the hosts' links, in the testbed's form; one stream crosses the tree at each rate.
    tapers : tapers of the tree, a list; at each, one stream crosses it, all hosts send to all, and two hosts exchange
        messages that tell what all to all needs at least. Empty leaves them out.
    rate : rate of the hosts' links for the tapers and the round trips.
    size : size of the messages from each host to each then, B.
    sizes : sizes of the round trips between the first host and the last; empty leaves them out.
    launcher : how ranks start.
    """

    launches: int = 2
    time_cap: float = 1.0
    testbed: str = "virtual-cluster:4"
    per_leaf: int = 2
    rates: str = "50mbit,100mbit,200mbit"
    tapers: str = "1,2,4"
    rate: str = "200mbit"
    size: int = 65536
    sizes: str = "8,1Ki,16Ki,64Ki,256Ki"
    launcher: str = "auto"


class Study(studies.Study):
    """A stream at every rate, all to all at every taper, round trips against what the link takes for them."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (STREAM, ALL, TRIP)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Streams over rates and tapers; all hosts to all over tapers; round trips over sizes."""
        v = self.values
        if testbeds.parse(v.testbed)[0] != "virtual-cluster":
            raise SpecError(
                f"testbed={v.testbed}, but this notebook needs virtual-cluster. Set testbed={Parameters.testbed}."
            )
        specs = [
            spec
            for rate in words(v.rates)
            for spec in sweep(STREAM, sizes=[128 * 1024], tool="iperf3", ranks=1, testbed=self.place(rate=rate))
        ]
        outline = testbeds.outline(self.place())
        hosts, per_leaf = len(outline.hosts), int(outline.facts["per_leaf"])
        across: dict[str, Any] = {"ranks": 2, "hosts": (outline.hosts[0], outline.hosts[-1]), "launcher": v.launcher}
        for taper in counts(v.tapers, "tapers") if per_leaf < hosts else []:
            uplink = f"{per_leaf * virtual_cluster.bits(v.rate) / taper / 1e6:g}mbit"
            tree = self.place(rate=v.rate, uplink=uplink)
            specs += sweep(STREAM, sizes=[128 * 1024], tool="iperf3", ranks=1, testbed=tree)
            specs += sweep(ALL, sizes=[v.size], testbed=tree, ranks=hosts, launcher=v.launcher)
            specs += sweep(TRIP, sizes=[_SMALL, v.size], testbed=tree, **across)
        if v.sizes:
            specs += sweep(TRIP, sizes=v.sizes, testbed=self.place(rate=v.rate), **across)
        return list(dict.fromkeys(specs))

    def place(self, **options: str) -> str:
        """The cluster with its switches, and with rates."""
        name, argument, given = testbeds.parse(self.values.testbed)
        return testbeds.text_of(name, argument, {"per_leaf": str(self.values.per_leaf)} | given | options)

    # ---- tables

    @of_samples
    def claims(self) -> pd.DataFrame:
        """Every stream and taper: the rate that the busiest link allows, the measured rate, and its part of it."""
        rows = []
        for name in (STREAM, ALL):
            for _, row in self.of(name).iterrows():
                facts = testbeds.outline(str(row["testbed"])).facts
                rate, taper = float(facts["rate_bps"]) / 8e6, float(facts.get("taper", 1.0))
                allowed = min(rate, float(facts.get("uplink_bps", math.inf)) / 8e6)
                measured = float(row.get("bandwidth_MBps_mean", 0.0))
                if name == ALL:
                    moved, allowed = _busiest(facts, float(row["message_size_B"]))
                    measured = moved / row["latency_us_p50"] if row["latency_us_p50"] > 0 else math.nan
                rows.append(
                    {
                        **row,
                        "what": "one stream" if name == STREAM else "all to all",
                        "rate": 8 * rate,
                        "narrowest": 8 * allowed,
                        "uplinks": testbeds.parse(str(row["testbed"]))[2].get("uplink", "default"),
                        "taper": taper,
                        "allowed": allowed * _FRAMES,
                        "measured": measured,
                        "part": 100 * measured / (allowed * _FRAMES),
                    }
                )
        return pd.DataFrame(rows)

    def claim_table(self) -> pd.DataFrame:
        """`claims` with units in the heads."""
        heads = {
            "what": "what",
            "rate": "hosts' links (Mbit/s)",
            "uplinks": "uplinks",
            "taper": "taper",
            "allowed": "payload of the link (MB/s)",
            "measured": "measured (MB/s)",
            "part": "part (%)",
            "launches": "launches",
        }
        return self.claims[[name for name in heads if name in self.claims]].rename(columns=heads)

    def trip_table(self) -> pd.DataFrame:
        """One-way times beside the link's time for the packets, and the reference of verdicts and figures."""
        rate = virtual_cluster.bits(self.values.rate)
        rows = self.of(TRIP)
        rows = rows[~rows["testbed"].str.contains("uplink=")] if len(rows) else rows
        if rows.empty:
            return rows
        packets = rows["message_size_B"].map(links.ethernet(1500, frame=links.SHAPED_FRAME).framed)
        return pd.DataFrame(
            {
                "message size (B)": rows["message_size_B"],
                "payload on the link (µs)": rows["message_size_B"] * 8e6 / rate,
                "packets on the link (µs)": packets * 8e6 / rate,
                "reference (µs)": rows["fingerprint"].map(self._references()),
                "median (µs)": rows["latency_us_p50"],
                "low (µs)": rows["latency_us_low"],
                "high (µs)": rows["latency_us_high"],
                "launches": rows["launches"],
            }
        )

    def _references(self) -> dict[str, float]:
        """What each point is judged by, µs: fingerprint → time; none for points without one."""
        points = {FINGERPRINT.of(one.meta): one for one in self.samples if one.spec.benchmark == TRIP}
        known = {name: bounds.of_latency(one, costs=self.costs) for name, one in points.items()}
        return {name: every[0].reference * 1e6 for name, every in known.items() if every}

    # ---- figures

    def topology_figure(self) -> Figure | Omitted:
        """The tree with what its links carried while all sent to all, at the greatest taper."""
        chosen = [s for s in self.samples if s.spec.benchmark == ALL and EVIDENCE.of(s.meta)]
        if not chosen:
            return Figure(figures.topology(testbeds.outline(self.place(rate=self.values.rate)).facts))
        steepest = max(
            chosen, key=lambda s: (float(testbeds.outline(s.spec.testbed).facts.get("taper", 1.0)), -s.launch)
        )
        return Figure(figures.topology(testbeds.outline(steepest.spec.testbed).facts, EVIDENCE.of(steepest.meta)))

    def rates_figure(self) -> Figure | Omitted:
        """What one stream brings against the rate of the narrowest link in its way."""
        rows = self.claims[self.claims["benchmark"] == STREAM] if len(self.claims) else self.claims
        if len(rows):
            tree = rows["testbed"].str.contains("uplink=")
            rows = rows.assign(narrow=tree.map({True: "to the spine", False: "of a host"}))
            rows = rows[~tree | (rows["narrowest"] < rows["rate"])]
        how = {"label": "rate of the narrowest link (Mbit/s)", "even": True, "series": ["narrow"]}
        return self.drawn(figures.versus, rows, "narrowest", shown={"mean": "bandwidth_MBps_mean"}, **how)

    def taper_figure(self) -> Figure | Omitted:
        """Time that all to all takes against the taper."""
        rows = self.claims[self.claims["benchmark"] == ALL] if len(self.claims) else self.claims
        return self.drawn(figures.versus, rows, "taper", shown="latency_us", log=False, label="taper of the tree (x:1)")

    # ---- sentences

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._claims(), *self._trips()])

    def _claims(self) -> Iterator[str]:
        """Whether links carry what they claim, and no more."""
        if self.claims.empty or self.claims["part"].isna().all():
            return
        for name, what in {STREAM: "One TCP stream brings", ALL: "All to all brings over the busiest link"}.items():
            rows = self.claims[self.claims["benchmark"] == name]
            parts = [min(part, 100.0) for part in rows["part"] if part <= 100 * _OVER]
            if parts:
                least, most = number(min(parts)), number(max(parts))
                share = f"{least} to {most} %" if least != most else f"{most} %"
                yield f"{what} {share} of what the link carries as payload."
        over, points = self.claims[self.claims["part"] > 100 * _OVER], plural(len(self.claims), "point")
        few = self.claims[self.claims["part"] < 80]
        if over.empty:
            yield "No stream was faster than its link."
        else:
            yield f"{len(over)} of {points} exceed the rate of the link by more than 5 %. Do not trust them."
        if len(few):
            reach = "reaches" if len(few) == 1 else "reach"
            yield (
                f"{len(few)} of {points} {reach} less than 80 % of the link: the processors of this machine may be "
                "why. Set lower rates to find out."
            )

    def _trips(self) -> Iterator[str]:
        """One-way times beside the packets' time at the link's rate, with the reasons for differences."""
        every = self.trip_table().to_dict("records")
        for row in every[:1] + every[1:][-1:]:
            size, median, packets = row["message size (B)"], row["median (µs)"], row["packets on the link (µs)"]
            yield (
                f"{size_words(size)} take {number(median)} µs one way. At the link's rate their packets, headers "
                f"included, take {number(packets)} µs. {_SHORTER if median < packets else _LONGER}"
            )
        beyond = [row for row in every if not effects.is_part(row["payload on the link (µs)"], row["median (µs)"])]
        if beyond:
            sizes = ", ".join(size_words(row["message size (B)"]) for row in beyond)
            yield (
                f"Do not trust the times of {sizes}: they are shorter than those of the payload at the "
                "link's rate. A token bucket lets a few packets pass at once before it limits the rate, which a "
                "stream soon uses up."
            )


def _busiest(facts: Mapping[str, Any], size: float) -> tuple[float, float]:
    """Bytes that all to all moves over the busiest link, and the rate of that link, MB/s."""
    hosts, per_leaf = int(facts["nodes"]), int(facts["per_leaf"])
    links = [((hosts - 1) * size, float(facts["rate_bps"]) / 8e6)]
    if "uplink_bps" in facts:
        links.append((per_leaf * (hosts - per_leaf) * size, float(facts["uplink_bps"]) / 8e6))
    return max(links, key=lambda link: link[0] / link[1])
