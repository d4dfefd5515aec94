"""Explain badges, warnings and failures once, in groups with their remedies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.figures import parts
from labkit.point import doubts
from labkit.point.notes import Note, joined
from labkit.point.units import plural
from labkit.report import markdown, oddities
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.notebook import laid_out, part_of
from labkit.report.sources import Source
from labkit.report.variables import title
from labkit.store.samples.facts import BROUGHT

_NAMED = 3  # benchmarks that a row names
_CROWDED, _NO_CORE = "oversubscription", "no-core-left"  # codes of notes
_MOST = 0.9  # of the launches of a campaign, from which a group is said once


@dataclass(frozen=True)
class Group:
    """Notes with the same meaning for a reader.

    Parameters
    ----------
    codes : codes of the notes that belong to it.
    name : name of the group.
    remedy : its meaning and what to do.
    """

    codes: tuple[str, ...]
    name: str
    remedy: str


GROUPS = (
    Group(
        ("gpu-stand-in",),
        "stand-in for a GPU",
        "Host memory took the place of a GPU. Shows function, not performance. Measure on a machine with a GPU.",
    ),
    Group(("functional",), "emulated device", "Shows function, not performance. Measure on a real RDMA device."),
    Group(
        ("path-mismatch",),
        "path mismatch",
        "The messages took another path than requested. Check the launcher's settings.",
    ),
    Group(
        ("path-unknown",),
        "path unknown",
        "Too few bytes passed to tell which path the messages took. Measure more iterations, or set the transport.",
    ),
    Group(("loopback",), "loopback", "No network is involved. Name two hosts for numbers of a network."),
    Group(
        ("shared-memory", "unix-socket"),
        "within one host",
        "The numbers are those of memory. Name two hosts for numbers of a network.",
    ),
    Group(
        ("emulated-link",),
        "emulated link",
        "Delay and rate are set, not measured. Compare shapes, not values.",
    ),
    Group(
        (_CROWDED, "oversubscribed"),
        "more ranks than cores",
        "Ranks share cores, so times include waiting for a core. Use no more ranks than cores, or more hosts.",
    ),
    Group(
        (_NO_CORE,),
        "no core left",
        "The system interrupts the ranks, so tails may be false. Use fewer ranks than cores.",
    ),
    Group(
        ("busy-machine",),
        "busy machine",
        "Other tasks took processor time, so latency and tails may be false. Repeat when idle.",
    ),
    Group(
        ("virtual-machine", "stolen-time"),
        "virtual machine",
        "The hypervisor may interrupt a measurement. Measure on a bare machine for tails.",
    ),
    Group(
        ("retried",),
        "second start",
        "Ranks failed or stood still, and labkit started them again. Set a longer `--time-limit` if a point needs it.",
    ),
    Group(("time-cap",), "time cap", "Measuring ended before the interval was narrow. Raise time_cap."),
    Group(("few-iterations",), "few iterations", "Percentiles are unreliable. Raise time_cap or iterations."),
    Group(
        ("dependent-iterations",),
        "dependent iterations",
        "Iterations of a launch depend on each other, so its own interval is wide. Run more launches.",
    ),
    Group(
        ("stand-in",),
        "another tool",
        "The preferred tool is missing, and another took its place. Compare tools with care.",
    ),
    Group(
        ("page-cache", "memory-file-system"),
        "page cache",
        "The data did not reach the device. Use direct I/O or larger files.",
    ),
    Group(
        ("governor", "cpu-frequency", "frequency-drift"),
        "processor frequency",
        "The frequency may change during a measurement. Set the governor performance; if it is set, look for heat "
        "and turbo.",
    ),
    Group(
        ("below-resolution", "clock-resolution"),
        "below resolution",
        "A time is too short for the clock. Trust only the order of magnitude.",
    ),
)
_OF_CODE = {code: one for one in GROUPS for code in one.codes}


def caveats(content: Content) -> str:
    """Return a table of caveats, or a sentence without any, and the number of odd results."""
    odd = oddities.counted(content)
    text = _table(content) or "No point has a badge or a warning."
    return f"{text}\n\n{odd} `labkit explain` lists them with possible reasons." if odd else text


def shorten(content: Content) -> None:
    """Remove the caveats of the whole campaign from each chapter, and name them in one line."""
    for chapter in content.chapters.values():
        source = next((one for one in content.sources if chapter.path in one.notebooks), None)
        general = _general(source) if source else set()
        for cell in chapter.notebook.cells if general else []:
            for place, out in enumerate(cell.get("outputs", [])):
                part = part_of(out)
                if isinstance(part, parts.Text) and part.notes:
                    cell.outputs[place] = laid_out(_shortened(part, general))


def _general(source: Source) -> set[str]:
    """Return the names of the groups that contain nearly all launches of a campaign."""
    rows = source.records[["origin", "badges", "warnings"]].to_dict("records") if len(source.records) else []
    counts = Counter(name for row in rows for name in groups_of(row))
    return {name for name, count in counts.items() if count >= _MOST * len(rows)}


def _shortened(text: parts.Text, general: set[str]) -> parts.Text:
    """Return warnings without those of some groups, which the last line names."""
    groups = [(one, group(one)) for one in text.notes]
    gone = dict.fromkeys(own.name for _, own in groups if own and own.name in general)
    if not gone:
        return text
    kept = tuple(one for one, own in groups if not own or own.name not in general)
    shared = f"@sec-caveats explains what nearly all points share: {', '.join(gone)}."
    return parts.Text(markdown.needing("sec-caveats", shared), text.findings, kept)


def group(note: Note) -> Group | None:
    """Return the group of a note; None without a group."""
    ranks, cores = (note.value(name) for name in ("ranks", "cores"))
    crowded = note.code == _NO_CORE and isinstance(ranks, int) and isinstance(cores, int) and ranks > cores
    return _OF_CODE.get(_CROWDED if crowded else note.code)


def groups_of(row: Mapping[str, Any]) -> list[str]:
    """Return the groups of a row's badges and warnings, each once, in their fixed order.

    Imported points have no group, because the remedies of groups apply only to points measured with labkit.
    """
    if row["origin"] in BROUGHT:
        return []
    own = {group(note) for note in (*row["badges"], *row["warnings"])}
    return [one.name for one in GROUPS if one in own]


def words_of(row: Mapping[str, Any]) -> list[str]:
    """Return the caveats of a row: names of groups, then notes without a group, without their remedies."""
    return [*groups_of(row), *(one.text.partition("; ")[0].rstrip(".") for one in _alone(row))]


def _alone(row: Mapping[str, Any]) -> list[Note]:
    """Return the badges and warnings of a row that belong to no group of it."""
    grouped = row["origin"] not in BROUGHT
    return [one for one in (*row["badges"], *row["warnings"]) if one.text and not (grouped and group(one))]


def failures(content: Content) -> str:
    """Return a callout on failures; empty without any."""
    failed = [f"@{c.label} stopped at {escape(c.error)}" for c in content.chapters.values() if c.error]
    count = sum(len(source.failed) for source in content.sources)
    if count:
        reasons = markdown.needing("tbl-failed", "; see @tbl-failed for the reasons")
        failed.append(f"{plural(count, 'point')} skipped or failed{reasons}.")
    return markdown.callout("important", "Incomplete", markdown.bullets(failed)) if failed else ""


def _table(content: Content) -> str:
    """Return a row for every group, with its launches, its benchmarks, its meaning and its remedy."""
    groups: dict[tuple[str, str], list[tuple[Source, str, str]]] = {}
    for source in content.sources:
        for name, launches, where, remedy in _rows(source) if len(source.records) else ():
            groups.setdefault((name, remedy), []).append((source, launches, where))
    rows = [[name, *_cells(found, content.several), remedy] for (name, remedy), found in groups.items()]
    caption = "Conditions that may spoil a number, and what to do. Each chapter names its own. {#tbl-caveats}"
    head = ["condition", "launches", "where", "meaning and remedy"]
    return markdown.table(head, rows, align="llll" if content.several else "lrll", caption=caption) if rows else ""


def _cells(found: list[tuple[Source, str, str]], several: bool) -> tuple[str, str]:
    """Return the launches and places of a group, with campaign names if there are several campaigns."""
    if not several:
        ((_, launches, where),) = found
        return launches, where
    counts = ", ".join(f"{escape(source.name)} {launches}" for source, launches, _ in found)
    places = dict.fromkeys(where for _, _, where in found)
    if len(places) == 1:
        return counts, next(iter(places))
    return counts, joined(f"{escape(source.name)}: {where}" for source, _, where in found)


def _rows(source: Source) -> Iterator[tuple[str, str, str, str]]:
    """Yield the groups of a campaign in their fixed order, then the notes that stand alone."""
    rows = source.records[["benchmark", "origin", "badges", "warnings"]].to_dict("records")
    total, benchmarks = len(rows), [str(row["benchmark"]) for row in rows]
    groups = [groups_of(row) for row in rows]
    for one in GROUPS:
        if names := [name for name, found in zip(benchmarks, groups, strict=True) if one.name in found]:
            yield one.name, f"{len(names)} of {total}", _where(names, benchmarks), one.remedy
    for note, count in doubts.kinds(map(_alone, rows)):
        yield "other", f"{count} of {total}", "–", escape(note.text.rstrip(".")) + "."


def _where(names: list[str], every: list[str]) -> str:
    """Name the benchmarks of a group, or count them."""
    distinct = sorted(set(names))
    if distinct == sorted(set(every)):
        return "everywhere"
    if len(distinct) <= _NAMED:
        return ", ".join(escape(title(name)) for name in distinct)
    families = sorted({name.partition(".")[0] for name in distinct})
    return f"{plural(len(distinct), 'benchmark')} of {', '.join(families)}"


BLOCKS = {"warnings": caveats, "failures": failures}
