"""Find a lab's samples: the learner's own run, a new measurement, or a recorded campaign."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from labkit.apps.teaching.attempts import Attempts
from labkit.apps.teaching.definition import Lab
from labkit.errors import LabkitError, SpecError
from labkit.run import measuring
from labkit.store import campaign
from labkit.store.campaign import Campaign
from labkit.store.derived import EXAMPLES

SOURCE = "LABKIT_LAB_SOURCE"


@dataclass(frozen=True)
class Source:
    """Campaigns that a lab reads.

    Parameters
    ----------
    kind : ``measured`` by the learner, or ``recorded``.
    campaigns : their folders.
    words : sentence for the notebook.
    """

    kind: str
    campaigns: tuple[Path, ...]
    words: str


def recorded(lab: Lab, why: str) -> Source:
    """Return the recorded campaigns of a lab.

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


def find(lab: Lab, choice: str, attempts: Attempts, progress: measuring.Report | None = None) -> Source:
    """Return the source of a lab's samples; measure them if `choice` requires it, or allows it and this machine can.

    Parameters
    ----------
    choice : ``auto`` takes the learner's own run if there is one, else measures, else reads the recording;
        ``measure`` insists, ``recorded`` reads, anything else is the folder of a campaign. $LABKIT_LAB_SOURCE wins.
    attempts : attempts of the learner; they note which source was used, so that an answer is judged by the run it came
        from.

    Raises
    ------
    LabkitError
        If measuring was requested and failed; SpecError for a folder without a campaign.
    """
    choice = os.environ.get(SOURCE, "") or choice
    folder = attempts.folder / "campaign"
    if choice == "auto":
        choice = {"recorded": "recorded", "measured": "own"}.get(attempts.source, "auto")
    if choice == "recorded":
        return _noted(attempts, recorded(lab, "This machine measured nothing."))
    if choice == "own" and (folder / "campaign.json").exists():
        return _own_run(folder)
    if choice in ("auto", "measure", "own"):
        try:
            measuring.measure(lab.specs(), lab.effort, into=folder, progress=progress)
        except LabkitError as error:
            if choice == "measure":
                raise
            return _noted(attempts, recorded(lab, f"The measurement on this machine failed: {error}"))
        return _noted(attempts, _own_run(folder))
    if not (Path(choice) / "campaign.json").exists():
        raise SpecError(
            f"source={choice!r} is not a campaign folder. Set it to auto, measure, recorded, or a campaign folder."
        )
    return Source("measured", (campaign.find(choice),), f"**Source: the campaign** `{choice}`.")


def used(lab: Lab, attempts: Attempts) -> Source:
    """Return the source that a learner used, and measure nothing: the learner's own run, else the recording."""
    folder = attempts.folder / "campaign"
    if attempts.source == "measured" and (folder / "campaign.json").exists():
        return _own_run(folder)
    return recorded(lab, "This run measured nothing.")


def _own_run(folder: Path) -> Source:
    """Return the learner's own run as a source."""
    facts = Campaign(folder).facts
    name = facts.get("host", {}).get("hostname", "this machine")
    when = str(facts.get("created", ""))[:10]
    return Source("measured", (folder,), f"**Source: your own run** on {name}, {when}, in `{folder}`.")


def _noted(attempts: Attempts, source: Source) -> Source:
    """Note the source in the attempts, and return it."""
    attempts.note_source(source.kind)
    return source
