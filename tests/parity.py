"""List the counterparts of the OSU and Intel tests in labkit: ``python tests/parity.py > docs/parity.md``.

The names are those of OMB 7.4 (c/mpi, c/openshmem) and IMB 2021.11. Their counterparts come from the benchmarks' `equivalents`.
"""

from __future__ import annotations

import json
from collections import Counter

from labkit import benchmarks
from labkit.io.markdown import table

_BLOCKING = (
    "allgather allgatherv allreduce alltoall alltoallv alltoallw barrier bcast gather gatherv reduce reduce_scatter"
)
_BLOCKING += " reduce_scatter_block scatter scatterv"
_NEAR = "allgather allgatherv alltoall alltoallv alltoallw"
_NBC = "bcast allgather allgatherv gather gatherv scatter scatterv alltoall alltoallv reduce reduce_scatter allreduce barrier"
_IO = [
    f"{kind}_{way}_{pointer}"
    for way in ("Write", "IWrite", "Read", "IRead")
    for kind, pointers in (("S", "Indv Expl"), ("P", "Indv Shared Priv Expl"), ("C", "Indv Shared Expl"))
    for pointer in pointers.split()
]
OMB = {
    "point to point": "osu_latency osu_bw osu_bibw osu_mbw_mr osu_multi_lat osu_latency_mt osu_latency_mp",
    "point to point, persistent": "osu_latency_persistent osu_bw_persistent osu_bibw_persistent",
    "congestion": "osu_bw_fan_in osu_bw_fan_out",
    "blocking collectives": " ".join(f"osu_{name}" for name in _BLOCKING.split()),
    "non-blocking collectives": " ".join(f"osu_i{name}" for name in _BLOCKING.split()),
    "neighbourhood collectives": " ".join(f"osu_{form}neighbor_{name}" for form in ("", "i") for name in _NEAR.split()),
    "persistent collectives": " ".join(
        f"osu_{name}_persistent" for name in _BLOCKING.split() if name != "reduce_scatter_block"
    ),
    "one-sided": "osu_put_latency osu_get_latency osu_acc_latency osu_get_acc_latency osu_fop_latency osu_cas_latency "
    "osu_put_bw osu_get_bw osu_put_bibw",
    "start-up": "osu_init osu_hello",
    "OpenSHMEM": "osu_oshm_put osu_oshm_put_nb osu_oshm_get osu_oshm_get_nb osu_oshm_put_mr osu_oshm_put_mr_nb "
    "osu_oshm_get_mr_nb osu_oshm_put_overlap osu_oshm_collect osu_oshm_fcollect osu_oshm_broadcast osu_oshm_reduce "
    "osu_oshm_barrier osu_oshm_atomics",
}
IMPORTED = {  # labkit does not run these, but imports what they print
    "UPC": "osu_upc_memput osu_upc_memget osu_upc_all_barrier osu_upc_all_broadcast osu_upc_all_exchange osu_upc_all_gather "
    "osu_upc_all_gather_all osu_upc_all_reduce osu_upc_all_scatter",
    "UPC++": "osu_upcxx_async_copy_put osu_upcxx_async_copy_get osu_upcxx_allgather osu_upcxx_alltoall osu_upcxx_bcast "
    "osu_upcxx_gather osu_upcxx_reduce osu_upcxx_scatter",
}
IMB = {
    "MPI1": "PingPong PingPongSpecificSource PingPongAnySource PingPing PingPingSpecificSource PingPingAnySource Sendrecv "
    "Exchange Uniband Biband Bcast Allgather Allgatherv Gather Gatherv Scatter Scatterv Alltoall Alltoallv Reduce "
    "Reduce_local Reduce_scatter Reduce_scatter_block Allreduce Barrier",
    "NBC": " ".join(f"I{name}{pure}" for name in _NBC.split() for pure in ("", "_pure")),
    "RMA": "Unidir_put Unidir_get Bidir_put Bidir_get One_put_all One_get_all All_put_all All_get_all Put_local Get_local "
    "Put_all_local Get_all_local Exchange_put Exchange_get Accumulate Get_accumulate Fetch_and_op Compare_and_swap "
    "Truly_passive_put",
    "EXT": "Window Unidir_Put Unidir_Get Bidir_Put Bidir_Get Accumulate",
    "IO": " ".join([*_IO, "Open_Close"]),
    "P2P": "PingPong PingPing Unirandom Birandom Corandom Stencil2D Stencil3D SendRecv_Replace",
    "MT": "PingPongMT PingPingMT SendRecvMT ExchangeMT UniBandMT BiBandMT BarrierMT BcastMT ReduceMT AllReduceMT ScatterMT "
    "ScattervMT ReduceScatterMT GatherMT GathervMT AllgatherMT AllgathervMT AlltoallMT AlltoallvMT",
    "MPI4": " ".join(f"{name.capitalize()}_persist{pure}" for name in _NBC.split() for pure in ("", "_pure")),
}
LEFT_OUT = {
    "IMB-IO C_IWrite_Shared": "absent in every MPI: the standard has no non-blocking ordered call. IMB runs the "
    "non-collective one under this name, which is mpi.file_iwrite -o access=parallel -o pointer=shared.",
    "IMB-IO C_IRead_Shared": "absent in every MPI for the same reason; IMB runs the non-collective one, mpi.file_iread -o access=parallel -o "
    "pointer=shared.",
}
FORK = ("osu_get_mbw", "osu_get_multi_lat")  # of github.com/johnpzh/osu-micro-benchmarks-7.4-ext, not of OMB
OPTIONS = (
    ("-m, -msglog, -msglen", "-m, sizes of a sweep", ""),
    ("-i, -iter", "-i", "without -i the stop rule decides (adaptive count)"),
    ("-x, -warm_up", "-x", ""),
    ("-W", "-W, `window`", "mpi.bandwidth and its variants"),
    ("-V (vary window)", "a sweep over `window`", "mpi.multi_bandwidth"),
    ("-p (pairs), -npmin, -multi", "--ranks, a sweep over it", ""),
    ("-b, -off_cache", "`buffers`, `buffers_in_turn`", "mpi.bandwidth, mpi.buffer_reuse"),
    ("-c, -u (validation), -data_type", "always: labkit verifies every point before it times it", ""),
    (
        "-f, -z (full, percentiles)",
        "always: labkit keeps every sample of up to 64 ranks, and extremes of more",
        "`--full` in the OSU layout",
    ),
    ("-G, -graph", "labkit report, labkit show", ""),
    ("-D cont|vect|indx", "`layout`, `block`", "messages of pairs and collectives that do not compute"),
    ("-T, -red_data_type", "`datatype`, `operation`", "reductions, accumulate"),
    ("-l (in-place)", "`in_place`", "collectives that MPI allows it for"),
    ("-k, -root_shift", "`root`, `rotate`", "rooted collectives"),
    ("-t (tests)", "`tests`", "non-blocking collectives"),
    ("-t (threads), -thread_level", "`threads`", "patterns of pairs and blocking collectives"),
    ("-N graph|cart", "`topology`", "neighbourhood collectives"),
    ("-w create|allocate|dynamic", "`memory`", "one-sided"),
    ("-s lock|flush|…", "`synchronisation`", "one-sided"),
    ("-sync, -imb_barrier", "`cadence`", "isolated, streaming, and synchronised, which OMB and IMB lack"),
    ("-time, -mem", "--time-cap; every benchmark has a largest size", ""),
    ("-M", "`max_size` of a benchmark", ""),
    ("-P (PAPI), -I (sessions), -d (GPU), -r", "left out", "hardware counters, MPI_Session_init, GPU"),
    (
        "-R (print rate), -msg_pause, -npiter",
        "left out",
        "labkit always gives the rate; it has no pause between messages",
    ),
)


