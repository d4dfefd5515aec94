"""Check by the kernel's tracepoints what mpi.call_times attributes to MPI_Isend and MPI_Test over TCP.

`perf record` notes when the ranks enter and leave writev, readv and poll while labkit times their calls of MPI in the
same run. The independent statement is that a post holds one writev, and the MPI_Test that finds the message one readv,
with the poll before it. Tracing makes each system call slower, so times are compared within the traced run alone.

Then probes at the first instruction and at the return of MPI_Isend let the kernel's clock time the same call, over TCP
and through shared memory. labkit's timers are outside of the probes, so they see their cost too. If both attribute the
call alike, they differ by that cost, which does not depend on the path. Needs root.

    .venv/bin/python bench/attribution.py [iterations]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from labkit.host import printed
from labkit.run import launch

ENTER, EXIT = "sys_enter_", "sys_exit_"
CALLS = ("writev", "readv", "poll")
FOUND = "poll and readv"  # the poll that found the message, and its readv
_PROBE = re.compile(r"(?P<thread>\d+)\s+(?P<time>\d+\.\d+):\s+labkit_\d+:isend(?P<back>_back\w*)?:")
_EVENT = re.compile(
    r"\s(?P<thread>\d+)\s+(?P<time>\d+\.\d+):\s+syscalls:sys_(?P<edge>enter|exit)_(?P<call>\w+):(?P<rest>.*)"
)


def durations(lines: list[str]) -> dict[tuple[int, str], list[float]]:
    """Duration of each call, µs, by thread and name, from ``perf script -F tid,time,event,trace``.

    A call that returned nothing or an error is left out. `FOUND` is a readv with the last poll before it.

    Examples
    --------
    >>> durations([" 7 1.000001000: syscalls:sys_enter_writev: fd: 0x1", " 7 1.000004500: syscalls:sys_exit_writev: 0x8"])
    {(7, 'writev'): [3.5]}
    """
    entered: dict[tuple[int, str], float] = {}
    taken: dict[tuple[int, str], list[float]] = {}
    for line in lines:
        if not (match := _EVENT.search(" " + line)):
            continue
        key, time = (int(match["thread"]), match["call"]), float(match["time"])
        if match["edge"] == "enter":
            entered[key] = time
        elif key in entered:
            begin, value = entered.pop(key), int(match["rest"].split()[-1], 16)
            if 0 < value < 1 << 63:
                taken.setdefault(key, []).append(round((time - begin) * 1e6, 3))
                polls = taken.get((key[0], "poll"))
                if key[1] == "readv" and polls:
                    taken.setdefault((key[0], FOUND), []).append(round(polls[-1] + taken[key][-1], 3))
    return taken


def between(lines: list[str]) -> list[float]:
    """Time between entry and return of each probed call, µs, from ``perf script -F tid,time,event``.

    Examples
    --------
    >>> between(["7 1.000001000: labkit_9:isend:", "7 1.000009000: labkit_9:isend_back__return:"])
    [8.0]
    """
    entered: dict[int, float] = {}
    taken = []
    for line in lines:
        if not (match := _PROBE.search(line)):
            continue
        thread, time = int(match["thread"]), float(match["time"])
        if not match["back"]:
            entered[thread] = time
        elif thread in entered:
            taken.append(round((time - entered.pop(thread)) * 1e6, 3))
    return taken


def measuring(transport: str, iterations: int) -> list[str]:
    """Command that times the calls of a message of 8 B."""
    return [
        *(str(Path(sys.executable).with_name("labkit")), "measure", "mpi.call_times", "-m", "8:8"),
        *("--transport", transport, "--launcher", "openmpi", "--ranks", "2", "--launches", "1"),
        *("-i", str(iterations), "--format", "json"),
    ]


def probed(iterations: int, folder: Path) -> int:
    """Let probes time MPI_Isend over both paths, and print what they and labkit's timers say."""
    found = launch.get("openmpi")
    (library,) = (one for one in printed.libraries(found.program, "ompi_info") if "/libmpi.so" in str(one))
    group, data = f"labkit_{os.getpid()}", str(folder / "probes.data")
    add = ["perf", "probe", "-q", "-x", str(Path(library).resolve())]
    try:
        for probe in (f"{group}:isend=MPI_Isend", f"{group}:isend_back=MPI_Isend%return"):
            done = subprocess.run([*add, probe], capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"This kernel does not let perf probe a library: {done.stderr[-300:]}", file=sys.stderr)
                return 1
        print(
            "\n| path | MPI_Isend, untraced (µs) | by labkit's timers (µs) | between the probes (µs) | difference | calls |"
        )
        print("|:--|--:|--:|--:|--:|--:|")
        for transport in ("tcp", "shm"):
            record = ["perf", "record", "-q", "-e", f"{group}:*", "-o", data, "--"]
            posts = []
            for before in ([], record):
                command = [*before, *measuring(transport, iterations)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                posts.append(json.loads(done.stdout)["records"][0]["post_us_p50"])
            script = ["perf", "script", "--ns", "-i", data, "-F", "tid,time,event"]
            times = between(subprocess.run(script, capture_output=True, text=True, check=True).stdout.splitlines())
            inside = median(times)
            print(
                f"| {transport} | {posts[0]:.2f} | {posts[1]:.2f} | {inside:.2f} | {posts[1] - inside:.2f} | {len(times)} |",
                flush=True,
            )
    finally:
        subprocess.run(["perf", "probe", "-q", "-d", f"{group}:*"], capture_output=True, check=False)
    return 0


def main(iterations: int) -> int:
    """Run, compare and print."""
    if not shutil.which("perf"):
        print("There is no perf. Install the package linux-perf.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        return called(iterations, Path(folder)) or probed(iterations, Path(folder))


def called(iterations: int, folder: Path) -> int:
    """Let tracepoints time the system calls over TCP, and print what they and labkit's timers say."""
    data, measure = folder / "perf.data", measuring("tcp", iterations)
    events = [word for call in CALLS for edge in (ENTER, EXIT) for word in ("-e", f"syscalls:{edge}{call}")]
    rows = []
    for before in ([], ["perf", "record", "-q", *events, "-o", str(data), "--"]):
        done = subprocess.run([*before, *measure], capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"This kernel does not let perf trace system calls: {done.stderr[-300:]}", file=sys.stderr)
            return 1
        rows.append(json.loads(done.stdout)["records"][0])
    script = ["perf", "script", "--ns", "-i", str(data), "-F", "tid,time,event,trace"]
    taken = durations(subprocess.run(script, capture_output=True, text=True, check=True).stdout.splitlines())
    plain, traced = rows
    ranks = sorted({thread for thread, _ in taken}, key=lambda thread: -len(taken.get((thread, "writev"), [])))[:2]
    print("| call of MPI | untraced (µs) | traced (µs) | system call | its median (µs) | share | calls per message |")
    print("|:--|--:|--:|:--|--:|--:|--:|")
    for metric, name, call in (("post_us", "MPI_Isend", "writev"), ("find_us", "MPI_Test that finds", FOUND)):
        values = [value for thread in ranks for value in taken.get((thread, call), [])]
        sends = sum(len(taken.get((thread, "writev"), [])) for thread in ranks)
        inside, clock = median(values), traced[f"{metric}_p50"]
        print(
            f"| {name} | {plain[f'{metric}_p50']:.2f} | {clock:.2f} | {call} | {inside:.2f} | {100 * inside / clock:.0f} % "
            f"| {len(values) / sends:.3f} |"
        )
    print(f"\n{iterations} round trips; both ranks; medians.")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iterations", nargs="?", type=int, default=3000, help="timed iterations (default: %(default)s)")
    sys.exit(main(parser.parse_args().iterations))
