"""Campaigns as archives: exported with checksums, verified file by file.

An archive is a zip file of the campaign's folder and `manifest-sha256.txt`, which ``sha256sum --check`` reads as well.
Archives and folders may come from anybody. labkit checks everything in them before it relies on it.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from labkit.errors import DataError, LabkitWarning
from labkit.io import atomic, scratch
from labkit.point import notes
from labkit.point.notes import joined
from labkit.point.units import plural
from labkit.store import events, identity, names, packing, reading, samples
from labkit.store.campaign import Campaign, find
from labkit.store.packing import BROKEN, PIECE, Limits
from labkit.store.samples import Samples, compacted, start
from labkit.store.samples.start import Starts

MANIFEST = "manifest-sha256.txt"
# what an archive leaves out: state of the moment, files of this machine alone, derived files
PASSING = ("lease.json", "progress.json", "explorer.json", "records", "notebooks-again", MANIFEST)


@dataclass(frozen=True)
class Packed:
    """A file in an archive.

    Parameters
    ----------
    name : in the archive.
    size : B.
    digest : SHA-256 of its content; empty for the manifest, which is written last.
    """

    name: str
    size: int
    digest: str


Describe = Callable[[Sequence[Packed]], Mapping[str, str]]
Keep = Callable[[str, tuple[str, int], Samples], object]  # takes benchmark, (fingerprint, launch), and a valid point


def _hashed(benchmark: str, name: tuple[str, int], point: Samples) -> None:
    """Raise an error for a point whose content has no checksum."""
    samples.content(point)


def export(
    campaign: Path,
    output: str | Path | None = None,
    *,
    added: Mapping[str, Path] | None = None,
    describe: Describe | None = None,
) -> Path:
    """Write a campaign as one archive. Warns of links, devices and pipes, which it leaves out.

    Parameters
    ----------
    added : name in the archive → file that lies elsewhere, such as a report among derived files.
    describe : called with the files; returns names and texts of further files, which describe these.
    output : file, device, pipe or ``-``; the campaign's name with .zip in the working folder when left out.

    Returns
    -------
    Where it was written.

    Raises
    ------
    DataError
        If somebody measures into it, samples are links, a name is not allowed, or the archive is there already.
    """
    source, target = Campaign.existing(campaign), output or Path(f"{campaign.resolve().name}.zip")
    if source.in_use:
        raise DataError(f"{campaign} is in use by a run. Export it after the run ends.")
    if atomic.is_file(target):
        raise DataError(f"{target} exists already. Name another file with --output, or remove it.")
    paths, not_archived = files(campaign)
    relative = [path.relative_to(campaign).as_posix() for path in paths]
    for name, path in (added or {}).items():
        if name not in relative:
            paths, relative = [*paths, path], [*relative, name]
    problems = [f"{name}: {why}" for name in relative if (why := names.problem(name))]
    problems += [text for text in not_archived if text.startswith(("samples", start.FOLDER))]
    if problems:
        first = notes.joined(names.shown(text) for text in problems[:3])
        raise DataError(
            f"{campaign} cannot be archived: {first}. Rename it, or put a copy of the file in place of a link."
        )
    with atomic.opened(target) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        packed: list[Packed] = []
        for path, name in zip(paths, relative, strict=True):
            entry = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
            entry.compress_type = zipfile.ZIP_STORED if path.suffix == ".parquet" else zipfile.ZIP_DEFLATED
            with path.open("rb") as file, archive.open(entry, "w", force_zip64=True) as out_file:
                packed.append(Packed(name, entry.file_size, _digest(file, out_file)))
        for name, text in (describe(packed) if describe else {}).items():
            archive.writestr(name, text)
            packed.append(Packed(name, len(text.encode()), hashlib.sha256(text.encode()).hexdigest()))
        archive.writestr(MANIFEST, "".join(f"{one.digest}  {one.name}\n" for one in packed))
    for text in not_archived:
        remedy = "If it belongs to the campaign, replace it by a copy and export again."
        warnings.warn(f"{text}; the archive does not hold it. {remedy}", LabkitWarning, stacklevel=2)
    return Path(target)


@dataclass(frozen=True)
class Examined:
    """Outcome of the check of a folder or an archive.

    Parameters
    ----------
    folder : the campaign's folder; None if the archive must not be unpacked.
    count : number of files checked.
    problems : each with the name of its file.
    """

    folder: Path | None
    count: int
    problems: tuple[str, ...]


def verify(place: Path, limits: Limits | None = None) -> tuple[int, list[str]]:
    """Check an archive or a folder: names, checksums of the manifest if there is one, and every samples file itself.

    Returns
    -------
    The number of files checked, and the problems, each with the name of its file.
    """
    with examined(place, limits) as result:
        return result.count, list(result.problems)


@contextmanager
def examined(place: Path, limits: Limits | None = None, keep: Keep = _hashed) -> Iterator[Examined]:
    """Check a folder or an archive. An archive stays unpacked inside the ``with`` block."""
    limits = limits or Limits.usual()
    if place.is_dir():
        yield _folder(place, keep)
        return
    with scratch.folder("labkit-archive-") as temporary:
        (unpacked := temporary / "campaign").mkdir()
        yield _archive(place, unpacked, limits, keep)


@contextmanager
def opened(place: Path, limits: Limits | None = None, keep: Keep = _hashed) -> Iterator[Path]:
    """Return the folder of a campaign; an archive stays unpacked inside the ``with`` block.

    Parameters
    ----------
    keep : called with every point that is read for the check, so it need not be read again.

    Raises
    ------
    DataError
        If it is damaged.
    """
    with examined(place, limits, keep) as result:
        if result.problems or result.folder is None:
            text = joined(result.problems[:3]).rstrip(".")
            raise DataError(f"{place} is damaged: {text}. Restore it, or omit it.")
        yield result.folder


def _archive(place: Path, into: Path, limits: Limits, keep: Keep) -> Examined:
    """Check an archive: first its list of files, then their checksums, then their content."""
    try:
        with place.open("rb") as file, packing.listed(file, place, limits) as archive:
            infos = archive.infolist()
            entries = {info.filename for info in infos if not info.filename.endswith("/")}
            if MANIFEST not in entries:
                return Examined(None, 1, (f"{place}: has no {MANIFEST}, so 'labkit export' did not make it",))
            if problems := packing.problems(infos):
                return Examined(None, len(infos), tuple(problems))
            outcomes = dict(packing.unpack(archive, into, limits))
    except BROKEN as error:
        return Examined(None, 1, (f"{place}: no zip file, or cut off ({error})",))
    manifest = _manifest(into / MANIFEST, place)
    problems = [f"{name}: {outcome}" for name, outcome in outcomes.items() if outcome.startswith("damaged")]
    problems += [f"{name}: missing" for name in manifest if name not in entries]
    unpacked = {name: outcome for name, outcome in outcomes.items() if len(outcome) == 64}
    problems += [f"{name}: changed" for name, digest in unpacked.items() if digest != manifest.get(name, digest)]
    problems += [f"{name}: not listed in {MANIFEST}" for name in sorted(entries - set(manifest) - {MANIFEST})]
    if problems:
        return Examined(None, len(infos), tuple(problems))
    if "campaign.json" not in entries:
        return Examined(None, len(infos), ("campaign.json: missing",))
    try:
        problems = list(_folder(into, keep, {into / name: digest for name, digest in unpacked.items()}).problems)
    except DataError as error:
        problems = [str(error)]
    return Examined(into, len(infos), tuple(text.replace(f"{into}/", "") for text in problems))


def _folder(folder: Path, keep: Keep, unpacked: Mapping[Path, str] | None = None) -> Examined:
    """Check a campaign's folder: links, names, facts, checksums, samples, and the files that its events acknowledge.

    Parameters
    ----------
    unpacked : checksums of all its files, if it was just unpacked, and its manifest compared.
    """

    def digest(path: Path) -> str:
        """First digits of a file's checksum."""
        return (unpacked or {}).get(path, "")[:16] or compacted.digest(path)

    campaign = Campaign.existing(folder)
    paths, not_archived = files(folder)
    relative = [path.relative_to(folder).as_posix() for path in paths]
    problems = [*not_archived, *(f"{names.shown(name)}: {why}" for name in relative if (why := names.problem(name)))]
    problems += _invalid_names(campaign)
    manifest = folder / MANIFEST
    listed: dict[str, str] = {}
    if manifest.exists() and unpacked is None:
        listed = _manifest(manifest, manifest)
    for name, checksum in listed.items():
        path = folder / name
        if not path.exists():
            problems.append(f"{name}: missing")
        elif path.suffix == ".parquet" and path.is_file():  # the others may be written again: a log, a report
            with path.open("rb") as file:
                if _digest(file) != checksum:
                    problems.append(f"{name}: changed")
    problems += _invalid_starts(relative, campaign.starts)
    seen, lacking = set[tuple[str, str, int]](), dict[str, list[str]]()
    acknowledged = {event["file"]: event["sha256"] for event in events.read(folder, "saved")}
    for name in campaign.benchmarks():
        points, point_problems = _points(campaign, name, _files_named(problems), lacking, keep, digest)
        seen |= points
        problems += point_problems
    problems += _lacking_starts(lacking, _files_named(problems))
    named = _files_named(problems)
    for name, checksum in acknowledged.items():
        match, path = re.fullmatch(r"samples/([^/]+)/([0-9a-f]{16})-(\d{1,9})\.parquet", name), folder / name
        if match is None or name in named:
            continue
        if (match[1], match[2], int(match[3])) not in seen:
            problems.append(f"{name}: missing; {events.NAME} lists it as saved")
        elif path.is_file() and digest(path) != checksum:
            problems.append(f"{name}: changed; {events.NAME} has another checksum")
    if listed:
        later = re.compile(rf"samples/[^/]+/(?!{compacted.PREFIX}).*\.parquet")
        new = (name for name in relative if later.fullmatch(name) and name not in listed and name not in acknowledged)
        problems += [f"{name}: not listed in {MANIFEST}, and not in {events.NAME}" for name in new]
    return Examined(folder, len(paths), tuple(problems))


