"""Turn chapters into the results of a paper: what each found, one figure, and a discussion from the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nbformat.v4 import new_markdown_cell

from labkit.judge.answer import NO_REFERENCE, Topic
from labkit.judge.finding import Finding
from labkit.report import answered, judged, slides, topics
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.notebook import Chapter
from labkit.report.options import options, written

MOST = 20  # results that the body has room for
_TOPICS = 2  # that a chapter discusses
_SILENT = ("functional", NO_REFERENCE)  # forms of verdicts that say nothing about performance


def shorten(chapters: Mapping[str, Chapter], content: Content, most: int) -> list[str]:
    """Keep of each chapter what it found, its first figures, and what the verdicts say of its benchmarks.

    A chapter stays if it found a difference, or if a topic is discussed in it; all stay if that leaves none. Each topic
    is discussed once.

    Parameters
    ----------
    chapters : their cells are changed.
    most : figures of a chapter.

    Returns
    -------
    Names of the chapters that are kept.
    """
    figures = {
        name: drawn
        for name, one in chapters.items()
        if (drawn := [cell for cell in one.notebook.cells if slides.is_figure(cell)][:most])
    }
    found = {name: slides.found_by(chapters[name], content) for name in figures}
    discussed: set[tuple[str, str]] = set()
    about = {name: [*_discussion(chapters[name], content, discussed)] for name in figures}
    worth = {name: _worth(one) for name, one in found.items() if _worth(one) > 1 or about[name]}
    kept = (sorted(worth, key=lambda name: -worth[name]) or [*figures])[:MOST]
    for name in kept:
        chapter, one = chapters[name], found[name]
        for cell in figures[name]:
            chosen, code = options(cell.source)
            cell.source = written({**chosen, "echo": False}, code)
        shown = f"@{options(figures[name][0].source)[0]['label']} shows the values."
        head = f"# {chapter.title} {{#{chapter.label}}}"
        said = [head, f"{judged.told(one)} {shown}" if one is not None else shown]
        cells = [new_markdown_cell("\n\n".join(filter(None, said))), *figures[name]]
        cells += [new_markdown_cell("\n\n".join(about[name]))] if about[name] else []
        slides.replace_cells(chapter, cells)
    return [name for name in chapters if name in kept]


def _worth(one: Finding | None) -> float:
    """Return how many times what a chapter found costs; 1 where it claims no difference."""
    return topics.cost(one) if one is not None and one.claims else 1.0


def _discussion(chapter: Chapter, content: Content, discussed: set[tuple[str, str]]) -> Iterator[str]:
    """Yield what the verdicts say of the benchmarks of a chapter; topics that were discussed are left out."""
    source, own = slides.source_of(chapter, content), topics.benchmarks(chapter)
    every = answered.of_source(content, source).topics
    here = [one for one in every if one.lead.subject.benchmark in own and one.lead.form not in _SILENT]
    for topic in [one for one in here if (source.name, one.name) not in discussed][:_TOPICS]:
        discussed.add((source.name, topic.name))
        yield discussion(topic)


def discussion(topic: Topic) -> str:
    """Return what the verdict on a topic says, as a paragraph."""
    name = topic.name[:1].upper() + topic.name[1:]
    return f"{escape(name)}: **{topic.verdict}**. {escape(answered.why(topic))}"
