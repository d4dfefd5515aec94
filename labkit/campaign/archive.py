"""Campaigns as archives: exported with checksums, verified by name, merged with their origins.

An archive is a zip file of the campaign's folder and `manifest-sha256.txt`, which ``sha256sum --check`` reads as well.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from labkit import samples, writing
from labkit.campaign import Campaign, find
from labkit.errors import DataError
from labkit.samples import compacted

MANIFEST = "manifest-sha256.txt"
PASSING = ("lease.json", "progress.json", "records", MANIFEST)  # what an archive leaves out: of the moment, or derived
PIECE = 1 << 20  # B read at once


def export(campaign: Path, output: Path | None = None) -> Path:
    """Write a campaign as one archive, aside and renamed.

    Parameters
    ----------
    output : the file; the campaign's name with .zip in the working folder when left out.

    Raises
    ------
    DataError
        If somebody measures into it, or the archive is there already.
    """
    held, target = Campaign(campaign), output or Path(f"{campaign.resolve().name}.zip")
    if held.in_use:
        raise DataError(f"{campaign} is being measured into. Wait for its end, so that the archive is of one moment.")
    if writing.is_file(target):
        raise DataError(f"{target} is there already. Name another file with --output, or remove it.")
    with writing.opened(target) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        lines = []
        for path in _files(campaign):
            name = path.relative_to(campaign).as_posix()
            kind = zipfile.ZIP_STORED if path.suffix == ".parquet" else zipfile.ZIP_DEFLATED
            entry = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
            entry.compress_type = kind
            with path.open("rb") as file, archive.open(entry, "w", force_zip64=True) as into:
                lines.append(f"{_digest(file, into)}  {name}\n")
        archive.writestr(MANIFEST, "".join(lines))
    return target


def verify(place: Path) -> tuple[int, list[str]]:
    """Check an archive or a folder: checksums of the manifest where there is one, and of every samples file itself.

    Returns
    -------
    How many files were looked at, and what is wrong, each with the name of its file.
    """
    if place.is_dir():
        return _verify_folder(place)
    wrong: list[str] = []
    try:
        with zipfile.ZipFile(place) as archive:
            names = {info.filename for info in archive.infolist()}
            if MANIFEST not in names:
                return 1, [f"{place}: has no {MANIFEST}, so 'labkit export' did not make it"]
            for name, digest in _manifest(archive.read(MANIFEST).decode(), place):
                try:
                    with archive.open(name) as file:
                        wrong += [] if _digest(file) == digest else [f"{name}: changed"]
                except KeyError:
                    wrong.append(f"{name}: missing")
                except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
                    wrong.append(f"{name}: damaged ({error})")
            return len(names), wrong
    except (zipfile.BadZipFile, OSError) as error:
        return 1, [f"{place}: no zip file, or cut off ({error})"]


def _verify_folder(folder: Path) -> tuple[int, list[str]]:
    held, wrong = Campaign(folder), list[str]()
    manifest, files = folder / MANIFEST, _files(folder)
    if manifest.exists():
        for name, digest in _manifest(manifest.read_text(), manifest):
            path = folder / name
            if not path.exists():
                wrong.append(f"{name}: missing")
            elif path.suffix == ".parquet":  # the others may be written again: a log, a report
                with path.open("rb") as file:
                    wrong += [] if _digest(file) == digest else [f"{name}: changed"]
    told, seen = {text.partition(":")[0] for text in wrong}, set[tuple[str, str, int]]()
    for name in held.benchmarks():
        for path, check in held.files(name).checks():
            try:
                seen.update((name, *point) for point in check())
            except (DataError, ValueError, KeyError, TypeError) as error:
                if (short := path.relative_to(folder).as_posix()) not in told:
                    wrong.append(f"{short}: {error}")
    told = {text.partition(":")[0] for text in wrong}
    for name, digest in _log(folder).items():
        match, path = re.fullmatch(r"samples/([^/]+)/([0-9a-f]{16})-(\d+)\.parquet", name), folder / name
        if match is None or name in told:
            continue
        if (match[1], match[2], int(match[3])) not in seen:
            wrong.append(f"{name}: missing; log.txt says that it was saved")
        elif digest and path.exists() and compacted.digest(path) != digest:
            wrong.append(f"{name}: changed; log.txt has another checksum")
    return len(files), wrong


def merge(sources: Sequence[Path], into: Path) -> tuple[Campaign, int, int]:
    """Put the points of several campaigns, folders or archives, into one; each remembers where it is from.

    A point that two campaigns have keeps both, as launches of their own; the same point from the same campaign is not
    added twice. What else a campaign holds goes to ``origins/<name>/``.

    Returns
    -------
    The campaign, the points that are new, and those that were there.

    Raises
    ------
    DataError
        If a source is damaged; nothing was merged then.
    """
    for source in sources:
        if wrong := verify(source)[1]:
            raise DataError(f"{source} is damaged: {'; '.join(wrong[:3])}. Restore it, or leave it out.")
    held, added, there = Campaign(into), 0, 0
    with held.lease():
        known: dict[tuple[str, str], dict[tuple[str, int], int]] = {}
        for benchmark in held.benchmarks():
            for fingerprint, one in held.named(benchmark):
                known.setdefault((benchmark, fingerprint), {})[_from(one)] = one.launch
        for source in sources:
            with opened(source) as folder:
                origin = Campaign(folder)
                name = str(origin.facts.get("name") or folder.name)
                for benchmark in origin.benchmarks():
                    for fingerprint, one in origin.named(benchmark):
                        marked = replace(one, meta={"campaign": name, "first_launch": one.launch, **one.meta})
                        launches = known.setdefault((benchmark, fingerprint), {})
                        if _from(marked) in launches:
                            there += 1
                            continue
                        taken = set(launches.values())
                        launch = one.launch if one.launch not in taken else max(taken) + 1
                        launches[_from(marked)] = launch
                        held.save(replace(marked, launch=launch), fingerprint)
                        added += 1
                _keep(folder, held.path / "origins" / name)
                origins = {**held.facts.get("origins", {}), name: origin.facts}
                held.update({"origins": origins})
    return held, added, there


def _from(one: samples.Samples) -> tuple[str, int]:
    """Campaign and launch that a point was first measured as."""
    return str(one.meta.get("campaign", "")), int(one.meta.get("first_launch", one.launch))


def _keep(folder: Path, target: Path) -> None:
    """Copy what a campaign holds beside samples."""
    for path in _files(folder):
        name = path.relative_to(folder)
        if name.parts[0] not in ("samples", "report", "records.parquet"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target / name)


@contextmanager
def opened(place: Path) -> Iterator[Path]:
    """The folder of a campaign, of an archive while this lasts."""
    if place.is_dir():
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="labkit-") as folder:
        with zipfile.ZipFile(place) as archive:
            archive.extractall(folder)
        yield Path(folder)


def place(name: str) -> Path:
    """An archive by its path, or the folder of a campaign by its path or name."""
    return Path(name) if Path(name).is_file() else find(name)


def _files(folder: Path) -> list[Path]:
    """What an archive of a campaign holds, by name."""
    found = (path for path in folder.rglob("*") if path.is_file())
    names = ((path.relative_to(folder), path) for path in found)
    return sorted(path for name, path in names if name.parts[0] not in PASSING and not name.name.startswith("."))


def _digest(file: IO[bytes], into: IO[bytes] | None = None) -> str:
    """SHA-256 of a file, copied on the way."""
    digest = hashlib.sha256()
    while piece := file.read(PIECE):
        digest.update(piece)
        if into is not None:
            into.write(piece)
    return digest.hexdigest()


def _manifest(text: str, where: Path) -> Iterator[tuple[str, str]]:
    """Name and checksum of each line."""
    for number, line in enumerate(text.splitlines(), 1):
        digest, _, name = line.partition("  ")
        if not re.fullmatch(r"[0-9a-f]{64}", digest) or name.startswith("/") or ".." in Path(name).parts:
            raise DataError(f"{where}, line {number}: {line[:80]!r}, but it must be a SHA-256, two spaces and a name.")
        yield name, digest


def _log(folder: Path) -> dict[str, str]:
    """Files that log.txt acknowledges, with the checksum it has of each, empty where it has none."""
    log = folder / "log.txt"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    found = (re.fullmatch(r"\S+ (?:sha256:([0-9a-f]+) )?saved (\S+)", line) for line in lines)
    return {match[2]: match[1] or "" for match in found if match}
