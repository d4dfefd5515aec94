"""Incast: total bandwidth, share of each stream, retransmissions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from labkit import benchmarks, figures, studies, testbeds
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import congestion, effects
from labkit.models import bounds
from labkit.models.inside import LINK
from labkit.options.congestion import Incast
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_share, parse_sizes, plural
from labkit.read import records
from labkit.stats.decision import beyond_limit, decide
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT
from labkit.studies import amount, counts, number, size_words, statement
from labkit.studies._derived import of_samples
from labkit.testbeds import virtual_cluster

INCAST = "congestion.incast"
_POINT = ["testbed", "transport", "option_senders", "option_streams", "option_classes", "message_size_B"]
_STREAMS = ["testbed", "option_senders", "option_streams"]  # of points whose calls differ in their size alone
# shares of what a link carries as payload, the denominator of the verdicts too
_FULL = 1 / LINK[0]  # from which it counts as full
_SCARCE = 0.8  # from which RDMA streams compete for it
_OVER = 1.05  # from which a sum must be wrong


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook about incast.

    Parameters
    ----------
    launches : times that every point is measured.
    senders : hosts that send to one, a list.
    sizes : size of a call, MIN:MAX or a list; each with every number of senders and one stream.
    streams : streams of each sender, a list; each with every number of senders and the largest size.
    duration : s that they send for.
    congestion : TCP's congestion control; empty leaves it to the system.
    testbed : where TCP runs; it needs a host more than there are senders, or a single machine.
    verbs_testbed : where streams go over RDMA: ``soft-roce``, perhaps with a rate; empty leaves them out.
    verbs_streams : over RDMA, a list.
    verbs_size : message size over verbs, B.
    ets : shares of two classes of RDMA traffic, such as ``3:1``, on a link with a rate; empty leaves them out.
    """

    launches: int = 2
    senders: str = "1,2,3"
    sizes: str = "8,1Ki,10Ki,100Ki,1Mi"
    streams: str = "1,4"
    duration: int = 2
    congestion: str = ""
    testbed: str = "virtual-cluster:4"
    verbs_testbed: str = ""
    verbs_streams: str = "1,2"
    verbs_size: int = 10240
    ets: str = "3:1"


