"""Threats to validity: each follows from a condition of the data, and names the consequence for conclusions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labkit import stats
from labkit.point.notes import joined, listed
from labkit.point.units import format_share, plural
from labkit.report import abstract, caveats, markdown
from labkit.report.campaigns import Member, all_members
from labkit.report.content import Content
from labkit.report.markdown import escape


@dataclass(frozen=True)
class Threat:
    """A threat to a conclusion.

    Parameters
    ----------
    kind : kind of validity: construct, internal, external or conclusion.
    evidence : function that returns the evidence in a campaign; empty without the threat.
    consequence : what a reader must not conclude.
    """

    kind: str
    evidence: Callable[[Member], str]
    consequence: str


def _marked(name: str) -> Callable[[Member], str]:
    """Return the evidence of a condition that launches are marked with."""

    def evidence(member: Member) -> str:
        rows = member.records.to_dict("records") if len(member.records) else []
        count = sum(name in caveats.groups_of(row) for row in rows)
        return f"{name}: {format_share(count / len(rows))} of launches" if count else ""

    return evidence


def _single(member: Member) -> str:
    count = int((member.summary["launches"] == 1).sum()) if len(member.summary) else 0
    return f"{plural(count, 'point')} of {len(member.summary)} with one launch" if count else ""


def _few(member: Member) -> str:
    launches = member.summary["launches"] if len(member.summary) else []
    count = sum(1 < one < stats.LAUNCHES for one in launches)
    return f"{plural(count, 'point')} of {len(member.summary)} with 2 to {stats.LAUNCHES - 1} launches" if count else ""


def _one_moment(member: Member) -> str:
    count = abstract.one_moment(member)
    return f"{plural(count, 'point')} of {len(member.summary)} whose launches show one moment" if count else ""


def _odd(member: Member) -> str:
    count = int(member.summary["fingerprint"].isin(member.doubted).sum()) if len(member.summary) else 0
    points = f"{plural(count, 'point')} of {len(member.summary)}"
    return f"{points} with a value that contradicts what is expected, or may do so" if count else ""


def _one_host(member: Member) -> str:
    hosts = {str(one) for one in member.records["host"]} - {""} if len(member.records) else set()
    return f"one host, {next(iter(hosts))}" if len(hosts) == 1 else ""


def _one_day(member: Member) -> str:
    days = {str(one)[:10] for one in member.records["start"]} - {""} if len(member.records) else set()
    return f"one day, {next(iter(days))}" if len(days) == 1 else ""


def _one_library(member: Member) -> str:
    mpi = member.records["benchmark"].str.startswith("mpi.") if len(member.records) else []
    libraries = {str(one) for one in member.records[mpi]["library"]} - {"", "none"} if len(member.records) else set()
    return f"one MPI library, {next(iter(libraries))}" if len(libraries) == 1 else ""


def _two_ranks(member: Member) -> str:
    ranks = int(member.summary["ranks"].max()) if len(member.summary) else 0
    return f"at most {ranks} ranks" if ranks else ""


THREATS = (
    Threat("construct", _marked("within one host"), "The numbers describe memory, not a network."),
    Threat("construct", _marked("path unknown"), "The numbers may describe memory or the protocol stack instead."),
    Threat("construct", _marked("loopback"), "The numbers describe the protocol stack, not a network."),
    Threat(
        "construct",
        _marked("emulated device"),
        "Times and rates describe an emulation.",
    ),
    Threat("construct", _marked("stand-in for a GPU"), "The numbers describe host memory, not a GPU."),
    Threat("construct", _marked("emulated link"), "Delay and rate were set, so they are no result."),
    Threat("construct", _marked("page cache"), "The numbers describe memory, not a device."),
    Threat("construct", _marked("another tool"), "Tools may measure differently."),
    Threat("internal", _marked("busy machine"), "Other work may have caused a difference, and most of a tail."),
    Threat(
        "internal", _marked("more ranks than cores"), "Times include waiting for a core, so the network may be faster."
    ),
    Threat("internal", _marked("no core left"), "The system's own work interrupts ranks: tails are upper bounds."),
    Threat("internal", _marked("virtual machine"), "The hypervisor may have caused a difference."),
    Threat("internal", _marked("processor frequency"), "A change of the frequency may have caused a difference."),
    Threat("conclusion", _single, "Differences between single launches may be chance."),
    Threat("conclusion", _few, "A range has no level of confidence, so overlap proves nothing."),
    Threat("conclusion", _one_moment, "The interval describes one moment of the machine and is too narrow for others."),
    Threat("conclusion", _odd, "Some of these values may be wrong; no main result is taken from these points."),
    Threat("conclusion", _marked("time cap"), "Intervals inside launches are wider than requested."),
    Threat("conclusion", _marked("few iterations"), "High percentiles are unreliable."),
    Threat("external", _one_host, "Other machines, and pairs of machines, may behave differently."),
    Threat("external", _one_day, "The numbers may differ under other loads of the machine."),
    Threat("external", _one_library, "Other libraries may choose other protocols."),
    Threat("external", _two_ranks, "The results may not hold for more ranks."),
)


def threats(content: Content) -> str:
    """Return a table of the threats that the data show, each once with its evidence in every campaign."""
    members = all_members(content)
    rows = [row for one in THREATS if (row := _row(one, members))]
    caption = "Threats to validity, from conditions that labkit recorded. {#tbl-threats}"
    head = ["validity", "what the data show", "what not to conclude"]
    return markdown.table(head, rows, caption=caption) if rows else ""


def _row(threat: Threat, members: Sequence[Member]) -> list[str]:
    """Return the row of a threat; nothing if no campaign has it."""
    names: dict[str, list[str]] = {}
    for member in members:
        if evidence := threat.evidence(member):
            names.setdefault(escape(evidence), []).append(escape(member.name))
    if not names:
        return []
    shared = any(len(of) == len(members) for of in names.values())
    shown = [*names] if shared else [f"{evidence} ({listed(of)})" for evidence, of in names.items()]
    return [threat.kind, joined(shown), escape(threat.consequence)]


BLOCKS = {"threats": threats}
