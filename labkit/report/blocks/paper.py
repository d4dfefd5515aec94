"""The parts of a paper: abstract, keywords, machines, verdicts, and published numbers beside measured ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from labkit.judge.answer import FAMILIES, counted
from labkit.judge.finding import Finding
from labkit.judge.finding import Value as Number
from labkit.judge.sentences import sentence
from labkit.point.notes import listed
from labkit.point.units import plural
from labkit.report import SUPPLEMENT, abstract, against, answered, judged, literature, markdown, topics
from labkit.report.blocks import repeated
from labkit.report.campaigns import all_members
from labkit.report.choosing import hard
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.store.samples.facts import BROUGHT

_FINDINGS, _LEAST, _MOST = 3, 160, 250  # findings of the abstract, fewest words, and most words
_HOW = (  # what an abstract with few results says of the method
    "Each launch starts all processes anew, the points of one run alternate in random order, and two settings differ "
    "only if an exact test over launches shows it.",
    "Each number is compared with a reference that was measured on the same machine, computed or stated: the rate of "
    "a link, copies in memory, or the delays of a path.",
    "A cause is named only if the data distinguish it from other causes.",
)
_COMPARED = ("a comparison with numbers that other papers print, for equal arguments, quantities and statistics;",)
_ALWAYS = ("interconnects", "performance measurement", "reproducibility")


def summary(content: Content) -> str:
    """Return the abstract: question, method, three results with intervals, the verdicts, and what limits them.

    Of several campaigns, each has its share of the three results. Caveats are left out where the text would have more
    than 250 words.
    """
    members = [one for one in all_members(content) if len(one.summary)]
    if not members:
        return "The campaign holds no samples, so nothing was found."
    places = listed(list(dict.fromkeys(abstract.place(one) for one in members)))
    most = max(1, _FINDINGS // len(members))
    found = [(one, topics.chosen(abstract.found_in(one, content), _FINDINGS, _FINDINGS)) for one in members]
    first = [(one, each) for one, some in found for each in some[:most]]
    more = [(one, each) for one, some in found for each in some[most:]]
    chosen = [*first, *more][:_FINDINGS]
    said = [
        (f"**{escape(one.name)}**: " if len(members) > 1 else "") + judged.told(each, "brief") for one, each in chosen
    ]
    every = [topic for source in content.sources for topic in answered.of_source(content, source).topics]
    parts = [
        "Is a network as fast as it should be, and what decides how fast it is? This paper asks "
        f"{abstract.question(members)}{'' if _brought(content) else f', on {places}'}.",
        " ".join(filter(None, (_much(content), abstract.no_network(members), abstract.sure(members)))),
        *(said or ["No comparison supports a claim about performance."]),
        f"Judged by the bounds of their paths, {counted(every)}." if every else "",
        _beside(content),
    ]
    for place, one in enumerate(_HOW[1:] if _brought(content) else _HOW, start=2):
        if len(" ".join([*parts, abstract.doubts(members)]).split()) < _LEAST:
            parts.insert(place, one)
    for most in (2, 1, 0):
        text = " ".join(filter(None, [*parts, abstract.doubts(members, most) if most else ""]))
        if len(text.split()) <= _MOST:
            break
    return text


def _much(content: Content) -> str:
    """Say how much was measured, or imported."""
    members = [one for one in all_members(content) if len(one.summary)]
    points = plural(sum(len(one.summary) for one in members), "point")
    launches = plural(sum(len(one.records) for one in members), "launch")
    if _brought(content):
        return f"{points} of {launches} were imported from the output of other tools."
    return f"{points} were measured in {launches}."


def _beside(content: Content) -> str:
    count = repeated.published(content)
    return f"{plural(count, 'value')} published by papers are compared with values measured here." if count else ""


def keywords(content: Content) -> str:
    """Return the keywords: what was measured, and what every such paper is about."""
    names = [str(name).partition(".")[0] for one in all_members(content) for name in one.summary.get("benchmark", ())]
    families = [FAMILIES[name] for name, _ in Counter(names).most_common() if name in FAMILIES]
    return f"**Keywords:** {'; '.join((*_ALWAYS, *families))}."


def contributions(content: Content) -> str:
    """Return what the paper contributes, as a list."""
    members = [one for one in all_members(content) if len(one.summary)]
    numbers = "numbers" if _brought(content) else "measurements"
    points = [
        f"{numbers} of {abstract.families(members)}, with intervals over launches;",
        "a verdict on each number against a reference that was measured, computed or stated, with the likeliest cause "
        "if it is not good;",
        *(_COMPARED if repeated.published(content) else ()),
        "a supplement with every definition, command, table and figure, so that each number can be traced.",
    ]
    return markdown.bullets(points)


def _brought(content: Content) -> bool:
    """Whether all numbers are from elsewhere."""
    origins = {str(name) for one in all_members(content) if len(one.records) for name in one.records["origin"]}
    return bool(origins) and origins <= {*BROUGHT}


def measuring(content: Content) -> str:
    """Return how the numbers came about: by labkit, or elsewhere."""
    if _brought(content):
        return (
            "**Measuring.** The numbers were measured elsewhere, and imported from what the tools printed. How often "
            "each was measured, and in which state the machine was, is known only as far as the output says it."
        )
    return (
        "**Measuring.** A point is a benchmark with all its settings. It is measured in several launches: each starts "
        "the processes anew, because two launches of one program differ more than two iterations do [@hunold2016]. The "
        "points of one run alternate in random order. In labkit's own loops, the receiver compares the bytes that came "
        "with those that were sent before the clock starts, untimed iterations pass, and every sample is kept. Other "
        "tools verify and keep what they do; what they print is marked as reported. Command, versions, and the state "
        "of the machine before and after are kept for all."
    )


def machines(content: Content) -> str:
    """Say which machines were measured, and how much."""
    parts = []
    for one in all_members(content):
        name = f"**{escape(one.name)}**: " if len(all_members(content)) > 1 else ""
        if len(one.summary):
            parts.append(f"{name}{abstract.machine(one)} It has {abstract.extent(one)}.")
    return "\n\n".join(parts)


def verdicts(content: Content) -> str:
    """Return a table of the topics with their verdicts, and how many times as much as necessary each costs."""
    rows = [
        (source, [escape(topic.name), topic.verdict, *_measured(topic.lead)])
        for source in content.sources
        for topic in answered.of_source(content, source).topics
    ]
    caption = "Whether the numbers are good: each topic with the number that decides, and its reference. {#tbl-judged}"
    return content.table(["topic", "verdict", "number", "reference"], rows, align="llrr", caption=caption, empty="")


def _measured(one: Finding) -> tuple[str, str]:
    """Return the number that decides a verdict, and what it is compared with; in words where no number is compared."""
    measured, limit = (one.values.get(name) for name in ("measured", "limit"))
    if not isinstance(measured, Number):
        return escape(sentence(one)), "the other pairs" if "pairs" in one.values else "none"
    return escape(f"{measured:interval}"), escape(f"{limit:interval}") if isinstance(limit, Number) else "none"


def published(content: Content) -> str:
    """Return one table for all papers: each printed number that has a counterpart here, and the ratio of both."""
    rows = [row for paper in literature.papers() for one in paper.experiments for row in _pairs(one, paper, content)]
    if not rows:
        return "No number that the five papers of the supplement print was measured here with the same arguments."
    head = ["published in", "quantity", "published", "measured here", "launches", "ratio"]
    caption = (
        "Published and measured numbers with the same arguments, path, quantity and statistic, and the ratio of "
        "measured to published. Intervals are over launches of the measured values. {#tbl-published}"
    )
    text = (
        f"{repeated.counts(content)} The table has each number that the papers print and that was measured with the "
        "same arguments. The machines differ, so a ratio is no error of either side."
    )
    return f"{text}\n\n{markdown.differing(head, rows, align='llrrrr', caption=caption)}"


def _pairs(one: literature.Experiment, paper: literature.Literature, content: Content) -> Iterator[list[str]]:
    """Yield the rows of an experiment."""
    for number in paper.numbers_of(one):
        if not (pair := against.pair(number, all_members(content))):
            continue
        found, member = pair
        where = [member.name if content.several else "", found.setting]
        place = escape(", ".join(filter(None, where)))
        yield [
            f"[@{paper.paper.key}], {escape(number.where)}",
            escape(", ".join(filter(None, (number.text, number.network)))),
            hard(f"{escape(number.stated)}"),
            hard(f"{escape(found.measured)} {number.unit}") + (f" ({place})" if place else ""),
            str(found.launches),
            hard(escape(found.ratio)) if not found.why else escape(found.ratio),
        ]


def supplement(content: Content) -> str:
    """Return where the supplement is."""
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