def answers() -> dict[str, tuple[str, dict[str, object]]]:
    """Name of an original test → our benchmark and its options."""
    return {test: (name, dict(o)) for name, b in benchmarks.find().items() for test, o in b.equivalents.items()}


def imports() -> dict[str, str]:
    """Name of an original test that labkit only imports → the benchmark of its numbers."""
    logs = {test: name for name, one in benchmarks.every().items() for test in one.logs}
    return {test: logs[test] for tests in IMPORTED.values() for test in tests.split() if test in logs}


def names() -> list[str]:
    """Every name of both, as `equivalents` writes it."""
    imb = [f"IMB-{part} {name}" for part, tests in IMB.items() for name in tests.split()]
    return [name for tests in OMB.values() for name in tests.split()] + imb


def differs(test: str) -> str:
    """Say how the definition of a test differs from that of its counterpart; empty if they are the same."""
    benchmark = benchmarks.get(answers()[test][0])
    counted = "counts differently; converted" if test in benchmark.converted else ""
    return "; ".join(filter(None, [benchmark.unlike.get(test, ""), counted]))


def _table(tests: list[str], prefix: str = "") -> str:
    """Counterparts of tests: those of the same name and definition in a line, the others as a table with notes below."""
    known, rows, alike = answers(), [], []
    for test in tests:
        name, options = known.get(test, ("", {}))
        words = " ".join(f"{key}={json.dumps(value)}".replace('"', "") for key, value in options.items())
        reason = differs(test) if name else f"left out: {LEFT_OUT[test]}"
        if not words and not reason and name == f"mpi.{test.removeprefix('osu_')}":
            alike.append(test)
        else:
            rows.append([test.removeprefix(prefix), name and f"`{name}`", words, reason])
    often = {reason for reason, count in Counter(row[3] for row in rows).items() if count > 1 and reason}
    notes = {
        reason: f"({n})" for n, reason in enumerate([r for r in dict.fromkeys(row[3] for row in rows) if r in often], 1)
    }
    rows = [[*row[:3], notes.get(row[3], row[3])] for row in rows]
    shown = [k for k in range(4) if k < 2 or any(row[k] for row in rows)]  # without columns that are empty
    head = ["test", "labkit", "options", "differs"]
    parts = [f"`osu_NAME` is `mpi.NAME`: {', '.join(test.removeprefix('osu_') for test in alike)}."] if alike else []
    parts += [table([head[k] for k in shown], [[row[k] for k in shown] for row in rows])] if rows else []
    return "\n\n".join([*parts, *(f"{number} {reason}" for reason, number in notes.items())])


