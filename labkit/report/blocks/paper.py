"""The parts of a paper: abstract, keywords, machines, verdicts, and published numbers beside measured ones."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from labkit import __version__, stats
from labkit.judge.answer import FAMILIES, Topic, counted
from labkit.judge.finding import Finding
from labkit.judge.finding import Value as Number
from labkit.judge.sentences import sentence
from labkit.models import bounds
from labkit.point.notes import listed
from labkit.point.units import plural
from labkit.read.reference.comparing import Comparison
from labkit.report import SUPPLEMENT, abstract, answered, judged, literature, markdown, topics
from labkit.report.blocks import repeated
from labkit.report.campaigns import Member, all_members
from labkit.report.choosing import hard
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.store.samples.facts import BROUGHT

_Beside = tuple[literature.Literature, Comparison, Member]
_WITHOUT_RATIO = 2  # numbers of a paper without a ratio that the table has
_FINDINGS, _LEAST, _MOST = 3, 160, 250  # findings of the abstract, fewest words, and most words
_HOW = (  # what an abstract with few results says of the method
    "Each launch starts all processes anew, the points of one run alternate in random order, and two settings differ "
    "only if an exact test over launches shows it.",
    "Each number is compared with a reference that was measured on the same machine, computed or stated: the rate of "
    "a link, copies in memory, or the delays of a path.",
    "A cause is named only if the data distinguish it from other causes.",
)
_COMPARED = ("a comparison with numbers that other papers print, for equal arguments, quantities and statistics;",)
_UNJUDGED = {"functional": "the device shows function only", "crowded": "the hosts share cores"}
_SET = re.compile(r"((?:rate|delay) set to [\d.,]+ [^\s,]+)")
_TOOLS = 4  # libraries and tools that the method names
_ALWAYS = ("interconnects", "performance measurement", "reproducibility")


def summary(content: Content) -> str:
    """Return the abstract: question, method, three results with intervals, the verdicts, and their limits.

    Several campaigns share the three results. Above 250 words, caveats are left out.
    """
    members = [one for one in all_members(content) if len(one.summary)]
    if not members:
        return "The campaign holds no samples, so nothing was found."
    places = listed(list(dict.fromkeys(abstract.place(one) for one in members)))
    most = max(1, _FINDINGS // len(members))
    found = [(one, _worth_saying(abstract.found_in(one, content))) for one in members]
    first = [(one, each) for one, some in found for each in some[:most]]
    more = [(one, each) for one, some in found for each in some[most:]]
    chosen = [*first, *more][:_FINDINGS]
    said = [
        (f"**{escape(one.name)}**: " if len(members) > 1 else "")
        + judged.tied(escape(f"{judged.place(each)}: {sentence(each)}."))
        for one, each in chosen
    ]
    every = [topic for source in content.sources for topic in answered.of_source(content, source).topics]
    parts = [
        "Is a network as fast as it should be, and what decides how fast it is? This paper asks "
        f"{abstract.question(members)}{'' if _brought(content) else f', on {places}'}.",
        " ".join(filter(None, (_much(content), abstract.no_network(members), abstract.sure(members)))),
        *(said or ["No comparison supports a claim about performance."]),
        f"Judged by references, each benchmark with its best setting, {counted(every)}{answered.asked_for(every)}."
        if every
        else "",
        repeated.compared(content),
    ]
    for place, one in enumerate(_HOW[1:] if _brought(content) else _HOW, start=2):
        if len(" ".join([*parts, abstract.doubts(members)]).split()) < _LEAST:
            parts.insert(place, one)
    for most, last in ((2, None), (1, None), (2, -1), (1, -1), (0, -1)):  # what a comparison lacks is said elsewhere
        text = " ".join(filter(None, [*parts[:last], abstract.doubts(members, most) if most else ""]))
        if len(text.split()) <= _MOST:
            break
    return text


def _worth_saying(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings of an abstract, those about messages and then the greatest differences first."""
    some = topics.chosen([one for one in found if math.isfinite(one.cost)] or found, len(found), _FINDINGS)
    return sorted(some, key=lambda one: (not _thin(one), *topics.weight(one)), reverse=True)[:_FINDINGS]


def _thin(one: Finding) -> bool:
    """Whether labkit timed fewer than two iterations in a launch behind a value, on average."""
    return any(0 < value.n < 2 * value.launches for value in one.behind if value.origin == "measured")


def _much(content: Content) -> str:
    """Say how much was measured, or imported."""
    members = [one for one in all_members(content) if len(one.summary)]
    points = plural(sum(len(one.summary) for one in members), "point")
    launches = plural(sum(len(one.records) for one in members), "launch")
    if _brought(content):
        return f"{points} of {launches} were imported from the output of other tools."
    return f"{points} were measured in {launches}."


