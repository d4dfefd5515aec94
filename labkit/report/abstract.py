"""Write the report's first page: what was measured, what was found, how sure that is, and a verdict of each topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from labkit import stats
from labkit.judge.answer import FAMILIES
from labkit.judge.finding import Finding
from labkit.point.notes import joined, listed
from labkit.point.units import format_count, format_fact, format_share, plural
from labkit.report import answered, caveats, judged, markdown, topics
from labkit.report.campaigns import Member, all_members, members
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.store.samples.facts import BROUGHT

FINDINGS = 4  # in the abstract, at most
_LEAST = 3  # of them, if there are so many topics
_NAMED = 3  # campaigns that the abstract describes; of more, the chapters speak
_CAVEATS = 3
_BUSY = "busy machine"
_REASONS = markdown.needing("tbl-verdicts", "; @tbl-verdicts gives the reasons")
_NOTHING = f"No comparison supports a claim about performance{_REASONS}."
_ALL = markdown.needing("sec-caveats", "; @sec-caveats has all")
_MOSTLY = 0.5  # of the launches on a busy machine, from which the abstract warns of it first
_DOUBTS = {  # group of `caveats.GROUPS` → what it means for the numbers
    "stand-in for a GPU": "**a stand-in for a GPU in host memory, which says nothing about a GPU**",
    "emulated device": "soft-RoCE in an emulated guest, which shows function and not performance",
    "path mismatch": "another path than the requested one",
    "path unknown": "an unknown path of the messages",
    "loopback": "the loopback interface instead of a network",
    "within one host": "one host, without a network",
    "emulated link": "an emulated link",
    "no core left": "no core left for the system",
    _BUSY: "a busy machine",
    "virtual machine": "a virtual machine",
    "time cap": "a time limit that ended measuring before its interval was narrow",
    "another tool": "another tool in place of the preferred one",
    "page cache": "the page cache instead of the device",
    "below resolution": "times too short for the clock",
}


def abstract(content: Content) -> str:
    """Return the abstract: sentences that follow from the records, about 150 words for any number of campaigns.

    Several campaigns share the sentences on machine, question, certainty and caveats, and the number of findings.
    """
    every = all_members(content)
    if len(every) > 1:
        return _of_several(every, content)
    member = every[0]
    if not len(member.summary):
        return f"{machine(member)} The campaign holds no samples, so nothing was found."
    found = topics.chosen(found_in(member, content), FINDINGS, _LEAST)
    near = answered.overall(content, member.source) if member.source else ""
    said = [judged.told(one, "brief") for one in found] or [_NOTHING]
    parts = [machine(member), asked(member), near, *said, _sure(every, found), doubts(every)]
    return " ".join(part for part in parts if part)


def _of_several(members: Sequence[Member], content: Content) -> str:
    """Machines and question once, then what each campaign found in short, then certainty and caveats once."""
    named, measured = members[:_NAMED], [member for member in members if len(member.summary)]
    places: dict[str, list[str]] = {}
    for member in members:
        places.setdefault(place(member), []).append(f"**{escape(member.name)}** ({extent(member)})")
    where = joined(f"{place}: {listed(names[:_NAMED])}" for place, names in [*places.items()][:_NAMED])
    more = f" and {plural(len(members) - _NAMED, 'more campaign')}" if len(members) > _NAMED else ""
    parts = [f"labkit measured {where}{more}."]
    if measured:
        parts.append(f"The question was {question(measured)}.")
    most = max(1, FINDINGS // len(named))
    findings_of = [
        topics.chosen(found_in(member, content), most, most) if len(member.summary) else [] for member in named
    ]
    for member, found in zip(named, findings_of, strict=True):
        said = " ".join(judged.told(one, "short") for one in found) or _NOTHING
        parts.append(f"**{escape(member.name)}:** {said}")
    if measured:
        parts += [_in_short(measured, [one for found in findings_of for one in found]), doubts(measured)]
    return " ".join(part for part in parts if part)


def found_in(member: Member, content: Content) -> list[Finding]:
    """Return what each chapter found of a campaign."""
    return [one for chapter in content.chapters.values() if (one := topics.finding(chapter, member))]


def machine(member: Member) -> str:
    """Say which machine was measured, or that the numbers come from elsewhere."""
    day = f" on {member.date}" if member.date else ""
    if len(member.records) and set(member.records["origin"]) <= {*BROUGHT}:
        return f"labkit imported the numbers of this campaign{day}; it did not measure them."
    return f"labkit measured {place(member)}{day}."


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
    """Say what was asked, and how much was measured for it."""
    return f"The question was {question([member])}: {extent(member)}."


def question(members: Sequence[Member]) -> str:
    """Say what campaigns ask of their machines."""
    named = families(members)
    several = named.endswith("s") or " and " in named
    return f"what {named} {'cost' if several else 'costs'} here, and which setting matters"


def families(members: Sequence[Member]) -> str:
    """Name what was measured, the most frequent first."""
    names = Counter(str(name).partition(".")[0] for member in members for name in member.summary["benchmark"])
    return listed([FAMILIES[name] for name, _ in names.most_common() if name in FAMILIES]) or "its benchmarks"


def extent(member: Member) -> str:
    """Say how much was measured."""
    return f"{plural(len(member.summary), 'point')} in {plural(len(member.records), 'launch')}"


def _sure(members: Sequence[Member], found: Sequence[Finding]) -> str:
    """Say what the brackets are, how much the findings rest on, and how many points have no interval."""
    launches = [int(number) for member in members for number in member.summary["launches"]]
    enough, one = sum(number >= stats.LAUNCHES for number in launches), launches.count(1)
    level = f"{100 * stats.LEVEL:.0f} %"
    few = [f"{plural(min(one.launches for one in found), 'launch')} or more"] if found else []
    samples = [one.samples for one in found]
    few += [f"{format_count(min(filter(None, samples)))} timed iterations or more"] if any(samples) else []
    few += ["some values reported by a tool"] if 0 in samples else []
    rest = f" ({', '.join(few)})" if few else ""
    if enough == len(launches):
        several = any((member.summary["sessions"] >= stats.LAUNCHES).any() for member in members)
        over = f"launches, or over {stats.LAUNCHES} sessions and more" if several else "launches"
        return f"Brackets are {level} intervals of the median over {over}{rest}."
    text = (
        f"Brackets are ranges of launches{rest}"
        if not enough
        else f"Brackets are {level} intervals from {stats.LAUNCHES} launches on, else ranges{rest}"
    )
    text += f", without a confidence level: {level} intervals need {stats.LAUNCHES} launches."
    if one:
        has = "has" if one == 1 else "have"
        text += f" {plural(one, 'point')} ({format_share(one / len(launches))}) {has} a single launch."
    return text


def _in_short(members: Sequence[Member], found: Sequence[Finding]) -> str:
    """Say how many launches the findings rest on, and how many points have enough of them for an interval."""
    launches = [int(number) for member in members for number in member.summary["launches"]]
    enough = sum(number >= stats.LAUNCHES for number in launches)
    fewest = plural(min(one.launches for one in found), "launch") if found else ""
    text = f"Each rests on {fewest} or more. " if found else ""
    if enough == len(launches):
        return text.strip()
    has = f"{enough:,} of {plural(len(launches), 'point')} {'has' if enough == 1 else 'have'}"
    return f"{text}{100 * stats.LEVEL:.0f} % intervals need {stats.LAUNCHES} launches, which {has}."


def doubts(members: Sequence[Member], most: int = _CAVEATS) -> str:
    """Name the conditions that most launches share and that change what the numbers mean, the most frequent first."""
    rows = [row for member in members for row in member.records[["origin", "badges", "warnings"]].to_dict("records")]
    counts = Counter(name for row in rows for name in caveats.groups_of(row))
    total = len(rows)
    busy = counts[_BUSY] / total if total else 0.0
    known = [(name, count) for name, count in counts.most_common() if name in _DOUBTS][:most]
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
    """Return a line for each chapter: topic and finding; of several campaigns, the finding in brief."""
    rows = []
    alone = len(all_members(content)) == 1
    for chapter in content.chapters.values():
        source = next((one for one in content.sources if chapter.path in one.notebooks), content.sources[0])
        several = len(members(source)) > 1
        said = []
        for member in members(source)[:_NAMED]:
            one = topics.finding(chapter, member) if len(member.summary) else None
            if one:
                said.append(
                    (f"**{escape(member.name)}:** " if several else "")
                    + judged.told(one, "whole" if alone else "brief")
                )
        if topics.answers(chapter):
            said.append(answered.overall(content, source))
        said += ["The notebook stopped with an error."] if chapter.error else []
        rows.append([chapter.title, f"{' '.join(said)} (@{chapter.label})"])
    if not rows:
        return (
            "The campaign names no notebook, so there are no chapters. A notebook that measures into it, as "
            "`papermill notebooks/10-latency.ipynb 10.ipynb -p campaign FOLDER` does, adds its own."
        )
    caption = "What each chapter found. {#tbl-verdicts}"
    return markdown.table(["topic", "result"], rows, caption=caption)


BLOCKS = {"abstract": abstract, "verdicts": verdicts}
