"""Write the report's first page: what was measured, how good and how certain it is, and the result of each chapter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from labkit import benchmarks, stats
from labkit.benchmarks import FileBenchmark
from labkit.judge.answer import FAMILIES
from labkit.judge.finding import Finding
from labkit.point.notes import has, joined, listed
from labkit.point.units import format_fact, format_number, format_share, plural
from labkit.read.records import by_benchmark
from labkit.read.records.aggregate import AT_ONCE, RESEMBLING
from labkit.report import answered, caveats, judged, markdown, topics
from labkit.report.campaigns import Member, all_members, members
from labkit.report.choosing import intervals
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.notebook import Chapter
from labkit.store.samples.facts import BROUGHT, TESTBED, badges

_NAMED = 3  # campaigns that the abstract describes; of more, the chapters speak
_CAVEATS = 3
_TITLES = 2  # of chapters in a line of their results, at most
_BUSY, _VIRTUAL = "busy machine", "virtual machine"
_ALL = markdown.needing("sec-caveats", "; @sec-caveats has all")
_ROW = ["benchmark", "origin", "badges", "warnings"]
_WITHIN = ("within one host", "loopback", "path unknown", "emulated device")  # groups of launches on one host
_EMULATED = "emulated link"
_MOSTLY = 0.5  # of the launches on a busy machine, from which the abstract warns of it first
_DOUBTS = {  # group of `caveats.GROUPS` → what it means for the numbers
    "stand-in for a GPU": "**a stand-in for a GPU in host memory, which says nothing about a GPU**",
    "emulated device": "soft-RoCE in an emulated guest, which shows function and not performance",
    "path mismatch": "another path than the requested one",
    "path unknown": "an unknown path of the messages",
    "loopback": "the loopback interface instead of a network",
    "within one host": "one host, without a network",
    _EMULATED: "an emulated link",
    "more ranks than cores": "more ranks than cores",
    "no core left": "no core left for the system",
    _BUSY: "a busy machine",
    _VIRTUAL: "a virtual machine",
    "time cap": "a time limit that ended measuring before its interval was narrow",
    "another tool": "another tool in place of the preferred one",
    "page cache": "the page cache instead of the device",
    "below resolution": "times too short for the clock",
}


def abstract(content: Content) -> str:
    """Return the abstract: sentences from the records, short enough for a figure below them.

    Several campaigns share one sentence on machine, question, certainty and caveats.
    """
    every = all_members(content)
    if len(every) > 1:
        return _of_several(every, content)
    member = every[0]
    if not len(member.summary):
        return f"{machine(member)} The campaign holds no samples, so nothing was found."
    near = [make(content, member.source) for make in (answered.overall, answered.bad) if member.source]
    parts = [machine(member), no_network(every), asked(member), *near, sure(every), doubts(every)]
    return _whole(parts)


def _of_several(members: Sequence[Member], content: Content) -> str:
    """Machines and question once, then how good each campaign is, then certainty and caveats once."""
    named, measured = members[:_NAMED], [member for member in members if len(member.summary)]
    places: dict[str, list[str]] = {}
    for member in members:
        places.setdefault(place(member), []).append(f"**{escape(member.name)}** ({extent(member)})")
    where = joined(f"{place}: {listed(names[:_NAMED])}" for place, names in [*places.items()][:_NAMED])
    more = f" and {plural(len(members) - _NAMED, 'more campaign')}" if len(members) > _NAMED else ""
    parts = [f"labkit measured {where}{more}.", no_network(measured)]
    if measured:
        parts.append(f"The question was {question(measured)}.")
    for member in named:
        if member.source and (said := answered.overall(content, member.source)):
            parts.append(f"**{escape(member.name)}:** {said}")
    if measured:
        parts += [sure(measured), doubts(measured)]
    return _whole(parts)


def _whole(parts: Sequence[str]) -> str:
    """Return sentences as one text, whose shares keep their sign on their line."""
    return " ".join(filter(None, parts)).replace(" %", "\u00a0%")


def found_in(member: Member, content: Content) -> list[Finding]:
    """Return the finding of each chapter on a campaign."""
    return [one for chapter in content.chapters.values() if (one := topics.finding(chapter, member))]


def machine(member: Member) -> str:
    """Return a sentence on the measured machine, or on the origin of the numbers."""
    day = f" on {member.date}" if member.date else ""
    if len(member.records) and set(member.records["origin"]) <= {*BROUGHT}:
        return f"labkit imported the numbers of this campaign{day}; it did not measure them."
    return f"labkit measured {_emulated(member)}{place(member)}{day}."


def _emulated(member: Member) -> str:
    """Say how many hosts were emulated, and the rates of their links, before the machine's name; empty for none."""
    facts = [TESTBED.of(one.meta) for one in member.points if has(badges(one.meta), "emulated-link")]
    most = max((number for one in facts if isinstance(number := one.get("nodes"), int)), default=0)
    if most <= 1:
        return ""
    rates = Counter(rate for one in facts if isinstance(rate := one.get("rate_bps"), int | float) and rate > 0)
    (usual, _), *other = rates.most_common() or [(0, 0)]
    links = f" with links of {format_number(usual / 1e6, 'Mbit/s')}" if usual else ""
    if other:
        less = listed([format_number(rate / 1e6) for rate, _ in sorted(other)])
        links += f" ({less} Mbit/s in {plural(sum(n for _, n in other), 'launch')})"
    return f"{most} emulated hosts{links} on "