def keywords(content: Content) -> str:
    """Return the keywords: measured families, and general ones."""
    names = [str(name).partition(".")[0] for one in all_members(content) for name in one.summary.get("benchmark", ())]
    families = [FAMILIES[name] for name, _ in Counter(names).most_common() if name in FAMILIES]
    return f"**Keywords:** {'; '.join((*_ALWAYS, *families))}."


def contributions(content: Content) -> str:
    """Return what the paper contributes, as a list."""
    members = [one for one in all_members(content) if len(one.summary)]
    numbers = "numbers" if _brought(content) else "measurements"
    points = [
        f"{numbers} of {_with_intervals(members)};",
        "a verdict on each number against a reference that was measured, computed or stated, with the likeliest cause "
        "if it is not good;",
        *(_COMPARED if any(not one.why for _, one, _ in repeated.beside(content)) else ()),
        "a supplement with every definition, command, table and figure, so that each number can be traced.",
    ]
    return markdown.bullets(points)


def _with_intervals(members: Sequence[Member]) -> str:
    """Name what has intervals over launches, and what has too few launches for them."""
    rows = [(str(row["benchmark"]), int(row["launches"])) for one in members for row in one.summary.to_dict("records")]
    sure = {name.partition(".")[0] for name, launches in rows if launches >= stats.LAUNCHES}
    kinds = [name for name, _ in Counter(name.partition(".")[0] for name, _ in rows).most_common() if name in FAMILIES]
    some, few = ([FAMILIES[name] for name in kinds if (name in sure) is wanted] for wanted in (True, False))
    parts = [f"{listed(some)}, with intervals over launches"] * bool(some)
    parts += [f"{listed(few)}, with fewer than {plural(stats.LAUNCHES, 'launch')}"] * bool(few)
    return "; of ".join(parts) or "its benchmarks"


def _brought(content: Content) -> bool:
    """Whether all numbers are from elsewhere."""
    origins = {str(name) for one in all_members(content) if len(one.records) for name in one.records["origin"]}
    return bool(origins) and origins <= {*BROUGHT}


def measuring(content: Content) -> str:
    """Return the origin of the numbers: measured by labkit, or elsewhere."""
    if _brought(content):
        return (
            "**Measuring.** The numbers were measured elsewhere, and imported from what the tools printed. The "
            "number of measurements and the state of the machine are known only if the output states them."
        )
    return (
        "**Measuring.** A point is a benchmark with all its settings. It is measured in several launches: each starts "
        "the processes anew, because two launches of one program differ more than two iterations do [@hunold2016]. The "
        f"points of one run alternate in random order. The open-source lab labkit (version {__version__}) starts all "
        "launches, judges the numbers, and wrote the sentences on results. Its own loops verify "
        "every byte before the clock starts, run untimed iterations, and keep every sample. Other tools have their own "
        "checks; their values are marked as reported. It keeps command, versions, and the state of the machine "
        "before and after each point."
    )


def machines(content: Content) -> str:
    """Return sentences on the measured machines and the number of points."""
    parts = []
    for one in all_members(content):
        name = f"**{escape(one.name)}**: " if len(all_members(content)) > 1 else ""
        if len(one.summary):
            parts.append(f"{name}{abstract.machine(one)} It has {abstract.extent(one)}.{_software(one)}{_bucket(one)}")
    return "\n\n".join(parts)


def _software(member: Member) -> str:
    """Name system, kernel, and the libraries and tools of most launches; empty if none of it is known."""
    host, used = member.host, Counter(str(name) for name in member.records["library"])
    kernel = f"Linux {host['kernel']}" if host.get("kernel") else ""
    names = [name for name, _ in used.most_common() if name not in ("", "none", "nan")]
    rest = [f"{plural(len(names) - _TOOLS, 'more tool')}"] * (len(names) > _TOOLS)
    known = [*filter(None, (str(host.get("distribution") or ""), kernel)), *names[:_TOOLS], *rest]
    return f" Software: {escape(listed(known))}." if known else ""


def _bucket(member: Member) -> str:
    """Say what a token bucket does to latencies; empty without emulated links that have one."""
    wires = [wire for one in member.points if (wire := bounds.path(one, bounds.Stated())) is not None and wire.segment]
    if not wires:
        return ""
    burst = f"{max(wire.burst for wire in wires):,.0f}"
    return (
        f" A token bucket of {burst} B shapes each link. Unless it is empty, a packet passes at once, also one of "
        "64 KiB that is cut later; the bucket fills again while messages go the other way. A latency is half of a "
        "round trip, so it can be half of the time that the bytes need at the rate of the link."
    )


