"""Generated parts of the methods chapter: definitions, timing and effort, as the samples files tell them."""

from __future__ import annotations

import re
from collections import Counter

import pandas as pd

from labkit import benchmarks
from labkit.columns import METRICS
from labkit.errors import SpecError
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.report.variables import plural
from labkit.stats import histogram
from labkit.units import format_share


def definitions(content: Content) -> str:
    """A section for each benchmark that was measured, from its own file."""
    names = sorted({one.spec.benchmark for source in content.sources for one in source.points})
    return (
        "\n\n".join(_definition(name) for name in names) or "There are no measurements, so there is nothing to define."
    )


def _definition(name: str) -> str:
    label = f"{{#sec-def-{name.replace('.', '-').replace('_', '-')}}}"
    try:
        benchmark = benchmarks.get(name)
    except SpecError as error:
        return f"### {escape(name)} {label}\n\n{escape(error)}"
    counts = "the slowest rank counts" if benchmark.reduce == "max" else "rank 0's clock counts"
    metrics = [
        f"{METRICS[m].label} in {METRICS[m].unit} ({METRICS[m].meaning.rstrip('.')})"
        for m in (*benchmark.metrics, *benchmark.derived)
    ]
    facts = f"*Metrics:* {'; '.join(metrics)}. *Timing:* {benchmark.cadence}; {counts}."
    return f"### {benchmark.title} ({markdown.code(name)}) {label}\n\n{prose(benchmark.doc)}\n\n{facts}"


def prose(docstring: str) -> str:
    r"""A docstring as Markdown: code stays code, underlined heads become bold, all else is literal.

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
    done = [markdown.code(p.strip("`")) if p[:1] == "`" else p if p[:2] == "**" else markdown.literal(p) for p in parts]
    return re.sub(r"\n{3,}", "\n\n", "".join(done))


def _counts(values: pd.Series) -> str:
    """Each value with how often it occurs, or alone where it is the only one."""
    found = Counter(str(value) or "not recorded" for value in values)
    if len(found) == 1:
        return escape(next(iter(found)))
    return ", ".join(f"{escape(value)} ({count})" for value, count in found.most_common())


def timing(content: Content) -> str:
    """Table of how each benchmark was timed, and why measuring ended."""
    rows: list[tuple[Source, list[str]]] = []
    for source in content.sources:
        for name, group in source.records.groupby("benchmark", sort=True) if len(source.records) else ():
            overhead = group["timer_overhead_ns"].dropna()
            cost = f"{overhead.min():.0f} to {overhead.max():.0f}" if len(overhead) else "not recorded"
            verified = f"{int(group['verified'].sum())} of {len(group)}"
            cells = [
                markdown.code(name),
                *(_counts(group[c]) for c in ("engine", "library", "timing", "cadence")),
                cost,
                verified,
                _counts(group["stopped_by"]),
            ]
            rows.append((source, cells))
    return content.table(
        ["benchmark", "engine", "library", "timed", "cadence", "timer pair (ns)", "verified", "stopped by"],
        rows,
        caption="Timing of the samples. Numbers in parentheses count launches. {#tbl-timing}",
        empty="There are no samples.",
    )


def effort(content: Content) -> str:
    """Sentences on launches, stop rule and seeds, from what the samples files hold."""
    lines = []
    for source in content.sources:
        if not source.points:
            continue
        efforts = [one.effort for one in source.points]
        launches = source.summary["launches"]
        low, high = int(launches.min()), int(launches.max())
        cap = _values({f"{e.time_cap:g}" for e in efforts})
        text = f"Points had {low} launches each" if low == high else f"Points had {low} to {high} launches"
        exact = {e.iterations for e in efforts if e.iterations is not None}
        text += f"; {_values({f'{n:,}' for n in exact})} iterations were requested exactly" if exact else ""
        if any(e.iterations is None for e in efforts):
            width = _values({f"{e.ci:.3g}" for e in efforts if e.iterations is None})
            text += f"; a point ended when its interval was narrower than {width} of its median"
            text += f", or after {cap} s of timed iterations"
        if source.extremes:
            text += (
                f". {plural(source.extremes, 'launch', 'launches')} of points with many ranks kept extremes instead of "
                f"every sample: of each iteration the slowest and the fastest rank and the deciles over ranks, of each "
                f"rank a histogram, whose percentiles are within {format_share(histogram.ERROR)}"
            )
        seeds = _values({str(e.seed) for e in efforts})
        lines.append(
            (f"Campaign {escape(source.name)}: " if content.several else "")
            + f"{text}. The random order of points had seed {seeds}."
        )
    return "\n\n".join(lines) or "There are no samples."


def _values(texts: set[str]) -> str:
    return ", ".join(sorted(texts))


BLOCKS = {"definitions": definitions, "timing": timing, "effort": effort}
