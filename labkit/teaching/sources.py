"""Where a lab's samples come from: the learner's own run, a new measurement, or what was recorded elsewhere."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from labkit import campaign, measuring
from labkit.campaign import Campaign
from labkit.campaign.derived import EXAMPLES
from labkit.errors import LabkitError, SpecError
from labkit.teaching.attempts import Attempts
from labkit.teaching.definition import Lab

SOURCE = "LABKIT_LAB_SOURCE"


@dataclass(frozen=True)
class Source:
    """Campaigns that a lab reads.

    Parameters
    ----------
    kind : ``measured`` by the learner, or ``recorded``.
    campaigns : their folders.
    words : what the notebook says of it.
    """

    kind: str
    campaigns: tuple[Path, ...]
    words: str


def recorded(lab: Lab, why: str) -> Source:
    """The recorded campaigns of a lab.

    Raises
    ------
    SpecError
        If they are not there.
    """
    folders = tuple(EXAMPLES / name for name in lab.recorded)
    if missing := [str(folder) for folder in folders if not (folder / "campaign.json").exists()]:
        raise SpecError(f"{', '.join(missing)} is not there, but this lab reads it. Install labkit again, or measure.")
    host = Campaign(folders[-1]).facts.get("host", {})
    machine = f"{host.get('cpu_cores', '?')} cores ({host.get('cpu_model', 'processor not known')})"
    return Source("recorded", folders, f"**Source: recorded** on {machine} ({', '.join(lab.recorded)}). {why}".strip())


def find(lab: Lab, asked: str, attempts: Attempts, progress: measuring.Report | None = None) -> Source:
    """Samples for a lab; measures them where it is asked to, or may and can.

    Parameters
    ----------
    asked : ``auto`` takes the learner's own run where there is one, else measures, else reads the recording;
        ``measure`` insists, ``recorded`` reads, anything else is the folder of a campaign. $LABKIT_LAB_SOURCE wins.
    attempts : of the learner; they note which source was used, so that an answer is judged by the run it came from.

    Raises
    ------
    LabkitError
        If measuring was insisted on and failed; SpecError for a folder without a campaign.
    """
    asked = os.environ.get(SOURCE, "") or asked
    own = attempts.folder / "campaign"
    if asked == "auto":
        asked = {"recorded": "recorded", "measured": "own"}.get(attempts.source, "auto")
    if asked == "recorded":
        return _noted(attempts, recorded(lab, "This machine measured nothing."))
    if asked == "own" and (own / "campaign.json").exists():
        return _own(own)
    if asked in ("auto", "measure", "own"):
        try:
            measuring.measure(lab.specs(), lab.effort, into=own, progress=progress)
        except LabkitError as error:
            if asked == "measure":
                raise
            return _noted(attempts, recorded(lab, f"The measurement on this machine failed: {error}"))
        return _noted(attempts, _own(own))
    if not (Path(asked) / "campaign.json").exists():
        raise SpecError(
            f"source={asked!r} is not a campaign folder. Set it to auto, measure, recorded, or a campaign folder."
        )
    return Source("measured", (campaign.find(asked),), f"**Source: the campaign** `{asked}`.")


def _own(folder: Path) -> Source:
    """The learner's own run."""
    held = Campaign(folder)
    name = held.facts.get("host", {}).get("hostname", "this machine")
    when = str(held.facts.get("created", ""))[:10]
    return Source("measured", (folder,), f"**Source: your own run** on {name}, {when}, in `{folder}`.")


def _noted(attempts: Attempts, source: Source) -> Source:
    """The source, once the attempts note it."""
    attempts.note_source(source.kind)
    return source
