"""Read what papers say: the surveyed interconnects, testbeds and benchmarks, and the experiments that labkit repeats.

The facts are data (``data/reference``). What labkit has of them is computed from its own registries.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar

from labkit import benchmarks, formats
from labkit.errors import DataError, SpecError
from labkit.io import safe_read
from labkit.point.spec import validated
from labkit.read.reference import FOLDER, Number, Paper, load

PAPERS = FOLDER / "papers"
_Row = TypeVar("_Row")


@dataclass(frozen=True, kw_only=True)
class Interconnect:
    """A row of the survey's table of interconnects.

    Parameters
    ----------
    name, manufacturer, topology : in words.
    public : whether others than its maker sell it.
    bandwidth_Gbps, latency_us : as printed: one direction of a link, and end to end.
    rdma : whether it has remote direct memory access.
    year : of its first release.
    """

    name: str
    manufacturer: str
    public: bool
    bandwidth_Gbps: str  # noqa: N815 - a unit
    latency_us: str
    topology: str
    rdma: bool
    year: int


@dataclass(frozen=True, kw_only=True)
class Testbed:
    """A row of the survey's table of testbeds.

    Parameters
    ----------
    name, interconnect, processor, software : as printed.
    nodes : number.
    memory_GB : of a node, GB.
    """

    __test__ = False  # no test for pytest

    name: str
    nodes: int
    interconnect: str
    processor: str
    memory_GB: int  # noqa: N815 - a unit
    software: str


@dataclass(frozen=True, kw_only=True)
class Surveyed:
    """A benchmark of the survey, and how labkit may have it.

    Parameters
    ----------
    table : number of its table, or of the one in the same section.
    name, about : of it.
    kind : what labkit has: the ``program`` itself, code of its own for the same ``definition``, checked against the
        original, a ``stand-in`` that measures the same in another way, the ``import`` of its logs only, or ``none``.
    where : section that names it, if its table does not.
    tests : names that `labkit.benchmarks.Benchmark.equivalents` may have.
    labkit : patterns of names of labkit's benchmarks.
    tools : files of `labkit.tools` that run it or its stand-in.
    format : file of `labkit.formats` that reads its output.
    reason : why labkit has none.
    note : how a stand-in differs.
    lacks : what the original has and labkit does not, in words that do not occur in labkit's benchmarks.
    """

    table: int
    name: str
    about: str
    kind: Literal["program", "definition", "stand-in", "import", "none"]
    where: str = ""
    tests: tuple[str, ...] = ()
    labkit: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    format: str = ""
    reason: str = ""
    note: str = ""
    lacks: tuple[str, ...] = ()

    @property
    def counterparts(self) -> dict[str, str]:
        """Tests that labkit has, with its benchmarks."""
        return {test: known[0] for test in self.tests if (known := _equal(test))}

    @property
    def unlike(self) -> list[str]:
        """Tests whose counterparts differ from them in a detail."""
        every = benchmarks.find()
        return [test for test, name in self.counterparts.items() if test in every[name].unlike]

    @property
    def benchmarks(self) -> list[str]:
        """Names of labkit's benchmarks for it: those that labkit runs, or those that it imports only."""
        every = benchmarks.every() if self.kind == "import" else benchmarks.find()
        names = [name for pattern in self.labkit for name in fnmatch.filter(every, pattern)]
        return list(dict.fromkeys([*self.counterparts.values(), *names]))

    @property
    def runs(self) -> bool:
        """Whether labkit runs the program, its definition, or a stand-in."""
        return self.kind in ("program", "definition", "stand-in")

    @property
    def imported(self) -> bool:
        """Whether labkit reads what the program prints."""
        if self.tests and self.tests[0].startswith(("osu_", "IMB-")):
            return bool(self.counterparts)
        return bool(self.format) and find_spec(f"{formats.__name__}.{self.format}") is not None


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment of a paper.

    Parameters
    ----------
    figure, title, result : where the paper shows it, what it is, and what the paper found.
    labkit : patterns of benchmarks that repeat it.
    notebook : the one that shows it; else the first one with such a benchmark.
    metric : to show; the benchmark's first one where it does not have it.
    options : of the benchmark, as in `labkit.read.reference.Number`.
    size : to show, the nearest one that was measured; the smallest where none is named.
    values : names of the paper's numbers that a benchmark measures: they are compared.
    further : names of the paper's numbers that no benchmark measures.
    needs, command : what repeating it as in the paper takes, and the command lines that do it.
    """

    figure: str
    title: str
    result: str
    labkit: tuple[str, ...] = ()
    notebook: str = ""
    metric: str = ""
    options: Mapping[str, str | bool | int | float] = field(default_factory=dict)
    size: str = ""
    values: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    needs: str = ""
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class Literature:
    """The experiments of a paper.

    Parameters
    ----------
    title : of their section.
    numbers : file of `labkit.read.reference` with the numbers of the paper.
    experiments : in the order of the paper.
    """

    title: str
    numbers: str
    experiments: tuple[Experiment, ...] = field(default_factory=tuple)

    def numbers_of(self, experiment: Experiment, *, further: bool = False) -> list[Number]:
        """The numbers of an experiment that are compared, or the others."""
        return [self.paper[name] for name in (experiment.further if further else experiment.values)]

    @property
    def paper(self) -> Paper:
        """Its numbers, conditions and key in the bibliography."""
        return load(self.numbers)


@cache
def _tests() -> Mapping[str, list[str]]:
    """Return the names of tests of other suites, with labkit's benchmarks that equal them."""
    known: dict[str, list[str]] = {}
    for name, one in benchmarks.find().items():
        for test in one.equivalents:
            known.setdefault(test.lower(), []).append(name)
    return known


