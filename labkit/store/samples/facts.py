"""The keys of a sample's metadata: type, unit and meaning of each, and which origins must have it.

`FACTS` is the only place that knows the keys. Other modules read them with `Fact.of`. `complete` compares new metadata
with this registry. The data dictionary prints it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from labkit.errors import DataError
from labkit.io.markdown import table
from labkit.point import columns, notes
from labkit.point.notes import Note

T = TypeVar("T")
MEASURED = ("measured", "reported")  # origins of what labkit ran itself
BROUGHT = ("imported", "published")  # origins of what others printed
# codes of warnings about what a log does not state
RANKS_ASSUMED, SIZE_UNKNOWN = "ranks-assumed", "size-unknown"
_COLUMN = "As the column of this name."
_WORDS = {str: "str", bool: "bool", int: "int", float: "float", list: "list", dict: "object"}


@dataclass(frozen=True)
class Fact(Generic[T]):
    """One key of the metadata.

    Parameters
    ----------
    name : the key.
    empty : result of `of` if the metadata do not have it; it has the type of the value.
    unit : unit of a number.
    meaning : in a sentence.
    needed : origins that must have it.
    """

    name: str
    empty: T
    unit: str
    meaning: str
    needed: tuple[str, ...] = ()

    @property
    def kind(self) -> type:
        """Type of the value, as JSON has it."""
        return type(self.empty)

    def of(self, meta: Mapping[str, Any]) -> T:
        """The value in the metadata of a point; `empty` if it is not there, or null."""
        value = meta.get(self.name)
        return self.empty if value is None else value

    def given(self, meta: Mapping[str, Any]) -> bool:
        """Whether the metadata of a point have it."""
        return meta.get(self.name) is not None

    def fits(self, value: object) -> bool:
        """Whether a value is of its type, or null; a whole number will do for a float."""
        if value is None:
            return True
        if isinstance(value, bool) and self.kind is not bool:
            return False
        near: dict[type, tuple[type, ...]] = {float: (int,), list: (tuple,)}
        return isinstance(value, (self.kind, *near.get(self.kind, ())))


EVERY = (*MEASURED, *BROUGHT, "simulated")
# every point
ENGINE = Fact("engine", "", "", _COLUMN, EVERY)
LIBRARY = Fact("library", "", "", _COLUMN, EVERY)
VERIFIED = Fact("verified", False, "", _COLUMN, EVERY)
STOPPED_BY = Fact("stopped_by", "", "", _COLUMN, EVERY)
TIMING = Fact("timing", "", "", _COLUMN, EVERY)
CADENCE = Fact("cadence", "", "", _COLUMN, EVERY)
FINGERPRINT = Fact("fingerprint", "", "", _COLUMN, EVERY)
BADGES = Fact[list[str]]("badges", [], "", "Texts of the badges.", EVERY)
WARNINGS = Fact[list[str]]("warnings", [], "", "Texts of the warnings.", EVERY)
NOTES = Fact[dict[str, Any]]("notes", {}, "", "Text → code and values of each badge and warning.")
# what labkit ran
START = Fact("start", "", "", _COLUMN, MEASURED)
SESSION = Fact(
    "session",
    "",
    "",
    _COLUMN,
)
ELAPSED = Fact(
    "elapsed", math.nan, "s", "Wall time of the point in s, with verification, warm-up and bookkeeping.", MEASURED
)
SEED = Fact("seed", 0, "", "Seed of the random order of points.", MEASURED)
LOAD_START = Fact[dict[str, Any]]("load_start", {}, "", "Load when the point began.", MEASURED)
LOAD_END = Fact[dict[str, Any]](
    "load_end", {}, "", "Load when it ended, and the processor time of other processes.", MEASURED
)
TESTBED = Fact[dict[str, Any]]("testbed", {}, "", "Parts of the testbed; empty without one.", (*MEASURED, "simulated"))
EVIDENCE = Fact[dict[str, int]]("evidence", {}, "", "Increase of the counters of links and adapters.")
COUNTERS = Fact[dict[str, int]](
    "counters", {}, "", "Increase of counters of loss, pause and marks, of those that grew."
)
RETRIED = Fact("retried", "", "", "Why the first start failed, if a second one measured the point.")
ALLOCATION = Fact[dict[str, Any]]("allocation", {}, "", "Batch job that measured it.")
PLACEMENT = Fact[dict[str, Any]]("placement", {}, "", "Hosts of a batch job, with their switches and distances.")
CLOCK_NS = Fact(
    "clock_ns",
    math.nan,
    "ns",
    "Step of the clock behind the times, or of the times that a tool takes or a log prints.",
)
# ranks
COMMAND = Fact[list[str]](
    "command",
    [],
    "",
    "Command that started the ranks. PLAN, LABKIT, VENV and HOME replace plan, labkit's folder, environment and home.",
)
CHUNKS = Fact[list[int]]("chunks", [], "", "Iterations of each timed chunk.")
WARMUP = Fact("warmup", 0, "", "Untimed iterations before each chunk.")
TIMED_S = Fact("timed_s", 0.0, "s", "Time inside the timed chunks.")
LOOP_NS = Fact[list[list[int]]]("loop_ns", [], "ns", "Time of each whole loop, for each row of the samples.")
TIMER_OVERHEAD_NS = Fact("timer_overhead_ns", math.nan, "ns", _COLUMN)
MPI_LIBRARY = Fact("mpi_library", "", "", "Version string of the ranks' MPI library.")
MPI_STANDARD = Fact("mpi_standard", "", "", "Version of the MPI standard that the library follows.")
THREAD_LEVEL = Fact("thread_level", "", "", "Thread level that the ranks got.")
AFFINITY = Fact[list[int]]("affinity", [], "", "Processors that rank 0 could run on.")
RANK_HOSTS = Fact[list[str]]("rank_hosts", [], "", "Host of each rank.")
RANK_AFFINITY = Fact[list[list[int]]]("rank_affinity", [], "", "Processors that each rank could run on.")
STAGED = Fact[list[str]]("staged", [], "", "Folders on the nodes that ranks were loaded from.")
SOCKET_B = Fact("socket_B", 0, "B", "Bytes sent and received by TCP sockets of rank 0.")
INTERFACE_B = Fact[dict[str, int]]("interface_B", {}, "B", "Bytes received by each network interface of rank 0's host.")
HOST_B = Fact[dict[str, Any]](
    "host_B",
    {},
    "B",
    "Bytes received and sent by each interface of each host; for many hosts total, minimum and maximum.",
)
INVOLUNTARY_SWITCHES = Fact("involuntary_switches", 0, "", "Involuntary context switches of rank 0.")
IDLEST_RANK = Fact("idlest_rank", 0, "", "Rank with the least processor time.")
IDLEST_SHARE = Fact(
    "idlest_share", math.nan, "", "Share of the time in which that rank had a processor; ranks wait by polling."
)
PROCESSOR_QUOTA = Fact(
    "processor_quota",
    math.nan,
    "",
    "Processors (also fractions) that control groups allow the ranks of a host or the tool; missing without a limit.",
)
THROTTLED_SHARE = Fact("throttled_share", math.nan, "", "Share of the quota's periods in which it was used up.")
SLOT_NS = Fact("slot_ns", 0, "ns", "Length of the windows between synchronised starts.")
CLOCK_ERROR_NS = Fact("clock_error_ns", 0, "ns", "Error of the synchronised clocks.")
LATE_SHARE = Fact("late_share", 0.0, "", "Share of the iterations that were longer than their window.")
RESULTS = Fact[list[float]]("results", [], "", "Results of a program that verification compared.")
COMMUNICATION = Fact[dict[str, Any]](
    "communication",
    {},
    "B",
    "Of one run: messages and B of each pair of ranks, calls and B of collectives, messages by size.",
)
# GPUs
GPU = Fact("gpu", "", "", "Name of rank 0's GPU, or of its stand-in.")
GPU_DRIVER = Fact("gpu_driver", "", "", "Version of CUDA that its driver offers; stand-in where there is no GPU.")
GPU_PATH = Fact("gpu_path", "", "", "Whether MPI took device memory directly, or labkit staged it through the host.")
GPU_MPI = Fact("gpu_mpi", "", "", "Whether the MPI library reports that it is CUDA-aware.")
# a victim and its aggressor
ORDER = Fact[list[str]]("order", [], "", "Order of the phases alone and beside the aggressor.")
EVIDENCE_ALONE = Fact[dict[str, int]]("evidence_alone", {}, "", "Counters of the phase without the aggressor.")
ELAPSED_ALONE = Fact("elapsed_alone", 0.0, "s", "Wall time of the phase without the aggressor, s.")
ELAPSED_BESIDE = Fact("elapsed_beside", 0.0, "s", "Wall time of the phase beside the aggressor, s.")
# tools
COMMANDS = Fact[list[list[str]]]("commands", [], "", "Command lines that ran, servers first; folders as in command.")
DEFINITION = Fact("definition", "", "", "Definition of the tool's numbers.")
STANDS_IN_FOR = Fact("stands_in_for", "", "", "Preferred tool that this one replaced.")
ADDRESS = Fact("address", "", "", "Address of the server.")
ENGINE_LANGUAGE = Fact("engine_language", "", "", "Language of the loop, if not C.")
ITERATIONS = Fact("iterations", 0, "", "Requested iterations of the tool.")
MESSAGES = Fact("messages", 0, "", "Messages counted by the tool, with warm-up.")
PAYLOAD_B = Fact("payload_B", 0, "B", "Payload from all senders to the receiver.")
RECEIVED_B = Fact("received_B", 0, "B", "Bytes that the receivers got.")
WRITTEN_B = Fact("written_B", 0, "B", "Bytes that the senders wrote; some may not have arrived.")
SEGMENT_B = Fact("segment_B", 0, "B", "Payload of a full segment of TCP, as the connection agreed on it.")
ENDPOINT = Fact("endpoint", "", "", "Kind of libfabric's endpoint.")
FILESYSTEM = Fact("filesystem", "", "", "File system of the folder that was written to.")
MOUNT_OPTIONS = Fact("mount_options", "", "", "Options that this file system is mounted with.")
DEVICE = Fact("device", "", "", "Block device of that folder, or RDMA device.")
MEMORY_B = Fact("memory_B", 0, "B", "Memory of the machine, which may hold a page cache.")
FILE_B = Fact("file_B", 0, "B", "Size of all files read or written.")
PAGE_CACHE = Fact("page_cache", "", "", "Role of the page cache, in words.")
CACHEABLE = Fact("cacheable", "", "", "How much of the files the page cache could hold: none, part or all.")
O_SYNC = Fact("o_sync", False, "", "Whether the files were opened with O_SYNC.")
O_DIRECT = Fact("o_direct", False, "", "Whether the files were opened with O_DIRECT.")
DROP_CACHES = Fact("drop_caches", False, "", "Whether the user may drop all caches of the machine.")
PYVERBS = Fact("pyverbs", "", "", "Version of pyverbs.")
GID = Fact("gid", "", "", "Address of the RDMA port.")
ACTIVE_MTU = Fact("active_mtu", 0, "B", "Largest packet of the RDMA port.")
ARRIVED_OF_LAST = Fact("arrived_of_last", 0, "", "Messages of the last iterations that arrived.")
PYVERBS_EMPTY_POLL_NS = Fact("pyverbs_empty_poll_ns", 0, "ns", "Cost of an empty poll through pyverbs.")
PYVERBS_REFUSED_POST_NS = Fact("pyverbs_refused_post_ns", 0, "ns", "Cost of a refused post through pyverbs.")
SERVED = Fact("served", 0, "", "Requests that the server answered.")
REQUESTS_PER_S = Fact("requests_per_s", 0.0, "1/s", "Requests per second over the whole run.")
MEDIAN_US = Fact("median_us", 0.0, "µs", "Median time of a request.")
BACKEND = Fact(
    "backend", "", "", "Library that moved the data between the ranks of torch.distributed, with its version."
)
GRADIENT_B = Fact("gradient_B", 0, "B", "Gradients that the ranks reduce in a step of training, before compression.")
EXCHANGE_B = Fact(
    "exchange_B", 0, "B", "Bytes that a rank exchanges at once in a step: rows of tables, or activations."
)
BLAS = Fact("blas", "", "", "BLAS that the program loaded.")
RESIDUAL = Fact("residual", 0.0, "", "Scaled residual of HPL's solution; below 16 it passed.")
PEAK_GFLOPS = Fact("peak_GFLOPS", 0.0, "Gflop/s", "Theoretical peak of the cores used; 0 if unknown.")
PEAK_METHOD = Fact("peak_method", "", "", "How the peak was calculated.")
# simulations
SIMULATION = Fact[dict[str, Any]](
    "simulation", {}, "", "Algorithm of the simulation, with its wall and processor time in s.", ("simulated",)
)
# what others printed
TEST = Fact("test", "", "", "Name of the test that printed it.", BROUGHT)
FILE = Fact("file", "", "", "File that it was read from.", BROUGHT)
PLACE = Fact("place", "", "", "Checksum of that file and line in it.", BROUGHT)
PARAMETERS = Fact[dict[str, str]]("parameters", {}, "", "Parameters in the head of the table.", BROUGHT)
REFERENCE = Fact("reference", "", "", "Publication with the numbers.", ("published",))
# what was merged
CAMPAIGN = Fact("campaign", "", "", "Name of the campaign that measured it.")
CAMPAIGN_ID = Fact("campaign_id", "", "", "Identity of that campaign.")
FIRST_LAUNCH = Fact("first_launch", 0, "", "Number of its launch in that campaign.")

FACTS: Mapping[str, Fact[Any]] = {fact.name: fact for fact in [*globals().values()] if isinstance(fact, Fact)}


def wrong(meta: Mapping[str, Any], origin: str = "") -> list[str]:
    """Return how a point's metadata differ from the registry; with an origin, also the keys that are missing."""
    problems: list[str] = []
    if origin:
        problems += [f"{name} is not a known key" for name in meta if name not in FACTS]
    problems += [
        f"{name}={repr(value)[:80]}, but it must be of type {_WORDS[FACTS[name].kind]}"
        for name, value in meta.items()
        if name in FACTS and not FACTS[name].fits(value)
    ]
    return problems + [f"{f.name} is missing" for f in FACTS.values() if origin in f.needed and not f.given(meta)]


