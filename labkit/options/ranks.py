"""Options that ranks read for any benchmark, as separate classes to inherit."""

from typing import Literal

from labkit.options import frozen


@frozen
class Buffers:
    """Options of every benchmark between ranks.

    Parameters
    ----------
    hugepages : ask for huge pages for the message buffers.
    """

    hugepages: bool = False


@frozen
class Timing:
    """Options of loops that may be timed as a whole.

    Parameters
    ----------
    timing : `each` iteration by its own pair of clock reads, or `total` time around the loop.
    """

    timing: Literal["each", "total"] = "each"


@frozen
class Threads:
    """Options of ranks with several threads.

    Parameters
    ----------
    threads : threads per rank that do the same at once, each with its own communicator (MPI_THREAD_MULTIPLE).
    """

    threads: int = 1


@frozen
class Cadence:
    """Options of iterations that follow one another in several ways.

    Parameters
    ----------
    cadence : `isolated` by a barrier after every iteration, `streaming` back to back, or `synchronised`: every
        iteration starts at a moment agreed beforehand on synchronised clocks.
    """

    cadence: Literal["isolated", "streaming", "synchronised"] = "isolated"


@frozen
class Forked:
    """Options of ranks that have forked.

    Parameters
    ----------
    forked : forked children of each rank that sleep during the measurement, as in osu_latency_mp.
    """

    forked: int = 0


@frozen
class Layout:
    """Options of messages that need not be contiguous.

    Parameters
    ----------
    layout : `contiguous`, or blocks with gaps of the same length between them, described by MPI_Type_vector or
        MPI_Type_indexed.
    block : size of a block, B.
    """

    layout: Literal["contiguous", "vector", "indexed"] = "contiguous"
    block: int = 8


@frozen
class Separate:
    """Options of windows of messages that may use different buffers.

    Parameters
    ----------
    buffers : one `single` buffer for all messages of a window, or `multiple`, as osu_bw -b.
    """

    buffers: Literal["single", "multiple"] = "single"


@frozen
class Source:
    """Options of messages with receivers that may not name the sender.

    Parameters
    ----------
    source : receive from the `specific` peer, or from `any` rank (MPI_ANY_SOURCE).
    """

    source: Literal["specific", "any"] = "specific"


@frozen
class Binding:
    """Options of loops that are written in several languages.

    Parameters
    ----------
    binding : what the loop is written in: `c`, mpi4py with `buffers`, mpi4py with `pickle`, Python with `shmem4py`.
    """

    binding: Literal["c", "buffers", "pickle", "shmem4py"] = "c"


@frozen
class Root:
    """Options of messages from or to one rank.

    Parameters
    ----------
    root : rank that sends to all, or receives from all.
    """

    root: int = 0


@frozen
class Rotate:
    """Options of a root that need not stay the same.

    Parameters
    ----------
    rotate : make the next rank the root in every iteration.
    """

    rotate: bool = False


@frozen
class Place:
    """Options of calls that can work in place.

    Parameters
    ----------
    in_place : a rank's own data lie in its receive buffer already (MPI_IN_PLACE).
    """

    in_place: bool = False


@frozen
class Operation:
    """Options of calls that compute.

    Parameters
    ----------
    operation : MPI_SUM and so on; the bitwise ones need whole numbers.
    """

    operation: Literal["sum", "prod", "max", "min", "band", "bor", "bxor"] = "sum"


@frozen
class Overlapping:
    """Options of requests that leave time to compute.

    Parameters
    ----------
    overlap : compute between call and completion, as long as the pure request takes; False measures that alone.
    tests : calls of MPI_Test spread over the computation, which let many libraries progress (osu_i* -t).
    """

    overlap: bool = True
    tests: int = 0


@frozen
class Topology:
    """Options of calls among neighbours.

    Parameters
    ----------
    topology : every rank's neighbours in a `graph` of its different neighbours in the ring, or in a `cart` grid of one
        dimension that wraps around, where two ranks are neighbours twice.
    """

    topology: Literal["graph", "cart"] = "graph"


@frozen
class Exposed:
    """Options of windows of memory.

    Parameters
    ----------
    memory : how to make the window: MPI_Win_allocate, MPI_Win_create, or MPI_Win_create_dynamic.
    """

    memory: Literal["allocate", "create", "dynamic"] = "allocate"


@frozen
class Targets:
    """Options of one-sided calls to several ranks.

    Parameters
    ----------
    targets : rank r of the first half reaches into the window of rank r + ranks/2 (`pair`), into those of its
        `neighbours` in a ring, or into those of `all` others.
    """

    targets: Literal["pair", "neighbours", "all"] = "pair"


@frozen
class Symmetric:
    """Options of memory that OpenSHMEM shares.

    Parameters
    ----------
    memory : where the buffers are: in the symmetric `heap`, or in `global` memory.
    """

    memory: Literal["heap", "global"] = "heap"


@frozen
class Folder:
    """Options of files.

    Parameters
    ----------
    directory : folder of the files; empty for the folder of temporary files.
    """

    directory: str = ""


@frozen
class Access(Folder):
    """Options of reading and writing one file.

    Parameters
    ----------
    access : `single` rank, `parallel` ranks, or a `collective` call.
    pointer : position from the rank's own file pointer (`individual`), from the call (`explicit`), from the pointer all
        `share`, or in a `private` file.
    """

    access: Literal["single", "parallel", "collective"] = "parallel"
    pointer: Literal["individual", "explicit", "shared", "private"] = "explicit"


@frozen
class OnGpu:
    """Options of every benchmark of a GPU.

    Parameters
    ----------
    accelerator : an NVIDIA GPU by its driver (`cuda`), or a `stand-in` in host memory, which only tests the code.
    """

    accelerator: Literal["cuda", "stand-in"] = "cuda"


@frozen
class Peer:
    """Options of memory of two GPUs.

    Parameters
    ----------
    peer_access : let the first GPU access the memory of the second one directly.
    """

    peer_access: bool = True


@frozen
class Gpus:
    """Options of ranks that may share a GPU.

    Parameters
    ----------
    gpus : `each` rank of a host uses its own GPU, or all use `one`.
    """

    gpus: Literal["each", "one"] = "each"


@frozen
class Via:
    """Options of MPI calls with memory of GPUs.

    Parameters
    ----------
    via : what gets the buffers: MPI itself (`direct`), or labkit's copies through page-locked memory (`staged`); `auto`
        is direct with a CUDA-aware MPI.
    """

    via: Literal["auto", "direct", "staged"] = "auto"