def _equal(test: str) -> list[str]:
    return _tests().get(test.lower(), [])


@cache
def interconnects() -> tuple[Interconnect, ...]:
    """Return the survey's interconnects."""
    return _rows(FOLDER / "interconnects.toml", "interconnect", Interconnect)


@cache
def testbeds() -> tuple[Testbed, ...]:
    """Return the survey's testbeds."""
    return _rows(FOLDER / "interconnects.toml", "testbed", Testbed)


@cache
def surveyed() -> Mapping[int, tuple[str, tuple[Surveyed, ...]]]:
    """Return the survey's tables of benchmarks: number → title and rows.

    Raises
    ------
    DataError
        If the file is not as it must be.
    """
    file = FOLDER / "benchmarks.toml"
    rows = _rows(file, "benchmark", Surveyed)
    titles = {int(one["number"]): str(one["title"]) for one in _table(file)["table"]}
    if unknown := {one.table for one in rows} - set(titles):
        raise DataError(f"{file} has benchmarks of table {min(unknown)}, but no such [[table]]. Add it.")
    return {number: (title, tuple(r for r in rows if r.table == number)) for number, title in titles.items()}


@cache
def papers() -> tuple[Literature, ...]:
    """Return the papers whose experiments labkit repeats, in the order of their files.

    Raises
    ------
    DataError
        If a file is not as it must be.
    """
    return tuple(_paper(file) for file in sorted(PAPERS.glob("*.toml")))


def _paper(file: Path) -> Literature:
    table = _table(file)
    experiments = [_one(Experiment, row, file) for row in table.pop("experiment", [])]
    return _one(Literature, table | {"experiments": experiments}, file)


def _rows(file: Path, name: str, kind: type[_Row]) -> tuple[_Row, ...]:
    return tuple(_one(kind, row, file) for row in _table(file)[name])


def _one(kind: type[_Row], row: Mapping[str, Any], file: Path) -> _Row:
    """Return a row as its dataclass, with tuples in place of lists."""
    frozen = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    try:
        return validated(kind, frozen, what=str(file))
    except SpecError as error:
        raise DataError(str(error)) from error


@cache
def _text(file: Path) -> str:
    return safe_read.text(file)


def _table(file: Path) -> dict[str, Any]:
    try:
        return safe_read.toml_of(_text(file))
    except (DataError, ValueError) as error:
        raise DataError(f"{file} cannot be read: {error}. Restore it from git, or install labkit again.") from error


def matching(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match patterns, in the order of the patterns.

    Examples
    --------
    >>> matching(["mpi.a", "mpi.b"], ["mpi.b", "mpi.*"])
    ['mpi.b', 'mpi.a']
    """
    return list(dict.fromkeys(name for pattern in patterns for name in fnmatch.filter(names, pattern)))