def complete(meta: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """Return the metadata of a new point after comparing them with the registry.

    Raises
    ------
    DataError
        If a key is unknown, of another type, or missing.
    """
    if problems := wrong(meta, origin):
        raise DataError(
            f"Metadata of a point that was {origin}: {notes.joined(problems)}. Correct labkit/store/samples/facts.py."
        )
    return dict(meta)


def noted(badges: Iterable[Note], warnings: Iterable[Note]) -> dict[str, Any]:
    """Return badges and warnings as metadata: their texts, and the code and values of each."""
    both = {BADGES.name: list(badges), WARNINGS.name: list(warnings)}
    records = {text: entry for each in both.values() for text, entry in notes.details(each)}
    meta: dict[str, Any] = {name: [note.text for note in each] for name, each in both.items()}
    if records:
        meta[NOTES.name] = records
    return meta


def badges(meta: Mapping[str, Any]) -> tuple[Note, ...]:
    """Badges of a point."""
    return notes.known(BADGES.of(meta), NOTES.of(meta))


def warnings(meta: Mapping[str, Any]) -> tuple[Note, ...]:
    """Warnings of a point."""
    return notes.known(WARNINGS.of(meta), NOTES.of(meta))


def dictionary() -> str:
    """The part of the data dictionary about metadata, as Markdown."""
    rows = columns.alike((f.name, f.meaning) for f in FACTS.values())
    return f"""
## Metadata of samples

Generated from `labkit/store/samples/facts.py`. A samples file keeps these keys under `meta`. Keys that all points of a
start share (hosts, affinities, command, testbed, batch job) are in `starts/<digest>.json`, which the samples file names
as `start_record`. `labkit.store.samples.load` and `Campaign.samples` join the two.

{table(("key", "meaning"), rows)}
"""
