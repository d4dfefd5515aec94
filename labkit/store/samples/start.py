"""Facts of one start of the ranks, kept once: hosts, affinities, command, machine. The points of the start refer to it.

``starts/<digest>.json`` in the campaign's folder: one JSON object, named after the first sixteen hex digits of its
SHA-256. Its keys are ``format`` (1); ``host``, ``meta`` and ``spec``, as in the metadata of a samples file; and
``lists``: long lists of ``meta`` as distinct ``values`` and ``runs`` of [index into them, repetitions].
Metadata of a point name the record as ``start_record`` and hold what differs between the points of a start. Joined,
they equal the content of a samples file without a record. Records may come from anybody.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labkit.errors import DataError
from labkit.point.notes import Note, note
from labkit.store.samples import header as headers

FORMAT = 1
FOLDER, KEY = "starts", "start_record"
DIGEST = re.compile(r"[0-9a-f]{16}")
MOST = 16 << 20  # B of a record
RANKS = 1 << 20  # entries of a list, when its runs are written out
LONG = 16  # entries of a list from which it is kept as runs
ROOM = 256  # B that hosts or variables of a spec may take in the metadata of a point
INLINE = ("name", "hostname", "cpu_model")  # of the host: columns of records, which also old versions of labkit read
MISSING = "start-record"  # code of the note about a record that cannot be read
_CACHED = 64  # records
_SPEC = {"hosts": list, "environment": dict}


@dataclass(frozen=True)
class Start:
    """The record of one start.

    Parameters
    ----------
    digest : its name.
    host, meta : entries of `labkit.store.samples.Samples.host` and `meta` that all points of the start share.
    spec : fields of the spec that are too long for the metadata of each point.
    content : content of the file; empty if it cannot be read.
    problem : why it cannot be read; empty if it can.
    """

    digest: str
    host: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    content: bytes = field(default=b"", repr=False)
    problem: str = ""

    @classmethod
    def of(cls, host: Mapping[str, Any], meta: Mapping[str, Any], spec: Mapping[str, Any]) -> Start:
        """Make a record.

        Parameters
        ----------
        spec : the whole spec, as `labkit.point.spec.Spec.as_dict` returns it; only its long fields are kept.
        """
        long = {name: spec[name] for name in _SPEC if len(json.dumps(spec.get(name))) > ROOM}
        lists = {name: _runs(value) for name, value in meta.items() if isinstance(value, list) and len(value) > LONG}
        plain = {name: value for name, value in meta.items() if name not in lists}
        record = {"format": FORMAT, "host": dict(host), "meta": plain, "lists": lists, "spec": long}
        content = json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
        return cls(digest(content), host, meta, long, content)

    def joined(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """Return the metadata of a point with the facts of its start. Its own facts take precedence."""
        shared = {"host": self.host, "meta": self.meta, "spec": self.spec}
        return {**header, **{n: {**v, **header[n]} for n, v in shared.items() if isinstance(header.get(n), dict)}}

    def apart(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """Return whole metadata of a point without the facts of its start, and with the name of this record."""
        shared_parts = {"host": self.host, "meta": self.meta, "spec": self.spec}
        remaining = {
            name: {k: v for k, v in header[name].items() if k in INLINE or k not in shared or not _equal(v, shared[k])}
            for name, shared in shared_parts.items()
        }
        return {**header, **remaining, KEY: self.digest}

    @property
    def notes(self) -> tuple[Note, ...]:
        """The warning about a record that cannot be read."""
        if not self.problem:
            return ()
        text = f"the record of its start {self.problem}: its hosts, affinities, command and machine are not known"
        return (note(MISSING, text, record=self.digest),)


def digest(content: bytes) -> str:
    """Return the name of a record: the first sixteen hex digits of its SHA-256."""
    return hashlib.sha256(content).hexdigest()[:16]


def file_name(name: str) -> str:
    """Return the name of a record's file below the campaign's folder."""
    return f"{FOLDER}/{name}.json"


def parsed(content: bytes, name: str) -> Start:
    """Parse the content of a record.

    Raises
    ------
    ValueError
        If it is not the record of that name, or not as labkit writes it.
    """
    if digest(content) != name:
        raise ValueError("was changed: its checksum is not the one in its name")
    record = headers.plain(content)
    if record.get("format") != FORMAT:
        raise ValueError(f"has format {str(record.get('format'))[:20]}, but this version of labkit reads {FORMAT}")
    parts = {part: record.get(part) for part in ("host", "meta", "lists", "spec")}
    for part, value in parts.items():
        if not isinstance(value, dict):
            raise ValueError(f"has no table {part}")
    long = {n: v for n, v in parts["spec"].items() if n in _SPEC and isinstance(v, _SPEC[n])}  # type: ignore[union-attr]
    if len(long) != len(parts["spec"]):  # type: ignore[arg-type]
        raise ValueError("has other fields of a spec than hosts and environment")
    lists = {n: _written_out(n, packed) for n, packed in parts["lists"].items()}  # type: ignore[union-attr]
    return Start(name, parts["host"] or {}, {**(parts["meta"] or {}), **lists}, long, content)


class Starts:
    """Reads the records of a campaign.

    Parameters
    ----------
    campaign : its folder.
    """

    def __init__(self, campaign: Path) -> None:
        self._folder = campaign / FOLDER
        self._cached: dict[str, Start] = {}

    def get(self, name: str) -> Start:
        """Return a record, or why it cannot be read."""
        if (start := self._cached.get(name)) is not None:
            return start
        start = self._read(name)
        if not start.problem:
            if len(self._cached) >= _CACHED:
                self._cached.pop(next(iter(self._cached)), None)
            self._cached[name] = start
        return start

    def _read(self, name: str) -> Start:
        try:
            return parsed(_content(self._folder, f"{name}.json"), name)
        except FileNotFoundError:
            return Start(name, problem="is missing")
        except OSError as error:
            return Start(name, problem=f"cannot be read ({error.strerror})")
        except ValueError as error:
            return Start(name, problem=str(error))


def start_of(header: Mapping[str, Any], where: object, starts: Starts | None) -> Start | None:
    """Return the record that the metadata of a point name; None if they name none.

    Raises
    ------
    DataError
        If it is not the name of a record.
    """
    if KEY not in header:
        return None
    name = header[KEY]
    if not isinstance(name, str) or not DIGEST.fullmatch(name):
        raise DataError(
            f"{where}: {KEY}={str(name)[:80]!r}, but it must be sixteen hex digits. Restore it, or delete it."
        )
    record = starts.get(name) if starts else Start(name, problem="was not looked for")
    if record.problem and isinstance(spec := header.get("spec"), dict):
        record = replace(record, spec={field: _SPEC[field]() for field in _SPEC if field not in spec})
    return record


def beside(path: Path) -> Starts:
    """Return the records for a samples file, which is two folders below its campaign's folder."""
    return Starts(path.absolute().parent.parent.parent)


