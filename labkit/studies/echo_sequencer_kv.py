"""What do whole small programs over verbs cost, and which verb suits them: an echo, a sequencer, a key-value store?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from labkit import figures
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects, evidence
from labkit.point.spec import Spec, sweep
from labkit.studies import _rdma, amount, counts, ends, size_words, statement, unresolved, words

RATE = "transaction_rate_per_s"
WAYS = ("send/RC", "send/UC", "send/UD", "write/RC", "write/UC")
_OURS = ("verbs.echo", "verbs.key_value", "verbs.sequencer")


@dataclass(frozen=True, kw_only=True)
class Parameters(_rdma.Parameters):
    """Parameters of the notebook on small programs.

    Parameters
    ----------
    sizes : sizes of the requests and answers, 16 B or more.
    ways : ways of the echo: verb and service, such as ``send/UD`` or ``write/UC``; empty leaves it out.
    stores : services that requests to the key-value store are written over; empty leaves it out.
    clients : requests in flight.
    """

    sizes: str = "16,1Ki"
    ways: str = "send/RC,send/UD,write/UC"
    stores: str = "RC,UC"
    clients: str = "1,8"


class Study(_rdma.Study):
    """Time of a request and requests per second of three programs."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = _OURS
    focus: ClassVar = (("verbs.echo", "option_connection"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """The echo in every way, the store over every service, the counter; each with one and with more clients."""
        v, specs = self.values, list[Spec]()
        clients = counts(v.clients, "clients")
        for way in words(v.ways):
            if way not in WAYS:
                raise SpecError(f"ways={way!r}, but there are {', '.join(WAYS)}. Set some of these.")
            request, _, connection = way.partition("/")
            specs += sweep(
                "verbs.echo", sizes=v.sizes, request=request, connection=connection, clients=clients, **self.where
            )
        for connection in words(v.stores):
            specs += sweep("verbs.key_value", sizes=v.sizes, connection=connection, clients=clients, **self.where)
        return specs + sweep("verbs.sequencer", sizes=8, clients=clients, **self.where)

    # ---- tables

    def programs(self) -> pd.DataFrame:
        """Rows of all three, each with its way in words."""
        parts = []
        for name in self.benchmarks:
            rows = self.of(name)
            if len(rows):
                parts.append(rows.assign(way=[_way(row) for _, row in rows.iterrows()]))
        if not parts:
            return pd.DataFrame()
        return pd.concat(parts, ignore_index=True).sort_values(["way", "message_size_B", "option_clients"])

    def _with(self, clients: int, *, sized: bool = True) -> pd.DataFrame:
        """Rows with this many requests in flight; ``sized`` leaves out the sequencer."""
        rows = self.programs()
        if rows.empty:
            return rows
        rows = rows[rows["option_clients"] == clients]
        return rows[rows["benchmark"] != "verbs.sequencer"] if sized else rows

    @property
    def _clients(self) -> list[int]:
        return sorted(counts(self.values.clients, "clients"))

    # ---- figures

    def latency_figure(self) -> Figure | Omitted:
        """Time of a request alone against its size, a line for each program and way."""
        return self.drawn(figures.versus_size, self._with(self._clients[0]), "round_trip_us", series=["way"])

    def rate_figure(self) -> Figure | Omitted:
        """Requests per second against the requests in flight, of the smallest request."""
        rows = self.programs()
        if rows.empty:
            return NOTHING
        smallest = rows.groupby("way")["message_size_B"].transform("min")
        return self.drawn(
            figures.versus,
            rows[rows["message_size_B"] == smallest],
            "option_clients",
            shown=RATE,
            series=["way"],
            label="requests in flight",
        )

    # ---- sentences

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._echo(), *self._counter(), *self._more()])

    def _echo(self) -> Iterator[str]:
        """Fastest and slowest way of the echo."""
        rows = self._with(self._clients[0])
        if rows.empty:
            return
        for size, group in rows[rows["benchmark"] == "verbs.echo"].groupby("message_size_B"):
            if extremes := ends(group, "round_trip_us"):
                best, worst = extremes
                times = statement(best, "round_trip_us"), f"{amount(worst, 'round_trip_us')}"
                among = unresolved(group, "round_trip_us", "way")
                yield effects.between(worst, best, "round_trip_us", tests=effects.pairs(len(group))).said(
                    f"Of the echoes of {size_words(size)}, {among}{best['way']} is the fastest ({times[0]}), "
                    f"{worst['way']} the slowest ({times[1]})",
                    f"Of the echoes of {size_words(size)}, {among}{best['way']} took {times[0]}, "
                    f"{worst['way']} {times[1]}",
                )

    def _counter(self) -> Iterator[str]:
        """The sequencer beside an echo."""
        rows = self._with(self._clients[0], sized=False)
        sequencer = rows[rows["benchmark"] == "verbs.sequencer"] if len(rows) else rows
        if len(sequencer):
            yield (
                f"A number from the sequencer takes {statement(sequencer.iloc[0], 'round_trip_us')}; "
                "no processor of the server takes part."
            )

    def _more(self) -> Iterator[str]:
        """Gain in rate from more requests in flight."""
        rows = self.programs()
        if len(self._clients) < 2 or rows.empty:
            return
        few, many = self._clients[0], self._clients[-1]
        gains, doubts = dict[str, effects.Effect](), dict[str, list[str]]()
        for way, group in rows.groupby("way"):
            smallest = group[group["message_size_B"] == group["message_size_B"].min()]
            by_clients = {row["option_clients"]: row for row in smallest.to_dict("records")}
            if {few, many} <= by_clients.keys():
                effect = effects.between(by_clients[many], by_clients[few], RATE)
                if effect.claimed:
                    gains[way] = effect
                else:
                    doubts.setdefault(effect.doubt, []).append(f"{way} ({effect.times})" if effect.apart else way)
        if gains:
            worst, best = (pick(gains, key=lambda way: gains[way].ratio) for pick in (min, max))
            bring = f"{gains[worst].times} ({worst})"
            bring += f" to {gains[best].times} ({best})" if best != worst else ""
            yield f"{many} requests in flight instead of {few} bring {bring} the requests per second."
        for doubt, ways in doubts.items():
            if doubt == effects.SESSIONS:
                yield (
                    f"{many} requests in flight instead of {few} bring {', '.join(ways)} the requests per second, "
                    f"{effects.LATER}."
                )
                continue
            yield (
                f"{', '.join(ways)}, {many} requests in flight instead of {few}: no difference is claimed, because "
                f"{doubt}."
            )

    def python_findings(self) -> Text:
        """How much of the times is Python's."""
        return Text(
            evidence.python_sentence(self.python_share)
            or "These programs are Python at both ends: compare them with one another, not with programs in C."
        )


def _way(row: pd.Series) -> str:
    """Program and way in words."""
    kind = row["benchmark"].partition(".")[2].replace("_", "-")
    if kind == "echo":
        return f"echo {row['option_request']}/{row['option_connection']}"
    return f"{kind} write/{row['option_connection']} send/UD" if kind == "key-value" else kind