def place(member: Member) -> str:
    """Name the machine with its processor, memory and hypervisor."""
    host = member.host
    facts = [str(host.get("cpu_model") or "")]
    if cores := host.get("cpus_usable") or host.get("cpu_cores"):
        facts.append(f"{cores} processors" if cores != 1 else "1 processor")
    if memory := host.get("memory_total_B"):
        facts.append(format_fact("memory_total_B", memory))
    if virtual := host.get("virtualisation"):
        facts.append(f"virtualised by {virtual}")
    shown = ", ".join(fact for fact in facts if fact)
    name = str(host.get("hostname") or host.get("name") or "a host without a description")
    return f"{escape(name)}{f' ({escape(shown)})' if shown else ''}"


def asked(member: Member) -> str:
    """Return a sentence on the question, and on the number of measured points."""
    return f"The question was {question([member])}: {extent(member)}."


def question(members: Sequence[Member]) -> str:
    """Return the question of the campaigns."""
    named = families(members)
    several = named.endswith("s") or " and " in named
    return f"what {named} {'cost' if several else 'costs'} here, and which setting matters"


def families(members: Sequence[Member]) -> str:
    """Return the measured families, the most frequent first."""
    names = Counter(str(name).partition(".")[0] for member in members for name in member.summary["benchmark"])
    return listed([FAMILIES[name] for name, _ in names.most_common() if name in FAMILIES]) or "its benchmarks"


def extent(member: Member) -> str:
    """Return the number of measured points in words."""
    return f"{plural(len(member.summary), 'point')} in {plural(len(member.records), 'launch')}"


def no_network(members: Sequence[Member]) -> str:
    """Return a sentence if no message left its host or its machine; else empty."""
    rows = [row for member in members for row in member.records[_ROW].to_dict("records") if _networked(row)]
    groups = [{*caveats.groups_of(row)} for row in rows]
    if not rows or any(each.isdisjoint((*_WITHIN, _EMULATED)) for each in groups):
        return ""
    if any(_EMULATED in each for each in groups):
        return (
            "**No real network was measured:** the links are emulated on one machine, with configured rates and "
            "delays; the values show nothing about cables, adapters or switches."
        )
    return "**No network was measured:** every message stayed on its host."


def _networked(row: Mapping[str, Any]) -> bool:
    """Whether a launch sends messages that could cross a network."""
    known = benchmarks.look_up(str(row["benchmark"]))
    return (
        known is not None
        and not isinstance(known, FileBenchmark)
        and str(row["origin"]) not in BROUGHT
        and (known.mpi or known.ends.sockets or bool(known.ends.rdma))
    )