def document() -> str:
    """The page."""
    total, known = names(), answers()
    have = [name for name in total if name in known]
    same = [name for name in have if not differs(name)]
    labkit_only = sorted(name for name, b in benchmarks.find().items() if name.startswith("mpi.") and not b.equivalents)
    imported = [
        f"### {part}\n\n{table(['test', 'labkit'], [(test, f'`{imports()[test]}`') for test in tests.split()])}"
        for part, tests in IMPORTED.items()
    ]
    omb = [f"### {part}\n\n{_table(tests.split())}" for part, tests in OMB.items()]
    imb = [
        f"### IMB-{part}\n\n{_table([f'IMB-{part} {name}' for name in tests.split()], f'IMB-{part} ')}"
        for part, tests in IMB.items()
    ]
    return f"""# Parity with the OSU and Intel MPI benchmarks

`python tests/parity.py` prints this page from the `equivalents` of the benchmarks. Tests run every benchmark named here on real ranks
with verified bytes.

{len(have)} of {len(total)} tests of OMB 7.4 (c/mpi, c/openshmem) and IMB 2021.11 have a counterpart; {len(total) - len(have)} are left out, with the reason.
{len(same)} of the counterparts have the same definition with the given options; the column *differs* shows the difference of the others.
"Converted" means that `labkit import` and `--format` convert the numbers. Any other difference is a warning on imported and
exported numbers.

Not counted: {" and ".join(FORK)}, which labkit imports, but which exist only in a fork of OMB; OMB's UPC and
UPC++ tests, which labkit [only imports](#imported-only); its GPU, NCCL and Java tests; IMB's GPU and HALO programs.

Benchmarks that neither OMB nor IMB has: {", ".join(f"`{name}`" for name in labkit_only)}.

## OSU micro-benchmarks 7.4

{chr(10).join(f"{part}{chr(10)}" for part in omb)}
## Imported only

labkit does not run these tests of OMB 7.4 (c/upc, c/upcxx), because Debian and conda have no UPC and no UPC++. `labkit import` reads their
output.

{chr(10).join(f"{part}{chr(10)}" for part in imported)}
## Intel MPI benchmarks 2021.11

{chr(10).join(f"{part}{chr(10)}" for part in imb)}
## Definitions that matter when you compare numbers

- IMB-MPI1, IMB-NBC and IMB-MPI4 end every timed call of a collective with a barrier (`-sync on`, the default since IMB
  2017), like OMB and `cadence=isolated`. Only the barrier itself runs back to back. labkit imports outputs of IMB 4.1 and older, or
  with `-sync off`, as `cadence=streaming`. IMB 4.1 and older also moved the root with every call (`rotate`).
- `timing=total` marks the tests of IMB that read the clock only before and after the loop. Without it, labkit reads the clock
  around every iteration.
- OMB's average of a collective is the mean over ranks of each rank's mean (`osu_mean`). labkit's median is that of the slowest
  rank of each iteration, which is larger ([three definitions](performance.md#three-definitions-of-latency)). IMB prints the slowest
  rank's mean as `t_max`.
- IMB-RMA makes its windows with MPI_Win_create. The default of OMB and labkit is MPI_Win_allocate (`memory`).
- IMB-NBC's overlap is the saved time divided by the longer of communication and computation, on the slowest rank. IMB-IO divides
  by the shorter.

## Options

{table(["OMB or IMB", "labkit", "where"], OPTIONS)}
"""


if __name__ == "__main__":
    print(document(), end="")
