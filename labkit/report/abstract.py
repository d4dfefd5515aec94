"""Write the report's first page: what was measured, what was found, how sure that is, and a verdict of each topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from labkit import stats, studies
from labkit.errors import LabkitError
from labkit.models.verdict import Judged
from labkit.report import bounded, findings, markdown
from labkit.report.campaigns import Member, all_members, members
from labkit.report.content import Content
from labkit.report.findings import Finding
from labkit.report.markdown import escape
from labkit.report.notebook import Chapter
from labkit.report.variables import plural
from labkit.units import format_fact, format_share

FINDINGS = 4  # in the abstract, at most
_LEAST = 3  # of them, if there are so many topics
_NAMED = 3  # campaigns that the abstract describes; of more, the chapters speak
_CAVEATS = 3
_FAMILIES = {
    "mpi": "MPI",
    "sockets": "sockets",
    "storage": "storage",
    "verbs": "RDMA verbs",
    "congestion": "congestion",
    "apps": "patterns of applications",
}
_DOUBTS = {  # code of a badge → what it means for the numbers
    "functional": "soft-RoCE in an emulated guest, which shows function and not performance",
    "busy-machine": "a busy machine",
    "oversubscription": "more ranks than cores",
    "loopback": "the loopback interface instead of a network",
    "time-cap": "a time limit that ended measuring before its interval was narrow",
    "page-cache": "the page cache instead of the device",
    "emulated-link": "an emulated link",
}


def abstract(content: Content) -> str:
    """Return the abstract: a paragraph for each campaign, of sentences that follow from its records."""
    named = all_members(content)[:_NAMED]
    return "\n\n".join(_paragraph(member, content, len(named) > 1) for member in named)


def _paragraph(member: Member, content: Content, several: bool) -> str:
    """Machine, question, findings, certainty and caveats of a campaign."""
    name = f"**{escape(member.name)}**: " if several else ""
    if not len(member.summary):
        return f"{name}{machine(member)} The campaign holds no samples, so nothing was found."
    topics = [one for chapter in content.chapters.values() if (one := finding(chapter, member))]
    near = bounded.overall(_judged(content, member))
    parts = [machine(member), asked(member), *(one.text for one in chosen(topics)), near, _sure(member)]
    parts.append(_caveats(member))
    return name + " ".join(part for part in parts if part)


def _judged(content: Content, member: Member) -> list[Judged]:
    """Verdicts on a campaign of the report."""
    source = next((one for one in content.sources if member in members(one)), None)
    return bounded.judged(content, source, member) if source else []


def machine(member: Member) -> str:
    """Say which machine was measured."""
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
    day = f" on {member.date}" if member.date else ""
    return f"labkit measured {escape(name)}{f' ({escape(shown)})' if shown else ''}{day}."


def asked(member: Member) -> str:
    """Say what was asked, and how much was measured for it."""
    families = Counter(str(name).partition(".")[0] for name in member.summary["benchmark"])
    words = [_FAMILIES.get(name, "") for name, _ in families.most_common()]
    topics = findings.listed([word for word in words if word]) or "its benchmarks"
    points, launches = len(member.summary), len(member.records)
    return (
        f"The question was what {topics} {'cost' if len(families) > 1 else 'costs'} here, and which setting matters: "
        f"{plural(points, 'point')} in {plural(launches, 'launch', 'launches')}."
    )


def chosen(topics: Sequence[Finding]) -> list[Finding]:
    """Return the findings that matter: the first topic's, then certain ones by their size, in the order of the topics.

    A sentence that several topics share counts once. Where too few are certain, others fill up.
    """
    distinct = list({one.text: one for one in topics}.values())
    rest = sorted(distinct[1:], key=lambda one: -one.weight)
    best = [*distinct[:1], *(one for one in rest if one.weight > 0)][:FINDINGS]
    best += [one for one in rest if one not in best][: max(0, _LEAST - len(best))]
    return [one for one in distinct if one in best]


def _sure(member: Member) -> str:
    """Say what the brackets are, and how many points have none."""
    launches = member.summary["launches"]
    enough, one = int((launches >= stats.LAUNCHES).sum()), int((launches == 1).sum())
    level = f"{100 * stats.LEVEL:.0f} %"
    if enough == len(launches):
        return f"Brackets are {level} intervals of the median over launches."
    text = (
        "Brackets are ranges of launches"
        if not enough
        else f"Brackets are {level} intervals from {stats.LAUNCHES} launches on, else ranges"
    )
    text += f", without a confidence level: {level} intervals need {stats.LAUNCHES} launches."
    if one:
        has = "has" if one == 1 else "have"
        share = format_share(one / len(launches))
        text += f" {plural(one, 'point')} ({share}) {has} a single launch and no interval."
    return text


def _caveats(member: Member) -> str:
    """Name the conditions that most launches share and that change what the numbers mean."""
    counts = Counter(code for notes in member.records["badges"] for code in {note.code for note in notes})
    total = len(member.records)
    known = [(code, count) for code, count in counts.most_common() if code in _DOUBTS][:_CAVEATS]
    if not known:
        return ""
    shown = findings.listed([f"{_DOUBTS[code]} ({format_share(count / total)} of launches)" for code, count in known])
    return f"Caveats: {shown}; @sec-caveats has all."


def finding(chapter: Chapter, member: Member) -> Finding | None:
    """Return what a chapter found; None where its notebook has no study, or nothing of it was measured."""
    try:
        study = studies.of_notebook(chapter.path.name)
    except LabkitError:
        return None
    return _of_topic(member, tuple(study.benchmarks), tuple(study.focus))


def _topic(chapter: Chapter) -> tuple[str, ...]:
    """Benchmarks of a chapter's study; none where its notebook has no study."""
    try:
        return tuple(studies.of_notebook(chapter.path.name).benchmarks)
    except LabkitError:
        return ()


@lru_cache(1024)  # the abstract, the verdicts and the conclusion ask for the same
def _of_topic(member: Member, benchmarks: tuple[str, ...], focus: tuple[tuple[str, str], ...]) -> Finding | None:
    return findings.of_topic(member.summary, benchmarks, focus)


def verdicts(content: Content) -> str:
    """Return a line for each chapter: its topic, and what was found."""
    rows = []
    for chapter in content.chapters.values():
        source = next((one for one in content.sources if chapter.path in one.notebooks), content.sources[0])
        several = len(members(source)) > 1
        said = []
        for member in members(source)[:_NAMED]:
            texts = [one.text] if len(member.summary) and (one := finding(chapter, member)) else []
            texts += (
                [text] if (text := bounded.of_topic(bounded.judged(content, source, member), _topic(chapter))) else []
            )
            if texts:
                said.append((f"**{escape(member.name)}:** " if several else "") + " ".join(texts))
        said += ["The notebook stopped with an error."] if chapter.error else []
        rows.append([chapter.title, f"{' '.join(said)} (@{chapter.label})"])
    if not rows:
        return "The campaign has no executed notebook."
    caption = "What each chapter found. {#tbl-verdicts}"
    return markdown.table(["topic", "verdict"], rows, caption=caption)


BLOCKS = {"abstract": abstract, "verdicts": verdicts}
