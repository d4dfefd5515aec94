"""Files of a campaign or a project that are endless, too long or too deep: one clear error or nothing, at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from labkit.apps.cli import start
from labkit.apps.explorer import measurement, state
from labkit.apps.jobs import submitted
from labkit.apps.teaching.attempts import Attempts
from labkit.errors import LabkitError, LabkitWarning
from labkit.host import allocation
from labkit.io import safe_read
from labkit.judge import contract, retests
from labkit.point import host_list
from labkit.point.spec import Spec
from labkit.read import kept, reference
from labkit.read.records import tables
from labkit.report import build_cache, literature, notebook, styles
from labkit.store import lease
from labkit.store.campaign import Campaign
from labkit.suites import copies, notebooks, sections
from labkit.tuning import files


def _job(path: Path) -> str:
    return submitted.Job(path.parents[1], 1, "slurm", "7", 0.0).output()


def _environment(path: Path) -> object:
    return (allocation._pbs({"PBS_NODEFILE": str(path)}), host_list.allocated({"PBS_NODEFILE": str(path)}))


# file → what reads it
READERS: dict[str, Callable[[Path], object]] = {
    "c/log.txt": lambda path: measurement.log(path.parent),
    "c/explorer.json": lambda path: measurement.unfinished(path.parent),
    "c/lease.json": lease._read,
    "c/jobs/1-0.out": _job,
    "c/jobs/1.json": submitted.read,
    "c/records.parquet": tables.read,
    "c/records/mpi.latency.parquet": partial(kept.read, valid=b""),
    "c/records/notebooks.json": copies._known,
    "c/notebooks/a.ipynb": notebook.read,
    "c/notebooks/b.ipynb": lambda path: notebooks.add_static_figures([path]),
    "c/report/.labkit-made.json": lambda path: build_cache.kept(path.parent, "x"),
    "c/tune/openmpi-mca-params.conf": lambda path: files.check(path.parent, Spec(benchmark="mpi.allreduce")),
    "view.json": lambda path: state.load(str(path)),
    "diary.json": lambda path: Attempts(path.parent),
    "style.yml": styles.read,
    "notebook.ipynb": start._title,
    "section.ipynb": lambda path: sections.expanded(path, lambda: pytest.fail("no study")),
    "contract.toml": contract.load,
    "tests.jsonl": retests.load,
    "paper.toml": lambda path: reference._read.__wrapped__(path, 0),
    "program.toml": lambda path: literature._table(path),
    "nodes": _environment,
    "hosts": lambda path: host_list.listed(str(path)),
}


def _endless(path: Path) -> None:
    os.mkfifo(path)


def _long(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(30 << 30)  # it has holes only


def _deep(path: Path) -> None:
    path.write_text("[" * 200_000)


def _deep_table(path: Path) -> None:
    path.write_text('{"cells": ' * 50_000)


def cases() -> Iterator[Any]:
    """Every reader with every kind of file."""
    for name in READERS:
        for made in (_endless, _long, _deep, _deep_table):
            slow = made is _deep_table or (made is _long and name.endswith((".parquet", ".ipynb")))
            yield pytest.param(name, made, marks=pytest.mark.slow if slow else (), id=f"{name}-{made.__name__[1:]}")


@pytest.mark.parametrize(("name", "made"), [*cases()])
def test_a_file_without_bounds_is_refused_or_left_out(name: str, made: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    made(path)
    said = ""
    try:
        READERS[name](path)
    except (LabkitError, LabkitWarning) as error:
        said = str(error)
    assert len(said) < 1000


def test_the_end_of_a_text_is_read_however_long_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    _long(path)
    with path.open("ab") as file:
        file.write(b"\nlast but one\nlast\n")
    assert safe_read.tail(path, 2) == "last but one\nlast"
    path.write_text("one\n")
    assert safe_read.tail(path, 12) == "one"
    assert measurement.log(Campaign(tmp_path / "c").path) == ""
