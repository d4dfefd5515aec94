"""List the counterparts of the OSU and Intel tests in labkit: ``python tests/parity.py > docs/parity.md``.

The names are those of OMB 7.4 (c/mpi, c/openshmem) and IMB 2021.11. Their counterparts come from the benchmarks' `equivalents`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping

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
    "IMB-IO C_IWrite_Shared": "absent in every MPI: the standard has no non-blocking ordered call. IMB runs "
    "P_IWrite_Shared under this name.",
    "IMB-IO C_IRead_Shared": "absent for the same reason. IMB runs P_IRead_Shared under this name.",
}
ACCESS = {"S": "single", "P": "parallel", "C": "collective"}  # letters in the names of IMB-IO
POINTER = {"Indv": "individual", "Expl": "explicit", "Shared": "shared", "Priv": "private"}
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


def _pattern(test: str, name: str) -> str:
    """The counterpart of a test, with NAME for the name of the test where it has that name."""
    stem = re.sub(r"^(osu_|IMB-\w+ )|(_persist)?(_pure)?(MT)?$", "", test).lower()
    same = {f"mpi.{stem}{end}": f"mpi.NAME{end}" for end in ("", "_persistent")}
    return f"`{same.get(name, name)}`" if name else ""


def _words(test: str, options: Mapping[str, object]) -> str:
    """Options of a counterpart; without those that the letters of an IMB-IO test stand for."""
    letters = re.match(r"IMB-IO ([SPC])_\w+?_(\w+)$", test)
    known = {"access": ACCESS[letters[1]], "pointer": POINTER[letters[2]]} if letters else {}
    return " ".join(
        f"{key}={json.dumps(value)}".replace('"', "") for key, value in options.items() if known.get(key) != value
    )


def _table(tests: list[str], prefix: str = "") -> str:
    """Counterparts of tests: a row for all tests with the same one, and notes below."""
    known, found, alone = answers(), dict[tuple[str, str, str], list[str]](), dict[str, str]()
    for test in tests:
        name, options = known.get(test, ("", {}))
        alone[test.removeprefix(prefix)] = f"`{name}`" if name else ""
        reason = differs(test) if name else f"left out: {LEFT_OUT[test]}"
        found.setdefault((_pattern(test, name), _words(test, options), reason), []).append(test.removeprefix(prefix))
    often = [reason for reason, count in Counter(key[2] for key in found).items() if count > 1 and reason]
    notes = {reason: f"({n})" for n, reason in enumerate(often, 1)}
    rows = [
        [", ".join(same), alone[same[0]] if len(same) == 1 else name, words, notes.get(reason, reason)]
        for (name, words, reason), same in found.items()
    ]
    shown = [k for k in range(4) if k < 2 or any(row[k] for row in rows)]  # without columns that are empty
    head = ["test", "labkit", "options", "differs"]
    parts = [table([head[k] for k in shown], [[row[k] for k in shown] for row in rows])]
    return "\n\n".join([*parts, *(f"{number} {reason}" for reason, number in notes.items())])


def document() -> str:
    """The page."""
    total, known = names(), answers()
    have = [name for name in total if name in known]
    same = [name for name in have if not differs(name)]
    imported = [
        (part, ", ".join(f"`{test}` (`{imports()[test]}`)" for test in tests.split()))
        for part, tests in IMPORTED.items()
    ]
    omb = [f"### {part}\n\n{_table(tests.split())}" for part, tests in OMB.items()]
    imb = [
        f"### IMB-{part}\n\n{_table([f'IMB-{part} {name}' for name in tests.split()], f'IMB-{part} ')}"
        for part, tests in IMB.items()
    ]
    return f"""# Parity with the OSU and Intel MPI benchmarks

`python tests/parity.py` prints this page from the `equivalents` of the benchmarks.

{len(have)} of {len(total)} tests of OMB 7.4 (c/mpi, c/openshmem) and IMB 2021.11 have a counterpart in labkit. {len(same)} counterparts have the same
definition with the options in the tables; the column *differs* explains the others. "Converted" means that `labkit import` and
`--format` convert the numbers. Any other difference is a warning on imported and exported numbers.

In the tables, `NAME` is the name of the test in lower case, without `osu_`, `_pure`, `_persist` and `MT`.

The page leaves out {" and ".join(FORK)}, which exist only in a fork of OMB, OMB's GPU, NCCL and Java tests, and IMB's GPU and HALO programs.

## OSU micro-benchmarks 7.4

{chr(10).join(f"{part}{chr(10)}" for part in omb)}
## Imported only

Debian and conda have no UPC and no UPC++, so labkit only imports the output of these tests of OMB 7.4 (c/upc, c/upcxx):

{table(["language", "tests, and labkit's names"], imported)}

## Intel MPI benchmarks 2021.11

{chr(10).join(f"{part}{chr(10)}" for part in imb)}
In names of IMB-IO, S, P and C are `access=single`, `parallel` and `collective`. Indv, Expl, Shared and Priv are `pointer=individual`,
`explicit`, `shared` and `private`.

## Definitions that matter when you compare numbers

- IMB-MPI1, IMB-NBC and IMB-MPI4 end every timed call of a collective with a barrier (`-sync on`, the default since IMB
  2017), like OMB and `cadence=isolated`. Only the barrier itself runs back to back. labkit imports outputs of IMB 4.1 and older, or
  with `-sync off`, as `cadence=streaming`. IMB 4.1 and older also moved the root with every call (`rotate`).
- `timing=total` marks the tests of IMB that read the clock only before and after the loop. Without it, labkit reads the clock
  around every iteration.
- OMB's average of a collective is the mean over ranks of each rank's mean (`osu_mean`). labkit's median is over the slowest
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
