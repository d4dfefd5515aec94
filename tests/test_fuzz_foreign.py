"""Random archives, campaigns and Parquet headers: nothing outside the target, no traceback, no hang, nothing executed.

Every input follows from its seed alone; a failure prints kind and seed, and ``made(kind, seed, folder)`` makes it again.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import pickle
import random
import shutil
import signal
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labkit.apps.cli import main
from labkit.point.spec import Spec
from labkit.store import archive
from labkit.store.samples import Samples
from labkit.store.samples.start import Start

from . import made as made_by_hand
from .test_foreign import DEEP, Evil
from .test_store import filled

LONGEST = 120  # s of one command on a busy machine
HOSTILE: list[Any] = [
    None,
    True,
    -1,
    0,
    2**63,
    10**40,
    1e308,
    float("nan"),
    "",
    "x",
    "/etc/passwd",
    "../../../evil",
    "a\x00b",
    "a\nb",
    "\x1b[2J\x1b]0;x\x07",
    "\ud800",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "$(touch evil)",
    "x" * 5000,
    "µ" * 300,
    [],
    {},
    [[]],
    {"": {}},
    [None],
    {"__reduce__": "os.system"},
    {"a": {"b": {"c": [1, {"d": 2}]}}},
    "mpi.bcast",
    "1e999",
]
NAMES = [
    "/tmp/labkit-evil",
    "../evil",
    "a/../../evil",
    "..",
    ".",
    "a//b",
    "a\\b",
    "C:\\x",
    "x" * 300,
    "\x1b[2J",
    "a\nb",
    "\u202etxt",
    "LOG.TXT",
    "log.txt/x",
    "campaign.json",
    "samples/x/y.parquet",
    "samples/mpi.allreduce/evil.parquet",
    "lease.json",
    "records/mpi.allreduce.parquet",
    "origins/../../x",
    "notebooks/x.ipynb",
    "~/x",
    "-rf",
    "con",
    " a",
    "ü/ß",
]


def with_record(launch: int) -> Samples:
    """A point that refers to the record of its start."""
    meta = {"rank_hosts": ["a"] * 30, "rank_affinity": [[0, 1]] * 30, "command": ["mpirun", "PLAN"]}
    spec = Spec(benchmark="mpi.bcast", hosts=tuple(f"host{number}" for number in range(100)))
    shared = Start.of({"hostname": "n1", "nics": [{"name": "eth0"}]}, meta, spec.as_dict())
    times = np.arange(launch + 5)
    return made_by_hand.samples(spec, times, launch=launch, host=shared.host, meta={"engine": "c"} | meta, start=shared)


@cache
def template() -> dict[str, bytes]:
    """Files of a small campaign."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        campaign = filled(Path(place) / "c", 4)
        campaign.compact()
        filled(Path(place) / "c", 2, first=40)
        for launch in range(2):
            campaign.save(with_record(launch), "f" * 16)
        return {str(p.relative_to(campaign.path)): p.read_bytes() for p in campaign.path.rglob("*") if p.is_file()}


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Bytes with some changed, left out, doubled or cut off."""
    mutant = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        place = chance.randrange(len(mutant) + 1) if mutant else 0
        what = chance.randrange(5)
        if what == 0 and mutant:
            mutant[place % len(mutant)] ^= 1 << chance.randrange(8)
        elif what == 1:
            del mutant[place : place + chance.choice((1, 4, 100))]
        elif what == 2:
            mutant[place:place] = chance.randbytes(chance.choice((1, 4, 50)))
        elif what == 3 and mutant:
            mutant[place % len(mutant) : place % len(mutant) + 4] = chance.choice(
                (b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff")
            )
        else:
            del mutant[place:]
    return bytes(mutant)


def twisted(value: Any, chance: random.Random) -> Any:
    """JSON with something hostile at a random place."""
    value = copy.deepcopy(value)
    where, key = {"": value}, ""
    while isinstance(where[key], dict | list) and where[key] and chance.random() < 0.8:  # type: ignore[index]
        where = where[key]  # type: ignore[assignment,index]
        key = chance.choice(list(where) if isinstance(where, dict) else range(len(where)))  # type: ignore[arg-type]
    what = chance.randrange(4)
    if what == 0 and isinstance(where, dict) and where is not value:
        where.pop(key, None)
    elif what == 1 and isinstance(where, dict):
        where[str(chance.choice(HOSTILE))] = chance.choice(HOSTILE)
    else:
        where[key] = chance.choice(HOSTILE)
    return value


def table(content: bytes, chance: random.Random, *, header: bool) -> bytes:
    """A Parquet file with other metadata or other columns, its checksum right."""
    current = pq.read_table(io.BytesIO(content))
    metadata = dict(current.schema.metadata or {})
    if header and b"labkit" in metadata:
        raw = (
            chance.choice((DEEP, pickle.dumps(Evil()), b"", b"\xff"))
            if chance.random() < 0.1
            else json.dumps(twisted(json.loads(metadata[b"labkit"]), chance)).encode()
        )
        metadata |= {b"labkit": raw, b"labkit-sha256": hashlib.sha256(raw).hexdigest().encode()}
    else:
        name = chance.choice(current.column_names)
        place, rows = current.column_names.index(name), len(current)
        column = chance.choice(
            (
                ["x"] * rows,
                [None] * rows,
                [[1]] * rows,
                [0.5] * rows,
                [pickle.dumps(Evil())] * rows,
                [-1] * rows,
                [2**62] * rows,
                [True] * rows,
            )
        )
        current = chance.choice(
            (
                lambda: current.drop_columns([name]),
                lambda: current.set_column(place, name, pa.array(column)),
                lambda: current.append_column(
                    str(chance.choice(HOSTILE[8:20])).replace("\ud800", "?"), pa.array(column)
                ),
                lambda: current.slice(0, rows // 2),
                lambda: pa.concat_tables([current, current]),
            )
        )()
        metadata |= dict(chance.choice(((), ((b"pandas", b"{"), (b"ARROW:schema", chance.randbytes(40))))))
    out = io.BytesIO()
    pq.write_table(current.replace_schema_metadata(metadata), out)
    return out.getvalue()


def zipped(files: dict[str, bytes], path: Path, manifest: bool = True) -> Path:
    """An archive whose manifest fits."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in files.items():
            file.writestr(name, content)
        lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items()]
        if manifest:
            file.writestr(archive.MANIFEST, "".join(lines).encode(errors="replace"))
    return path


