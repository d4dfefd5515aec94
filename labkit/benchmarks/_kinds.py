"""The kinds of benchmark, and the fields that each kind needs.

Every benchmark has a definition, metrics, options and sizes (`Benchmark`). Its kind is what makes its samples: a kernel
(`KernelBenchmark`; `CollectiveBenchmark`, `OneSidedBenchmark`, `FileBenchmark`, `SymmetricBenchmark` and
`DeviceBenchmark` need more than buffers), a tool (`ToolBenchmark`; `ProgramBenchmark` if a launcher starts its ranks),
the start of a program (`StartBenchmark`), or two jobs side by side (`InterferenceBenchmark`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, dataclass_transform

from labkit.benchmarks._ends import Ends
from labkit.benchmarks.simulated import Simulation
from labkit.options import frozen
from labkit.options.ranks import OnGpu, Threads
from labkit.point.spec import Effort, Scalar, Spec, has
from labkit.point.units import MiB

if TYPE_CHECKING:
    import numpy as np
    import typing_extensions
    from numpy.typing import NDArray

    from labkit.tools import Invocation

    Options = typing_extensions.TypeVar("Options", default=Any)
    Values = NDArray[Any]
    Expected = Callable[[Spec[Options], int, Callable[[int], Values]], Values | int | None]
    Parts = Sequence[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]
else:
    Options = TypeVar("Options")


T = TypeVar("T")
Runner = Literal["", "ranks", "tools", "two jobs"]  # of labkit.run.runner; empty for what is not run
POISON = 0xEE  # every byte of a receive buffer before an iteration that is verified


@frozen
class NoOptions:
    """The options of a benchmark that has none."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def kind(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass of keywords whose instances `Benchmark` makes.

    `dataclass` alone compiles five more functions for each kind, with all its fields: 30 ms in every process and rank.
    A class that inherits from a kind is made by this, too.
    """
    return dataclass(kw_only=True, init=False, repr=False, eq=False)(cls)


@kind
class Benchmark(Generic[Options]):
    """What one iteration is, and which metrics follow from it. All kinds of benchmark share these fields.

    Fields that only some kinds may set have a fixed value here, so that code can read them from any benchmark.

    Parameters
    ----------
    title : a few words for lists and headings.
    metrics : metric → work in one iteration, as a function of the spec. For a cost the number of units that
        wait for one another (2 for ping-pong); for a rate the bytes, messages or operations moved.
        The first metric is the headline.
    options : frozen dataclass of the benchmark's own options.
    sized : False if the benchmark has no size of a message (barrier, clock).
    sizes : default sweep.
    max_size : largest size that makes sense, B.
    size_label : what its size is of, as the title of an axis; empty for the size of a message.
    ranks : least and greatest number of ranks; None for no upper end.
    check : says what else is wrong with a spec, as a sentence; empty if nothing is.
    formerly : from a spec, values of options that a point's identity omits, where these are not their defaults.
    phases : further times kept of every iteration → their metric; a kernel numbers them from 1.
    phase_work : work in one iteration of a phase, if it is not 1.
    derived : metrics that are not a quantile of the samples, as functions of the phases, each (ranks, iterations) or,
        of many ranks, its means: a function uses `mean` alone, along either axis.
    quantities : options that choose what is measured, such as the test of a suite: results that differ in one are of
        different quantities, and are not compared.
    cadence : ``isolated``, ``streaming``, ``windowed``, ``synchronised`` or ``paced``; an option of the same name wins.
    directions : directions of a link whose bytes its bandwidth adds up, 1 or 2; 0 if no link bounds it.
    crossings : times that its latency crosses the path, one crossing after another; 0 if no link bounds it.
    simulation : how it is simulated; None if it cannot be.
    name, doc : filled in from the benchmark's file; a form that shares its file has its own `doc`.
    mpi : whether MPI ranks are timed.
    reduce : how the ranks' times become one: the slowest counts (``max``), or their ``mean``.
    loop : whether ``osu_mean`` holds the time of the whole loop over its iterations, clock reads included.
    ends : where the ends of its tools run, and what their messages go through.
    pgas : whether its ranks use OpenSHMEM or coarrays.
    every_time : whether its numbers need each time of each rank, so that all are kept of any number of ranks.
    equivalents : tests of the OSU and Intel benchmarks that are the same → options that make the benchmark equal them.
    converted : for equivalents that count differently, from the spec: factors from their `size` and metrics to ours.
    unlike : for equivalents that are not quite the same, the difference as a sentence; converted numbers carry it.
    logs : tests in the logs of tools that are the same → options that make the benchmark equal them.
    timed : B behind a rate that a tool reported, from the spec and the rate's labels, if the tool times few bytes at
        once; None if it times the whole run.
    """

    by: ClassVar[str] = ""  # what makes the samples, in a list
    runner: ClassVar[Runner] = ""  # measures it, see labkit.run.runner
    by_size: ClassVar[bool] = False  # whether the size decides what serves a point: a tool, or the jobs
    own_start: ClassVar[bool] = False  # whether each point has a separate start
    most: ClassVar[int | None] = None  # iterations without another limit; None: by the stop rule
    counts_messages: ClassVar[bool] = False  # whether each run counts the messages between its ranks

    title: str
    metrics: Mapping[str, Callable[[Spec[Options]], float]]
    options: type[Options] = NoOptions  # type: ignore[assignment]  # where mypy finds no other
    sized: bool = True
    sizes: str = "1:4Mi"
    max_size: int = 1024 * MiB
    size_label: str = ""
    check: Callable[[Spec[Options]], str] = lambda spec: ""
    formerly: Callable[[Spec[Options]], Mapping[str, Scalar]] = lambda spec: {}
    phases: Mapping[str, str] = field(default_factory=dict)
    phase_work: Mapping[str, Callable[[Spec[Options]], float]] = field(default_factory=dict)
    derived: Mapping[str, Callable[[Mapping[str, NDArray[np.int64]]], float]] = field(default_factory=dict)
    quantities: tuple[str, ...] = ()
    timed: Callable[[Spec[Options], Mapping[str, Scalar]], float] | None = None
    cadence: str = "isolated"
    directions: int = 0
    crossings: int = 0
    simulation: Simulation[Options] | None = None
    name: str = ""
    doc: str = ""
    ranks: tuple[int, int | None] = field(default=(1, 1), init=False)
    mpi: bool = field(default=False, init=False)
    reduce: Literal["max", "mean"] = field(default="max", init=False)
    loop: bool = field(default=False, init=False)
    ends: Ends = field(default=Ends(), init=False)
    pgas: bool = field(default=False, init=False)
    every_time: bool = field(default=False, init=False)
    equivalents: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict, init=False)
    converted: Mapping[str, Callable[[Spec[Options]], Mapping[str, float]]] = field(default_factory=dict, init=False)
    unlike: Mapping[str, str] = field(default_factory=dict, init=False)
    logs: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict, init=False)

    if not TYPE_CHECKING:  # there, `kind` says what a kind takes

        def __init__(self, **given: Any) -> None:
            own = fields(self)
            if unexpected := given.keys() - {one.name for one in own if one.init}:
                raise TypeError(f"{type(self).__name__} got an unexpected keyword argument {min(unexpected)!r}")
            for one in own:
                if one.name in given:
                    value = given[one.name]
                elif one.default_factory is not MISSING:
                    value = one.default_factory()
                elif one.default is not MISSING:
                    value = one.default
                else:
                    raise TypeError(f"{type(self).__name__} is missing the keyword argument {one.name!r}")
                object.__setattr__(self, one.name, value)

        def __setattr__(self, name: str, value: object) -> None:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(self, name: str) -> None:
            raise FrozenInstanceError(f"cannot delete field {name!r}")

    @property
    def single(self) -> bool:
        """Whether it has at most one rank."""
        return self.ranks[1] == 1

    def start(self, spec: Spec[Options]) -> str:
        """A word that points have in common if one start can measure them, as far as the benchmark decides."""
        return "" if self.mpi else spec.benchmark

    @property
    def one_flow(self) -> bool:
        """Whether its payload crosses one link, in one direction at a time."""
        pair = self.ranks in ((1, 1), (2, 2)) and not self.ends.several
        return pair and (self.crossings > 0 or self.directions == 1)

    def rows(self, spec: Spec[Options]) -> int:
        """Times that an iteration leaves; 0 if a tool reports values."""
        return 0

    def crosses(self, spec: Spec[Options]) -> tuple[int, int]:
        """Times that the latency of a point crosses the path, and how many of them carry its bytes; 0 if unknown."""
        return self.crossings, self.crossings - self.ends.request

    def sent(self, spec: Spec[Options]) -> int | None:
        """Least number of bytes that a rank sends in messages in an iteration; None if unknown.

        Bytes of files, and those of a program's start, are not messages.
        """
        return None

    def on_gpu(self, spec: Spec[Options]) -> bool:
        """Whether a point depends on the models of this machine's GPUs."""
        return False

    @property
    def sampled(self) -> tuple[str, str]:
        """Definitions of a sample of the headline and of its `osu_mean`; both empty if they cannot differ."""
        if self.loop:
            return "single calls", "the whole loop, clock reads included, over its iterations"
        if self.mpi and self.reduce == "max" and self.ranks[1] is None:
            return "the slowest rank", "the mean over ranks of each rank's mean"
        return "", ""


