"""Generated parts of the first pages: what may mislead, key numbers, hosts, what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from labkit import units
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.report.variables import KeyNumber, key_numbers, plural, title

_HOST_FIRST = (
    "name",
    "hostname",
    "cpu_model",
    "cores",
    "cpus",
    "sockets",
    "memory",
    "memory_B",
    "kernel",
    "os",
    "system",
)
_HOST_ROWS = 14  # the first page has room for these; the appendix holds all


def warnings(content: Content) -> str:
    """Callouts for failures, badges and warnings; a sentence when there are none."""
    parts = [_failures(content), _badges(content)]
    shown = "\n\n".join(part for part in parts if part)
    return shown or "No notebook or point failed, and no point carries a badge or a warning."


def _failures(content: Content) -> str:
    failed = [f"@{c.label} stopped at {escape(c.error)}" for c in content.chapters.values() if c.error]
    count = sum(len(source.failed) for source in content.sources)
    if count:
        failed.append(f"{plural(count, 'point')} skipped or failed; see @tbl-failed for the reasons.")
    return markdown.callout("important", "Incomplete", markdown.bullets(failed)) if failed else ""


def _badges(content: Content) -> str:
    """Every badge and warning with the number of points that carry it."""
    found: Counter[tuple[str, str]] = Counter()
    of: dict[tuple[str, str], set[str]] = {}
    total = 0
    for source in content.sources:
        total += len(source.records)
        for kind in ("badges", "warnings"):
            held = source.records[["benchmark", kind]].itertuples(index=False) if len(source.records) else ()
            for benchmark, text in held:
                for part in dict.fromkeys(filter(None, str(text).split("; "))):
                    found[kind, part] += 1
                    of.setdefault((kind, part), set()).add(str(benchmark))
    if not found:
        return ""
    items = [
        f"**{escape(part)}**: {count} of {total} launches ({', '.join(map(markdown.code, sorted(of[kind, part])))})"
        for (kind, part), count in sorted(found.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    ]
    return markdown.callout("warning", "What may mislead", markdown.bullets(items))


def key_table(content: Content) -> str:
    """Table of the key numbers."""
    rows = [(source, _key_row(one)) for source in content.sources for one in key_numbers(source)]
    return content.table(
        ["quantity", "path", "ranks", "size", "value", "low to high", "what low and high are", "n"],
        rows,
        align="lllrrllr",
        caption="Key numbers: the headline metric of each benchmark at its smallest and largest size. {#tbl-key}",
        empty="There are no samples in this campaign yet, so there are no key numbers.",
    )


def _key_row(one: KeyNumber) -> list[str]:
    origin = "" if one.origin == "measured" else f" ({one.origin})"
    return [
        f"{one.title}{origin}",
        escape(one.transport),
        str(one.ranks),
        _size(one.size) if one.size else "–",
        f"**{one.text}**\u00a0{one.unit}",
        one.range,
        one.interval,
        f"{one.n:,}",
    ]


def _size(size: int) -> str:
    """A size that no line end tears apart."""
    return units.format_size(size).replace(" ", "\u00a0")


def flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested facts as rows of name and text; empty ones are left out.

    Examples
    --------
    >>> flat({"cpu": {"model": "A", "flags": []}, "nodes": ["a", "b"]})
    [('cpu model', 'A'), ('nodes', 'a, b')]
    """
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, Mapping):
            rows += flat(value, f"{name} ")
        elif isinstance(value, list | tuple):
            if all(not isinstance(part, Mapping | list) for part in value):
                rows += [(name, ", ".join(map(str, value)))] if value else []
            else:
                for number, part in enumerate(value, start=1):
                    rows += flat(part if isinstance(part, Mapping) else {"": part}, f"{name} {number} ")
        elif value not in (None, ""):
            rows.append((name.strip(), str(value)))
    return rows


def hosts(content: Content) -> str:
    """Table of the hosts, short; the appendix has every fact."""
    rows: list[tuple[Source, list[str]]] = []
    for source in content.sources:
        plain = {k: v for k, v in source.host.items() if isinstance(v, str | int | float)}
        order = [k for k in _HOST_FIRST if k in plain] + [k for k in plain if k not in _HOST_FIRST]
        rows += [(source, [escape(a), escape(b)]) for a, b in flat({k: plain[k] for k in order})[:_HOST_ROWS]]
    return content.table(
        ["fact", "value"],
        rows,
        caption="Where it was measured; @tbl-host-all has every fact recorded. {#tbl-hosts}",
        empty="The campaign holds no description of its host.",
    )


def measured(content: Content) -> str:
    """Table of what was measured: benchmarks with points, launches and samples."""
    rows: list[tuple[Source, list[str]]] = []
    for source in content.sources:
        for benchmark, group in source.records.groupby("benchmark", sort=True) if len(source.records) else ():
            sizes = group["message_size_B"]
            span = _size(int(sizes.min())) + (f" to {_size(int(sizes.max()))}" if sizes.nunique() > 1 else "")
            origins = ", ".join(sorted(group["origin"].unique()))
            cells = [
                title(str(benchmark)),
                markdown.code(benchmark),
                span if sizes.max() else "–",
                str(group["fingerprint"].nunique()),
                str(len(group)),
                f"{int(group['n'].sum()):,}",
                origins,
            ]
            rows.append((source, cells))
    return content.table(
        ["quantity", "benchmark", "sizes", "points", "launches", "iterations", "origin"],
        rows,
        align="lllrrrl",
        caption="What was measured. Each point was started afresh as often as it has launches. {#tbl-measured}",
        empty="The campaign holds no samples.",
    )


def chapters(content: Content) -> str:
    """List of the chapters with their questions."""
    return markdown.bullets(f"@{chapter.label}: {chapter.title}" for chapter in content.chapters.values())


BLOCKS = {"warnings": warnings, "key-numbers": key_table, "hosts": hosts, "measured": measured, "chapters": chapters}