def _files_named(problems: list[str]) -> set[str]:
    """Return the files that problems name."""
    return {text.partition(":")[0] for text in problems}


def _invalid_names(campaign: Campaign) -> list[str]:
    """Return problems of names in campaign.json that become folders when campaigns are merged, and of their origins."""
    facts, problems = campaign.facts, []
    for key, name, described in (("name", facts.get("name"), facts), *_origins(facts)):
        try:
            if name is not None:
                names.part(name, key)
            identity.identity_of(described, f"{key}={name!r}")
        except DataError as error:
            problems.append(f"campaign.json: {error}")
    return problems


def _origins(facts: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the key, the name and the facts of each campaign that was merged into one."""
    yield from (("origins", name, described) for name, described in facts.get("origins", {}).items())


def _invalid_starts(relative: Sequence[str], starts: Starts) -> list[str]:
    """Return problems of the records of starts: a name or a content that labkit does not write."""
    problems = []
    for name in relative:
        if not name.startswith(f"{start.FOLDER}/"):
            continue
        digest = name[len(start.FOLDER) + 1 :].removesuffix(".json")
        if not start.DIGEST.fullmatch(digest) or name != start.file_name(digest):
            problems.append(f"{names.shown(name)}: not the name of a start's record. Move it out of {start.FOLDER}/")
        elif why := starts.get(digest).problem:
            problems.append(f"{name}: {why}. Restore it from a copy; the numbers of its points are not affected")
    return problems


def _lacking_starts(lacking: Mapping[str, list[str]], named: set[str]) -> list[str]:
    """Return problems of records that points refer to and that cannot be read, unless a problem names them already."""
    return [
        f"{start.file_name(digest)}: missing; needed by {plural(len(points), 'point')}, the first in {points[0]}"
        for digest, points in sorted(lacking.items())
        if not {start.FOLDER, start.file_name(digest)} & named
    ]


def _points(
    campaign: Campaign,
    benchmark: str,
    named: set[str],
    lacking: dict[str, list[str]],
    keep: Keep,
    digest: Callable[[Path], str],
) -> tuple[set[tuple[str, str, int]], list[str]]:
    """Read every point of a benchmark; return those that are valid, and the problems of their files.

    Parameters
    ----------
    named : files that problems name already.
    lacking : gets, for each record of a start that cannot be read, the files of points that refer to it.
    """
    seen, problems, starts = set[tuple[str, str, int]](), list[str](), campaign.starts
    for path, check in campaign.files(benchmark).checks(starts, digest):
        short = path.relative_to(campaign.path).as_posix()
        try:
            for name, point in check():
                names.point(benchmark, name[0], name[1])
                if (point.spec.benchmark, point.launch) != (benchmark, name[1]):
                    content = f"{point.spec.benchmark}, launch {point.launch}"
                    raise DataError(f"holds {content}, but by its name {benchmark}, launch {name[1]}")
                keep(benchmark, name, point)
                if point.start and point.start.problem:
                    lacking.setdefault(point.start.digest, []).append(names.shown(short))
                seen.add((benchmark, *name))
        except (DataError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            if short not in named:
                problems.append(f"{names.shown(short)}: {error}")
    return seen, problems


def place(name: str) -> Path:
    """Return the path of an archive, or the folder of the campaign with this path or name."""
    try:
        return Path(name) if Path(name).is_file() else find(name)
    except OSError as error:
        raise DataError(f"{names.shown(name[:80])} cannot be read: {error.strerror}. Name another archive.") from error


def files(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the files that an archive of a campaign holds, and the links, devices and pipes that it cannot hold."""
    regular, others = list[Path](), list[str]()
    for above, folders, file_names in os.walk(folder):
        for name in sorted([*folders, *file_names]):
            path = Path(above, name)
            relative = path.relative_to(folder)
            if relative.parts[0] in PASSING or (name in file_names and name.startswith(".")):
                continue
            kind = stat.S_IFMT(path.lstat().st_mode)
            if kind == stat.S_IFREG:
                regular.append(path)
            elif kind != stat.S_IFDIR:
                what = f"a link to {path.readlink()}" if kind == stat.S_IFLNK else "a device or a pipe"
                others.append(f"{names.shown(relative.as_posix())}: {names.shown(what)}")
    return sorted(regular), sorted(others)


def _digest(file: IO[bytes], copy: IO[bytes] | None = None) -> str:
    """Return the SHA-256 of a file; also copy it, if asked."""
    digest = hashlib.sha256()
    while piece := file.read(PIECE):
        digest.update(piece)
        if copy is not None:
            copy.write(piece)
    return digest.hexdigest()


def _manifest(path: Path, where: Path) -> dict[str, str]:
    """Return the checksum of each file that a manifest lists."""
    checksums = dict[str, str]()
    for number, line in enumerate(reading.text(path).splitlines(), 1):
        digest, _, name = line.partition("  ")
        if not re.fullmatch(r"[0-9a-f]{64}", digest) or names.problem(name) or name in checksums:
            shown = names.shown(line[:80])
            raise DataError(f"{where}, line {number}: {shown!r}, but it must be a SHA-256, two spaces and a new name.")
        checksums[name] = digest
    return checksums