def laid(files: dict[str, bytes], folder: Path) -> Path:
    """A campaign's folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def parquet(chance: random.Random) -> str:
    return chance.choice([name for name in template() if name.endswith(".parquet")])


def an_archive_of_bytes(chance: random.Random, folder: Path) -> Path:
    path = zipped(template(), folder / "c.zip")
    path.write_bytes(mutated(path.read_bytes(), chance))
    return path


def an_archive_of_names(chance: random.Random, folder: Path) -> Path:
    names = {chance.choice(NAMES): chance.choice((b"", b"x", b"{}")) for _ in range(chance.choice((1, 1, 3)))}
    return zipped({**template(), **names}, folder / "c.zip", manifest=chance.random() < 0.9)


def facts(chance: random.Random, folder: Path) -> Path:
    document = json.loads(template()["campaign.json"]) | {"origins": {"monday": {"name": "monday"}}, "notebooks": [{}]}
    text = (
        json.dumps(twisted(document, chance)).encode()
        if chance.random() < 0.9
        else chance.choice((DEEP, b"", b"[]", b"\xff"))
    )
    files = {**template(), "campaign.json": text}
    return zipped(files, folder / "c.zip") if chance.random() < 0.5 else laid(files, folder / "c")


def headers(chance: random.Random, folder: Path) -> Path:
    name = chance.choice([name for name in template() if name.endswith(".parquet") and "compacted" not in name])
    files = {**template(), name: table(template()[name], chance, header=True)}
    files["log.txt"] = files["events.jsonl"] = (
        b"x\n"  # the checksums of the events would tell otherwise, and hide what the header does
    )
    return zipped(files, folder / "c.zip") if chance.random() < 0.5 else laid(files, folder / "c")


def starts(chance: random.Random, folder: Path) -> Path:
    """A record of a start with other bytes, or with another content and the name and the references that belong to it."""
    (name,) = (name for name in template() if name.startswith("starts/"))
    content, files = template()[name], {**template(), "log.txt": b"x\n", "events.jsonl": b"x\n"}
    if chance.random() < 0.4:
        return laid({**files, name: chance.choice((mutated(content, chance), DEEP, b"", b"[]"))}, folder / "c")
    content = json.dumps(twisted(json.loads(content), chance)).encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    for path in [path for path in files if path.startswith("samples/mpi.bcast/")]:
        files[path] = renamed(files[path], name[7:-5], digest)
    return laid({**files, f"starts/{digest}.json": content}, folder / "c")


def renamed(content: bytes, before: str, after: str) -> bytes:
    """A samples file that refers to another record."""
    original = pq.read_table(pa.BufferReader(content))
    text = original.schema.metadata[b"labkit"].replace(before.encode(), after.encode())
    sink = pa.BufferOutputStream()
    metadata = {b"labkit": text, b"labkit-sha256": hashlib.sha256(text).hexdigest().encode()}
    pq.write_table(original.replace_schema_metadata(metadata), sink)
    return bytes(sink.getvalue())


def columns(chance: random.Random, folder: Path) -> Path:
    name = parquet(chance)
    content = table(template()[name], chance, header=False)
    files = {**template(), "log.txt": b"x\n", "events.jsonl": b"x\n"}
    del files[name]
    if "compacted" in name:
        name = f"{name.rpartition('/')[0]}/compacted-{hashlib.sha256(content).hexdigest()[:16]}.parquet"
    return laid({**files, name: content}, folder / "c")


def bytes_of_parquet(chance: random.Random, folder: Path) -> Path:
    name = parquet(chance)
    return laid(
        {**template(), "log.txt": b"x\n", "events.jsonl": b"x\n", name: mutated(template()[name], chance)}, folder / "c"
    )


def strange_files(chance: random.Random, folder: Path) -> Path:
    """Links, pipes, folders and rubbish where labkit expects files."""
    laid_out = laid(template(), folder / "c")
    name = chance.choice(
        [
            *template(),
            "lease.json",
            "progress.json",
            "jobs/1.json",
            "explorer.json",
            "records",
            "samples",
            "records/mpi.allreduce.parquet",
            "samples/mpi.allreduce",
            "starts",
            "origins",
            archive.MANIFEST,
            "notebooks",
        ]
    )
    path = laid_out / name
    path.parent.mkdir(exist_ok=True, parents=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    chance.choice(
        (
            lambda: os.mkfifo(path),
            lambda: path.symlink_to(chance.choice(("/etc", "/etc/passwd", "loop", "..", "/dev/zero", "c"))),
            path.mkdir,
            lambda: path.write_bytes(chance.choice((b"", b"{}", b"[]", DEEP, b"\xff\xfe", b"x" * 10000))),
            lambda: path.write_text(
                json.dumps(
                    twisted(
                        {
                            "pid": "1",
                            "token": "x",
                            "host": "h",
                            "start": "s",
                            "heartbeat": 4e9,
                            "began": ["a", "b"],
                            "system": "slurm",
                            "number": "1",
                        },
                        chance,
                    )
                )
            ),
        )
    )()
    return laid_out


KINDS: dict[str, Callable[[random.Random, Path], Path]] = {
    kind.__name__: kind
    for kind in (
        an_archive_of_bytes,
        an_archive_of_names,
        facts,
        headers,
        starts,
        columns,
        bytes_of_parquet,
        strange_files,
    )
}


def made(kind: str, seed: int, folder: Path) -> Path:
    """One input."""
    return KINDS[kind](random.Random(f"{kind} {seed}"), folder)


class HangError(BaseException):
    """A command that did not end."""


@contextmanager
def bounded() -> Iterator[None]:
    """Ends what hangs."""

    def over(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def said(words: list[str]) -> tuple[int, str]:
    """Exit status and output of a command."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out), warnings.catch_warnings(), bounded():
        warnings.simplefilter("ignore")
        shown = warnings.showwarning
        try:
            return main(words), out.getvalue()
        except SystemExit as end:
            return int(end.code or 0), out.getvalue()
        finally:
            warnings.showwarning = shown


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything in a folder, links not followed."""
    entries = {}
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            about = os.lstat(Path(above, name))
            entries[str(Path(above, name))] = (about.st_mode, about.st_size)
    return entries


def tried(kind: str, seed: int, folder: Path) -> None:
    """Look at one input, merge it, show it."""
    home = folder / "a" / "b" / "c" / "d"  # so that some levels up still lie inside what is watched
    home.mkdir(parents=True)
    place = made(kind, seed, home)
    before = tree(folder)
    looked, text = said(["verify", str(place)])
    assert looked in (0, 1), text
    assert looked or "all intact" in text
    assert "Traceback" not in text
    assert tree(folder) == before, "verify writes nothing"
    status, text = said(["merge", str(place), "--into", str(home / "into")])
    assert status == looked, f"verify ended with {looked}, merge with {status}: {text}"
    new = {name for name in set(tree(folder)) - set(before) if not name.startswith(f"{home}/into")}
    assert not new, f"written elsewhere: {new}"
    if not status:
        assert said(["verify", str(home / "into")])[0] == 0, "what was merged is sound"
        status, text = said(["merge", str(place), "--into", str(home / "into")])
        assert status == 0
        assert "merged: 0 new points × launches" in text, text
    if place.is_dir():
        status, text = said(["show", str(place), "--format", "json"])
        assert status in (0, 1), text
        status, text = said(["export", str(place), "--output", str(home / "out.zip")])
        assert status in (0, 1), text
        assert (status == 0) == (home / "out.zip").exists()
    assert not list(Path("/tmp").glob("labkit-evil*")), "executed"


def fuzzed(count: int, folder: Path, offset: int = 0) -> None:
    """So many inputs, of each kind as many."""
    end = time.monotonic() + 1500
    for number in range(count):
        kind, seed = list(KINDS)[number % len(KINDS)], offset + number // len(KINDS)
        place = folder / f"{kind}-{seed}"
        try:
            tried(kind, seed, place)
        except BaseException as error:
            error.add_note(f"the input: {kind}, seed {seed}")
            raise
        shutil.rmtree(place)
        assert time.monotonic() < end, f"{number} inputs took too long"


def test_random_foreign_data_do_no_harm(tmp_path: Path) -> None:
    fuzzed(2 * len(KINDS), tmp_path)


@pytest.mark.slow
def test_many_random_foreign_data_do_no_harm(tmp_path: Path) -> None:
    fuzzed(1400, tmp_path, offset=1000)


if __name__ == "__main__":
    fuzzed(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
