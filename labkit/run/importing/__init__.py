"""Imports the output of other benchmarks: each row of a table becomes a point without samples.

A file is known by its content. OMB and IMB print tables of any length (`points`); the output of all other tools is a
log (`logs`). Of a folder, labkit reads all files, and names those that it leaves out, each with the reason.

The text names the test, but not the machine. So each file represents a separate system, named after the file. If the
user names the testbed, files with the same name are launches of the same points. A test belongs to the benchmark that
lists it in its `equivalents` or its `logs`, with the options given there and those in the text. labkit reads tables of
any length in pieces, and reads all texts before it changes the campaign.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labkit.errors import DataError, SpecError
from labkit.io.collector import uncollected
from labkit.point.units import plural
from labkit.run.importing import logs
from labkit.run.importing.folders import collected
from labkit.run.importing.known import Known
from labkit.run.importing.messages import Messages, Warned, grouped
from labkit.run.importing.points import Converters, Given
from labkit.run.importing.staging import Staging
from labkit.run.importing.text import Text
from labkit.store import campaign
from labkit.store.campaign import Campaign

_CUT = "the output of a run ends here, before {}. What is complete above was imported."
_TORN = "the last line is incomplete, and was left out."
MOST_RANKS = 100_000_000
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Outcome:
    """Outcome of an import.

    Parameters
    ----------
    campaign : the campaign that has the points now.
    added, present : number of new points, and of those from an earlier import of the same text.
    warnings : what was left out, and what was assumed.
    files : number of files of each kind.
    left_out : files of a folder that were not imported, each with the reason.
    """

    campaign: Campaign
    added: int
    present: int
    warnings: tuple[str, ...]
    files: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """Return a summary for people."""
        already = ""
        if self.present:
            already = f", {self.present} already imported"
        lines = [f"{plural(self.added, 'point')} imported{already}"]
        if sum(self.files.values()) > 1:
            lines.append("files: " + ", ".join(f"{count} of {kind}" for kind, count in sorted(self.files.items())))
        if self.left_out:
            lines.append(f"left out: {plural(len(self.left_out), 'file')}")
            lines += [f"  {name}: {reason}" for name, reason in self.left_out]
        return "\n".join([*lines, f"samples: {self.campaign.path}"])


def bring(
    paths: Sequence[str | Path],
    *,
    into: Campaign | str | Path | None = None,
    ranks: int = 0,
    testbed: str = "",
    published: str = "",
    progress: Progress = lambda done, total: None,
) -> Outcome:
    """Import files into a campaign; points from an earlier import of the same text are not added again.

    Parameters
    ----------
    paths : files with the output of benchmarks, or folders of such files.
    into : campaign or its folder; a new one, named after the time, if left out.
    ranks : number of ranks if neither test nor text gives it; 0 for not known.
    testbed : where it was measured; empty if unknown.
    published : paper, table or figure, and conditions of published numbers that were written down in one of the
        layouts; their origin is then ``published`` instead of ``imported``.
    progress : called now and then with the bytes read and the bytes in total.

    Raises
    ------
    SpecError
        If `ranks` is not a valid number.
    DataError
        If a file cannot be read or does not fit, or if no table in any of them has a benchmark; nothing was kept.
        Files of a folder that do not fit are left out instead, each as a whole.
    """
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 0 <= ranks <= MOST_RANKS:
        raise SpecError(f"--ranks {ranks}, but it must be a whole number from 1 to {MOST_RANKS:,}.")
    given = Given(ranks, testbed, " ".join(published.split()))
    texts, left_out = collected(paths)
    return bring_texts([(text, given) for text in texts], into=into, left_out=left_out, progress=progress)


def bring_texts(
    texts: Sequence[tuple[Text, Given]],
    *,
    into: Campaign | str | Path | None = None,
    left_out: Sequence[tuple[str, str]] = (),
    progress: Progress = lambda done, total: None,
) -> Outcome:
    """Import texts into a campaign, each with facts that it does not state; else as `bring`."""
    path = into.path if isinstance(into, Campaign) else Path(into or campaign.root())
    if into and (path / "campaign.json").exists():
        target = into if isinstance(into, Campaign) else Campaign(path)
        known = Known({text.digest[:16] for text, _ in texts})
        with target.lease(), Staging(path, known) as staging:
            known.read(target)
            with uncollected():  # rows have no cycles
                present, warnings = _read(texts, staging, known, progress)
            staging.publish(target)
    else:
        known = Known(())
        with Staging(path, known) as staging:
            with uncollected():  # rows have no cycles
                present, warnings = _read(texts, staging, known, progress)
            new = not isinstance(into, Campaign) and (not into or not os.path.lexists(into))
            place = path if into else campaign.fresh("import")
            with campaign.whole(place, new=new):
                target = into if isinstance(into, Campaign) else Campaign(place)
                with target.lease():
                    staging.publish(target)
    kinds = Counter(text.kind for text, _ in texts)
    return Outcome(target, staging.added, present, tuple(grouped(warnings)), kinds, tuple(left_out))


def _read(
    texts: Sequence[tuple[Text, Given]], staging: Staging, known: Known, progress: Progress
) -> tuple[int, list[Warned]]:
    """Read all texts, each once; return how many points were imported before, and the warnings."""
    total, done = sum(text.size for text, _ in texts), 0
    counts: dict[tuple[str, str], int] = {}
    present, warnings = 0, list[Warned]()

    def read(count: int) -> None:
        nonlocal done
        done += count
        progress(done, total)

    for text, given in texts:
        key = (text.digest, given.testbed or text.name)
        if key in counts:  # the same text once more
            present += counts[key]
            read(text.size)
            continue
        counts[key], present_here, text_warnings = _read_text(text, given, staging, known, read)
        present += present_here
        warnings += text_warnings
    if not staging.added and not present:
        raise DataError(f"labkit imported nothing. {' '.join(grouped(warnings))} 'labkit list' shows the benchmarks.")
    return present, warnings


def _read_text(
    text: Text, given: Given, staging: Staging, known: Known, read: Callable[[int], None]
) -> tuple[int, int, list[Warned]]:
    """Read a text; return how many points it has, how many of them were imported before, and the warnings."""
    messages, added_before, present = Messages(text.where), staging.added, 0
    if text.log:
        new, present = logs.points(text, text.runs(read), given, messages, known)
        for benchmark, (points, size) in new.items():
            staging.add(benchmark, points, size)
        return staging.added - added_before + present, present, [*messages.warnings(""), *_doubts(text)]
    lines, converters = text.lines(read), Converters(text, given)
    for table in text.tables(lines):
        if converter := converters.of(table, messages):
            points, present_here, size = converter.points(table, messages, known)
            staging.add(converter.benchmark, points, size)
            present += present_here
    cuts = [
        Warned(f"{text.where}, line {cut.line}", _CUT.format(cut.wanted) if cut.wanted else _TORN) for cut in lines.cuts
    ]
    warnings = [*messages.warnings(lines.skipped.text()), *cuts, *_doubts(text)]
    return staging.added - added_before + present, present, warnings


def _doubts(text: Text) -> list[Warned]:
    """Return what is doubtful about a whole text as messages."""
    return [Warned(text.where, f"{doubt.text}.") for doubt in text.doubts]
