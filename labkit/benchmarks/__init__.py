"""Find the benchmarks: every module ``benchmarks/<family>/<name>.py``.

A benchmark is one file with a docstring (its definition and where it comes from), a frozen dataclass ``Options`` and
one constant ``BENCHMARK`` of one of the kinds in `labkit.benchmarks._kinds`. Its name is that of the file. A file may
export further forms of its pattern as ``FORMS``: name → benchmark, each with its own `doc`.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from labkit.benchmarks._ends import Ends
from labkit.benchmarks._kinds import (
    POISON,
    ApplicationBenchmark,
    Benchmark,
    CollectiveBenchmark,
    DeviceBenchmark,
    FileBenchmark,
    InterferenceBenchmark,
    KernelBenchmark,
    LogBenchmark,
    NoOptions,
    OneSidedBenchmark,
    ParallelFileBenchmark,
    ProgramBenchmark,
    RankBenchmark,
    StartBenchmark,
    SymmetricBenchmark,
    ToolBenchmark,
    kind,
)
from labkit.benchmarks.simulated import Simulation
from labkit.errors import SpecError, unknown_name
from labkit.options.ranks import Cadence, Threads
from labkit.point.spec import Effort, Given, Spec, has, validated
from labkit.point.units import KiB, format_size

if TYPE_CHECKING:
    from labkit.tools import Invocation

__all__ = [
    "CROSSED_ONCE",
    "ENOUGH_PAYLOAD",
    "POISON",
    "ApplicationBenchmark",
    "Benchmark",
    "CollectiveBenchmark",
    "DeviceBenchmark",
    "Ends",
    "FileBenchmark",
    "InterferenceBenchmark",
    "KernelBenchmark",
    "LogBenchmark",
    "NoOptions",
    "OneSidedBenchmark",
    "ParallelFileBenchmark",
    "ProgramBenchmark",
    "RankBenchmark",
    "Simulation",
    "StartBenchmark",
    "SymmetricBenchmark",
    "ToolBenchmark",
    "cadence",
    "checked",
    "every",
    "find",
    "get",
    "identity",
    "kind",
    "label",
    "look_up",
    "meanings",
    "moved",
    "resolve",
    "runnable",
    "threads",
    "tools_of",
    "typed",
]

ENOUGH_PAYLOAD = 64 * KiB  # B, from which the messages of a start or of a barrier do not matter
CROSSED_ONCE = (0.95, 1.5)  # carried / payload, of messages that went over the link once


@cache
def find() -> dict[str, Benchmark]:
    """Return all benchmarks that labkit can run by name, from the files of this package; sorted.

    Raises
    ------
    ValueError
        If two files export one name.
    """
    return {name: one for name, one in every().items() if not isinstance(one, LogBenchmark)}


def every() -> dict[str, Benchmark]:
    """Return all benchmarks by name, also those that labkit only imports; sorted.

    Raises
    ------
    ValueError
        If two files export one name.
    """
    benchmarks: dict[str, Benchmark] = {}
    for family in pkgutil.iter_modules(__path__):
        for file in _files(family.name) if family.ispkg else ():
            exported = _exported(family.name, file)
            if clashes := benchmarks.keys() & exported.keys():
                raise ValueError(
                    f"{', '.join(sorted(clashes))}: exported by {file}.py and by another file of {family.name}"
                )
            benchmarks |= exported
    return dict(sorted(benchmarks.items()))


def _files(family: str) -> list[str]:
    """Names of a family's files; none if the family does not exist."""
    try:
        package = importlib.import_module(f"{__name__}.{family}")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(__name__):
            raise
        return []
    folder = getattr(package, "__path__", ())  # a module is not a family
    return [module.name for module in pkgutil.iter_modules(folder) if not module.name.startswith("_")]


@cache
def _exported(family: str, file: str) -> dict[str, Benchmark]:
    """The benchmarks of one file, by their full names."""
    module: ModuleType = importlib.import_module(f"{__name__}.{family}.{file}")
    main: dict[str, Benchmark] = {file: module.BENCHMARK} if hasattr(module, "BENCHMARK") else {}
    forms: dict[str, Benchmark] = getattr(module, "FORMS", {})
    unfit = [name for name, one in {**main, **forms}.items() if not getattr(one, "by", "")]
    if unfit or not (main or forms):
        problem = f"{', '.join(unfit)} of no kind" if unfit else "neither BENCHMARK nor FORMS"
        raise SpecError(
            f"{module.__file__} defines {problem}. Define a KernelBenchmark, a ToolBenchmark or another kind of "
            "labkit.benchmarks, as CONTRIBUTING.md shows, or move the file away."
        )
    return {
        f"{family}.{name}": dataclasses.replace(one, name=f"{family}.{name}", doc=one.doc or module.__doc__ or "")
        for name, one in {**main, **forms}.items()
    }


