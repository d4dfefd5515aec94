"""Titles, first lines and columns of the OSU micro-benchmarks, and what labkit calls them."""

from __future__ import annotations

VERSION = "7.4"  # the layout that is written
OSHM_WIDTH = 20  # of a column of the programs of OpenSHMEM, UPC and UPC++
_COLLECTIVES = {
    "allgather": "Allgather", "allgatherv": "Allgatherv", "allreduce": "Allreduce",
    "alltoall": "All-to-All Personalized Exchange", "alltoallv": "All-to-Allv Personalized Exchange",
    "alltoallw": "All-to-Allw Personalized Exchange", "barrier": "Barrier", "bcast": "Broadcast",
    "gather": "Gather", "gatherv": "Gatherv", "reduce": "Reduce", "reduce_scatter": "Reduce_scatter",
    "reduce_scatter_block": "Reduce_scatter_block", "scatter": "Scatter", "scatterv": "Scatterv",
}  # fmt: skip
_NEIGHBOURS = {"allgather": "Allgather", "allgatherv": "Allgatherv", "alltoall": "Alltoall"}
PAIRS = {
    "osu_latency": "MPI Latency", "osu_bw": "MPI Bandwidth", "osu_bibw": "MPI Bi-Directional Bandwidth",
    "osu_latency_mp": "MPI Multi-process Latency", "osu_latency_mt": "MPI Multi-threaded Latency",
    "osu_multi_lat": "MPI Multi Latency", "osu_mbw_mr": "MPI Multiple Bandwidth / Message Rate",
    "osu_latency_persistent": "MPI Latency Persistent", "osu_bw_persistent": "MPI Bandwidth Persistent",
    "osu_bibw_persistent": "MPI Bi-Directional Bandwidth Persistent",
    "osu_put_latency": "MPI_Put Latency", "osu_put_bw": "MPI_Put Bandwidth",
    "osu_put_bibw": "MPI_Put Bi-directional Bandwidth", "osu_get_latency": "MPI_Get latency",
    "osu_get_bw": "MPI_Get Bandwidth", "osu_acc_latency": "MPI_Accumulate latency",
    "osu_get_acc_latency": "MPI_Get_accumulate latency", "osu_fop_latency": "MPI_Fetch_and_op latency",
    "osu_cas_latency": "MPI_Compare_and_swap latency", "osu_get_mbw": "MPI_Get Multiple Bandwidth Bandwidth",
    "osu_get_multi_lat": "MPI_Get Multi Latency", "osu_init": "MPI Init", "osu_hello": "MPI Hello World",
}  # fmt: skip
SHMEM_PAIRS = {
    "osu_oshm_put": "Put", "osu_oshm_put_nb": "Put_nbi", "osu_oshm_get": "Get", "osu_oshm_get_nb": "Get",
    "osu_oshm_put_overlap": "Put_nbi", "osu_oshm_put_mr": "Put Message Rate",
    "osu_oshm_put_mr_nb": "Put_nb Message Rate", "osu_oshm_get_mr_nb": "Get_nb Message Rate",
}  # fmt: skip
_SHMEM_COLLECTIVES = ("Barrier", "Broadcast", "Collect", "FCollect", "Reduce")
PGAS_PAIRS = {
    "osu_upc_memput": "UPC MEMPUT", "osu_upc_memget": "UPC MEMGET",
    "osu_upcxx_async_copy_put": "UPC++ Async Copy (Put)", "osu_upcxx_async_copy_get": "UPC++ Async Copy (Get)",
}  # fmt: skip
_PGAS_COLLECTIVES = {
    "osu_upc_all_barrier": "UPC Barrier", "osu_upc_all_broadcast": "UPC Broadcast",
    "osu_upc_all_exchange": "UPC Exchange", "osu_upc_all_gather": "UPC Gather",
    "osu_upc_all_gather_all": "UPC GatherAll", "osu_upc_all_reduce": "UPC Reduce",
    "osu_upc_all_scatter": "UPC Scatter",
    "osu_upcxx_allgather": "UPC++ AllGather", "osu_upcxx_alltoall": "UPC++ AlltoAll",
    "osu_upcxx_bcast": "UPC++ Broadcast", "osu_upcxx_gather": "UPC++ Gather",
    "osu_upcxx_reduce": "UPC++ Reduce", "osu_upcxx_scatter": "UPC++ Scatter",
}  # fmt: skip
# as osu_oshm_atomics names an operation → the call of `shmem.atomic`
ATOMICS = {
    "fadd": "fetch_add", "finc": "fetch_inc", "add": "add", "inc": "inc", "swap": "swap", "cswap": "compare_swap",
    "fetch": "fetch", "set": "set",
}  # fmt: skip
TITLES = {
    **{test: f"OSU {name} Test" for test, name in PAIRS.items()},
    **{f"osu_{short}": f"OSU MPI {name} Latency Test" for short, name in _COLLECTIVES.items()},
    **{f"osu_i{short}": f"OSU MPI Non-blocking {name} Latency Test" for short, name in _COLLECTIVES.items()},
    **{f"osu_{short}_persistent": f"OSU MPI {name} Persistent Latency Test" for short, name in _COLLECTIVES.items()},
    **{f"osu_neighbor_{short}": f"OSU MPI Neighborhood {name} Latency Test" for short, name in _NEIGHBOURS.items()},
    **{
        f"osu_ineighbor_{short}": f"OSU MPI Non-blocking Neighborhood {name} Latency Test"
        for short, name in {**_NEIGHBOURS, "alltoallv": "Alltoallv", "alltoallw": "Alltoallw"}.items()
    },
    "osu_neighbor_alltoallv": "OSU MPI Neighborhood All-to-Allv Latency Test",
    "osu_ialltoall": "OSU MPI Non-blocking All-to-All Latency Test",
    "osu_ibcast": "OSU MPI Non-Blocking Broadcast Latency Test",
    "osu_neighbor_alltoallw": "OSU MPI All-to-Allw Personalized Exchange Latency Test",
    "osu_bw_fan_in": "OSU MPI Bandwidth Test",
    "osu_bw_fan_out": "OSU MPI Bandwidth Test",
    **{test: f"OSU OpenSHMEM {name} Test" for test, name in SHMEM_PAIRS.items()},
    **{f"osu_oshm_{name.lower()}": f"OSU OpenSHMEM {name} Latency Test" for name in _SHMEM_COLLECTIVES},
    "osu_oshm_atomics": "OSU OpenSHMEM Atomic Operation Rate Test",
    **{test: f"OSU {name} Test" for test, name in PGAS_PAIRS.items()},
    **{test: f"OSU {name} Latency Test" for test, name in _PGAS_COLLECTIVES.items()},
}
# they have other programs' titles
SHARED = ("osu_neighbor_alltoallw", "osu_bw_fan_in", "osu_bw_fan_out", "osu_oshm_get_nb", "osu_oshm_put_overlap")
TESTS = {title.lower(): test for test, title in TITLES.items() if test not in SHARED}
# column → metric, its unit where it is none of labkit's, statistic; None: which one depends on the test
COLUMNS: dict[str, tuple[str, str, str | None]] = {
    "Avg Latency(us)": ("latency_us", "µs", None), "Latency (us)": ("latency_us", "µs", None),
    "Min Latency(us)": ("latency_us", "µs", "rank_min"), "Max Latency(us)": ("latency_us", "µs", "rank_max"),
    "Bandwidth (MB/s)": ("bandwidth_MBps", "MB/s", "mean"), "MB/s": ("bandwidth_MBps", "MB/s", "mean"),
    "Messages/s": ("message_rate_per_s", "1/s", "mean"),
    "Million ops/s": ("operation_rate_per_s", "1/s", "mean"),
    "Overall(us)": ("latency_us", "µs", "osu_mean"), "Compute(us)": ("compute_us", "µs", "osu_mean"),
    "Pure Comm.(us)": ("pure_us", "µs", "osu_mean"), "Min Comm.(us)": ("pure_us", "µs", "rank_min"),
    "Max Comm.(us)": ("pure_us", "µs", "rank_max"), "Coll. Init(us)": ("init_us", "µs", "osu_mean"),
    "MPI_Test(us)": ("test_us", "µs", "osu_mean"), "MPI_Wait(us)": ("wait_us", "µs", "osu_mean"),
    "Overlap(%)": ("overlap_osu_percent", "%", "value"),
    "Transmit Size": ("transmit_size_B", "B", "value"),
    "min (ms)": ("init_ms", "ms", "rank_min"), "max (ms)": ("init_ms", "ms", "rank_max"),
    "avg (ms)": ("init_ms", "ms", "osu_mean"),
}  # fmt: skip
FACTORS = {"Million ops/s": 1e6}  # column → from the printed number to the metric's unit


