"""What a benchmark is, and how the lab finds them: every module ``benchmarks/<family>/<name>.py``.

A benchmark is one file with a docstring (its definition and whose it is), a frozen dataclass ``Options`` and
one constant ``BENCHMARK``. It is named after its file.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from labkit.errors import SpecError, known
from labkit.spec import Effort, Scalar, Spec, validated
from labkit.units import MiB, format_size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from labkit.tools import Job

    Values = NDArray[Any]
    Expected = Callable[[Spec, int, Callable[[int], Values]], Values | int | None]


@dataclass(frozen=True)
class NoOptions:
    """For a benchmark without options of its own."""


@dataclass(frozen=True)
class Pair:
    """Two jobs: a victim, whose ranks are timed alone and beside the other, and an aggressor.

    Parameters
    ----------
    victim : its spec, from that of the whole and its hosts.
    ranks : spec of the aggressor's ranks, in the same way; None where it is made of flows.
    flows : of the aggressor, from how many hosts it has and for how many s it may go on: a tool's job and the places of
        client and server among the hosts; empty for ranks.
    lead : s that the aggressor is ahead.
    """

    victim: Callable[[Spec, Sequence[str]], Spec]
    ranks: Callable[[Spec, Sequence[str]], Spec | None]
    flows: Callable[[Spec, int, int], Sequence[tuple[Job, int, int]]]
    lead: Callable[[Spec], float]


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

    check : what else is wrong with a spec, as a sentence; empty when nothing is.

    classics : tests of the OSU and Intel benchmarks that are the same → options that make it so.
    converted : of those that count otherwise, from the spec: by what their `size`, or a metric of theirs, is to be
        multiplied to become ours.
    unlike : of those that are not quite the same, what differs, as a sentence; numbers that cross carry it.

    formerly : of a spec, options with what was done before they could be chosen, where their default is another:
        samples without them have these values, and they are left out of a point's identity.

    kernel : name of the C kernel and of its mpi4py loop; empty for tools.
    mpi : whether the kernel needs MPI ranks.
    calls : MPI functions that not every library has.
    dtype : numpy's name of the elements of a message.
    window : messages in flight in one iteration.
    apart : whether messages of one iteration always have buffers of their own.
    requests : handles the kernel needs; the window when left out.
    buffers : B each rank sends and receives in one message.
    counts : elements of every rank's message, where they are not all `count` (the v forms).
    expected : what a rank must have received: from its rank and the function that gives every rank's
        send buffer; None where it receives nothing.
    exposed : what its window must hold afterwards; None for benchmarks without a window.
    placed : where in its receive buffer a rank's own data lie with ``in_place``, B; None where it is not in place.
    replaces : which buffer MPI_IN_PLACE stands for then.
    active : whether a rank times.
    peer : whom a rank talks to.
    peers : its neighbours in pairs of opposite directions, the targets of its one-sided calls, or its table.
    splits : the parts of the ranks that it talks in beside, each as the colour and key of MPI_Comm_split.
    reduce : how the ranks' times become one: the slowest counts (``max``), or their ``mean``.
    lanes : further times kept of every iteration → their metric; the kernel numbers them from 1.
    lane_work : work in one iteration of a lane, where it is not 1.
    derived : metrics that are not a quantile of the samples: from the lanes, each (ranks, iterations), to their value.
    loop : whether the time of the whole loop over its iterations, clock reads included, is kept as ``osu_mean``.
    cadence : ``isolated``, ``streaming``, ``windowed``, ``synchronised`` or ``paced``; an option of the same name wins.
    warmup : iterations before each timed chunk, for sizes up to 8 KiB and above; OSU's counts.
    work : further fields of the kernel's job, such as the root.

    jobs : tools that can serve, best first; the first one that is installed does. Each is a pure function of
        spec and effort.
    pair : for a benchmark of two jobs, what they are.
    """

    title: str
    metrics: Mapping[str, Callable[[Spec], float]]
    options: type[Any] = NoOptions
    sized: bool = True
    sizes: str = "1:4Mi"
    max_size: int = 1024 * MiB
    ranks: tuple[int, int | None] = (1, 1)
    check: Callable[[Spec], str] = lambda spec: ""
    classics: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    converted: Mapping[str, Callable[[Spec], Mapping[str, float]]] = field(default_factory=dict)
    unlike: Mapping[str, str] = field(default_factory=dict)
    formerly: Callable[[Spec], Mapping[str, Scalar]] = lambda spec: {}
    kernel: str = ""
    mpi: bool = True
    calls: tuple[str, ...] = ()
    dtype: Callable[[Spec], str] = lambda spec: "uint8"
    window: Callable[[Spec], int] = lambda spec: 1
    apart: bool = False
    requests: Callable[[Spec], int] | None = None
    buffers: Callable[[Spec], tuple[int, int]] = lambda spec: (spec.size, spec.size)
    counts: Callable[[Spec, int], Sequence[int]] | None = None
    expected: Expected = lambda spec, rank, send: None
    exposed: Expected | None = None
    placed: Callable[[Spec, int], int | None] = lambda spec, rank: None
    replaces: Literal["send", "recv"] = "send"
    active: Callable[[Spec, int], bool] = lambda spec, rank: True
    peer: Callable[[Spec, int], int] = lambda spec, rank: (rank + spec.ranks // 2) % spec.ranks
    peers: Callable[[Spec, int], Sequence[int]] = lambda spec, rank: ()
    splits: Callable[[Spec, int], Sequence[tuple[int, int]]] = lambda spec, rank: ()
    reduce: Literal["max", "mean"] = "max"
    lanes: Mapping[str, str] = field(default_factory=dict)
    lane_work: Mapping[str, Callable[[Spec], float]] = field(default_factory=dict)
    derived: Mapping[str, Callable[[Mapping[str, NDArray[np.int64]]], float]] = field(default_factory=dict)
    loop: bool = False
    cadence: str = "isolated"
    warmup: tuple[int, int] = (100, 10)
    work: Callable[[Spec], Mapping[str, Any]] = lambda spec: {}
    jobs: tuple[Callable[[Spec, Effort], Job], ...] = ()
    pair: Pair | None = None
    # filled in by `find`
    name: str = ""
    doc: str = ""

    @property
    def sampled(self) -> tuple[str, str]:
        """What a sample of the headline is, and what the `osu_mean` beside it; both empty where they cannot differ."""
        if self.loop:
            return "single calls", "the whole loop, clock reads included, over its iterations"
        if self.mpi and self.kernel and self.reduce == "max" and self.ranks[1] is None:
            return "the slowest rank", "the mean over ranks of each rank's mean"
        return "", ""


@cache
def find() -> dict[str, Benchmark]:
    """All benchmarks by name, from the files of this package; sorted."""
    found = {}
    for family in pkgutil.iter_modules(__path__):
        if family.ispkg:
            package = importlib.import_module(f"{__name__}.{family.name}")
            for module in (m for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")):
                found[f"{family.name}.{module.name}"] = _load(family.name, module.name)
    return dict(sorted(found.items()))


@cache
def _load(family: str, own: str) -> Benchmark:
    """The benchmark in one file, named after it."""
    module: ModuleType = importlib.import_module(f"{__name__}.{family}.{own}")
    benchmark: Benchmark = module.BENCHMARK
    return dataclasses.replace(benchmark, name=f"{family}.{own}", doc=module.__doc__ or "")


def get(name: str) -> Benchmark:
    """The benchmark of that name; imports its file alone.

    Raises
    ------
    SpecError
        If there is none; lists those there are.
    """
    family, _, own = name.partition(".")
    if not (family.isidentifier() and own.isidentifier()):
        raise known("benchmark", name, list(find()), see="labkit list")
    try:
        return _load(family, own)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(__name__):
            raise
        raise known("benchmark", name, list(find()), see="labkit list") from None


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
    if high == 1:
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
    problem = benchmark.check(spec) or (_divisible(spec, benchmark) if benchmark.kernel else "")
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


def _divisible(spec: Spec, benchmark: Benchmark) -> str:
    """A message must hold whole elements."""
    import numpy as np

    item = np.dtype(benchmark.dtype(spec)).itemsize
    if spec.size % item == 0:
        return ""
    kind = benchmark.dtype(spec)
    return f"size={spec.size} B is not a whole number of {kind} ({item} B each). Set a multiple of {item}."
