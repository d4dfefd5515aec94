"""Read the content of papers: the tables of the survey, and the experiments that labkit repeats.

The facts are data (``data/reference``). labkit's counterparts follow from its own registries.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
class Surveyed:
    """A row of a table of the survey, and the counterpart of its benchmark in labkit.

    Parameters
    ----------
    name : name of the benchmark.
    section : section of the survey that describes it.
    cells : cells of all columns of its table.
    kind : counterpart in labkit: the ``program`` itself, own code for the same ``definition``, checked against the
        original, a ``stand-in`` that measures the same in another way, only the ``import`` of its logs, or ``none``;
        empty if it is not a benchmark.
    tests : names in `labkit.benchmarks.Benchmark.equivalents`.
    labkit : patterns of names of labkit's benchmarks.
    tools : files of `labkit.tools` that run it or its stand-in.
    format : file of `labkit.formats` that reads its output.
    reason : why labkit has none.
    note : how a stand-in differs.
    lacks : parts of the original that labkit does not have, in words that do not occur in labkit's benchmarks.
    """

    name: str
    section: str
    cells: tuple[str, ...]
    kind: Literal["program", "definition", "stand-in", "import", "none", ""] = ""
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
        """Names of labkit's benchmarks for it: those that labkit runs, or else those that it only imports."""
        every = benchmarks.every() if self.kind == "import" else benchmarks.find()
        names = [name for pattern in self.labkit for name in fnmatch.filter(every, pattern)]
        return list(dict.fromkeys([*self.counterparts.values(), *names]))

    @property
    def runs(self) -> bool:
        """Whether labkit runs the program, its definition, or a stand-in."""
        return self.kind in ("program", "definition", "stand-in")

    @property
    def imported(self) -> bool:
        """Whether labkit reads the output of the program."""
        if self.tests and self.tests[0].startswith(("osu_", "IMB-")):
            return bool(self.counterparts)
        return bool(self.format) and find_spec(f"{formats.__name__}.{self.format}") is not None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the survey, or the benchmarks in the text of a section without a table.

    Parameters
    ----------
    section : section of the survey.
    columns : heads.
    rows : in the order of the paper.
    number, title : number and title of the table; 0 and the section's title for benchmarks in the text.
    turned : whether rows and columns are exchanged.
    align : ``l``, ``r`` or ``c`` for each column; all ``l`` if empty.
    """

    section: str
    columns: tuple[str, ...]
    rows: tuple[Surveyed, ...]
    number: int = 0
    title: str
    turned: bool = False
    align: str = ""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment of a paper.

    Parameters
    ----------
    figure, title, result : place in the paper, title, and result of the paper.
    labkit : patterns of benchmarks that repeat it.
    notebook : notebook that shows it (default: the first one with such a benchmark).
    metric : metric to show, if the benchmark has it; else its first one.
    options : options of the benchmark, as in `labkit.read.reference.Number`.
    size : size to show: the nearest measured one (default: the smallest).
    values : names of the paper's numbers that a benchmark measures and the report compares.
    further : names of the paper's numbers that no benchmark measures.
    needs, command : requirements and command lines to repeat it as in the paper.
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
    title : title of their section.
    numbers : file of `labkit.read.reference` with the numbers of the paper.
    experiments : in the order of the paper.
    """

    title: str
    numbers: str
    experiments: tuple[Experiment, ...] = field(default_factory=tuple)

    def numbers_of(self, experiment: Experiment, *, further: bool = False) -> list[Number]:
        """The compared numbers of an experiment, as quantities that labkit measures, or the others."""
        paper = self.paper
        return [paper.measurable(paper[name]) for name in (experiment.further if further else experiment.values)]

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
def tables() -> tuple[Table, ...]:
    """Return the survey's tables, in the order of its sections.

    Raises
    ------
    DataError
        If the file is malformed.
    """
    file, found = FOLDER / "survey.toml", []
    for one in _table(file)["table"]:
        head = {"title": sections().get(one["section"], ""), **one}
        found.append(_one(Table, head | {"rows": [_row(row, one, file) for row in head.pop("row")]}, file))
    return tuple(found)


@cache
def sections() -> Mapping[str, str]:
    """Return the sections of the survey that describe benchmarks, with their titles."""
    return dict(_table(FOLDER / "survey.toml")["sections"])


def table(number: int) -> Table:
    """Return a table of the survey."""
    return next(one for one in tables() if one.number == number)


def surveyed() -> list[Surveyed]:
    """Return the surveyed benchmarks, in the order of the survey's tables."""
    return [row for one in tables() for row in one.rows if row.kind]


def _row(row: Mapping[str, Any], head: Mapping[str, Any], file: Path) -> Surveyed:
    """Return a row of a table, with a cell for each column."""
    made = _one(Surveyed, {"section": head["section"], **row}, file)
    cells = made.cells if len(made.cells) == len(head["columns"]) else (made.name, *made.cells)
    if len(cells) != len(head["columns"]):
        raise DataError(
            f"{file}: {made.name} has {len(made.cells)} cells, but its table has {len(head['columns'])} columns. "
            "Give a cell for each column; the first one may be left out if it is the name."
        )
    return replace(made, cells=cells)


@cache
def papers() -> tuple[Literature, ...]:
    """Return the papers whose experiments labkit repeats, in the order of their files.

    Raises
    ------
    DataError
        If a file is malformed.
    """
    return tuple(_paper(file) for file in sorted(PAPERS.glob("*.toml")))


def _paper(file: Path) -> Literature:
    table = _table(file)
    experiments = [_one(Experiment, row, file) for row in table.pop("experiment", [])]
    return _one(Literature, table | {"experiments": experiments}, file)


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
