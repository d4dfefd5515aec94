"""What a benchmark is, and how the lab finds them: every module ``benchmarks/<family>/<name>.py``.

A benchmark is one file with a docstring (its definition and whose it is), a frozen dataclass ``Options`` and
one constant ``BENCHMARK``. It is named after its file.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from labkit.errors import SpecError, known
from labkit.spec import Effort, Spec, validated
from labkit.units import MiB

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from labkit.tools import Job

    Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class NoOptions:
    """For a benchmark without options of its own."""


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """What one iteration moves, which metrics follow, and what it needs.

    Parameters
    ----------
    title : a few words for lists and headings.
    metrics : metric → work in one iteration, as a function of the spec. For a cost the number of units that
        wait for one another (2 for ping-pong); for a rate the bytes, messages or operations moved.
        The first metric is the headline.
    options : frozen dataclass of the benchmark's own options.
    sized : False when the size of a message means nothing (barrier, clock).
    sizes : default sweep.
    max_size : largest size that makes sense, B.
    ranks : least and greatest number of ranks; None for no upper end.

    kernel : name of the C kernel and of its mpi4py loop; empty for tools.
    buffers : bytes each rank sends and receives in one iteration, from the spec.
    expected : what a rank must have received: from its rank and the function that gives every rank's
        send buffer; None where it receives nothing.
    reduce : how the ranks' times become one: ``rank0`` times for all, or ``max``: the slowest counts.
    jobs : tools that can serve, best first; the first one that is installed does. Each is a pure function of
        spec and effort.
    cadence : ``isolated``, ``streaming`` or ``windowed``.
    """

    title: str
    metrics: Mapping[str, Callable[[Spec], float]]
    options: type[Any] = NoOptions
    sized: bool = True
    sizes: str = "1:4Mi"
    max_size: int = 1024 * MiB
    ranks: tuple[int, int | None] = (1, 1)
    kernel: str = ""
    buffers: Callable[[Spec], tuple[int, int]] = lambda spec: (0, 0)
    expected: Callable[[Spec, int, Callable[[int], Bytes]], Bytes | None] = lambda spec, rank, send: None
    reduce: Literal["rank0", "max"] = "rank0"
    jobs: tuple[Callable[[Spec, Effort], Job], ...] = ()
    cadence: str = "isolated"
    # filled in by `find`
    name: str = ""
    doc: str = ""


@cache
def find() -> dict[str, Benchmark]:
    """All benchmarks by name, from the files of this package; sorted."""
    found: dict[str, Benchmark] = {}
    for family in pkgutil.iter_modules(__path__):
        if not family.ispkg:
            continue
        package = importlib.import_module(f"{__name__}.{family.name}")
        for module in pkgutil.iter_modules(package.__path__):
            loaded: ModuleType = importlib.import_module(f"{package.__name__}.{module.name}")
            name = f"{family.name}.{module.name}"
            found[name] = dataclasses.replace(loaded.BENCHMARK, name=name, doc=loaded.__doc__ or "")
    return dict(sorted(found.items()))


def get(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises
    ------
    SpecError
        If there is none; lists those there are.
    """
    benchmarks = find()
    if name not in benchmarks:
        raise known("benchmark", name, list(benchmarks))
    return benchmarks[name]


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
    if spec.ranks < low or (high is not None and spec.ranks > high):
        needs = f"exactly {low}" if low == high else f"at least {low}" if high is None else f"{low} to {high}"
        raise SpecError(f"ranks={spec.ranks}, but {spec.benchmark} needs {needs}. Set ranks={max(low, min(spec.ranks, high or spec.ranks))}.")
    if not benchmark.sized:
        spec = spec.replace(size=0)
    if spec.size > benchmark.max_size:
        raise SpecError(f"size={spec.size} B, but {spec.benchmark} goes up to {benchmark.max_size} B. Set a smaller size.")
    return spec.replace(options=options)