def get(name: str) -> Benchmark:
    """Return the benchmark of that name. This imports as few files as possible, and looks for each name once.

    Raises
    ------
    SpecError
        If there is none; the message names similar ones.
    """
    if found := look_up(name):
        return found
    raise unknown_name("benchmark", name, list(every()), see="labkit list")


@cache
def look_up(name: str) -> Benchmark | None:
    """Return a benchmark as `get` does, or None if it does not exist, such as for points of another labkit version."""
    family, _, name_in_family = name.partition(".")
    if family.isidentifier() and name_in_family.isidentifier():
        for file in _likely(family, name_in_family):
            if name in (exported := _exported(family, file)):
                return exported[name]
    return None


def runnable(name: str) -> Benchmark | None:
    """Return the benchmark of that name if labkit can run it, as `find` does of all; else None."""
    benchmark = look_up(name)
    return None if isinstance(benchmark, LogBenchmark) else benchmark


def tools_of(name: str) -> tuple[Callable[[Spec, Effort], Invocation], ...]:
    """The tools that can serve a benchmark, best first; none if it needs no tool."""
    benchmark = get(name)
    return benchmark.tools if isinstance(benchmark, ToolBenchmark) else ()


@cache
def _likely(family: str, name: str) -> tuple[str, ...]:
    """The files of a family, those with similar names first, because the name of a form begins like its file's name."""
    files = _files(family)
    if name in files:
        files.remove(name)
        return (name, *files)
    import difflib  # inside the function: a rank imports this module and should open few files

    return tuple(sorted(files, key=lambda file: -difflib.SequenceMatcher(None, name, file).ratio()))


def resolve(spec: Spec) -> Spec:
    """Fill in every option of the benchmark, and check the spec against what the benchmark can do.

    Raises
    ------
    SpecError
        For an unknown benchmark or option, a wrong value, or impossible ranks or size.
    """
    benchmark = get(spec.benchmark)
    if isinstance(benchmark, LogBenchmark):
        originals = ", ".join(benchmark.logs)
        raise SpecError(
            f"labkit does not run {spec.benchmark}: it imports the output of the original ({originals}). "
            "Run that, and import what it prints: labkit import FILE."
        )
    options = validated(benchmark.options, spec.values, what=spec.benchmark)
    low, high = benchmark.ranks
    if benchmark.single:
        spec = spec.replace(ranks=1)
    if spec.ranks < low or (high is not None and spec.ranks > high):
        needs = f"{low} to {high}"
        if high is None:
            needs = f"at least {low}"
        elif low == high:
            needs = f"exactly {low}"
        raise SpecError(
            f"ranks={spec.ranks}, but {spec.benchmark} needs {needs}. "
            f"Set ranks={max(low, min(spec.ranks, high or spec.ranks))}."
        )
    spec = spec.having(options)
    if isinstance(benchmark, ProgramBenchmark):
        spec = spec.having(dataclasses.replace(options, **benchmark.chosen(spec)))
    return checked(spec)


def possible(spec: Spec) -> bool:
    """Whether a benchmark can have these options, ranks and this size, and one of its tools can do that."""
    from labkit import tools  # ranks do not need them

    try:
        resolved, factories = resolve(spec), tools_of(spec.benchmark)
    except SpecError:
        return False
    return not factories or bool(tools.able(factories, resolved, Effort())[0])


def checked(spec: Spec) -> Spec:
    """Check a spec whose options are filled in, and remove the size if its benchmark has none.

    Raises
    ------
    SpecError
        For an impossible size.
    """
    benchmark = get(spec.benchmark)
    if not benchmark.sized:
        spec = spec.replace(size=0)
    if spec.size > benchmark.max_size:
        raise SpecError(
            f"size={spec.size} B, but {spec.benchmark} goes up to {benchmark.max_size} B. Set a smaller size."
        )
    complaint = benchmark.check(spec)
    if not complaint and isinstance(benchmark, KernelBenchmark):
        complaint = _indivisible(spec, benchmark)
    if complaint:
        raise SpecError(f"{spec.benchmark}: {complaint}")
    return spec


