"""The field kit: one bounded command for a real cluster, which leaves one archive and nothing else.

labkit's benchmarks and the site's own programs run in rounds, so that they meet the same state of the cluster. The
archive is that of a campaign. Its folder `FOLDER` holds what ran, by how much the counters of the hosts grew, and
labkit's answer.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from labkit.apps import redacting
from labkit.apps.fieldkit import parts, rounds
from labkit.apps.fieldkit.parts import Place
from labkit.apps.show import answered
from labkit.errors import DataError, LabkitError, LaunchError
from labkit.host import counters
from labkit.io import atomic, safe_read
from labkit.judge import answer
from labkit.report import sources
from labkit.store import archive
from labkit.store.campaign import Campaign

__all__ = ["FOLDER", "Kit", "Place", "planned", "run"]
FOLDER = "fieldkit"  # in the campaign
_CACHE = "XDG_CACHE_HOME"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Kit:
    """What a field kit left.

    Parameters
    ----------
    archive : its file.
    log : what ran.
    left_out : part → why it did not run.
    answer : labkit's answer, for a terminal.
    stopped : the exception that ended it early; None if none did.
    """

    archive: Path
    log: rounds.Log
    left_out: dict[str, str]
    answer: str
    stopped: BaseException | None = None

    def text(self) -> str:
        """Return what a person wants to know at the end."""
        done = self.log.done
        counts = ", ".join(f"{name} {count}×" for name, count in done.items())
        lines = [self.answer, "", f"measured: {counts}; {self.log.ended}"]
        failed = {one.part: one.problem for one in self.log.runs if one.problem and not done[one.part]}
        lines += [f"without a result: {name}: {why}" for name, why in failed.items()]
        lines += _omitted(self.left_out)
        return "\n".join([*lines, f"archive: {self.archive}, {self.archive.stat().st_size:,} B"])


def planned(place: Place) -> str:
    """Return what would run, and what is left out, a line each; starts nothing but version queries."""
    usable, left_out = parts.chosen(place)
    lines = [f"{one.name}: {one.words}" for one in usable]
    return "\n".join([*lines, *_omitted(left_out)])


def run(
    place: Place,
    *,
    minutes: float = 20.0,
    output: Path = Path(),
    redact: bool = False,
    hide: Sequence[str] = (),
    say: Say = lambda text: None,
) -> Kit:
    """Measure for some minutes, and pack everything into one archive.

    Ctrl-C, SIGTERM and the end of the time end measuring; the archive then holds what was measured.

    Parameters
    ----------
    place : where ranks run.
    minutes : minutes that measuring may take; judging and packing come after it.
    output : folder of the archive.
    redact, hide : replace names by pseudonyms, further words among them.
    say : called with a message on what happens.

    Raises
    ------
    SpecError
        If the place is impossible.
    DataError
        If the folder cannot be written, or the disk is full. The measured points then stay in a folder there.
    LaunchError
        If nothing was measured; nothing is left then.
    """
    usable, left_out = parts.chosen(place)
    if not usable:
        raise LaunchError(f"Nothing can be measured here. {_reasons(left_out)}")
    log, stopped = rounds.Log(), None
    with _folder(output, say) as campaign:
        before = _counted(place, left_out)
        hosts = dict.fromkeys([*place.known, *before])  # a host may have another name for itself
        campaign.update({FOLDER: {"hosts": [*hosts], "minutes": minutes}})
        try:
            rounds.run(usable, campaign, 60 * minutes, log, say)
        except (KeyboardInterrupt, SystemExit) as error:
            stopped = error
            say("stopped; packing what was measured")
        if not campaign.benchmarks():
            failed = {one.part: one.problem for one in log.runs if one.problem}
            raise _NothingError(f"Nothing was measured. {_reasons(failed | left_out)}") from stopped
        found = _judged(campaign)
        _write(campaign, usable, log, left_out, _changed(place, before), found)
        target = output / f"{campaign.name}.zip"
        with redacting.copied(campaign, hide, say) if redact else nullcontext(campaign) as packed:
            archive.export(packed.path, target)
    return Kit(target, log, left_out, answered.table(found), stopped)


class _NothingError(LaunchError):
    """There is nothing to keep."""


@contextmanager
def _folder(output: Path, say: Say) -> Iterator[Campaign]:
    """Yield a new campaign in a folder that also holds labkit's cache; both are removed, unless packing failed."""
    name = f"{FOLDER}-{datetime.now().astimezone():%Y-%m-%d-%H%M%S}"
    work = output / f"{name}.unfinished"
    try:
        output.mkdir(parents=True, exist_ok=True)
        work.mkdir()
    except OSError as error:
        raise DataError(f"--output {output} cannot be written: {error.strerror}. {safe_read.remedy(error)}.") from error
    before = os.environ.get(_CACHE)
    os.environ[_CACHE] = str((work / "cache").resolve())  # also of ranks, and of a staged copy for other hosts
    try:
        yield Campaign(work / name)
    except _NothingError:
        shutil.rmtree(work, ignore_errors=True)
        raise
    except BaseException:  # also a second Ctrl-C
        say(f"the measured points are in {work / name}; labkit export packs them")
        raise
    else:
        shutil.rmtree(work, ignore_errors=True)
    finally:
        os.environ.pop(_CACHE)
        if before is not None:
            os.environ[_CACHE] = before


def _omitted(left_out: dict[str, str]) -> list[str]:
    """Return a line for each reason, with the parts that it keeps from running."""
    return [
        f"left out: {', '.join(name for name, one in left_out.items() if one == why)}: {why}"
        for why in dict.fromkeys(left_out.values())
    ]


def _reasons(reasons: dict[str, str]) -> str:
    return " ".join(f"{name}: {why.rstrip('.')}." for name, why in reasons.items())


def _counted(place: Place, left_out: dict[str, str]) -> counters.Counters:
    """Return the counters of the hosts; of a launcher that cannot start a shell, nothing, with the reason."""
    try:
        return counters.read(parts.counting(place))
    except LabkitError as error:
        left_out["counters"] = error.brief
        return {}


def _changed(place: Place, before: counters.Counters) -> counters.Counters:
    """Return by how much counters grew while the kit ran."""
    return counters.changed(before, _counted(place, {})) if before else {}


def _judged(campaign: Campaign) -> answer.Answer:
    """Return labkit's answer about the campaign."""
    return answer.answer(replace(sources.read(campaign.path).view, place=campaign.name, here=False))


def _write(
    campaign: Campaign,
    usable: Sequence[parts.Part],
    log: rounds.Log,
    left_out: dict[str, str],
    grown: counters.Counters,
    found: answer.Answer,
) -> None:
    """Write what people and programs read beside the points."""
    folder = campaign.path / FOLDER
    folder.mkdir(exist_ok=True)
    ran: dict[str, Any] = {
        "parts": {one.name: one.words for one in usable},
        "left_out": left_out,
        "ended": log.ended,
        "runs": [dataclasses.asdict(one) for one in log.runs],
    }
    files = {
        "runs.json": json.dumps(ran, indent=1),
        "counters.json": json.dumps({"hosts": grown}, indent=1),
        "answer.json": answered.as_json(found),
        "answer.txt": answered.table(found, everything=True),
    }
    for name, text in files.items():
        atomic.replace(folder / name, f"{text}\n")
