"""Damage of a campaign: every file of it cut off, changed, replaced by what is not a file; seeded."""

from __future__ import annotations

import json
import os
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEEP = 100_000
OTHER: tuple[Any, ...] = (None, 3, -1, 1e308, "x", [], {}, [[]], {"a": 1}, True, "../../x", "a\nb", 10**30, "9" * 500)
OWN = {"CAMPAIGN": "own", "ARCHIVE": "quick.zip"}
READING = (
    ("show", "own"),
    ("show", "own", "--format", "json"),
    ("show", "own", "--format", "omb", "--benchmark", "mpi.latency"),
    ("show", "own", "--format", "gpcnet"),
    ("compact", "own"),
    ("export", "own", "--output", "new.zip"),
    ("verify", "own"),
    ("merge", "own", "--into", "new"),
    ("merge", "quick.zip", "--into", "own"),
    ("import", "osu_latency.txt", "--into", "own"),
    ("status", "own"),
    ("status",),
    ("plan", "tiny.toml", "--into", "own"),
    ("run", "tiny.toml", "--into", "own", "-p", "measure=false"),
    ("measure", "micro.clock", "--into", "own", "--launches", "1"),
    ("cancel", "own"),
    ("attach", "own"),
    ("submit", "tiny.toml", "--site", "site.toml", "--into", "own"),
    ("show", "own", "--follow"),
    ("report", "own", "--no-execute", "--style", "nosuch"),
)
UNPACKING = (("verify", "quick.zip"), ("merge", "quick.zip", "--into", "new"))

Change = Callable[[Path], None]


@dataclass(frozen=True)
class Damage:
    """What was done to one file.

    Parameters
    ----------
    name : of the file in the working folder.
    words : what, for the message.
    """

    name: str
    words: str
    change: Change


def _replaced(make: Callable[[Path], object]) -> Change:
    """What removes a file or a folder and puts something else into its place."""

    def change(path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        make(path)

    return change


def _cut(part: float) -> Change:
    return lambda path: path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)]) and None


def _flipped(seed: int) -> Change:
    def change(path: Path) -> None:
        content, chance = bytearray(path.read_bytes()), random.Random(seed)
        for _ in range(chance.choice((1, 1, 8, 64)) if content else 0):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)

    return change


def _other(seed: int) -> Change:
    """A value of a JSON file of another kind, or a key less."""

    def change(path: Path) -> None:
        document, chance = json.loads(path.read_text()), random.Random(seed)
        place = document
        while isinstance(place, dict) and place:
            key = chance.choice(sorted(place))
            if not isinstance(place[key], dict) or not place[key] or chance.random() < 0.4:
                if chance.random() < 0.3:
                    del place[key]
                else:
                    place[key] = chance.choice(OTHER)
                break
            place = place[key]
        path.write_text(json.dumps(document))

    return change


def _member(seed: int) -> Change:
    """A member of an archive less, twice, or with other bytes; its manifest with other lines."""

    def change(path: Path) -> None:
        chance = random.Random(seed)
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = chance.choice(sorted(members))
        kind = chance.randrange(4)
        if kind == 0:
            del members[name]
        elif kind == 1:
            members[name] = members[name][: len(members[name]) // 2]
        elif kind == 2:
            members[name] = bytes(chance.randrange(256) for _ in range(50))
        else:
            members[f"{name}\n{chance.choice(OTHER)}"] = b"{}"
        with zipfile.ZipFile(path, "w") as archive:
            for one, content in members.items():
                archive.writestr(one, content)

    return change


PLACES: dict[str, Change] = {
    "empty": _replaced(Path.touch),
    "missing": _replaced(lambda path: None),
    "a folder": _replaced(Path.mkdir),
    "a named pipe": _replaced(lambda path: os.mkfifo(path)),
    "a loop of links": _replaced(lambda path: path.symlink_to(path.name)),
    "a link to nothing": _replaced(lambda path: path.symlink_to("nowhere")),
    "a link to /dev/zero": _replaced(lambda path: path.symlink_to("/dev/zero")),
    "a file": _replaced(lambda path: path.write_text("x")),
    "binary": _replaced(lambda path: path.write_bytes(bytes(range(256)))),
    "nested": _replaced(lambda path: path.write_text("[" * DEEP)),
    "nested objects": _replaced(lambda path: path.write_text('{"a":' * DEEP)),
    "a list": _replaced(lambda path: path.write_text("[]")),
    "a number": _replaced(lambda path: path.write_text("3")),
    "digits": _replaced(lambda path: path.write_text('{"format": ' + "9" * 5000 + "}")),
}


def damages(work: Path, seeds: int) -> Iterator[Damage]:
    """Damages of every file and folder of the campaign and the archive in a working folder.

    Parameters
    ----------
    seeds : how many random ones there are of each file.
    """
    paths = sorted([*(work / "own").rglob("*"), work / "quick.zip"])
    for path in paths:
        name = str(path.relative_to(work))
        for words, change in PLACES.items():
            yield Damage(name, words, change)
        if path.is_dir():
            continue
        for part in (0.1, 0.5, 0.99):
            yield Damage(name, f"cut to {part:.0%}", _cut(part))
        for seed in range(seeds):
            yield Damage(name, f"flipped, seed {seed}", _flipped(seed))
            if path.suffix == ".json":
                yield Damage(name, f"another value, seed {seed}", _other(seed))
            if path.suffix == ".zip":
                yield Damage(name, f"another member, seed {seed}", _member(seed))
