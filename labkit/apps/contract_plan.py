"""Measurements that an acceptance contract requires: commands of the clauses, and points that a campaign lacks."""

from __future__ import annotations

import dataclasses
import fnmatch
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from labkit import benchmarks
from labkit.benchmarks import Benchmark, LogBenchmark
from labkit.errors import LabkitError
from labkit.judge import all_pairs
from labkit.judge.contract import Clause
from labkit.point.columns import split
from labkit.point.host_list import listed
from labkit.point.spec import Effort, Spec, sweep
from labkit.point.units import plural
from labkit.read.records.factors import level
from labkit.run import measuring

# a benchmark, fingerprint and launch
Name = tuple[str, str, int]
_FEWEST = 6  # launches of a 95 % interval
_P999 = 10_000  # samples of a percentile of 99.9
_FIELDS = frozenset(one.name for one in dataclasses.fields(Spec)) - {"benchmark", "size", "options", "environment"}


@dataclass(frozen=True, kw_only=True)
class Part:
    """Measurements of one benchmark that a clause requires.

    Parameters
    ----------
    clause : which.
    benchmark : its name; empty if no benchmark that labkit runs fits.
    words : ``labkit measure`` with its options.
    points, missing : points × launches, and how many of them the campaign lacks.
    seconds : how long the missing ones are timed at most.
    unset : conditions of the clause that no option sets, such as ``library=Open MPI 5.0.6``: the place must have them.
    places : where to run the command, if the clause demands hosts or pairs and names no host; else empty.
    problem : why it cannot be measured here; empty if it can.
    """

    clause: Clause
    benchmark: str = ""
    words: tuple[str, ...] = ()
    points: int = 0
    missing: int = 0
    seconds: float = 0.0
    unset: tuple[str, ...] = ()
    places: str = ""
    problem: str = ""

    @property
    def command(self) -> str:
        """The command as a shell reads it."""
        return shlex.join(self.words)


def plan(clauses: Sequence[Clause], into: str, present: frozenset[Name] = frozenset()) -> list[Part]:
    """Return what the clauses need, in their order; start nothing but version queries.

    Parameters
    ----------
    into : campaign that the commands name.
    present : points that it has. A point that two clauses need counts for the first.
    """
    parts, have = [], set(present)
    for clause in clauses:
        of_clause = list(_parts(clause, into, have))
        parts += of_clause or [Part(clause=clause, problem=f"labkit runs no benchmark {clause.benchmark!r} like this")]
    return parts


def _parts(clause: Clause, into: str, have: set[Name]) -> Iterator[Part]:
    """Yield the parts of a clause; add their points to those that are there."""
    every = [
        one
        for name, one in benchmarks.find().items()
        if fnmatch.fnmatchcase(name, clause.benchmark) and not isinstance(one, LogBenchmark)
    ]
    known = {one.name: {field.name for field in dataclasses.fields(one.options)} for one in every}
    somewhere = _FIELDS.union(*known.values())
    for one in every:
        settable = _FIELDS | known[one.name]
        given = {key: value for key, value in clause.where.items() if key != "size"}
        if any(key in somewhere and key not in settable for key in given):
            continue  # the clause is about other benchmarks of its pattern
        if "size" in clause.where and not one.sized:
            continue
        axes = {key: _levels(value) for key, value in given.items() if key in settable or key.startswith("env.")}
        unset = tuple(f"{key}={value}" for key, value in given.items() if key not in axes)
        for places in _places(clause, one):
            yield _part(clause, one, axes | places, unset, into, have)


def _places(clause: Clause, benchmark: Benchmark) -> Iterator[dict[str, list[Any]]]:
    """Yield the hosts of each command that a clause needs: all of them at once, or one pair after another."""
    names = list(clause.host_names)
    if not names:
        yield {}
    elif clause.pairs and benchmark.name != all_pairs.BENCHMARK:
        yield from ({"hosts": list(pair)} for pair in combinations(names, 2))
    else:
        yield {"hosts": names, "ranks": [len(names)]}


def _part(
    clause: Clause,
    benchmark: Benchmark,
    axes: Mapping[str, list[Any]],
    unset: tuple[str, ...],
    into: str,
    have: set[Name],
) -> Part:
    launches = max(clause.launches, _FEWEST) if clause.basis == "interval" else clause.launches
    tail = (split(clause.statistic) or ("", ""))[1] == "p999"
    sizes = ",".join(str(one) for one in _levels(clause.where["size"])) if "size" in clause.where else ""
    words = ["labkit", "measure", benchmark.name]
    words += ["-m", sizes] if sizes else []
    words += [word for key, levels in axes.items() for word in _words(key, levels)]
    words += ["--launches", str(launches), *(["-i", str(_P999)] if tail else []), "--into", into]
    part = Part(clause=clause, benchmark=benchmark.name, words=tuple(words), unset=unset, places=_unnamed(clause))
    effort = Effort(launches=launches, iterations=_P999 if tail else None)
    try:
        points = measuring.expand(_specs(benchmark, sizes, axes), effort)
    except LabkitError as error:
        return dataclasses.replace(part, problem=str(error).splitlines()[0])
    names = {(point.spec.benchmark, point.fingerprint, point.launch) for point in points}
    missing = names - have
    have |= names
    seconds = len(missing) * effort.time_cap
    return dataclasses.replace(part, points=len(names), missing=len(missing), seconds=seconds)


def _unnamed(clause: Clause) -> str:
    """Return where to run the command of a clause that demands hosts or pairs without their names."""
    if clause.host_names or not (clause.pairs or clause.hosts):
        return ""
    least = plural(clause.hosts, "host") if isinstance(clause.hosts, int) and clause.hosts else "hosts"
    pairs = "every pair of " if clause.pairs else ""
    return (
        f"run this so that it covers {pairs}{least}; with their names in the clause (hosts = 'node[01-16]'), labkit "
        "writes the options"
    )


def _specs(benchmark: Benchmark, sizes: str, axes: Mapping[str, list[Any]]) -> list[Spec]:
    fields: dict[str, Any] = {key: levels if len(levels) > 1 else levels[0] for key, levels in axes.items()}
    if benchmark.single:
        fields.setdefault("ranks", 1)
    if "hosts" in fields:
        fields["hosts"] = listed(",".join(map(str, axes["hosts"])))
    return sweep(benchmark.name, sizes=sizes or (benchmark.sizes if benchmark.sized else 0), **fields)


def _levels(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _words(key: str, levels: Sequence[Any]) -> list[str]:
    """Return the words of a command line that set a factor."""
    texts = [level(one) for one in levels]
    if key == "hosts":
        return ["--hosts", ",".join(texts)]
    if len(texts) == 1 and key in _FIELDS:
        return [f"--{key}", texts[0]]
    if len(texts) == 1 and not key.startswith("env."):
        return ["-o", f"{key}={texts[0]}"]
    between = ";" if any("," in text for text in texts) or len(texts) == 1 else ","
    return ["--factor", f"{key}={between.join(texts)}"]
