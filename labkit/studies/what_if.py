"""What would a cheaper part of a message save, of a published message and of one that was measured here?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from labkit import figures, studies
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects, layers
from labkit.models import breaking_band, what_if
from labkit.models.breakdown import Breakdown, stated
from labkit.point.spec import Spec, sweep
from labkit.read import reference
from labkit.studies import number

if TYPE_CHECKING:
    from labkit.figures.sliders import Sliders

# what can be made cheaper in the paper's message: name in the parameters → text, parts
COMPONENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "pio_copy": ("copy to the adapter (PIO)", ("pio_copy",)),
    "io": ("I/O, as by an integrated NIC", breaking_band.IO),
    "pcie": ("PCI Express", ("pcie",)),
    "rc_to_mem": ("write to memory (RC-to-MEM)", ("rc_to_mem",)),
    "switch": ("switch", ("switch",)),
    "wire": ("wire", ("wire",)),
    "hlp": ("MPI and UCP (HLP)", breaking_band.HLP),
    "llp": ("UCT (LLP)", breaking_band.LLP),
}
OWN: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "memory": (layers.MEMORY, (layers.MEMORY,)),
    "kernel": (layers.KERNEL, (layers.KERNEL,)),
    "ip": (layers.IP, (layers.IP,)),
    "order": (layers.ORDER, (layers.ORDER,)),
}
# a claim of section 7 counts UCT's share of completing a send as UCT's
_OF_CLAIMS = {"llp_post": (*breaking_band.LLP_POST, "llp_tx_prog"), "post_prog": ("hlp_tx_prog",)}
UNKNOWN = Text("What cheaper parts would save is not known, because a path below took longer than the whole.")
_CHANGE = re.compile(r"\s*(?P<name>\w+)\s*:\s*(?:(?P<to>\d+(?:\.\d+)?)\s*ns|-\s*(?P<less>\d+(?:\.\d+)?)\s*%)\s*")


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on what-ifs.

    Parameters
    ----------
    changes : changes of the published message, by commas: ``NAME: 15 ns`` brings a part to a time, ``NAME: -50 %``
        makes it cheaper. Names: pio_copy, io, pcie, rc_to_mem, switch, wire, hlp, llp.
    own : changes of the measured message, in the same form. Names: memory, kernel, ip, order.
    size : size of the measured message, B.
    """

    changes: str = "pio_copy: 15 ns, io: -50 %, switch: 30 ns, hlp: -20 %, llp: -20 %"
    own: str = "kernel: -50 %, ip: -50 %, order: -50 %"
    size: int = 64


