"""One-sided calls: their options and checks, and the content that windows and buffers must have afterwards."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from labkit.benchmarks import OneSidedBenchmark
from labkit.benchmarks.mpi import OPERATIONS, Computing, InFlight, Values, allowed
from labkit.options import frozen
from labkit.options.ranks import Buffers, Exposed, Operation, Separate, Targets, Timing
from labkit.point.spec import Scalar, Spec, has

Memory = Literal["allocate", "create", "dynamic"]
SYNCHRONISATIONS = ("lock", "flush", "flush_local", "lock_all", "pscw", "fence")  # numbered in kernels/one_sided.c
ONE_WAY, IN_TURN, AT_ONCE = range(3)
ONCE = "IMB flushes once after all repetitions, labkit after each"
ONE_FENCE = "IMB has one fence in each repetition, labkit one before and one after the call"


@frozen
class OneSided(Exposed, Timing, Buffers):
    """Options of one-sided calls.

    Parameters
    ----------
    synchronisation : how to complete a call: MPI_Win_lock and unlock around it, MPI_Win_flush or flush_local in one
        epoch, MPI_Win_lock_all and unlock_all, post-start-complete-wait (pscw), or MPI_Win_fence.
    """

    synchronisation: Literal["lock", "flush", "flush_local", "lock_all", "pscw", "fence"] = "flush"


@frozen
class Reaching(Targets, OneSided):
    """Options of one-sided calls that move messages.

    Parameters
    ----------
    origins : ranks that make the calls: the `first` of a pair or `both`; with other targets rank 0 or all ranks.
    """

    origins: Literal["first", "both"] = "first"


@frozen
class Streaming(Separate, InFlight, Reaching):
    """Options of windows of one-sided calls.

    Parameters
    ----------
    window : calls to each target in one epoch.
    buffers : one `single` place for all messages of an epoch, or `multiple`.
    """

    buffers: Literal["single", "multiple"] = "multiple"


@frozen
class Combining(Computing, OneSided):
    """Options of one-sided calls that compute at the target.

    Parameters
    ----------
    datatype : datatype of the elements.
    """


@frozen
class Element(OneSided):
    """Options of one-sided calls on one element.

    Parameters
    ----------
    memory : how to make the window. The default is MPI_Win_create, because in Open MPI 4.1.4 these calls (and OSU's
        tests of them) crash between ranks of one host on memory from MPI_Win_allocate.
    """

    memory: Memory = "create"


@frozen
class Atomic(Operation, Element):
    """Options of one-sided calls that compute on one element."""


def element(spec: Spec) -> str:
    """The integer type that has the size of the message."""
    return "int32" if spec.size == 4 else "int64"


def one_element(spec: Spec[OneSided]) -> str:
    """Say why a message is not an element, or what is wrong with other options; empty if all is well."""
    if spec.size not in (4, 8):
        return f"size={spec.size} B, but one element has 4 or 8 B. Set size=8."
    return check(spec)


def _targets(spec: Spec) -> str:
    return spec.options.targets if has(spec.options, Targets) else "pair"


def completes(*synchronisations: str) -> Callable[[Spec[OneSided]], bool]:
    """Return a test of a spec: one rank accesses one other rank, and knows at the end that the bytes are there.

    Parameters
    ----------
    synchronisations : synchronisations that send no messages themselves, and return when the bytes are there.
    """

    def completed(spec: Spec[OneSided]) -> bool:
        options = spec.options
        alone = has(options, Reaching) and spec.ranks == 2 and options.targets == "pair" and options.origins == "first"
        return alone and options.synchronisation in synchronisations

    return completed


def near(spec: Spec, rank: int) -> list[int]:
    """Targets of a rank."""
    kind = _targets(spec)
    if kind == "all":
        return [other for other in range(spec.ranks) if other != rank]
    if kind == "neighbours":
        return sorted({(rank - 1) % spec.ranks, (rank + 1) % spec.ranks})
    return [(rank + spec.ranks // 2) % spec.ranks]


def tests(call: str) -> dict[str, dict[str, Scalar]]:
    """The OSU and Intel benchmarks' tests of a call → our options.

    Parameters
    ----------
    call : ``put`` or ``get``.
    """
    word = call.capitalize()
    rma: dict[str, dict[str, Scalar]] = {
        f"Unidir_{call}": {},
        f"Bidir_{call}": {"origins": "both"},
        f"One_{call}_all": {"targets": "all"},
        f"All_{call}_all": {"targets": "all", "origins": "both"},
        f"Exchange_{call}": {"targets": "neighbours", "origins": "both"},
        f"{word}_local": {"synchronisation": "flush_local"},
        f"{word}_all_local": {"targets": "all", "synchronisation": "flush_local"},
    }
    fence: dict[str, Scalar] = {"synchronisation": "fence"}
    extended = {f"Unidir_{word}": fence, f"Bidir_{word}": {**fence, "origins": "both"}}
    forms = {f"IMB-RMA {name}": options for name, options in rma.items()}
    forms |= {f"IMB-EXT {name}": options for name, options in extended.items()}
    imb = {test: {"memory": "create", **options, "timing": "total"} for test, options in forms.items()}
    return {f"osu_{call}_latency": {}, **imb}


def unlike(call: str) -> dict[str, str]:
    """Say how the Intel benchmarks' tests of a call differ from ours, according to IMB_rma_*.c and IMB_ones_*.c.

    Parameters
    ----------
    call : ``put`` or ``get``.
    """
    once = ("One_{}_all", "All_{}_all", "{}_all_local")
    names = [f"IMB-RMA {form.format(call)}" for form in once]
    fenced = [f"IMB-EXT {way}_{call.capitalize()}" for way in ("Unidir", "Bidir")]
    return {
        **{name.replace(f" {call}", f" {call.capitalize()}"): ONCE for name in names},
        **dict.fromkeys(fenced, ONE_FENCE),
    }


def reaches(spec: Spec, rank: int) -> bool:
    """Whether a rank is an origin."""
    if _mutual(spec):
        return True
    return rank == 0 if _targets(spec) != "pair" else rank < spec.ranks // 2


def check(spec: Spec[OneSided]) -> str:
    """Say what is wrong with the options; empty if nothing is."""
    targets, synchronisation = _targets(spec), spec.options.synchronisation
    pairs = targets == "pair"
    if pairs and spec.ranks % 2:
        return f"ranks={spec.ranks}, but pairs need an even number. Set ranks={spec.ranks + 1}."
    if not pairs and synchronisation in ("lock", "pscw"):
        return (
            f"synchronisation={synchronisation} works with one target only, but targets={targets}. Set "
            "synchronisation=flush."
        )
    if targets == "neighbours" and not _mutual(spec):
        return "targets=neighbours needs origins=both. Set origins=both."
    return allowed(spec)


def work(spec: Spec[OneSided], answers: bool) -> dict[str, Any]:
    """Fields of the kernel's job: the synchronisation, and which ranks act when."""
    mode = SYNCHRONISATIONS.index(spec.options.synchronisation)
    if _mutual(spec):
        return {"mode": mode, "turns": AT_ONCE}
    return {"mode": mode, "turns": IN_TURN if answers else ONE_WAY}