@kind
class ToolBenchmark(Benchmark[Options]):
    """A benchmark that external programs serve.

    Parameters
    ----------
    tools : tools that can serve, best first; labkit takes the first that is installed. Each is a pure function of
        spec and effort.
    ends, logs : as in `Benchmark`.
    """

    by: ClassVar[str] = "tool"
    runner: ClassVar[Runner] = "tools"
    by_size: ClassVar[bool] = True
    own_start: ClassVar[bool] = True

    tools: tuple[Callable[[Spec[Options], Effort], Invocation], ...]
    ends: Ends = field(default=Ends())
    logs: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)

    @property
    def sampled(self) -> tuple[str, str]:
        """As in `Benchmark`. A tool's times come from one process, so the two are equal."""
        return "", ""


@kind
class ProgramBenchmark(ToolBenchmark[Options]):
    """A run of an MPI program that labkit did not write, whose ranks a launcher starts.

    The command of its tools starts one rank.

    Parameters
    ----------
    ranks, mpi, pgas : as in `Benchmark`.
    chosen : values of options that were left to labkit, from the ranks and this machine.
    """

    by: ClassVar[str] = "MPI program"

    ranks: tuple[int, int | None] = (1, None)
    mpi: bool = field(default=True, init=False)
    pgas: bool = False
    chosen: Callable[[Spec[Options]], Mapping[str, Scalar]] = lambda spec: {}


