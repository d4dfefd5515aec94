"""Wrong command lines and damaged campaigns: one clear error, never a traceback, a hang or exit 0; nothing left behind."""

from __future__ import annotations

import random
import re
import shlex
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from labkit.errors import LabkitError
from labkit.store import samples
from labkit.store.files import Files
from labkit.store.samples import compacted
from tests.fuzz.damage import READING, UNPACKING, Damage, damages
from tests.fuzz.inputs import Input, inputs, verbs
from tests.fuzz.scene import Ended, Scene

SOME, ALL, DAMAGED = 60, 5000, 15
STATUSES = (0, 1, 2, 3, 130)
INSIDE = re.compile(r"Traceback \(most recent|^  File \"|<labkit\.|<built-in|object at 0x", re.MULTILINE)


def problems(one: Input, ended: Ended, scene: Scene, *, refresh: bool = True) -> list[str]:
    """What an input did that none may do."""
    faults = []
    if ended.error is not None:
        trace = "".join(traceback.format_exception(ended.error)[-3:])
        return [f"{type(ended.error).__name__} escaped: {trace}"]
    if ended.status not in STATUSES:
        faults.append(f"status {ended.status}")
    if INSIDE.search(ended.err + ended.out):
        faults.append(f"Python's own words: {ended.err[-300:]}")
    if one.wrong and ended.status == 0:
        faults.append("exit 0 on failure")
    if ended.status and not ended.err.strip() and not ended.out.strip():
        faults.append("failed without a word")
    if "more memory than" in ended.err:
        faults.append("took too much memory")
    if len(ended.err) > 20_000:
        faults.append(f"{len(ended.err)} characters of errors")
    left = scene.left()
    if ended.status:
        faults += [f"left behind: {name}" for name in left if not _of_a_campaign(scene.home, name)]
    if left and refresh:
        scene.refresh()
    return faults


def _of_a_campaign(home: Path, name: str) -> bool:
    """Whether a file belongs to a campaign that was begun, and is none that was written aside."""
    path = home / name
    if path.is_dir() and list(path.glob("**/campaign.json")):
        return True
    inside = any((folder / "campaign.json").exists() for folder in (path, *path.parents) if home in folder.parents)
    derived = "derived" in path.parts or path.name == "derived"
    marks = (
        ".labkit-report",
    )  # a report that was begun is marked as labkit's own, so that the next one may replace it
    return (inside or derived) and (
        path.name in marks or not path.name.startswith(".")
    )  # what is lost is asked elsewhere


def tried(cases: list[Input], scene: Scene) -> None:
    """Run inputs, and fail with the command line of each that did wrong."""
    wrong = []
    for one in cases:
        if faults := problems(one, scene.run(one.words), scene):
            wrong.append(f"labkit {one}\n    " + "\n    ".join(faults))
    told = "\n".join(wrong[:20]).encode(errors="backslashreplace").decode()  # pytest's workers send only whole text
    assert not told, f"{len(wrong)} of {len(cases)} inputs did wrong:\n{told}"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    made = Scene(tmp_path_factory.mktemp("fuzz"))
    with made.entered():
        yield made


def test_every_verb_has_inputs_made_from_its_example() -> None:
    for verb in verbs():
        assert verb.lines, verb.word
        assert sum(one.words[0] == verb.word for one in inputs()) > 30, verb.word


def test_some_wrong_command_lines(scene: Scene) -> None:
    tried(random.Random(1).sample(inputs(), SOME), scene)


@pytest.mark.slow
@pytest.mark.parametrize("word", [verb.word for verb in verbs()])
def test_all_wrong_command_lines(scene: Scene, word: str) -> None:
    assert len(inputs()) >= ALL
    tried([one for one in inputs() if one.words[0] == word], scene)


def contents(folder: Path) -> dict[tuple[str, str, int], bytes]:
    """Points that can be read, with what tells them apart."""
    headers: dict[tuple[str, str, int], bytes] = {}
    for place in (folder / "samples").glob("*") if (folder / "samples").is_dir() else ():
        if place.is_dir():
            files = Files.of(place)
            for path in files.compacted:
                with suppress(LabkitError, OSError, ValueError):
                    if path.is_file():
                        headers |= {(place.name, *name): raw.header for name, raw in compacted.read(path, checked=True)}
            for name, path in files.points.items():
                with suppress(LabkitError, OSError, ValueError):
                    if path.is_file():
                        headers[place.name, *name] = samples.read(path, checked=True).header
    return headers


def suffered(one: Damage, words: tuple[str, ...], scene: Scene) -> list[str]:
    """What a verb did wrong on a damaged campaign."""
    one.change(scene.work / one.name)
    scene.before = scene.state()
    before = contents(scene.work / "own")
    ended = scene.run(words)
    faults = problems(Input(words), ended, scene, refresh=False)
    lost = {name for name, header in before.items() if contents(scene.work / "own").get(name) != header}
    faults += [f"lost: {lost}"] if lost else []
    if words[0] == "verify" and ended.status == 0 and one.name in _checked(scene, words[1]):
        faults.append("verify did not notice")
    scene.refresh()
    return faults


def _checked(scene: Scene, place: str) -> set[str]:
    """Files that verify looks after: samples of a folder, the archive itself."""
    return (
        {place}
        if place.endswith(".zip")
        else {
            f"own/{path.relative_to(scene.home / 'kept' / 'quick')}"
            for path in (scene.home / "kept" / "quick").rglob("*.parquet")
        }
    )


def survived(cases: list[tuple[Damage, tuple[str, ...]]], scene: Scene) -> None:
    """Try verbs on damaged campaigns, and fail with each that did wrong."""
    wrong = []
    for one, words in cases:
        if faults := suffered(one, words, scene):
            wrong.append(f"{one.name}: {one.words}; labkit {shlex.join(words)}\n    " + "\n    ".join(faults))
    told = "\n".join(wrong[:20]).encode(errors="backslashreplace").decode()
    assert not told, f"{len(wrong)} of {len(cases)} did wrong:\n{told}"


def ordeals(scene: Scene, seeds: int) -> list[tuple[Damage, tuple[str, ...]]]:
    """Damages with the verbs that meet them."""
    return [
        (one, words)
        for one in damages(scene.work, seeds)
        for words in (UNPACKING if one.name == "quick.zip" else READING)
    ]


def test_some_damaged_campaigns(scene: Scene) -> None:
    survived(random.Random(2).sample(ordeals(scene, 1), DAMAGED), scene)


@pytest.mark.slow
@pytest.mark.parametrize("verb", sorted({words[0] for words in (*READING, *UNPACKING)}))
def test_all_damaged_campaigns(scene: Scene, verb: str) -> None:
    survived([one for one in ordeals(scene, 6) if one[1][0] == verb], scene)
