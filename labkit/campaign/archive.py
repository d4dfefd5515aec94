"""Campaigns as archives: exported with checksums, verified by name.

An archive is a zip file of the campaign's folder and `manifest-sha256.txt`, which ``sha256sum --check`` reads as well.
Archives and folders may come from anybody: nothing in them is trusted before it was checked.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from labkit import samples, writing
from labkit.campaign import Campaign, events, find, names, packing, reading
from labkit.campaign.packing import BROKEN, PIECE, Limits
from labkit.errors import DataError, LabkitWarning
from labkit.notes import joined
from labkit.samples import compacted

MANIFEST = "manifest-sha256.txt"
# what an archive leaves out: of the moment, of this machine alone, or derived
PASSING = ("lease.json", "progress.json", "explorer.json", "records", "notebooks-again", MANIFEST)


def export(campaign: Path, output: str | Path | None = None) -> Path:
    """Write a campaign as one archive; warns of what it leaves out: links, devices and pipes.

    Parameters
    ----------
    output : file, device, pipe or ``-``; the campaign's name with .zip in the working folder when left out.

    Returns
    -------
    Where it was written.

    Raises
    ------
    DataError
        If somebody measures into it, samples are links, a name is not allowed, or the archive is there already.
    """
    held, target = Campaign.existing(campaign), output or Path(f"{campaign.resolve().name}.zip")
    if held.in_use:
        raise DataError(f"{campaign} is in use by a run. Export it after the run ends.")
    if writing.is_file(target):
        raise DataError(f"{target} exists already. Name another file with --output, or remove it.")
    paths, strange = files(campaign)
    relative = [path.relative_to(campaign).as_posix() for path in paths]
    wrong = [f"{name}: {why}" for name in relative if (why := names.problem(name))]
    wrong += [text for text in strange if text.startswith("samples")]
    if wrong:
        raise DataError(
            f"{campaign} cannot be archived: {'; '.join(names.shown(text) for text in wrong[:3])}. Rename it, or put a "
            "copy of the file in the place of a link."
        )
    with writing.opened(target) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        lines = []
        for path, name in zip(paths, relative, strict=True):
            entry = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
            entry.compress_type = zipfile.ZIP_STORED if path.suffix == ".parquet" else zipfile.ZIP_DEFLATED
            with path.open("rb") as file, archive.open(entry, "w", force_zip64=True) as into:
                lines.append(f"{_digest(file, into)}  {name}\n")
        archive.writestr(MANIFEST, "".join(lines))
    for text in strange:
        remedy = "If it belongs to the campaign, replace it by a copy and export again."
        warnings.warn(f"{text}; the archive does not hold it. {remedy}", LabkitWarning, stacklevel=2)
    return Path(target)


@dataclass(frozen=True)
class Examined:
    """A folder or an archive that was looked at.

    Parameters
    ----------
    folder : the campaign's folder; None where the archive must not be unpacked.
    count : files looked at.
    wrong : what is wrong, each with the name of its file.
    """

    folder: Path | None
    count: int
    wrong: tuple[str, ...]


def verify(place: Path, limits: Limits | None = None) -> tuple[int, list[str]]:
    """Check an archive or a folder: names, checksums of the manifest where there is one, and every samples file itself.

    Returns
    -------
    How many files were looked at, and what is wrong, each with the name of its file.
    """
    with examined(place, limits) as found:
        return found.count, list(found.wrong)


@contextmanager
def examined(place: Path, limits: Limits | None = None) -> Iterator[Examined]:
    """Look at a folder or an archive; the folder of the latter is there while this lasts."""
    limits = limits or Limits.usual()
    if place.is_dir():
        yield _folder(place)
        return
    with tempfile.TemporaryDirectory(prefix="labkit-") as made:
        yield _archive(place, Path(made), limits)


@contextmanager
def opened(place: Path, limits: Limits | None = None) -> Iterator[Path]:
    """The folder of a campaign, of an archive while this lasts.

    Raises
    ------
    DataError
        If anything is wrong with it.
    """
    with examined(place, limits) as found:
        if found.wrong or found.folder is None:
            wrong = joined(found.wrong[:3]).rstrip(".")
            raise DataError(f"{place} is damaged: {wrong}. Restore it, or omit it.")
        yield found.folder


def _archive(place: Path, into: Path, limits: Limits) -> Examined:
    """An archive: its list first, then its files by the manifest, then what they hold."""
    try:
        with place.open("rb") as file, packing.listed(file, place, limits) as archive:
            infos = archive.infolist()
            there = {info.filename for info in infos if not info.filename.endswith("/")}
            if MANIFEST not in there:
                return Examined(None, 1, (f"{place}: has no {MANIFEST}, so 'labkit export' did not make it",))
            if wrong := packing.problems(infos):
                return Examined(None, len(infos), tuple(wrong))
            found = dict(packing.unpack(archive, into, limits))
    except BROKEN as error:
        return Examined(None, 1, (f"{place}: no zip file, or cut off ({error})",))
    told = _manifest(into / MANIFEST, place)
    bad = [f"{name}: {said}" for name, said in found.items() if said.startswith("damaged")]
    bad += [f"{name}: missing" for name in told if name not in there]
    bad += [f"{name}: changed" for name, said in found.items() if said != told.get(name, said) and len(said) == 64]
    bad += [f"{name}: not listed in {MANIFEST}" for name in sorted(there - set(told) - {MANIFEST})]
    if bad:
        return Examined(None, len(infos), tuple(bad))
    if "campaign.json" not in there:
        return Examined(None, len(infos), ("campaign.json: missing",))
    try:
        wrong = list(_folder(into, fresh=True).wrong)
    except DataError as error:
        wrong = [str(error)]
    return Examined(into, len(infos), tuple(text.replace(f"{into}/", "") for text in wrong))


def _folder(folder: Path, *, fresh: bool = False) -> Examined:
    """A campaign's folder: links, names, facts, checksums, what the samples hold, and what its events acknowledge.

    Parameters
    ----------
    fresh : it was unpacked just now, and its manifest compared.
    """
    held = Campaign.existing(folder)
    paths, strange = files(folder)
    inner = [path.relative_to(folder).as_posix() for path in paths]
    wrong = [*strange, *(f"{names.shown(name)}: {why}" for name in inner if (why := names.problem(name)))]
    wrong += _named(held)
    manifest = folder / MANIFEST
    listed = _manifest(manifest, manifest) if manifest.exists() and not fresh else {}
    for name, digest in listed.items():
        path = folder / name
        if not path.exists():
            wrong.append(f"{name}: missing")
        elif path.suffix == ".parquet" and path.is_file():  # the others may be written again: a log, a report
            with path.open("rb") as file:
                wrong += [] if _digest(file) == digest else [f"{name}: changed"]
    seen = set[tuple[str, str, int]]()
    source, acknowledged = _acknowledged(folder)
    for name in held.benchmarks():
        own, bad = _points(held, name, _told(wrong))
        seen |= own
        wrong += bad
    told = _told(wrong)
    for name, digest in acknowledged.items():
        match, path = re.fullmatch(r"samples/([^/]+)/([0-9a-f]{16})-(\d{1,9})\.parquet", name), folder / name
        if match is None or name in told:
            continue
        if (match[1], match[2], int(match[3])) not in seen:
            wrong.append(f"{name}: missing; {source} lists it as saved")
        elif digest and path.is_file() and compacted.digest(path) != digest:
            wrong.append(f"{name}: changed; {source} has another checksum")
    if listed:
        later = re.compile(rf"samples/[^/]+/(?!{compacted.PREFIX}).*\.parquet")
        new = (name for name in inner if later.fullmatch(name) and name not in listed and name not in acknowledged)
        wrong += [f"{name}: not listed in {MANIFEST}, and not in {source}" for name in new]
    return Examined(folder, len(paths), tuple(wrong))


def _told(wrong: list[str]) -> set[str]:
    """Files that something was said of."""
    return {text.partition(":")[0] for text in wrong}


def _named(held: Campaign) -> list[str]:
    """Names in campaign.json that become folders when campaigns are merged."""
    given = [("name", name) for name in [held.facts.get("name")] if name is not None]
    given += [("origins", name) for name in held.facts.get("origins", {})]
    found = []
    for key, name in given:
        try:
            names.part(name, key)
        except DataError as error:
            found.append(f"campaign.json: {error}")
    return found


def _points(held: Campaign, benchmark: str, told: set[str]) -> tuple[set[tuple[str, str, int]], list[str]]:
    """Points of a benchmark, every one read, and what is wrong with their files."""
    seen, wrong = set[tuple[str, str, int]](), list[str]()
    for path, check in held.files(benchmark).checks():
        short = path.relative_to(held.path).as_posix()
        try:
            for name, one in check():
                names.point(benchmark, name[0], name[1])
                if (one.spec.benchmark, one.launch) != (benchmark, name[1]):
                    found = f"{one.spec.benchmark}, launch {one.launch}"
                    raise DataError(f"holds {found}, but by its name {benchmark}, launch {name[1]}")
                samples.content(one)
                seen.add((benchmark, *name))
        except (DataError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            if short not in told:
                wrong.append(f"{names.shown(short)}: {error}")
    return seen, wrong


def place(name: str) -> Path:
    """An archive by its path, or the folder of a campaign by its path or name."""
    try:
        return Path(name) if Path(name).is_file() else find(name)
    except OSError as error:
        raise DataError(f"{names.shown(name[:80])} cannot be read: {error.strerror}. Name another archive.") from error


def files(folder: Path) -> tuple[list[Path], list[str]]:
    """What an archive of a campaign holds, by name; and the links, devices and pipes that it cannot hold."""
    found, strange = list[Path](), list[str]()
    for above, folders, inner in os.walk(folder):
        for name in sorted([*folders, *inner]):
            path = Path(above, name)
            relative = path.relative_to(folder)
            if relative.parts[0] in PASSING or (name in inner and name.startswith(".")):
                continue
            kind = stat.S_IFMT(path.lstat().st_mode)
            if kind == stat.S_IFREG:
                found.append(path)
            elif kind != stat.S_IFDIR:
                what = f"a link to {path.readlink()}" if kind == stat.S_IFLNK else "a device or a pipe"
                strange.append(f"{names.shown(relative.as_posix())}: {names.shown(what)}")
    return sorted(found), sorted(strange)


def _digest(file: IO[bytes], into: IO[bytes] | None = None) -> str:
    """SHA-256 of a file, copied on the way."""
    digest = hashlib.sha256()
    while piece := file.read(PIECE):
        digest.update(piece)
        if into is not None:
            into.write(piece)
    return digest.hexdigest()


def _manifest(path: Path, where: Path) -> dict[str, str]:
    """Checksum of each name that a manifest lists."""
    found = dict[str, str]()
    for number, line in enumerate(reading.text(path).splitlines(), 1):
        digest, _, name = line.partition("  ")
        if not re.fullmatch(r"[0-9a-f]{64}", digest) or names.problem(name) or name in found:
            shown = names.shown(line[:80])
            raise DataError(f"{where}, line {number}: {shown!r}, but it must be a SHA-256, two spaces and a new name.")
        found[name] = digest
    return found


def _acknowledged(folder: Path) -> tuple[str, dict[str, str]]:
    """Name of the file that tells which files were saved, and their checksums, empty where there is none."""
    reader = events.Reader(folder)
    saved = {one["file"]: one["sha256"] for one in reader.new() if one.kind == "saved"}
    return reader.source, saved
