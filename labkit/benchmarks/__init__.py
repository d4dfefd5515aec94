"""What a benchmark is, and how the lab finds them: every module ``benchmarks/<family>/<name>.py``.

A benchmark is one file with a docstring (its definition and whose it is), a frozen dataclass ``Options`` and
one constant ``BENCHMARK`` of one of the kinds in `labkit.benchmarks._kinds`. It is named after its file. A file may
export further forms of its pattern as ``FORMS``: name → benchmark, each with a `doc` of its own.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from labkit.benchmarks._kinds import (
    Benchmark,
    CollectiveBenchmark,
    FileBenchmark,
    InterferenceBenchmark,
    KernelBenchmark,
    NoOptions,
    OneSidedBenchmark,
    RankBenchmark,
    StartBenchmark,
    ToolBenchmark,
)
from labkit.errors import SpecError, known
from labkit.spec import Effort, Spec, validated
from labkit.units import format_size

if TYPE_CHECKING:
    from labkit.tools import Invocation

__all__ = [
    "Benchmark",
    "CollectiveBenchmark",
    "FileBenchmark",
    "InterferenceBenchmark",
    "KernelBenchmark",
    "NoOptions",
    "OneSidedBenchmark",
    "RankBenchmark",
    "StartBenchmark",
    "ToolBenchmark",
    "checked",
    "completed",
    "find",
    "get",
    "identity",
    "label",
    "meanings",
    "resolve",
    "tools_of",
]


@cache
def find() -> dict[str, Benchmark]:
    """All benchmarks by name, from the files of this package; sorted.

    Raises
    ------
    ValueError
        If two files export one name.
    """
    found: dict[str, Benchmark] = {}
    for family in pkgutil.iter_modules(__path__):
        for file in _files(family.name) if family.ispkg else ():
            exported = _exported(family.name, file)
            if both := found.keys() & exported.keys():
                raise ValueError(
                    f"{', '.join(sorted(both))}: exported by {file}.py and by another file of {family.name}"
                )
            found |= exported
    return dict(sorted(found.items()))


def _files(family: str) -> list[str]:
    """Names of a family's files; none for a family that is not there."""
    try:
        package = importlib.import_module(f"{__name__}.{family}")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(__name__):
            raise
        return []
    return [module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")]


@cache
def _exported(family: str, file: str) -> dict[str, Benchmark]:
    """The benchmarks of one file, by their full names."""
    module: ModuleType = importlib.import_module(f"{__name__}.{family}.{file}")
    own: dict[str, Benchmark] = {file: module.BENCHMARK} if hasattr(module, "BENCHMARK") else {}
    forms: dict[str, Benchmark] = getattr(module, "FORMS", {})
    unfit = [name for name, one in {**own, **forms}.items() if not getattr(one, "by", "")]
    if unfit or not (own or forms):
        what = f"{', '.join(unfit)} of no kind" if unfit else "neither BENCHMARK nor FORMS"
        raise SpecError(
            f"{module.__file__} defines {what}. Define a KernelBenchmark, a ToolBenchmark or another kind of "
            "labkit.benchmarks, as CONTRIBUTING.md shows, or move the file away."
        )
    return {
        f"{family}.{name}": dataclasses.replace(one, name=f"{family}.{name}", doc=one.doc or module.__doc__ or "")
        for name, one in {**own, **forms}.items()
    }


def get(name: str) -> Benchmark:
    """The benchmark of that name; imports its file, and of a form as few others as may be.

    Raises
    ------
    SpecError
        If there is none; lists those there are.
    """
    family, _, own = name.partition(".")
    if family.isidentifier() and own.isidentifier():
        for file in _likely(family, own):
            if name in (exported := _exported(family, file)):
                return exported[name]
    raise known("benchmark", name, list(find()), see="labkit list")


def tools_of(name: str) -> tuple[Callable[[Spec, Effort], Invocation], ...]:
    """The tools that can serve a benchmark, best first; none if it is not one of tools."""
    benchmark = get(name)
    return benchmark.tools if isinstance(benchmark, ToolBenchmark) else ()


@cache
def _likely(family: str, own: str) -> tuple[str, ...]:
    """The files of a family, those with names alike first: a form bears the name of its file, and a word more."""
    files = _files(family)
    if own in files:
        files.remove(own)
        return (own, *files)
    return tuple(sorted(files, key=lambda file: -difflib.SequenceMatcher(None, own, file).ratio()))


def resolve(spec: Spec) -> Spec:
    """The spec with every option of its benchmark filled in, checked against what the benchmark can do.

    Raises
    ------
    SpecError
        For an unknown benchmark or option, a wrong value, or impossible ranks or size.
    """
    benchmark = get(spec.benchmark)
    options = dataclasses.asdict(validated(benchmark.options, dict(spec.options), what=spec.benchmark))
    low, high = benchmark.ranks
    if benchmark.single:
        spec = spec.replace(ranks=1)
    if spec.ranks < low or (high is not None and spec.ranks > high):
        needs = f"exactly {low}" if low == high else f"at least {low}" if high is None else f"{low} to {high}"
        raise SpecError(
            f"ranks={spec.ranks}, but {spec.benchmark} needs {needs}. "
            f"Set ranks={max(low, min(spec.ranks, high or spec.ranks))}."
        )
    return checked(spec.replace(options=options))


def checked(spec: Spec) -> Spec:
    """A spec whose options are filled in, without a size where its benchmark has none.

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
    problem = benchmark.check(spec) or (_divisible(spec, benchmark) if isinstance(benchmark, KernelBenchmark) else "")
    if problem:
        raise SpecError(f"{spec.benchmark}: {problem}")
    return spec


def identity(spec: Spec) -> Spec:
    """A resolved spec without the options that have their defaults, so that a new option changes no fingerprint."""
    benchmark = get(spec.benchmark)
    usual = dataclasses.asdict(benchmark.options()) | dict(benchmark.formerly(spec))
    return spec.replace(options={key: value for key, value in spec.options if usual.get(key) != value})


def completed(spec: Spec) -> Spec:
    """The spec of samples with what was done before some of today's options could be chosen."""
    found = find().get(spec.benchmark)
    former = found.formerly(spec) if found else {}
    return spec.replace(options={**former, **spec.values}) if former.keys() - spec.values.keys() else spec


def label(spec: Spec) -> str:
    """A resolved spec in a few words: benchmark, size, path, and the options that differ from their defaults."""
    benchmark = get(spec.benchmark)
    usual = dataclasses.asdict(benchmark.options())
    words = [format_size(spec.size)] if benchmark.sized else []
    words += [spec.transport] if spec.transport != "auto" else []
    words += [f"{spec.ranks} ranks"] if spec.ranks > 2 else []
    words += [f"{key}={value}" for key, value in spec.options if usual.get(key) != value]
    return " ".join([spec.benchmark, ", ".join(words)]).strip()


def meanings(kind: type[Any]) -> dict[str, str]:
    """Parameter → meaning, from the numpydoc docstrings of a dataclass and of those it comes from."""
    found: dict[str, str] = {}
    name = ""
    for line in "\n".join(one.__doc__ or "" for one in reversed(kind.__mro__[:-1])).splitlines():
        head, colon, rest = (part.strip() for part in line.partition(" : "))
        if colon and head.isidentifier():
            name, found[head] = head, rest
        elif line.strip() and name:
            found[name] += " " + line.strip()
        else:
            name = ""
    return found


def _divisible(spec: Spec, benchmark: KernelBenchmark) -> str:
    """A message must hold whole elements."""
    import numpy as np

    item = np.dtype(benchmark.dtype(spec)).itemsize
    if spec.size % item == 0:
        return ""
    kind = benchmark.dtype(spec)
    return f"size={spec.size} B is not a whole number of {kind} ({item} B each). Set a multiple of {item}."