def epochs(spec: Spec[OneSided]) -> int:
    """Number of epochs that wait for one another in a sample: two if the target answers."""
    return 2 if spec.options.synchronisation in ("pscw", "fence") and not _mutual(spec) else 1


def _mutual(spec: Spec) -> bool:
    return has(spec.options, Reaching) and spec.options.origins == "both"


def _answers(spec: Spec[OneSided]) -> bool:
    return epochs(spec) == 2


def messages(spec: Spec) -> int:
    """Number of messages of all origins in one sample."""
    window = spec.options.window if has(spec.options, Streaming) else 1
    return window * sum(len(near(spec, rank)) for rank in range(spec.ranks) if reaches(spec, rank))


def put_where(answers: bool) -> Callable[[Spec[OneSided], int, Callable[[int], Values]], Values | None]:
    """Return the function that computes the contents of a window after puts.

    Parameters
    ----------
    answers : whether the target puts too, under active synchronisation.
    """

    def exposed(spec: Spec[OneSided], rank: int, send: Callable[[int], Values]) -> Values | None:
        if _targets(spec) == "all":
            first = next((r for r in range(spec.ranks) if r != rank and reaches(spec, r)), None)
            return send(first) if first == 0 and first != rank else None  # rank 0 writes where windows begin
        writers = [r for r in range(spec.ranks) if r != rank and rank in near(spec, r)]
        writers = [r for r in writers if reaches(spec, r) or (answers and _answers(spec))]
        return np.stack([send(r) for r in writers]) if writers else None

    return exposed


def got(spec: Spec, rank: int, send: Callable[[int], Values]) -> Values | None:
    """The data that an origin must have received from one of its targets."""
    if not reaches(spec, rank):
        return None
    return np.stack([send(target) for target in near(spec, rank)])


def combined_where(spec: Spec[Combining | Atomic], rank: int, send: Callable[[int], Values]) -> Values | None:
    """The data that a window must hold after an accumulate onto its former content."""
    if reaches(spec, rank) and not _answers(spec):
        return None
    result: Values = OPERATIONS[spec.options.operation](send(rank), send((rank + spec.ranks // 2) % spec.ranks))
    return result


def exposes_nothing(spec: Spec, rank: int, send: Callable[[int], Values]) -> None:
    """Return nothing to compare, for calls that do not change the window."""


def latency(**fields: Any) -> OneSidedBenchmark:
    """Make a benchmark of one call in an epoch, timed by its origins."""
    defaults: dict[str, Any] = {
        "options": Reaching,
        "check": check,
        "ranks": (2, None),
        "metrics": {"latency_us": epochs},
        "active": reaches,
        "peers": near,
        "work": lambda spec: work(spec, True),
        "cadence": "streaming",
    }
    return OneSidedBenchmark(**(defaults | fields))


def bandwidth(**fields: Any) -> OneSidedBenchmark:
    """Make a benchmark of a window of calls in an epoch, timed by its origins."""
    defaults: dict[str, Any] = {
        "options": Streaming,
        "check": check,
        "ranks": (2, None),
        "active": reaches,
        "peers": near,
        "window": lambda spec: spec.options.window,
        "metrics": {
            "bandwidth_MBps": lambda spec: messages(spec) * spec.size,
            "message_rate_per_s": messages,
        },
        "work": lambda spec: work(spec, False),
        "cadence": "windowed",
        "warmup": (10, 2),
        "reduce": "mean",
    }
    return OneSidedBenchmark(**(defaults | fields))
