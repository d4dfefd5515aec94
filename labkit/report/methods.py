"""Generate the parts of the methods chapter from the samples files: definitions, timing and effort."""

from __future__ import annotations

import re
from collections import Counter

import pandas as pd

from labkit import benchmarks
from labkit.errors import SpecError
from labkit.io import project
from labkit.point.columns import METRICS
from labkit.point.units import format_share, plural
from labkit.read.records import bases
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.stats import histogram

_TERMS = "## In reports\n"  # heading of the glossary
_SHARED = 3  # benchmarks from which on a paragraph of their docstrings stands once, in front
_TIMED = ("engine", "library", "timing", "cadence")  # benchmarks that share these share a row


def _names(content: Content) -> list[str]:
    """Return the benchmarks that were measured."""
    return sorted({one.spec.benchmark for source in content.sources for one in source.points})


def definitions(content: Content) -> str:
    """Return a paragraph for each measured benchmark from its file; common paragraphs occur once."""
    names = _names(content)
    if not names:
        return "There are no measurements, so there is nothing to define."
    ranks = "The time of an iteration is from rank 0's clock; with †, it is from the slowest rank."
    texts = {name: _paragraphs(name) for name in names}
    users: dict[str, list[str]] = {}
    for name, paragraphs in texts.items():
        for paragraph in dict.fromkeys(paragraphs):
            users.setdefault(paragraph, []).append(name)
    shared = [paragraph for paragraph, of in users.items() if len(of) >= _SHARED]
    once = [f"- {paragraph} ({', '.join(map(markdown.code, users[paragraph]))})" for paragraph in shared]
    parts = [_definition(name, [one for one in texts[name] if one not in shared]) for name in names]
    said = ["What several benchmarks share:", "\n".join(once)] if once else []
    return "\n\n".join([ranks, _metrics(names), *said, "::: {.fine}", *parts, ":::"])


def _paragraphs(name: str) -> list[str]:
    """Return the paragraphs of a benchmark's docstring as Markdown; nothing if this labkit does not know it."""
    if name not in benchmarks.find():
        return []
    return [" ".join(one.split()) for one in prose(benchmarks.get(name).doc).split("\n\n")]


def _metrics(names: list[str]) -> str:
    """Return a table of what the metrics mean, each once."""
    known = [benchmarks.get(name) for name in names if name in benchmarks.find()]
    used = dict.fromkeys(metric for one in known for metric in (*one.metrics, *one.derived))
    rows = [[escape(METRICS[m].label), escape(METRICS[m].unit), escape(METRICS[m].meaning)] for m in used]
    caption = "Metrics of the benchmarks. {#tbl-metrics}"
    return markdown.table(["metric", "unit", "meaning"], rows, caption=caption) if rows else ""


def _definition(name: str, own: list[str]) -> str:
    """Return a paragraph on a benchmark: its title, what its docstring alone has, metrics and timing."""
    try:
        benchmark = benchmarks.get(name)
    except SpecError as error:
        return f"**{escape(name)}.** {escape(error)}"
    metrics = [f"{METRICS[m].label} in {METRICS[m].unit}" for m in (*benchmark.metrics, *benchmark.derived)]
    facts = (
        f"*Metrics:* {', '.join(metrics)}. *Timing:* {benchmark.cadence}{' †' if benchmark.reduce == 'max' else ''}."
    )
    return " ".join([f"**{escape(benchmark.title)}** ({markdown.code(name)}).", *own, facts])


def prose(docstring: str) -> str:
    r"""Return a docstring as Markdown: code stays code, underlined headings become bold, everything else is literal.

    Examples
    --------
    >>> print(prose("Half the trip, see `osu_latency`.\n\nNotes\n-----\nA_b."))
    Half the trip, see `osu_latency`.
    <BLANKLINE>
    **Notes**
    <BLANKLINE>
    A\_b.
    """
    text = re.sub(r"^(\w[\w ]*)\n-{3,}$", r"\n**\1**\n", docstring.strip(), flags=re.M)
    text = re.sub(r"^\.\. +(?=\[)", "", text, flags=re.M)
    parts = re.split(r"(\*\*\w[\w ]*\*\*|`{1,2}[^`\n]+`{1,2})", text)
    return re.sub(r"\n{3,}", "\n\n", "".join(map(_part, parts)))


