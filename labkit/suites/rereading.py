"""Execute notebooks on the samples of a campaign: those that it names but has no executed copy of.

A campaign is data. It names notebooks, and gives their parameters. labkit executes its own notebooks or those of the
user's project, never those stored in the campaign. Parameters are those of the study's dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

from labkit import studies
from labkit.errors import LabkitError, SpecError
from labkit.io import project, safe_read
from labkit.point.spec import validated
from labkit.store import notebooks
from labkit.store.campaign import Campaign
from labkit.store.notebooks import AGAIN, FOLDER, NAME
from labkit.suites import copies
from labkit.suites.definition import Entry
from labkit.suites.notebooks import execute

_EFFORT = (*studies.EFFORT, "measure", "campaign")  # parameters that do not change what is measured
SIDE_BY_SIDE = 2  # notebooks; a kernel takes about 200 MB
MEASURED = "94-measured"  # shows every benchmark of a campaign


def missing(campaign: Campaign, *, all_of_them: bool = False) -> list[Entry]:
    """Return notebooks of the campaign's suite that have no executed copy, with `measure` off.

    A copy that labkit made from other samples, with other parameters, or by another labkit, does not count.
    The list omits notebooks that this labkit has no source of, and those without the parameter ``measure``.

    Parameters
    ----------
    all_of_them : also notebooks that have an executed copy.

    Raises
    ------
    SpecError
        If the campaign gives a notebook an invalid name or parameter. Nothing was started.
    """
    facts = campaign.facts
    settings = notebooks.settings(facts)
    entries, shared = [], copies.shared(campaign)
    for name, given in (notebooks.parameters(facts) or _unnamed(campaign)).items():
        source = project.notebook_of(name)
        copied = not all_of_them and _has_copy(campaign, name)
        inputs = copies.noted(campaign, name, campaign.derived / FOLDER / f"{name}.ipynb") if copied else ""
        if source is None or (copied and not inputs and not _is_ours(campaign, name)):
            continue
        if not NAME.fullmatch(name):
            raise SpecError(
                f"{campaign.path}/campaign.json: the notebook {name[:80]!r} has a name that is not a valid file name."
            )
        study = studies.of_notebook(source)
        if "measure" not in studies.defaults(study):
            continue
        fixed = {"measure": False, "campaign": str(safe_read.resolved(campaign.path))}
        checked = _checked(campaign, name, study, {**given, **fixed})
        entry = Entry(source, checked, name[len(source.stem) :], settings.get(name, {}))
        if not copied or inputs != copies.made_from(entry, shared):
            entries.append(entry)
    return entries


def _unnamed(campaign: Campaign) -> dict[str, dict[str, Any]]:
    """Return the notebook for a campaign without notebooks, such as one of `labkit measure`."""
    with suppress(OSError):
        if any((campaign.path / FOLDER).glob("*.ipynb")):
            return {}
    return {MEASURED: {}} if campaign.benchmarks() else {}


def differing(campaign: Campaign) -> list[str]:
    """Return sentences on notebooks that a merged campaign ran with other parameters than figures of all have."""
    facts, sentences = campaign.facts, []
    for name, given in notebooks.parameters(facts).items():
        for origin, other in notebooks.section(facts, "origins").items():
            theirs = notebooks.section(notebooks.section(notebooks.mapping(other), "parameters"), name)
            unlike = {k: v for k, v in theirs.items() if k not in _EFFORT and v != given.get(k)}
            if unlike:
                words = ", ".join(f"{key}={value}" for key, value in unlike.items())
                sentences.append(f"{name}: figures of all campaigns have other parameters than {origin} had: {words}.")
    return sentences


def _has_copy(campaign: Campaign, name: str) -> bool:
    """Whether there is an executed copy in the campaign or among its derived files."""
    try:
        return any((place / FOLDER / f"{name}.ipynb").exists() for place in (campaign.path, campaign.derived))
    except (OSError, ValueError):  # not valid for a file: refused where it is used
        return False


def _is_ours(campaign: Campaign, name: str) -> bool:
    """Whether a copy is among derived files that lie elsewhere: there, labkit made them all."""
    return campaign.derived != campaign.path and not (campaign.path / FOLDER / f"{name}.ipynb").exists()


def _checked(campaign: Campaign, name: str, study: type[studies.Study], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check parameters against the study's dataclass: its names, and plain values of its types."""
    try:
        values = validated(study.parameters, given, what=f"notebook {name}")
    except LabkitError as error:
        raise SpecError(f"{campaign.path}/campaign.json: {error}") from error
    return {key: getattr(values, key) for key in given}


def reread(campaign: Campaign, progress: Callable[[str], None], *, again: bool = False) -> None:
    """Execute the notebooks of `missing` on measured samples, without measuring or changing the campaign.

    Two run at a time, each in a kernel that runs the next one too. The report draws their figures.

    Parameters
    ----------
    progress : called with a text on each step.
    again : execute also notebooks that have an executed copy, beside it.

    Raises
    ------
    LaunchError
        If a run measures into the campaign.
    SpecError
        As `missing` does.
    """
    entries = missing(campaign, all_of_them=again)
    if not entries:
        return
    into, shared = campaign.derived / (AGAIN if again else FOLDER), copies.shared(campaign)
    from labkit.suites import kernels  # the packages that execute notebooks may be missing

    plain = iter([entry for entry in entries if not entry.setting])
    alone = [entry for entry in entries if entry.setting]  # a setting needs a separate kernel
    numbers = iter(range(1, len(entries) + 1))

    def made(entry: Entry, kernel: kernels.Kept | None = None) -> str:
        inputs = "" if again else copies.made_from(entry, shared)
        done = execute(entry, campaign, into, kernel)
        if inputs:
            copies.note(campaign, entry, done.path, inputs)
        return done.error

    def in_turn(_: int) -> None:
        with ExitStack() as opened:
            opened.callback(kernels.close_loop)
            kernel = None
            for entry in plain:
                kernel = kernel or opened.enter_context(kernels.kept(variables))
                progress(f"executing {entry.name}, without measuring ({next(numbers)} of {len(entries)})")
                failed = made(entry, kernel)
                if failed:
                    alone.append(entry)  # the kept kernel may be the reason
                if not kernel.clear() or failed:
                    kernel = None

    with campaign.reading():
        variables = kernels.variables(studies.Given.by(campaign))
        with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
            try:
                list(threads.map(in_turn, range(min(SIDE_BY_SIDE, len(entries)))))
            finally:
                list(plain)  # after an interrupt, nothing more begins
        for entry in alone:
            progress(f"executing {entry.name} in a separate kernel, without measuring")
            made(entry)