@kind
class LogBenchmark(Benchmark[Options]):
    """A benchmark that labkit does not run: its numbers come from logs of the original.

    Its points have any option that the log names, and any number of ranks.

    Parameters
    ----------
    ranks, logs : as in `Benchmark`.
    """

    by: ClassVar[str] = "imported log"

    ranks: tuple[int, int | None] = (1, None)
    logs: Mapping[str, Mapping[str, Scalar]]


@kind
class RankBenchmark(Benchmark[Options]):
    """A benchmark that times MPI ranks: the fields that these kinds share.

    Parameters
    ----------
    ranks, equivalents : as in `Benchmark`.
    active : whether a rank times.
    """

    runner: ClassVar[Runner] = "ranks"

    ranks: tuple[int, int | None] = (1, 1)
    mpi: bool = field(default=True, init=False)
    equivalents: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    active: Callable[[Spec[Options], int], bool] = lambda spec, rank: True


@kind
class StartBenchmark(RankBenchmark[Options]):
    """A benchmark of a start itself, which gives one value.

    Parameters
    ----------
    part : timed part of the start: ``init`` (MPI_Init), ``finalize`` (MPI_Finalize), ``program`` (all of it).
    """

    by: ClassVar[str] = "start itself"
    own_start: ClassVar[bool] = True

    part: Literal["init", "finalize", "program"]