class Study(studies.Study):
    """Senders and streams into one host over TCP, and over RDMA with and without classes of traffic."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (INCAST,)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Senders against sizes and streams over TCP; streams over verbs, and two classes of them."""
        v, sizes = self.values, parse_sizes(self.values.sizes)
        where = {"transport": "tcp", "testbed": v.testbed, "duration": v.duration, "congestion": v.congestion}
        senders = counts(v.senders, "senders")
        specs = sweep(INCAST, sizes=sizes, senders=senders, streams=1, **where)
        specs += sweep(INCAST, sizes=[max(sizes)], senders=senders, streams=counts(v.streams, "streams"), **where)
        if v.verbs_testbed:
            how: dict[str, Any] = {"sizes": [v.verbs_size], "transport": "verbs", "testbed": v.verbs_testbed}
            how["duration"] = max(v.duration, 2)
            specs += sweep(INCAST, senders=counts(v.verbs_streams, "verbs_streams"), **how)
            name, argument, given = testbeds.parse(v.verbs_testbed)
            if v.ets and "rate" in given:
                shared = testbeds.text_of(name, argument, {**given, "ets": v.ets})
                specs += sweep(INCAST, senders=2, classes="104:40", **how)
                specs += sweep(INCAST, senders=2, classes="104:40", **(how | {"testbed": shared}))
        return list(dict.fromkeys(specs))

    @of_samples
    def streams(self) -> pd.DataFrame:
        """Bandwidth of every stream, its number as ``rank``: benchmark, launch, fingerprint, value, labels."""
        reported = records.reported(self.samples)
        if reported.empty:
            return reported
        return reported[(reported["name"] == "bandwidth_MBps") & reported["rank"].notna()]

    @of_samples
    def fairness(self) -> pd.DataFrame:
        """Jain's index, least and greatest stream (MB/s) and segments sent again, by point and launch."""
        if not len(self.streams):
            return pd.DataFrame(columns=["fingerprint", "launch", "jain", "least", "greatest", "again"])
        point, reported = ["fingerprint", "launch"], records.reported(self.samples)
        groups = self.streams.groupby(point)["value"]
        rows = groups.agg(jain=congestion.jain_fairness, least="min", greatest="max").reset_index()
        again = reported[(reported["name"] == "retransmits") & reported["rank"].isna() & reported["sender"].isna()]
        return rows.merge(again[[*point, "value"]].rename(columns={"value": "again"}), on=point, how="left")

    def rows(self, **where: Any) -> pd.DataFrame:
        """Points with these values as columns, and the fairness of their streams."""
        rows = self.summary
        if not len(rows):
            return rows
        launches = self.records.merge(self.fairness, on=["fingerprint", "launch"], how="left")
        launches = launches.assign(option_classes=launches["option_classes"].fillna(""))
        named = {name: (name, "median") for name in ("jain", "least", "greatest", "again")}
        fairness = launches.groupby(_POINT, as_index=False).agg(**named)
        rows = rows.assign(option_classes=rows["option_classes"].fillna("")).merge(fairness, on=_POINT)
        for column, value in where.items():
            rows = rows[rows[column] == value]
        return rows.sort_values(_POINT)

    @property
    def link_rate(self) -> float:
        """What the receiver's link carries as payload, MB/s; 0 if its rate is not known."""
        return next((rate for one in self.samples if one.spec.transport != "verbs" and (rate := _payload(one))), 0.0)

    # ---- figures and tables

    def size_figure(self) -> Figure | Omitted:
        """Total bandwidth that arrives against the size of a call, a line for each number of senders."""
        rows = self.rows(transport="tcp", option_streams=1) if len(self.summary) else self.summary
        return self.drawn(figures.versus_size, rows, "bandwidth_MBps", series=["option_senders"], tail=None)

    def streams_figure(self) -> Figure | Omitted:
        """Bandwidth of every stream at the point with most streams, a colour for each launch."""
        rows = self.rows(transport="tcp") if len(self.summary) else self.summary
        if rows.empty:
            return NOTHING
        most = rows.loc[(rows["option_senders"] * rows["option_streams"]).idxmax()]
        chosen = [
            s
            for s in self.samples
            if s.spec.transport == "tcp"
            and s.spec.size == most["message_size_B"]
            and (s.spec.values["senders"], s.spec.values["streams"]) == (most["option_senders"], most["option_streams"])
        ]
        return Figure(figures.streams(chosen, "bandwidth_MBps"))

    def classes_figure(self) -> Figure | Omitted:
        """Bandwidth of the streams of two classes of RDMA traffic, in one queue and with shares."""
        chosen = [s for s in self.samples if benchmarks.resolve(s.spec).of(Incast).options.classes]
        return Figure(figures.streams(chosen, "bandwidth_MBps")) if chosen else NOTHING

    def table(self, transport: str = "tcp") -> pd.DataFrame:
        """All points over one transport: sum, streams, fairness, retransmissions."""
        rows = self.rows(transport=transport) if len(self.summary) else self.summary
        heads = {
            "option_senders": "senders",
            "option_streams": "streams each",
            "message_size_B": "size (B)",
            "bandwidth_MBps_mean": "sum (MB/s)",
            "least": "least stream (MB/s)",
            "greatest": "greatest (MB/s)",
            "jain": "Jain's index",
            "again": "sent again (segments)",
            "launches": "launches",
        }
        if len(rows) and transport == "verbs":
            heads = {"testbed": "testbed", "option_classes": "classes"} | heads
            heads.pop("again")
        return rows[[name for name in heads if name in rows]].rename(columns=heads)

    # ---- sentences

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        if not len(self.summary):
            return NOTHING
        return listed([*self._sum(), *self._again(), *self._fair(), *self._verbs()])

    def _sum(self) -> Iterator[str]:
        """Whether the receiver's link stays full."""
        rows = self.rows(transport="tcp")
        largest = rows[rows["message_size_B"] == rows["message_size_B"].max()]
        for row in largest[largest["option_streams"] == 1].to_dict("records"):
            text = f"{row['option_senders']:.0f} to 1 with calls of {size_words(row['message_size_B'])}: "
            yield f"{text}{statement(row, 'bandwidth_MBps')} arrive{self._full(row)}."
        if len(rows):
            few = rows[rows["message_size_B"] == rows["message_size_B"].min()].iloc[-1]
            larger = largest[largest["message_size_B"] > few["message_size_B"]]
            alike = larger[larger[_STREAMS].eq(few[_STREAMS]).all(axis=1)]
            yield from (self._limit(few.to_dict(), many) for many in alike.to_dict("records"))
        over = rows[rows["bandwidth_MBps_mean"] > _OVER * self.link_rate] if self.link_rate else rows.iloc[:0]
        if len(over):
            yield (
                f"{len(over)} of {len(rows)} sums are above what the link carries: each client divides by the time it "
                "was sending itself, and these did not send at the same time. Set a longer duration."
            )

    def _full(self, row: Mapping[str, Any]) -> str:
        """What share of the receiver's link arrives, and whether the link is full; empty if neither is known."""
        arrived, full = effects.of_row(row, "bandwidth_MBps"), _FULL * self.link_rate
        if not arrived.value <= _OVER * self.link_rate:
            return ""
        share = format_share(min(1.0, arrived.value / self.link_rate))
        [side] = beyond_limit([arrived.launches], [full])
        known = {"above": ", which is full", "below": ", which is not full"}.get(side, "")
        return f", {share} of what the receiver's link carries as payload{known}"

    def _limit(self, few: Mapping[str, Any], many: Mapping[str, Any]) -> str:
        """What the smallest calls bring, beside the largest of the same streams."""
        effect = effects.between(few, many, "bandwidth_MBps")
        senders, sizes = f"{few['option_senders']:.0f}", [size_words(row["message_size_B"]) for row in (few, many)]
        return effect.said(
            f"With calls of {sizes[0]}, {senders} to 1 brings {statement(few, 'bandwidth_MBps')}, "
            f"{effect.times} what calls of {sizes[1]} bring{self._full(few)}",
            f"{senders} to 1 brings {amount(few, 'bandwidth_MBps')} with calls of {sizes[0]}, "
            f"{amount(many, 'bandwidth_MBps')} with calls of {sizes[1]}",
        )

    def _fair(self) -> Iterator[str]:
        """How the streams share."""
        rows = self.rows(transport="tcp")
        rows = rows[rows["option_senders"] * rows["option_streams"] > 1]
        if len(rows):
            worst = rows.loc[rows["jain"].idxmin()]
            yield (
                f"Jain's index of the streams is {number(rows['jain'].min())} to {number(rows['jain'].max())} (1: all "
                f"get the same); at its least, {plural(int(worst['option_senders']), 'sender')} of "
                f"{plural(int(worst['option_streams']), 'stream')} with {size_words(worst['message_size_B'])}, "
                "streams get "
                f"{number(worst['least'])} to {number(worst['greatest'])} MB/s."
            )

    def _again(self) -> Iterator[str]:
        """Where the most senders send more segments again than the fewest, with the same calls and streams."""
        rows = self.rows(transport="tcp")
        rows = rows[rows["again"].notna()] if len(rows) else rows
        pairs = []
        for _, group in rows.groupby(["testbed", "option_streams", "message_size_B"]) if len(rows) else ():
            few, most = (group.sort_values("option_senders").iloc[end].to_dict() for end in (0, -1))
            if few["option_senders"] < most["option_senders"]:
                pairs.append((few, most))
        if not pairs:
            return
        sides = [tuple(self._sent_again(row).launches for row in pair) for pair in pairs]
        decisions = decide([(few, most) for few, most in sides], [(-0.5, 0.5)] * len(pairs))
        sure = [pair for pair, one in zip(pairs, decisions, strict=True) if one.outcome == "differ" and one.shift > 0]
        few, most = max(sure or pairs, key=lambda pair: pair[1]["again"] - pair[0]["again"])
        streams = plural(int(most["option_streams"]), "stream")
        said = (
            f"{plural(int(most['option_senders']), 'sender')} of {streams} with calls of "
            f"{size_words(most['message_size_B'])} send {self._segments(most)} again, "
            f"{plural(int(few['option_senders']), 'sender')} {self._segments(few, named=False)}"
        )
        if sure:
            head = (
                f"The launches show it in {len(sure)} of {plural(len(pairs), 'comparison')}; the greatest difference: "
            )
            why = "Likely reason: the queue before the receiver's link overflows."
            yield f"{head if len(pairs) > 1 else ''}{said}. {why}"
        elif most["again"] > few["again"]:
            fewest = min(len(one) for side in sides for one in side)
            yield f"{said}. No difference is certain: the launches do not decide ({plural(fewest, 'launch')})."
        else:
            count = plural(len(pairs), "comparison")
            yield f"{count} of few senders with many: in none do many send more segments again."

    def _segments(self, row: Mapping[str, Any], *, named: bool = True) -> str:
        """How many segments a point sent again, with the range of its launches."""
        again = self._sent_again(row)
        least, most = min(again.launches, default=again.value), max(again.launches, default=again.value)
        ends = (
            f" ({number(least)} to {number(most)} in {plural(len(again.launches), 'launch')})" if least < most else ""
        )
        return f"{number(again.value)}{' segments' if named else ''}{ends}"

    def _sent_again(self, row: Mapping[str, Any]) -> effects.Measured:
        """Segments that a point sent again, over its launches."""
        return self._fairness_of(row, "again")

    def _fairness_of(self, row: Mapping[str, Any], name: str) -> effects.Measured:
        """Return a column of `fairness` of a point."""
        launches = self.fairness[self.fairness["fingerprint"] == row["fingerprint"]][name].dropna()
        return effects.Measured(float(row[name]), launches.tolist(), metric="bandwidth_MBps")

    def _verbs(self) -> Iterator[str]:
        """Bandwidth and shares of RDMA streams, with and without classes."""
        for _, row in self.rows(transport="verbs").iterrows():
            count, place = int(row["option_senders"]), testbeds.parse(row["testbed"])[2]
            launches = (one for one in self.samples if FINGERPRINT.of(one.meta) == row["fingerprint"])
            carried = _payload(next(launches)) or (virtual_cluster.bits(place["rate"]) / 8e6 if "rate" in place else 0)
            what = f"{count} RDMA stream{'s' * (count > 1)}" + (" in two classes" if row["option_classes"] else "")
            text = f"{what} on {row['testbed']}: {statement(row, 'bandwidth_MBps')}"
            effect = effects.Effect(self._fairness_of(row, "greatest"), self._fairness_of(row, "least"))
            if count > 1 and effect.more:
                text += f"; the greatest gets {effect.times} the least"
            share = row["bandwidth_MBps_mean"] / carried if carried else 1.0
            if "ets" in place and share < _SCARCE:
                text += (
                    f". The link is used to {format_share(share)} only: shares hold where it is full, so nothing can "
                    "be said of them. Set a lower rate, or free the machine"
                )
            yield f"{text}."


def _payload(point: Samples) -> float:
    """What the link that binds a point carries as payload, MB/s; 0 if unknown."""
    wire = bounds.path(point, bounds.Stated())
    return wire.rate / 8e6 * wire.efficiency.share if wire is not None and math.isfinite(wire.rate) else 0.0
