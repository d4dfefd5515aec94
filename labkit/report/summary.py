"""Generate the parts of the first pages: caveats, key numbers, systems, measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit import stats, units
from labkit.analysis import doubts
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.report.variables import KeyNumber, key_numbers, plural, sized, title

_HOST_FIRST = (
    "name",
    "hostname",
    "cpu_model",
    "cpu_sockets",
    "cpu_cores",
    "cpu_threads",
    "cpus_usable",
    "numa_nodes",
    "memory_total_B",
    "distribution",
    "kernel",
    "virtualisation",
    "container",
    "governor",
    "clock_source",
)


def warnings(content: Content) -> str:
    """Return callouts for failures, badges and warnings; a sentence when there are none."""
    parts = [_failures(content), _badges(content)]
    shown = "\n\n".join(part for part in parts if part)
    return shown or "No notebook or point failed, and no point has a badge or a warning."


def _failures(content: Content) -> str:
    failed = [f"@{c.label} stopped at {escape(c.error)}" for c in content.chapters.values() if c.error]
    count = sum(len(source.failed) for source in content.sources)
    if count:
        failed.append(f"{plural(count, 'point')} skipped or failed; see @tbl-failed for the reasons.")
    return markdown.callout("important", "Incomplete", markdown.bullets(failed)) if failed else ""


def _badges(content: Content) -> str:
    """Return every kind of badge and warning with the number of launches that have it."""
    items = []
    for source in content.sources:
        if not len(source.records):
            continue
        prefix = f"{escape(source.name)}: " if content.several else ""
        for column in ("badges", "warnings"):
            for text, count in doubts.kinds(source.records[column]):
                items.append(f"{prefix}**{escape(text.rstrip('.'))}**: {count} of {len(source.records)} launches")
    return markdown.callout("warning", "Caveats", markdown.bullets(items)) if items else ""


def key_table(content: Content) -> str:
    """Return a table of the key numbers."""
    numbers = [(source, number) for source in content.sources for number in key_numbers(source)]
    rows = [(source, _key_row(number)) for source, number in numbers]
    interval = _interval([number for _, number in numbers])
    return content.table(
        ["quantity", "path", "ranks", "setting", "size", "value", interval, "launches", "n"],
        rows,
        align="llrlrrlrr",
        caption="Key numbers: the headline metric of each benchmark at its smallest and largest size. "
        f"A {100 * stats.LEVEL:.0f} % interval needs {stats.LAUNCHES} launches. {{#tbl-key}}",
        empty="This campaign has no samples yet, so there are no key numbers.",
    )


def _interval(numbers: Sequence[KeyNumber]) -> str:
    """Return the header of the column with the intervals, which says what they are."""
    enough = {one.launches >= stats.LAUNCHES for one in numbers}
    names = {True: f"{100 * stats.LEVEL:.0f} % interval", False: "range of launches"}
    return f"{names[True]} or range" if len(enough) > 1 else names[enough.pop() if enough else True]


def _key_row(number: KeyNumber) -> list[str]:
    origin = "" if number.origin == "measured" else f" ({number.origin})"
    return [
        escape(f"{number.title}{origin}"),
        escape(number.transport),
        str(number.ranks),
        escape(number.setting) or "–",
        _size(number.size) if sized(number.benchmark) else "–",
        f"**{number.text}**\u00a0{number.unit}",
        number.range,
        str(number.launches),
        units.format_count(number.n),
    ]


def _size(size: int) -> str:
    """Return a size without a place for a line break."""
    return units.format_size(size).replace(" ", "\u00a0")


def flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return nested facts as rows of name and text, without empty ones.

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
                if value:
                    rows.append((name, ", ".join(units.format_fact(str(key), part) for part in value)))
            else:
                for number, part in enumerate(value, start=1):
                    rows += flat(part if isinstance(part, Mapping) else {"": part}, f"{name} {number} ")
        elif value not in (None, ""):
            rows.append((name.removesuffix(" B").strip(), units.format_fact(str(key), value)))
    return rows


def hosts(content: Content) -> str:
    """Return a short table of the hosts; the appendix has every fact."""
    rows: list[tuple[Source, list[str]]] = []
    for source in content.sources:
        for name, host in _hosts(source).items():
            known = {key: host[key] for key in _HOST_FIRST if key in host}
            facts = [("campaign", name)] if name else []
            facts += flat(known or host) + _interfaces(host)
            rows += [(source, [escape(name), escape(value)]) for name, value in facts]
    return content.table(
        ["fact", "value"],
        rows,
        caption="Systems that were measured; @tbl-host-all has all recorded facts. {#tbl-hosts}",
        empty="The campaign holds no description of its host.",
    )


def _hosts(source: Source) -> dict[str, Mapping[str, Any]]:
    """Return the host of a campaign, or the hosts of those that were merged into it, by name."""
    origins = source.facts.get("origins")
    facts = {k: v for k, v in origins.items() if isinstance(v, Mapping)} if isinstance(origins, Mapping) else {}
    merged = {str(name): one["host"] for name, one in facts.items() if isinstance(one.get("host"), Mapping)}
    return merged or {"": source.host}


def _interfaces(host: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the physical network interfaces, a row each."""
    rows = []
    for nic in host.get("nics") or []:
        if isinstance(nic, Mapping) and nic.get("physical"):
            speed = f"{nic['speed_Mbps']} Mbit/s" if nic.get("speed_Mbps") else ""
            facts = [nic.get("kind"), nic.get("driver"), nic.get("model"), speed, nic.get("state")]
            rows.append((f"network {nic.get('name', '')}", ", ".join(str(fact) for fact in facts if fact)))
    return rows


def measured(content: Content) -> str:
    """Return a table of what was measured: benchmarks with points, launches and samples."""
    rows: list[tuple[Source, list[str]]] = []
    for source in content.sources:
        for benchmark, group in source.by_benchmark():
            sizes = group["message_size_B"]
            span = _size(int(sizes.min())) + (f" to {_size(int(sizes.max()))}" if sizes.nunique() > 1 else "")
            origins = ", ".join(sorted(group["origin"].unique()))
            cells = [
                escape(title(benchmark)),
                markdown.code(benchmark),
                span if sized(benchmark) else "–",
                str(group["fingerprint"].nunique()),
                str(len(group)),
                units.format_count(group["n"].sum()),
                escape(origins),
            ]
            rows.append((source, cells))
    return content.table(
        ["quantity", "benchmark", "sizes", "points", "launches", "iterations", "origin"],
        rows,
        align="lllrrrl",
        caption="Measurements. Each launch of a point is a fresh start. {#tbl-measured}",
        empty="The campaign holds no samples.",
    )


def chapters(content: Content) -> str:
    """Return a list of the chapters with their questions."""
    return markdown.bullets(f"@{chapter.label}: {chapter.title}" for chapter in content.chapters.values())


BLOCKS = {"warnings": warnings, "key-numbers": key_table, "hosts": hosts, "measured": measured, "chapters": chapters}
