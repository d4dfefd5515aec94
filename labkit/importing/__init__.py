"""Import of what other benchmarks printed: each row of a table becomes a point as any others, without samples.

The text says which test ran, not where. So a file stands for a system of its own, named after the file, unless the
user names the testbed: then files with the same name are launches of the same points. A test belongs to the benchmark
that lists it in its `equivalents`, with the options given there and those that the text tells. A text of any length is
read in pieces; all of them are read before the campaign is touched.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labkit import campaign
from labkit.campaign import Campaign
from labkit.errors import DataError, SpecError
from labkit.importing.keeping import Keep
from labkit.importing.known import Known
from labkit.importing.points import Given, Kinds
from labkit.importing.text import Text, look
from labkit.importing.words import Notes

MOST_RANKS = 100_000_000
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Outcome:
    """What an import did.

    Parameters
    ----------
    campaign : where it went.
    added, present : points that are new, and that were there from an earlier import of the same text.
    warnings : what was left out, and what was assumed.
    """

    campaign: Campaign
    added: int
    present: int
    warnings: tuple[str, ...]

    def text(self) -> str:
        """For people."""
        there = f", {self.present} already imported" if self.present else ""
        return f"{self.added} points imported{there}\nsamples: {self.campaign.path}"


def bring(
    paths: Sequence[str | Path],
    *,
    into: Campaign | str | Path | None = None,
    ranks: int = 0,
    testbed: str = "",
    published: str = "",
    progress: Progress = lambda done, total: None,
) -> Outcome:
    """Import files into a campaign; what the same text brought before is not added again.

    Parameters
    ----------
    paths : files with the output of the OSU or the Intel MPI benchmarks.
    into : campaign or its folder; a new one named after the time when left out.
    ranks : how many there were, where neither test nor text tell it; 0 for not known.
    testbed : where it was measured; empty for not known.
    published : paper, table or figure and conditions of numbers that somebody published and that were written down in
        one of the layouts; their origin is then ``published`` instead of ``imported``.
    progress : told now and then how many bytes of how many are read.

    Raises
    ------
    SpecError
        If `ranks` cannot be.
    DataError
        If a file cannot be read or does not fit, or if no table in any of them has a benchmark; nothing was kept.
    """
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 0 <= ranks <= MOST_RANKS:
        raise SpecError(f"--ranks {ranks}, but it must be a whole number from 1 to {MOST_RANKS:,}.")
    given = Given(ranks, testbed, " ".join(published.split()))
    texts = [look(path) for path in paths]
    path = into.path if isinstance(into, Campaign) else Path(into or campaign.root())
    if into and (path / "campaign.json").exists():
        held = into if isinstance(into, Campaign) else Campaign(path)
        known = Known({text.digest[:16] for text in texts})
        with held.lease(), Keep(path, known) as keep:
            known.read(held)
            with _uncollected():
                present, warnings = _read(texts, given, keep, known, progress)
            keep.publish(held)
    else:
        known = Known(())
        with Keep(path, known) as keep:
            with _uncollected():
                present, warnings = _read(texts, given, keep, known, progress)
            held = into if isinstance(into, Campaign) else Campaign(into or campaign.fresh("import"))
            with held.lease():
                keep.publish(held)
    return Outcome(held, keep.added, present, tuple(dict.fromkeys(warnings)))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Rows hold no cycles, but many of them make the collector of cycles look at all of them again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _read(texts: Sequence[Text], given: Given, keep: Keep, known: Known, progress: Progress) -> tuple[int, list[str]]:
    """Read all texts, each once; how many points were there, and what is to be said."""
    total, done = sum(text.size for text in texts), 0
    counts: dict[tuple[str, str], int] = {}
    present, warnings = 0, list[str]()

    def read(count: int) -> None:
        nonlocal done
        done += count
        progress(done, total)

    for text in texts:
        name = (text.digest, given.testbed or text.path.name)
        if name in counts:  # the same text once more
            present += counts[name]
            read(text.size)
            continue
        counts[name], there, said = _one(text, given, keep, known, read)
        present += there
        warnings += said
    if not keep.added and not present:
        raise DataError(f"labkit imported nothing. {' '.join(warnings)} 'labkit list' shows the benchmarks.")
    return present, warnings


def _one(text: Text, given: Given, keep: Keep, known: Known, read: Callable[[int], None]) -> tuple[int, int, list[str]]:
    """Read a text; how many points it has, how many of them were there, and what is to be said."""
    notes, lines, kinds = Notes(text.path), text.lines(read), Kinds(text, given)
    before, present = keep.added, 0
    for table in text.tables(lines):
        if kind := kinds.of(table, notes):
            points, there, size = kind.points(table, notes, known)
            keep.add(kind.benchmark, points, size)
            present += there
    return keep.added - before + present, present, notes.warnings(lines.skipped.text())