def _content(folder: Path, name: str) -> bytes:
    """Read a file of a folder: neither through links nor from a pipe, and not more than a record may have.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is not a regular file, or too long.
    """
    above = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    finally:
        os.close(above)
    with open(handle, "rb") as file:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("is not a regular file")
        content = file.read(MOST + 1)
    if len(content) > MOST:
        raise ValueError(f"is longer than {MOST:,} B")
    return content


def _equal(value: Any, shared: Any) -> bool:
    return value is shared or value == shared


def _runs(values: Iterable[Any]) -> dict[str, Any]:
    """Return a list as its distinct values, and runs of them."""
    places: dict[str, int] = {}
    distinct: list[Any] = []
    runs: list[list[int]] = []
    for value in values:
        place = places.setdefault(json.dumps(value), len(distinct))
        if place == len(distinct):
            distinct.append(value)
        if runs and runs[-1][0] == place:
            runs[-1][1] += 1
        else:
            runs.append([place, 1])
    return {"values": distinct, "runs": runs}


def _written_out(name: str, packed: object) -> list[Any]:
    """Return the list that `_runs` packed.

    Raises
    ------
    ValueError
        If it is none, or longer than any list of ranks.
    """
    values, runs = (packed.get("values"), packed.get("runs")) if isinstance(packed, dict) else (None, None)
    if not isinstance(values, list) or not isinstance(runs, list):
        raise ValueError(f"has no list {name[:40]!r}")
    entries: list[Any] = []
    for run in runs:
        if not (isinstance(run, list) and len(run) == 2 and all(type(number) is int for number in run)):
            raise ValueError(f"has a list {name[:40]!r} whose runs are not pairs of numbers")
        place, count = run
        if not 0 <= place < len(values) or not 0 < count <= RANKS - len(entries):
            raise ValueError(f"has a list {name[:40]!r} with runs outside of it, or too long")
        entries += [values[place]] * count
    return entries