def preamble(test: str, datatype: str, *remarks: str, ranks: int = 2, window: int = 64) -> tuple[str, ...]:
    """Lines that OMB prints above the table of a test.

    Parameters
    ----------
    test : name of the program.
    datatype : as MPI names it; empty for a barrier.
    remarks : further lines, distinguished by their ``#`` like OMB's own.
    """
    lines = [f"# {TITLES[test]} v{VERSION}"]
    one_sided, shmem = "MPI_" in TITLES[test], test.startswith("osu_oshm_")
    if test == "osu_mbw_mr":
        lines.append(f"# [ pairs: {ranks // 2} ] [ window size: {window} ]")
    elif not one_sided and not shmem:
        lines.insert(0, "")
    if "neighbor" in test:
        lines.insert(0, f"Dimensions size = {ranks} ")
    lines += [f"# {text}" for text in remarks]
    if nonblocking(test):
        lines += ["# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait", ""]
    return tuple([*lines, f"# Datatype: {datatype}."] if datatype and not shmem else lines)


def nonblocking(test: str) -> bool:
    """Whether a test prints overlap."""
    return TITLES[test].lower().startswith("osu mpi non-blocking") or test == "osu_oshm_put_overlap"


def columns(test: str, *, rate: bool, full: bool = False) -> tuple[str, ...]:
    """Columns of a test, without the size.

    Parameters
    ----------
    rate : whether it measures bandwidth.
    full : include the columns that -f adds to a collective: fastest and slowest rank, iterations.
    """
    if test == "osu_mbw_mr":
        return ("MB/s", "Messages/s")
    if test.endswith(("_mr", "_mr_nb")):
        return ("Messages/s",)
    if test == "osu_oshm_atomics":
        return ("Operation", "Million ops/s", "Latency (us)")
    if test == "osu_oshm_put_overlap":
        return ("Compute(us)", "Pure Comm.(us)", "Overlap(%)")
    if rate:
        return ("Bandwidth (MB/s)",)
    if nonblocking(test):
        return ("Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)")
    if "MPI_" in TITLES[test] or test in SHMEM_PAIRS:
        return ("Latency (us)",)
    more = ("Min Latency(us)", "Max Latency(us)", "Iterations") if full and test not in PAIRS else ()
    return ("Avg Latency(us)", *more)