class Study(studies.Study):
    """Section 7 of Zambre et al., and the same for one way of a message over TCP on this machine."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = ("mpi.latency", "sockets.unix_rr", "sockets.udp_rr", "sockets.tcp_rr")
    values: Parameters

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._changes = _read(self.values.changes, "changes", COMPONENTS, breaking_band.breakdown("latency"))
        self._own_changes = _read(self.values.own, "own", OWN)

    def specs(self) -> list[Spec]:
        """Four nested paths."""
        size = str(self.values.size)
        return [
            *sweep("mpi.latency", sizes=size, transport="shm"),
            *sweep("sockets.unix_rr", sizes=size),
            *sweep("sockets.udp_rr", sizes=size, tool="sockperf"),
            *sweep("sockets.tcp_rr", sizes=size, tool="sockperf"),
        ]

    @property
    def published(self) -> tuple[Breakdown, Breakdown]:
        """Injection and latency of the paper."""
        return breaking_band.breakdown("injection"), breaking_band.breakdown("latency")

    @property
    def own(self) -> Breakdown | None:
        """The measured message by difference; None if nothing of it was measured."""
        title = f"{self.values.size} B over TCP, one way"
        return layers.nested(self.records, title, layers.sockets(self.values.size))[0] if self.samples else None

    @property
    def missing(self) -> list[str]:
        """Paths of the measured message that have no samples."""
        paths = layers.sockets(self.values.size)
        return layers.nested(self.records, "", paths)[1] if self.samples else [path.path for path in paths]

    # ---- Figure 17

    def figure_17(self) -> Figure:
        """The four panels of Figure 17, computed from Table 1."""
        wholes = dict(zip(("injection", "latency"), self.published, strict=True))
        panels = {
            f"{title} ({_ns(wholes[total])})": what_if.curves(wholes[total], lines)
            for title, (total, lines) in breaking_band.FIGURE_17.items()
        }
        paper = reference.load(breaking_band.PAPER)
        return Figure(
            figures.saving(panels, f"Computed from Table 1 of {paper.short}, as its Figure 17: 10 to 90 % cheaper.")
        )

    def claims(self) -> pd.DataFrame:
        """What section 7 states, beside what follows from Table 1."""
        paper = reference.load(breaking_band.PAPER)
        wholes = dict(zip(("injection", "latency"), self.published, strict=True))
        rows = []
        for claim in paper.claims:
            whole, parts = wholes[claim.total], _parts(paper, claim)
            cheaper = what_if.to("", whole, parts[0], claim.to).cheaper if claim.to else claim.cheaper
            rows.append(
                {
                    "cheaper": claim.text,
                    "by (%)": number(cheaper),
                    "whole": claim.total,
                    "the paper (% saved)": claim.number.stated.removesuffix(" %"),
                    "computed (% saved)": _computed(whole, parts, cheaper, claim.drawn),
                    "where": claim.where,
                }
            )
        return pd.DataFrame(rows)

    # ---- chosen changes

    def published_changes(self) -> pd.DataFrame:
        """What the chosen changes of the published message save, each alone, and all at once."""
        return _table(self.published, self._changes)

    def own_changes(self) -> pd.DataFrame:
        """What the chosen changes of the measured message save; no row if nothing of it was measured."""
        own = self.own
        return _table([own] if own else [], self._own_changes)

    def own_figure(self) -> Figure | Text | Omitted:
        """How much of the measured message cheaper parts would save, with intervals over launches."""
        own = self.own
        if own is None:
            return NOTHING
        known = {part.name for part in own.parts if part.time.value >= 0} if effects.bounded(own) else set()
        groups = {text: parts for text, parts in OWN.values() if set(parts) <= known}
        if not groups:
            return UNKNOWN
        basis = own.whole.basis
        note = f"Modelled from measured paths; bars: {basis}." if basis else "Modelled from measured paths of 1 launch."
        return Figure(figures.saving({own.title: what_if.curves(own, groups)}, note))

    def sliders(self) -> Sliders:
        """Sliders for the published message."""
        from labkit.figures.sliders import Sliders  # ipywidgets, 0.1 s; optional

        return Sliders(self.published, dict(COMPONENTS.values()))

    def own_sliders(self) -> Sliders | Text | Omitted:
        """Sliders for the measured message."""
        from labkit.figures.sliders import Sliders  # ipywidgets, 0.1 s; optional

        own = self.own
        if own and not effects.adds_up(own):
            return UNKNOWN
        return Sliders([own], dict(OWN.values())) if own else NOTHING

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        injection, latency = self.published
        adapter = what_if.to("", injection, "pio_copy", 15)
        network = what_if.to("", latency, "switch", 30)
        sentences = [
            f"Published message: a copy to the adapter of 15 ns saves {_saved(injection, adapter)} of the injection "
            f"and {_saved(latency, adapter)} of the latency; the paper states more than 25 % and more than 5 %.",
            f"I/O at half its time saves {number(what_if.saving(latency, breaking_band.IO, 50))} % of the latency; the "
            "paper states more than 15 %.",
            f"A switch of 30 ns saves {_saved(latency, network)} of the latency. The paper states 5.45 %, which is "
            f"what 70 % cheaper gives ({number(what_if.saving(latency, ['switch'], 70))} %); 30 ns are "
            f"{number(network.cheaper)} % cheaper.",
        ]
        if own := self.own:
            name = max(own.names, key=lambda one: own.sum([one]).value)
            whole = f"Measured message, {own.title}: {stated(own.whole, own.unit)}."
            if effects.adds_up(own) and effects.of_time(own.sum([name])).sign > 0:
                share = own.share([name])
                sentences.append(
                    f"{whole} Its largest part is *{name}*, {stated(share, '%')}; without it the message would be "
                    f"{number(what_if.faster(share.value))} times as fast."
                )
            else:
                sentences.append(
                    f"{whole} Which part is the largest is not known: the launches of the paths do not show it. "
                    "Measure more launches on an idle machine."
                )
            sentences += [
                f"What a cheaper part *{one}* would save is not known: its launches do not show it above 0."
                for one in own.doubtful
            ]
        if missing := self.missing:
            sentences.append(f"Not measured: {', '.join(missing)}.")
        return listed(sentences)


def _after(whole: Breakdown, changes: list[what_if.Change]) -> dict[str, str]:
    """Return the remaining and the saved time after changes.

    Unknown if a changed part cannot be a part of the whole.
    """
    cheaper = {name for change in changes for name in change.parts}
    parts = [part.time.value for part in whole.parts if part.name in cheaper]
    if not effects.bounded(whole) or any(value < 0 for value in parts):
        return dict.fromkeys(("after", "saved", "times as fast"), "not known")
    left, saved = what_if.after(whole, *changes), what_if.saved(whole, *changes)
    times = f"{what_if.faster(saved.value):.2f}"
    return {"after": stated(left, whole.unit), "saved": stated(saved, "%"), "times as fast": times}


def _computed(whole: Breakdown, parts: list[str], cheaper: float, drawn: float) -> str:
    """What follows from Table 1, also at the point of the figure that the paper read its number at."""
    text = f"{what_if.saving(whole, parts, cheaper):.2f}"
    return f"{text}; {what_if.saving(whole, parts, drawn):.2f} by {drawn:g} %" if drawn else text


def _parts(paper: reference.Paper, claim: reference.Claim) -> list[str]:
    """Smallest parts that a claim makes cheaper."""
    names = [_OF_CLAIMS.get(part, (part,)) for part in claim.parts]
    return [part for group in names for one in group for part in _leaves(paper, one)]


def _leaves(paper: reference.Paper, name: str) -> list[str]:
    return [leaf.name for leaf in paper.leaves([name])] if name in paper.numbers else [name]


def _ns(whole: Breakdown) -> str:
    return f"{whole.whole.value:,.2f} {whole.unit}"


def _saved(whole: Breakdown, change: what_if.Change) -> str:
    return f"{number(what_if.saved(whole, change).value)} %"


def _read(
    text: str, parameter: str, known: Mapping[str, tuple[str, tuple[str, ...]]], whole: Breakdown | None = None
) -> list[what_if.Change]:
    """Return the changes that a parameter names.

    Raises
    ------
    SpecError
        If it cannot be read.
    """
    changes = []
    for entry in filter(str.strip, text.split(",")):
        match = _CHANGE.fullmatch(entry)
        if not match or match["name"] not in known:
            names = ", ".join(known)
            forms = "NAME: 15 ns or NAME: -50 %" if whole else "NAME: -50 %"
            raise SpecError(f"{parameter}={entry.strip()!r}, but each change must read {forms}. Names: {names}.")
        label, parts = known[match["name"]]
        if match["less"]:
            words = f"{label}, {match['less']} % cheaper"
            changes.append(what_if.Change(text=words, parts=parts, cheaper=float(match["less"])))
        elif whole is None or len(parts) > 1:
            raise SpecError(
                f"{parameter}={entry.strip()!r}, but only one published part has a time. Write NAME: -50 %."
            )
        else:
            changes.append(what_if.to(f"{label}, to {match['to']} ns", whole, parts[0], float(match["to"])))
    return changes


def _table(wholes: Any, changes: list[what_if.Change]) -> pd.DataFrame:
    """Return what each change, and then all, save of each whole."""
    rows = []
    for whole in wholes:
        for words, chosen in [*((one.text, [one]) for one in changes), ("all of these", changes)]:
            rows.append(
                {
                    "cheaper": words,
                    "whole": whole.title,
                    "before": f"{number(whole.whole.value)} {whole.unit}",
                    **_after(whole, chosen),
                }
            )
    return pd.DataFrame(rows)