def verdicts(content: Content) -> str:
    """Return a table of the topics with their verdicts, and the factor of each over its necessary cost."""
    every = [(source, topic) for source in content.sources for topic in answered.of_source(content, source).topics]
    rows = [(source, [escape(topic.name), _verdict(topic), *_measured(topic.lead)]) for source, topic in every]
    caption = (
        "Whether the numbers are good. A benchmark counts with its best setting on a system, and a topic with its "
        "worst benchmark, whose number stands beside its reference."
        f"{answered.exceptions(topic for _, topic in every)} {{#tbl-judged}}"
    )
    return content.table(["topic", "verdict", "number", "reference"], rows, align="llrr", caption=caption, empty="")


def _verdict(topic: Topic) -> str:
    """Return the verdict on a topic, and how many settings of a good one are not good."""
    worse = f" ({plural(len(topic.worse), 'setting')} not)" if topic.verdict == "good" and topic.worse else ""
    why = f" ({_UNJUDGED[topic.lead.form]})" if topic.verdict == "not judged" and topic.lead.form in _UNJUDGED else ""
    return f"{topic.verdict}{worse}{why}"


def _measured(one: Finding) -> tuple[str, str]:
    """Return the number that decides a verdict, and what it is compared with; in words if no number is compared."""
    measured, limit = (one.values.get(name) for name in ("measured", "limit"))
    if not isinstance(measured, Number):
        return escape(sentence(one)), "the other pairs" if "pairs" in one.values else "none"
    given = _SET.search(str(one.values.get("what", "")))
    beside = f"{limit:interval}{f' ({given[1]})' if given else ''}" if isinstance(limit, Number) else "none"
    return escape(f"{measured:interval}"), escape(beside)


def published(content: Content) -> str:
    """Return one table for all papers: each printed number with a counterpart in the report, and the ratio of both."""
    found = repeated.beside(content)
    if not found:
        return "No number that the five papers of the supplement print was measured here with the same arguments."
    head = ["published in", "quantity", "published", "measured here", "launches", "ratio"]
    caption = (
        "Published numbers beside measured ones of the same quantity and statistic. The ratio is measured "
        "over published; without one, the reason is given. Intervals are over launches of the measured values. "
        "{#tbl-published}"
    )
    rated = any(not one.why for _, one, _ in found)
    last = "The machines differ, so a ratio is not an error of either side." if rated else "Here none has a ratio."
    text = (
        f"{repeated.counts(content)} The table has numbers that the papers print and that were measured with the same "
        "arguments. A number has a ratio only if path and number of ranks are the same: times of several ranks, "
        f"and shares and quotients of such times, depend on both. {last}"
    )
    kept = _shortened(found)
    left = len(found) - len(kept)
    text += f" {left} more without one {'is' if left == 1 else 'are'} left out." if left else ""
    rows = [_pair(*each, content) for each in kept]
    return f"{text}\n\n{markdown.differing(head, rows, align='llrrrr', caption=caption)}"


def _shortened(found: Sequence[_Beside]) -> list[_Beside]:
    """Return all numbers with a ratio, and few without: a measured value once, and of each paper the first ones."""
    seen, kept, of_paper = set[tuple[str, str, str]](), [], Counter[str]()
    for paper, one, member in found:
        value = (one.measured, one.number.unit, member.name)
        if one.why and (value in seen or of_paper[paper.paper.key] >= _WITHOUT_RATIO):
            continue
        seen.add(value)
        of_paper[paper.paper.key] += bool(one.why)
        kept.append((paper, one, member))
    return kept


def _pair(paper: literature.Literature, found: Comparison, member: Member, content: Content) -> list[str]:
    """Return the row of a number."""
    number = found.number
    place = escape(", ".join(filter(None, [member.name if content.several else "", found.setting])))
    return [
        f"[@{paper.paper.key}], {escape(number.where)}",
        escape(", ".join(filter(None, (number.text, number.network)))),
        hard(f"{escape(number.stated)}"),
        hard(f"{escape(found.measured)} {number.unit}") + (f" ({place})" if place else ""),
        str(found.launches),
        hard(escape(found.ratio)) if not found.why else escape(found.ratio),
    ]


def supplement(content: Content) -> str:
    """Return a sentence with the place of the supplement."""
    return f"The [supplement]({SUPPLEMENT}) has what this paper leaves out."


BLOCKS = {
    "contributions": contributions,
    "keywords": keywords,
    "paper-abstract": summary,
    "paper-machines": machines,
    "paper-measuring": measuring,
    "published": published,
    "supplement": supplement,
    "verdict-table": verdicts,
}
