"""Repeated experiments of papers: the paper's result and published values, and the values of this report."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import islice

from labkit import benchmarks, studies
from labkit.errors import LabkitError
from labkit.point.notes import joined, listed
from labkit.point.units import parse_size, plural
from labkit.read.reference import UNMEASURED, Number
from labkit.read.reference.comparing import Comparison, with_arguments
from labkit.report import against, literature, markdown
from labkit.report.blocks.surveyed import names
from labkit.report.campaigns import Member, all_members
from labkit.report.choosing import curves, hard, left_out, metric_of, nearest, shown
from labkit.report.content import Content
from labkit.report.literature import Experiment, Literature, matching
from labkit.report.markdown import code, escape

_WHOLE, _PART, _NOT = "repeated", "repeated in part", "not repeated"
_BENCHMARKS, _PATHS = 2, 3  # that a cell shows
_WIDTH = 80  # characters of a line of a comment


def repeated(content: Content) -> str:
    """Return a section for each paper: its experiments that this report repeats, and how to repeat the others."""
    return "\n\n".join(filter(None, (_paper(paper, content) for paper in literature.papers())))


def counts(content: Content) -> str:
    """Return a sentence on how many experiments of the papers this report repeats, wholly or in part."""
    every = [(one, paper) for paper in literature.papers() for one in paper.experiments]
    states = [_state(one, paper, content) for one, paper in every]
    papers = plural(len(literature.papers()), "paper")
    return (
        f"Of {len(every)} experiments of {papers}, this report repeats {states.count(_WHOLE)} at the scale at hand and "
        f"{states.count(_PART)} in part. It does not repeat {states.count(_NOT)}."
    )


def _state(one: Experiment, paper: Literature, content: Content) -> str:
    """Say whether a report repeats an experiment: with the paper's arguments where its numbers are compared.

    If the paper does not name a number's statistic, no measured value is shown beside it.
    """
    numbers, members = [number for number in paper.numbers_of(one) if number.statistic], all_members(content)
    if not matching(sorted(names(content)), one.labkit):
        return _NOT
    done = [number for number in numbers if against.compared(number, members)]
    if numbers and not done:
        return _NOT
    return _PART if one.needs or len(done) < len(numbers) else _WHOLE


def _paper(paper: Literature, content: Content) -> str:
    measured = sorted(names(content))
    here = [one for one in paper.experiments if matching(measured, one.labkit)]
    key = paper.paper.key
    parts = [f"## {escape(paper.title)} {{#sec-paper-{key}}}", f"{escape(paper.paper.conditions)} [@{key}]"]
    if here:
        rows = [row for one in here for row in _rows(one, paper, content)]
        caption = f"Experiments of [@{key}] and their repetitions. {{#tbl-paper-{key}}}"
        head = ["experiment", "published", "this report: bold values, intervals"]
        parts.append(markdown.table(head, rows, caption=caption))
    parts += [content.show(one.picture) for one in content.beside if one.paper == key]
    parts += _missing(paper, content)
    return "\n\n".join(parts)


def _rows(one: Experiment, paper: Literature, content: Content) -> Iterator[list[str]]:
    """Yield the rows of an experiment: one for the numbers that are compared with the same points, one for the rest."""
    members = all_members(content)
    pairs = [(_published(numbers), against.cell(numbers[0], members)) for numbers in against.groups(one, paper)]
    why: dict[str, list[Number]] = {}
    for number in paper.numbers_of(one, further=True):
        why.setdefault(number.unmeasured, []).append(number)
    for reason, some in why.items():
        pairs.append((_published(some), "not compared" + (f": {UNMEASURED[reason]}" if reason else "")))
    if not one.values:
        pairs.insert(0, ("", joined([_measured(one, member, members) for member in members])))
    chapter = _chapter(one, content)
    title = f"**{escape(one.title)}** ({escape(one.figure)}): {escape(one.result)}"
    title += f" See @{chapter}." if chapter else ""
    for n, (published, measured) in enumerate(pairs):
        yield ["" if n else title, published, measured]


def _published(numbers: Sequence[Number]) -> str:
    """Return published numbers: those of one quantity stand side by side."""
    alike: dict[str, list[Number]] = {}
    for number in numbers:
        alike.setdefault(number.text, []).append(number)
    return joined(f"{escape(text)}: {', '.join(_stated(one, some) for one in some)}" for text, some in alike.items())


def _stated(number: Number, alike: list[Number]) -> str:
    """Return a published number with its network, and with its conditions where the network does not distinguish it."""
    same = [other for other in alike if other.network == number.network]
    about = ", ".join(filter(None, [number.network, number.conditions if len(same) > 1 else ""]))
    return hard(escape(number.stated)) + (f" ({escape(about)})" if about else "")


def _chapter(one: Experiment, content: Content) -> str:
    """Return the label of the chapter that shows an experiment; empty without one."""
    labels = {chapter.path.stem: chapter.label for chapter in content.chapters.values()}
    if one.notebook in labels:
        return labels[one.notebook]
    measured = matching(sorted(names(content)), one.labkit)
    for chapter in content.chapters.values():
        try:
            study = studies.of_notebook(chapter.path.name)
        except LabkitError:
            continue
        if set(measured) & set(study.benchmarks):
            return chapter.label
    return ""


def _measured(one: Experiment, member: Member, members: Sequence[Member]) -> str:
    """Return the values of a campaign, of the first benchmarks of an experiment that has no numbers to compare."""
    values = list(_values(one, member))
    name = f"**{escape(member.name)}:** " if len(members) > 1 else ""
    return f"{name}{joined(values)}" if values else ""


def _values(one: Experiment, member: Member) -> Iterator[str]:
    measured = sorted({str(name) for name in member.summary["benchmark"]}) if len(member.summary) else []
    found = matching(measured, one.labkit)
    for benchmark in found[:_BENCHMARKS]:
        rows = with_arguments(member.of(benchmark), one.options)
        if rows.empty or not (metric := metric_of(rows, one.metric)):
            continue
        for path, curve in islice(curves(rows, metric), _PATHS):
            size = parse_size(one.size) if one.size else int(curve["message_size_B"].min())
            if not one.size and metric.startswith("bandwidth"):
                size = int(curve["message_size_B"].max())
            where = f", {escape(path)}" if path else ""
            yield f"{code(benchmark)}{where}: {shown(nearest(curve, size), metric)}"
        if left_out(rows, metric, _PATHS):
            yield f"{code(benchmark)} has further settings"
    if more := found[_BENCHMARKS:]:
        yield f"not shown: {listed([code(name) for name in more])}"


def _missing(paper: Literature, content: Content) -> Iterator[str]:
    """Yield what was not repeated, or not as in the paper, each with what it takes and the commands."""
    blocks, without = [], []
    for one in paper.experiments:
        if (state := _state(one, paper, content)) == _WHOLE:
            continue
        needs = f"; it needs {one.needs}" if one.needs else ""
        commands = one.command or "\n".join(_commands(one, paper))
        if commands:
            about = textwrap.wrap(f"{one.title} ({one.figure}): {state}{needs}", _WIDTH)
            blocks.append("\n".join([*(f"# {line}" for line in about), commands]))
        else:
            without.append(f"*{escape(one.title)}* ({escape(one.figure)})")
    if blocks:
        text = markdown.block("\n".join(blocks), "bash")
        yield f"What is not repeated, or not as in the paper, with its commands:\n\n{text}"
    if without:
        yield f"labkit has no benchmark for {listed(without)}."


def _commands(one: Experiment, paper: Literature) -> list[str]:
    """Return the command lines that measure an experiment."""
    if one.values:
        return list(dict.fromkeys(against.command(number) for number in paper.numbers_of(one)))
    return [
        f"labkit measure {name} --launches 6" for name in matching(list(benchmarks.find()), one.labkit)[:_BENCHMARKS]
    ]


def compared(content: Content) -> str:
    """Return a sentence on the number of published values with a ratio to a measured one; empty without any."""
    found = [one for _, one, _ in beside(content)]
    if count := sum(not one.why for one in found):
        said = "value published by papers is" if count == 1 else "values published by papers are"
        return f"{count} {said} compared with values measured here."
    none = "No published value is comparable as a ratio, because paths, numbers of ranks or machines differ."
    return none if found else ""


def beside(content: Content) -> list[tuple[Literature, Comparison, Member]]:
    """Return the published numbers with a value of this report, each with this value and its campaign."""
    members = all_members(content)
    return [
        (paper, *found)
        for paper in literature.papers()
        for one in paper.experiments
        for found in against.pairs(one, paper, members)
    ]


BLOCKS = {"papers": repeated, "papers-counts": counts}