def sure(members: Sequence[Member]) -> str:
    """Explain the brackets after values, and count the points with a single launch."""
    launches = [int(number) for member in members for number in member.summary["launches"]]
    enough, one = sum(number >= stats.LAUNCHES for number in launches), launches.count(1)
    level = f"{100 * stats.LEVEL:.0f} %"
    if enough == len(launches):
        several = any((member.summary["sessions"] >= stats.LAUNCHES).any() for member in members)
        over = f"launches, or over {stats.LAUNCHES} sessions and more" if several else "launches"
        return f"Brackets are {level} intervals of the median over {over}."
    text = f"Brackets are {level} intervals with {stats.LAUNCHES} launches or more, else ranges."
    if not enough:
        text = f"Brackets are ranges of launches: {level} intervals need {stats.LAUNCHES} launches."
    if at_once := sum(map(one_moment, members)):
        of = sum(number > 1 for number in launches)
        text += f" The launches of {format_share(at_once / of)} of the points that have several started too close "
        text += "together: their intervals show one moment of the machine."
    if one:
        has = "has" if one == 1 else "have"
        text += f" {plural(one, 'point')} ({format_share(one / len(launches))}) {has} a single launch."
    return text


def one_moment(member: Member) -> int:
    """Return the number of points with an interval of one moment: launches started together or are dependent."""
    doubted = {AT_ONCE.code, RESEMBLING.code}
    found = intervals([*by_benchmark(member.summary).values()]) if len(member.summary) else []
    return sum(any(note.code in doubted for note in row["warnings"]) for _, row, _ in found)


def doubts(members: Sequence[Member], most: int = _CAVEATS) -> str:
    """Return the conditions of most launches that change the meaning of numbers, the most frequent first.

    The sentence of `no_network` is not repeated.
    """
    rows = [row for member in members for row in member.records[_ROW].to_dict("records")]
    said = (*_WITHIN, _EMULATED) if no_network(members) else ()
    counts = Counter(name for row in rows for name in caveats.groups_of(row) if name not in said)
    total = len(rows)
    busy = counts[_BUSY] / total if total else 0.0
    known = [(name, count) for name, count in counts.most_common() if name in _DOUBTS]
    named = sorted(known, key=lambda one: one[0] == _VIRTUAL)[:most]  # which says least
    known = [one for one in known if one in named]
    if not known:
        return ""
    parts = [f"{_DOUBTS[name]} ({format_share(count / total)} of launches)" for name, count in known]
    if busy < _MOSTLY or _BUSY not in dict(known):
        return f"Caveats: {listed(parts)}{_ALL}."
    warning = (
        f"**other tasks took processor time in {format_share(busy)} of launches, so times are too long and rates too "
        "low; repeat when idle**"
    )
    others = [part for part, (name, _) in zip(parts, known, strict=True) if name != _BUSY]
    rest = listed(others)
    return f"Caveats: {'. Also '.join(filter(None, (warning, rest)))}{_ALL}."


def verdicts(content: Content) -> str:
    """Return a line for each chapter: topic and finding, shortened for several campaigns.

    Chapters with the same sentence share a line. The chapter with the verdicts has none, because they have their own
    table.
    """
    said_of: dict[str, list[Chapter]] = {}
    for chapter in content.chapters.values():
        if topics.answers(chapter) and not chapter.error:
            continue
        said_of.setdefault(_said(chapter, content), []).append(chapter)
    if not content.chapters:
        return (
            "The campaign names no notebook, so there are no chapters. A notebook that measures into it, as "
            "`papermill notebooks/10-latency.ipynb 10.ipynb -p campaign FOLDER` does, adds its own."
        )
    rows = [[_names(chapters), said] for said, chapters in said_of.items()]
    caption = "What each chapter found. {#tbl-verdicts}"
    return markdown.table(["chapter", "result"], rows, caption=caption) if rows else ""


def _names(chapters: Sequence[Chapter]) -> str:
    """Return chapters by their titles, or by their numbers if there are many."""
    if len(chapters) > _TITLES:
        return ", ".join(f"@{one.label}" for one in chapters)
    return joined(f"{one.title} (@{one.label})" for one in chapters)


def _said(chapter: Chapter, content: Content) -> str:
    """Return what a chapter found of each campaign, and whether its notebook stopped with an error."""
    alone = len(all_members(content)) == 1
    source = next((one for one in content.sources if chapter.path in one.notebooks), content.sources[0])
    several = len(members(source)) > 1
    said = []
    for member in members(source)[:_NAMED]:
        one = topics.finding(chapter, member) if len(member.summary) else None
        if one:
            name = f"**{escape(member.name)}:** " if several else ""
            said.append(name + judged.told(one, "whole" if alone else "brief"))
    said += ["The notebook stopped with an error."] if chapter.error else []
    return " ".join(said) or "No finding."


BLOCKS = {"abstract": abstract, "verdicts": verdicts}