def _part(text: str) -> str:
    """Return a part of a docstring as Markdown: code, a bold head, or literal text."""
    if text.startswith("`"):
        return markdown.code(text.strip("`"))
    return text if text.startswith("**") else markdown.literal(text)


def _counts(values: pd.Series) -> str:
    """Return each value with its count, or alone if all are the same."""
    counts = Counter(str(value) or "not recorded" for value in values)
    if len(counts) == 1:
        return escape(next(iter(counts)))
    return ", ".join(f"{escape(value)} ({count})" for value, count in counts.most_common())


def timing(content: Content) -> str:
    """Return a table of the timing of each benchmark, and why measuring ended."""
    rows: list[tuple[Source, list[str]]] = []
    for source in content.sources:
        alike: dict[tuple[str, ...], list[pd.DataFrame]] = {}
        for _, group in source.by_benchmark():
            key = tuple(", ".join(sorted({str(v) or "–" for v in group[c]})) for c in _TIMED)
            alike.setdefault(key, []).append(group)
        for key, groups in alike.items():
            group = pd.concat(groups)
            overhead = group["timer_overhead_ns"].dropna()
            ends = dict.fromkeys(f"{cost:.0f}" for cost in (overhead.min(), overhead.max()) if len(overhead))
            cells = [
                ", ".join(markdown.code(one["benchmark"].iloc[0]) for one in groups),
                *map(escape, key),
                " to ".join(ends) or "–",
                f"{int(group['verified'].sum())} of {len(group)}",
                _counts(group["stopped_by"]),
            ]
            rows.append((source, cells))
    return content.table(
        ["benchmarks", "engine", "library", "timed", "cadence", "timer pair (ns)", "verified", "stopped by"],
        rows,
        caption="Timing of the samples. Numbers in parentheses count launches. {#tbl-timing}",
        empty="There are no samples.",
    )


def effort(content: Content) -> str:
    """Return sentences on launches, stop rule and seeds, from the samples files."""
    lines = []
    for source in content.sources:
        if not source.points:
            continue
        efforts = [one.effort for one in source.points]
        launches = source.summary["launches"]
        low, high = int(launches.min()), int(launches.max())
        cap = _values({f"{e.time_cap:g}" for e in efforts})
        text = f"Points had {plural(low, 'launch')} each" if low == high else f"Points had {low} to {high} launches"
        text += f" ({bases(source.summary)})"
        if exact := {f"{e.iterations:,}" for e in efforts if e.iterations is not None}:
            text += f"; {_values(exact)} iterations were requested exactly"
        if any(e.iterations is None for e in efforts):
            width = _values({f"{e.ci:.3g}" for e in efforts if e.iterations is None})
            text += f"; a point ended when its interval was narrower than {width} of its median"
            text += f", or after {cap} s of timed iterations"
        if source.times.extremes:
            text += (
                f". {plural(source.times.extremes, 'launch')} of points with many ranks kept extremes instead of "
                "every sample: of each iteration the slowest and the fastest rank and the deciles over ranks, of each "
                f"rank a histogram, whose percentiles are within {format_share(histogram.ERROR)}"
            )
        campaign = f"Campaign {escape(source.name)}: " if content.several else ""
        seeds = _values({str(e.seed) for e in efforts})
        lines.append(f"{campaign}{text}. The random order of points had seed {seeds}.")
    return "\n\n".join(lines) or "There are no samples."


def _values(texts: set[str]) -> str:
    return ", ".join(sorted(texts))


def terms(content: Content) -> str:
    """Return the part of the glossary that is about reports, as a table."""
    text = (project.SHIPPED / "docs/glossary.md").read_text()
    own = text.partition(_TERMS)[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in own.splitlines() if line[:2] == "| "]
    every = [term for words, _ in rows[1:] for term in words.split(", ")]
    content.terms.update({term: f"term-{term.replace(' ', '-')}" for term in every})
    marked = [
        [", ".join(f"[{term}]{{#{content.terms[term]}}}" for term in words.split(", ")), meaning]
        for words, meaning in rows[1:]
    ]
    return markdown.table(["term", "meaning"], marked, caption="Words of this report. {#tbl-terms}")


BLOCKS = {"terms": terms, "definitions": definitions, "timing": timing, "effort": effort}