def identity(spec: Spec) -> Spec:
    """A resolved spec without the options that have their defaults, so that a new option changes no fingerprint."""
    benchmark = get(spec.benchmark)
    defaults, whole = dict(vars(benchmark.options())), typed(spec)
    if not isinstance(whole.options, Given):
        defaults |= benchmark.formerly(whole)
    return spec.replace(options={key: value for key, value in spec.values.items() if defaults.get(key) != value})


def typed(spec: Spec) -> Spec:
    """The spec of a plan or of stored samples with its options as the class of its benchmark, unchecked.

    Options that it does not state have their defaults. A spec does not change if labkit does not run its benchmark, if
    the benchmark does not have one of its options, or if a log left one open.
    """
    benchmark, values = runnable(spec.benchmark), spec.values
    if benchmark is None or isinstance(spec.options, benchmark.options):
        return spec
    if not values.keys() <= benchmark.options.__dataclass_fields__.keys() or None in values.values():
        return spec
    return spec.having(benchmark.options(**values))


def threads(spec: Spec) -> int:
    """Number of threads of a rank, which all do the same; 1 if the benchmark has no such option."""
    return (has(spec.options, Threads) and spec.options.threads) or 1


def cadence(spec: Spec) -> str:
    """How iterations follow one another: the option `cadence`, or else the benchmark's cadence."""
    return (has(spec.options, Cadence) and spec.options.cadence) or get(spec.benchmark).cadence


def label(spec: Spec) -> str:
    """A resolved spec in a few words: benchmark, size, path, and the options that differ from their defaults."""
    benchmark = get(spec.benchmark)
    defaults = vars(benchmark.options())
    words = []
    if benchmark.sized:
        words.append(format_size(spec.size))
    if spec.transport != "auto":
        words.append(spec.transport)
    if spec.ranks > 2:
        words.append(f"{spec.ranks} ranks")
    words += [f"{key}={value}" for key, value in spec.values.items() if defaults.get(key) != value]
    return " ".join([spec.benchmark, ", ".join(words)]).strip()


def meanings(kind: type[Any]) -> dict[str, str]:
    """Parameter → meaning, from the numpydoc docstrings of a dataclass and of its base classes."""
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in "\n".join(one.__doc__ or "" for one in reversed(kind.__mro__[:-1])).splitlines():
        head, colon, rest = (part.strip() for part in line.partition(" : "))
        if colon and all(name.isidentifier() for name in head.split(", ")):
            names = head.split(", ")
            texts |= dict.fromkeys(names, rest)
        elif line.strip():
            texts |= {name: f"{texts[name]} {line.strip()}" for name in names}
        else:
            names = []
    return texts


def _indivisible(spec: Spec, benchmark: KernelBenchmark) -> str:
    """Say why a message does not hold whole elements; empty if it does."""
    import numpy as np  # 0.1 s

    item = np.dtype(benchmark.dtype(spec)).itemsize
    if spec.size % item == 0:
        return ""
    kind = benchmark.dtype(spec)
    return f"size={spec.size} B is not a whole number of {kind} ({item} B each). Set a multiple of {item}."


def moved(spec: Spec, iterations: int) -> dict[int, float]:
    """B that each rank of a pair sends to the other; empty if the benchmark does not declare it.

    Parameters
    ----------
    spec : resolved.
    """
    import numpy as np  # 0.1 s, which the help of a command does not need

    benchmark = get(spec.benchmark)
    if not isinstance(benchmark, KernelBenchmark) or benchmark.ranks != (2, 2) or threads(spec) != 1:
        return {}
    if "bandwidth_MBps" in benchmark.metrics:
        total = benchmark.metrics["bandwidth_MBps"](spec) * iterations
    elif "latency_us" in benchmark.metrics:
        total = benchmark.metrics["latency_us"](spec) * spec.size * iterations
    else:
        return {}
    empty = np.zeros(spec.size, np.dtype(benchmark.dtype(spec)))
    receivers = [rank for rank in (0, 1) if benchmark.expected(spec, rank, lambda _: empty) is not None]
    return {1 - rank: total / len(receivers) for rank in receivers}