@kind
class KernelBenchmark(RankBenchmark[Options]):
    """A benchmark whose iterations a kernel times: which data move between which ranks.

    Parameters
    ----------
    mpi, reduce, converted, unlike : as in `Benchmark`; without `mpi` the kernel runs in one process.
    kernel : name of the C kernel and of its mpi4py loop.
    calls : MPI functions that not every library has.
    dtype : numpy's name of the type of a message's elements.
    window : number of messages in flight in one iteration.
    apart : whether every message of an iteration has its own buffer.
    requests : number of request handles the kernel needs (default: the window).
    buffers : B that each rank sends and receives in one message.
    expected : data that a rank must have received, from its number and the function that gives every rank's
        send buffer; None if it receives nothing.
    peer : rank that a rank talks to.
    peers : a rank's neighbours in pairs of opposite directions, the targets of its one-sided calls, or its table.
    splits : further communicators that a rank needs, each as the colour and key for MPI_Comm_split.
    warmup : iterations before each timed chunk, for sizes up to 8 KiB and above; OSU's counts. Both 0: none is needed.
    work : further fields of the kernel's job, such as the root.
    least : s that an iteration takes at least, if that is long: then none is run before the timed ones to find out.
    every_time : whether its numbers need each time of each rank, so that all are kept of any number of ranks.
    """

    by: ClassVar[str] = "C kernel"

    kernel: str
    mpi: bool = True
    reduce: Literal["max", "mean"] = "max"
    converted: Mapping[str, Callable[[Spec[Options]], Mapping[str, float]]] = field(default_factory=dict)
    unlike: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    dtype: Callable[[Spec[Options]], str] = lambda spec: "uint8"
    window: Callable[[Spec[Options]], int] = lambda spec: 1
    apart: bool = False
    requests: Callable[[Spec[Options]], int] | None = None
    buffers: Callable[[Spec[Options]], tuple[int, int]] = lambda spec: (spec.size, spec.size)
    expected: Expected[Options] = lambda spec, rank, send: None
    peer: Callable[[Spec[Options], int], int] = lambda spec, rank: (rank + spec.ranks // 2) % spec.ranks
    peers: Callable[[Spec[Options], int], Sequence[int]] = lambda spec, rank: ()
    splits: Callable[[Spec[Options], int], Sequence[tuple[int, int]]] = lambda spec, rank: ()
    warmup: tuple[int, int] = (100, 10)
    work: Callable[[Spec[Options]], Mapping[str, Any]] = lambda spec: {}
    least: Callable[[Spec[Options]], float] = lambda spec: 0.0
    every_time: bool = False

    def rows(self, spec: Spec[Options]) -> int:
        """As in `Benchmark`: one of each rank that times, and of each of its threads."""
        timing = sum(bool(self.active(spec, rank)) for rank in range(spec.ranks))
        return timing * max(1, spec.options.threads if has(spec.options, Threads) else 1)

    def sent(self, spec: Spec[Options]) -> int | None:
        """As in `Benchmark`: the directions of its messages, if any rank receives one."""
        size = self.buffers(spec)[0]
        return size * self.window(spec) if not size or self._received(spec) else None

    def _received(self, spec: Spec[Options]) -> bool:
        """Whether any rank receives data in an iteration."""
        import numpy as np  # 0.1 s

        item = np.dtype(self.dtype(spec))
        smallest = spec.replace(size=min(spec.size, item.itemsize))  # who receives does not depend on the size
        empty = np.zeros(self.buffers(smallest)[0] // item.itemsize, item)
        return any(self.expected(smallest, rank, lambda _: empty) is not None for rank in range(spec.ranks))


@kind
class ApplicationBenchmark(KernelBenchmark[Options]):
    """A benchmark of a whole program: its kernel computes as well, and its result is verified instead of bytes.

    Its send buffer is the program's memory. Its receive buffer takes results and counts of messages, as in
    kernels/nas.h.

    Parameters
    ----------
    wrong : what is wrong with the results (float64) of a run; empty if nothing is.
    """

    counts_messages: ClassVar[bool] = True

    wrong: Callable[[Spec[Options], Values], str]


@kind
class CollectiveBenchmark(KernelBenchmark[Options]):
    """A benchmark of a collective, or of another call that may work in place.

    Parameters
    ----------
    counts : number of elements of every rank's message, if they differ (the v forms).
    placed : with ``in_place``, offset of a rank's own data in its receive buffer, B; None if it is not in place.
    replaces : with ``in_place``, the buffer that MPI_IN_PLACE replaces.
    """

    counts: Callable[[Spec[Options], int], Sequence[int]] | None = None
    placed: Callable[[Spec[Options], int], int | None] = lambda spec, rank: None
    replaces: Literal["send", "recv"] = "send"


@kind
class OneSidedBenchmark(KernelBenchmark[Options]):
    """A benchmark of calls that access the window of another rank.

    Parameters
    ----------
    loop : as in `Benchmark`.
    exposed : data that a rank's window must hold afterwards.
    compares : whether the call compares the target's element with one of the origin.
    completes : whether one rank accesses one other, and knows at the end that the bytes are there; None if its latency
        has no reference.
    """

    loop: bool = True
    exposed: Expected[Options]
    compares: bool = False
    completes: Callable[[Spec[Options]], bool] | None = None

    def crosses(self, spec: Spec[Options]) -> tuple[int, int]:
        """As in `Benchmark`: one message there and one back; one of them carries the bytes."""
        return (2, 1) if self.completes and self.completes(spec) else (0, 0)

    def _received(self, spec: Spec[Options]) -> bool:
        return True  # the window of another rank


@kind
class SymmetricBenchmark(KernelBenchmark[Options]):
    """A benchmark of OpenSHMEM, whose buffers are symmetric memory.

    Parameters
    ----------
    pgas : as in `Benchmark`.
    work_array : B of a further buffer that the call works in.
    """

    pgas: bool = field(default=True, init=False)
    work_array: Callable[[Spec[Options]], int] = lambda spec: 0

    def start(self, spec: Spec[Options]) -> str:
        """As in `Benchmark`: the library is started with its own settings."""
        return spec.family


@kind
class DeviceBenchmark(KernelBenchmark[Options]):
    """A benchmark of a GPU, or of messages from and to its memory.

    Its options name the `accelerator`.

    Parameters
    ----------
    memories : kinds of memory of a rank's send and receive buffer, as in `labkit.kernels.cuda.Memory`.
    maps : whether each of two ranks maps the receive buffer of the other (``recv``), or its send buffer (``send``).
    """

    memories: Callable[[Spec[Options], int], tuple[str, str]] = lambda spec, rank: ("device", "device")
    maps: Callable[[Spec[Options]], Literal["", "send", "recv"]] = lambda spec: ""

    def on_gpu(self, spec: Spec[Options]) -> bool:
        """As in `Benchmark`: unless the stand-in takes the place of a GPU."""
        return spec.of(OnGpu).options.accelerator == "cuda"

    def start(self, spec: Spec[Options]) -> str:
        """As in `Benchmark`: ranks have the GPU, or the stand-in for one, from their start on."""
        return f"{spec.family} on {spec.of(OnGpu).options.accelerator}, MPI: {self.mpi}"


@kind
class FileBenchmark(KernelBenchmark[Options]):
    """A benchmark of MPI-IO.

    Parameters
    ----------
    moves : whether an iteration reads from the file, writes to it, does both, or does neither.
    synced : when MPI_File_sync is called, as in "after every write"; empty if it is not.
    dropped : whether the page cache is asked to forget the file before each iteration.
    """

    moves: Literal["read", "write", "both", ""]
    synced: Callable[[Spec[Options]], str] = lambda spec: ""
    dropped: Callable[[Spec[Options]], bool] = lambda spec: False

    def sent(self, spec: Spec[Options]) -> int | None:
        """As in `Benchmark`: its bytes are those of files."""
        return None


@kind
class ParallelFileBenchmark(FileBenchmark[Options]):
    """A benchmark with a kernel that opens and closes its files itself, in a folder of the point alone.

    Parameters
    ----------
    moves : as in `FileBenchmark`.
    file_size : size of all files together, B.
    path : below the folder, what a rank opens or works in.
    fields : further fields of a rank's job: arrays and numbers by name.
    owns : whether a rank makes what its path names, and removes it.
    alone : whether every rank opens its own file.
    amode : how files are opened: names of MPI's MODE constants.
    folders : below the folder, made before the kernel runs.
    fill : writes what a rank will read, from its path's owner; gets spec, rank and folder.
    checked : the spec of the untimed run whose results are verified: smaller, else alike.
    complaint : from spec, rank, folder and receive buffer what was wrong after that run; empty if nothing.
    types : types of MPI-IO with derived types: how many numbers of 8 B an element has, and the parts of the rank's
        memory and
        of the file. A part has its array's sizes, its own sizes, and where it starts; the first varies fastest.
    """

    file_size: Callable[[Spec[Options]], int]
    path: Callable[[Spec[Options], int], str] = lambda spec, rank: "data"
    fields: Callable[[Spec[Options], int], Mapping[str, Any]] = lambda spec, rank: {}
    owns: Callable[[Spec[Options], int], bool] = lambda spec, rank: rank == 0
    alone: Callable[[Spec[Options]], bool] = lambda spec: False
    amode: tuple[str, ...] = ("RDONLY",)
    folders: Callable[[Spec[Options]], Sequence[str]] = lambda spec: ()
    fill: Callable[[Spec[Options], int, str], None] = lambda spec, rank, folder: None
    checked: Callable[[Spec[Options]], Spec[Options]] = lambda spec: spec
    complaint: Callable[[Spec[Options], int, str, Values], str]
    types: Callable[[Spec[Options], int], tuple[int, Parts, Parts]] | None = None


@kind
class InterferenceBenchmark(RankBenchmark[Options]):
    """A benchmark of two jobs: a victim that is timed alone and beside an aggressor.

    Parameters
    ----------
    victim : spec of the victim, from the benchmark's spec and the victim's hosts.
    aggressor : spec of the aggressor's ranks, from the benchmark's spec and its hosts; None if it consists of flows.
    flows : flows of the aggressor, from the spec, the number of its hosts and the longest time, s. Each is a tool's job
        and the places of client and server among the hosts; empty for ranks.
    lead : time from the start of the aggressor to that of the victim, s.
    warmup : iterations of the victim before the timed ones.
    """

    by: ClassVar[str] = "two jobs"
    runner: ClassVar[Runner] = "two jobs"
    by_size: ClassVar[bool] = True
    most: ClassVar[int | None] = 100  # of the victim alone, and of the victim beside the aggressor

    every_time: bool = field(default=True, init=False)
    victim: Callable[[Spec[Options], Sequence[str]], Spec]
    aggressor: Callable[[Spec[Options], Sequence[str]], Spec | None]
    flows: Callable[[Spec[Options], int, int], Sequence[tuple[Invocation, int, int]]]
    lead: Callable[[Spec[Options]], float]
    warmup: int = 2

    def start(self, spec: Spec[Options]) -> str:
        """As in `Benchmark`: its victim has its own start."""
        return spec.benchmark

    def rows(self, spec: Spec[Options]) -> int:
        """As in `Benchmark`: of each rank of the victim, alone and beside the aggressor."""
        return 2 * spec.ranks
