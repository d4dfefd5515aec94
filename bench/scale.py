"""What labkit costs against the number of ranks. Asserts nothing.

``python bench/scale.py [ROW…]`` prints the rows that `ROWS` names, those of `USUAL` if none is asked for. A row is a
function that prints a table. The last two are in ``bench/reading.py``, the others are of this file:

calls : file system calls of a rank until it has measured, counted by strace, for each place that it may load from
start : time from the start of the launcher until all ranks have met, on this machine
nfs : the same and the requests to the server, with the environment on NFS; in a guest, which has the server and the client
points : time of the parent for each point, in starts of 10 to 50,000 points (`bench/points.py`)
reading : time and memory of questions to points of 16,384 ranks and to all pairs of 1000 hosts
hosts : time to read lists of 5000 hosts
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.reading import ROWS as READING  # noqa: E402
from labkit.host import filesystems  # noqa: E402
from labkit.io import supervise  # noqa: E402
from labkit.point.spec import Effort, Spec  # noqa: E402
from labkit.run import lines, measuring, staging  # noqa: E402
from labkit.run.staging import archive  # noqa: E402
from labkit.worker import Reader  # noqa: E402

EFFORT = Effort(iterations=10, launches=1)
TRACED = "%file,fstat,getdents64"  # calls that name a file, and those that a server answers for an open one
_TRACE = f'exec strace -f -y -qq -o "$0/$$" -e trace={TRACED} -- "$@"'  # a file for each rank
_CALL = re.compile(r"(?:\d+ +)?(\w+)\((.*)")
_FAILED = re.compile(r"\) += -1 ")

# ---- commands --------------------------------------------------------------------------------------------------------


@contextmanager
def command(count: int, switch: str) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Command line and environment of a start of some ranks that measure one point; copies go at the end.

    Parameters
    ----------
    switch : as of `LABKIT_STAGE`.
    """
    before = os.environ.get(filesystems.SWITCH)
    os.environ[filesystems.SWITCH] = switch
    try:
        with staging.session(lambda text: None):
            points = measuring.expand([Spec(benchmark="mpi.barrier", ranks=count)], EFFORT)
            line = lines.line_for(points, EFFORT)
            yield list(line.command), {**os.environ, **line.environment}
    finally:
        os.environ.pop(filesystems.SWITCH)
        os.environ |= {filesystems.SWITCH: before} if before else {}


def rank_words(words: Sequence[str]) -> int:
    """Where in the command of a start the command of a rank begins."""
    return max(i for i, word in enumerate(words) if word in (sys.executable, "/bin/sh"))


# ---- calls -----------------------------------------------------------------------------------------------------------


@dataclass
class Calls:
    """File system calls of one rank.

    Parameters
    ----------
    every : all of them.
    opened : files and folders that were opened.
    inside : calls into each of some folders, by what these are.
    paths : that were opened.
    """

    every: int = 0
    opened: int = 0
    inside: Counter[str] = field(default_factory=Counter)
    paths: list[str] = field(default_factory=list)


def path_of(call: str) -> str:
    """The file that a call is about, from what strace prints between its brackets.

    Examples
    --------
    >>> path_of('AT_FDCWD</home/me>, "a/b", O_RDONLY) = 3</home/me/a/b>'), path_of('3</etc/hosts>, {st_mode=0}) = 0')
    ('/home/me/a/b', '/etc/hosts')
    """
    named = re.search(r'"((?:[^"\\]|\\.)*)"', call)
    folder = re.match(r"\w+<([^>]*)>", call)
    above, name = folder[1] if folder else "", named[1] if named else ""
    return os.path.normpath(f"{above}/{name}" if name[:1] != "/" else name) if name else above


def counted(trace: str, folders: dict[str, str]) -> Calls:
    """Calls in a trace of a rank.

    Parameters
    ----------
    folders : what to count apart: name → path; the innermost counts.
    """
    calls = Calls()
    innermost = sorted(folders.items(), key=lambda pair: -len(pair[1]))
    for line in trace.splitlines():
        match = _CALL.match(line)
        if match is None:  # the end of a call, or of a process
            continue
        path = path_of(match[2])
        calls.every += 1
        if match[1] in ("open", "openat") and not _FAILED.search(line):
            calls.opened += 1
            calls.paths.append(path)
        inside = (name for name, place in innermost if path == place or path.startswith(f"{place}/"))
        if name := next(inside, ""):
            calls.inside[name] += 1
    return calls


def traced(count: int, switch: str) -> list[Calls]:
    """File system calls of each rank of one start.

    Raises
    ------
    RuntimeError
        If strace is not there or must not trace, or the ranks fail.
    """
    if why := untraceable():
        raise RuntimeError(why)
    with tempfile.TemporaryDirectory(prefix="labkit-bench-") as folder, command(count, switch) as (words, variables):
        at = rank_words(words)
        words = [*words[:at], "/bin/sh", "-c", _TRACE, folder, *words[at:]]
        done = subprocess.run(words, env=variables, cwd="/", capture_output=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.decode(errors="replace")[-2000:])
        return [counted(path.read_text(errors="replace"), shared()) for path in Path(folder).iterdir()]


def untraceable() -> str:
    """Why strace cannot trace here; empty where it can."""
    if shutil.which("strace") is None:
        return "strace is not installed. Install strace"
    done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False)
    return f"strace must not trace here: {done.stderr.strip()}" if done.returncode else ""


def shared() -> dict[str, str]:
    """Folders that clusters have on shared file systems: environment, labkit, and Python with its standard library."""
    folders = filesystems.loaded_from()
    return (
        {**folders, "labkit": str(Path(folders["labkit"]).parent)}
        if "site-packages" not in folders["labkit"]
        else folders
    )


def calls() -> None:
    """File system calls of a rank until it has measured: from the environment, one file, and a copy on its node."""
    print(f"{'file system calls of a rank':30} {'all':>6} {'opens':>6} " + " ".join(f"{name:>12}" for name in shared()))
    for label, switch in (
        ("from the environment", "no"),
        ("from one file, on this machine", "auto"),
        ("from a copy on its node", "yes"),
    ):
        rank = max(traced(2, switch), key=lambda one: one.every)
        print(
            f"{label:30} {rank.every:6} {rank.opened:6} "
            + " ".join(f"{rank.inside[name]:12}" for name in shared())
            + f"   10,000 ranks: {sum(rank.inside.values()) * 10_000:,} into these folders"
        )


# ---- time to start ---------------------------------------------------------------------------------------------------


def met(words: Sequence[str], variables: dict[str, str], limit: float = 300.0) -> float:
    """Time until the ranks of a start have met, s."""
    began, reader = time.perf_counter(), Reader()
    with supervise.start(words, env=variables, cwd="/") as tree:
        while piece := os.read(tree.stdout.fileno(), 1 << 16):
            if any(frame.header["kind"] == "ready" for frame in reader.feed(piece)):
                took = time.perf_counter() - began
                tree.wait(limit)
                return took
        tree.wait(limit)
        raise RuntimeError(tree.stderr_text()[-2000:])


def shown(times: Sequence[float]) -> str:
    """Median, and the range of all."""
    return f"{statistics.median(times):6.2f} s ({min(times):.2f} to {max(times):.2f}, n={len(times)})"


def start() -> None:
    """Time until all ranks have met, without and with copies; starts of both kinds take turns."""
    print(f"{'ranks on this machine':22} {'from the environment':>36} {'from copies':>36}")
    for count in (2, 4, 8):
        times: dict[str, list[float]] = {"no": [], "yes": []}
        with command(count, "yes") as staged, command(count, "no") as plain:
            for _ in range(7):
                times["no"].append(met(*plain))
                times["yes"].append(met(*staged))
        print(f"{count:22} {shown(times['no']):>36} {shown(times['yes']):>36}", flush=True)


# ---- on NFS ----------------------------------------------------------------------------------------------------------

MODULES = ("nfsd", "nfsv4", "veth", "ext4", "loop", "sch_netem", "virtio_console")
NODE, EXPORT, MIB = Path("/run/nodes/node1"), Path("/run/export"), 700
PLAN = {"0ms": {2: 3, 4: 3, 8: 3, 16: 3, 32: 1, 64: 1}, "1ms": {2: 3, 8: 3}}  # delay of each packet: ranks: starts
LOADED = ("numpy", "numpy.libs", "mpi4py")
_ASKED = Path("/proc/net/rpc/nfsd")  # requests that the server has had


def nfs() -> None:
    """Time until all ranks have met and requests to the server, with the environment on NFS, cold, in a guest."""
    from labkit.testbeds import _guest

    accel = os.environ.get("LABKIT_BENCH_ACCEL", "tcg")  # kvm is fast where it works
    print(
        f"guest: 2 processors ({accel}), NFS 4.2; the client has nothing cached before a start",
        flush=True,
    )
    with _guest.boot(required=MODULES, cpus=2, memory="6G", accel=accel) as guest:
        here = [*guest.words(), sys.executable, "-B", __file__, "in-guest"]
        subprocess.run(here, check=True, cwd=ROOT, timeout=3 * 3600)


def in_guest() -> None:
    """The part of `nfs` that runs in the guest: serve, put an environment there, start ranks from it."""
    from tests.nfs import server

    os.environ |= {"HOME": "/run/home", "XDG_CACHE_HOME": str(NODE / "cache")}
    server.serve(MIB)
    server.node(0, "4.2", "hard")
    python = environment(EXPORT, NODE)
    print(
        f"{'delay':>6} {'ranks':>6}   {'from the environment':>30} {'requests':>9}   {'copying':>8} {'from copies':>30} {'requests':>9}",
        flush=True,
    )
    for delay, counts in PLAN.items():
        server.sh(f"nsenter --net=/run/netns/node1 tc qdisc replace dev eth0 root netem delay {delay}")
        for count, repeats in counts.items():
            _compared(delay, count, repeats, python)


def _compared(delay: str, count: int, repeats: int, python: Path) -> None:
    """One line: starts from the environment and from copies by turns."""
    times: dict[str, list[float]] = {"plain": [], "copying": [], "copies": []}
    requests: dict[str, list[int]] = {"plain": [], "copies": []}
    with command(count, "no") as (words, variables):
        at = rank_words(words)
        variables |= {"OMPI_MCA_mpi_yield_when_idle": "1"}
        plain = [*words[:at], str(python), *words[at + 1 :]]
    made = _archive(python, variables)
    for _ in range(repeats):
        before = _cold()
        times["plain"].append(met(plain, variables))
        requests["plain"].append(_requests() - before)
        before, began = _cold(), time.perf_counter()
        subprocess.run(made["stage"], env=variables, check=True, capture_output=True)
        times["copying"].append(time.perf_counter() - began)
        times["copies"].append(met([*words[:at], "/bin/sh", made["rank"], words[-1]], variables))
        requests["copies"].append(_requests() - before)
        subprocess.run(made["remove"], env=variables, check=True, capture_output=True)
    print(
        f"{delay:>6} {count:6}   {shown(times['plain']):>30} {statistics.median(requests['plain']):9.0f}   "
        f"{statistics.median(times['copying']):6.2f} s {shown(times['copies']):>30} {statistics.median(requests['copies']):9.0f}",
        flush=True,
    )


def environment(export: Path, seen: Path) -> Path:
    """Put Python and an environment with what ranks load on the export; its Python as hosts see it."""
    base, site = export / "base", export / "venv" / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    library, prefix = Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix)
    for folder in (base / "bin", base / "lib", export / "venv" / "bin", export / "cache", Path("/run/home")):
        folder.mkdir(parents=True)
    program = Path(os.path.realpath(sys.executable))
    (base / "bin" / program.name).write_bytes(archive.relocated(program.read_bytes(), "bin/python"))
    (base / "bin" / program.name).chmod(0o755)
    for path in prefix.glob("lib/libpython*.so*"):
        shutil.copy2(path, base / "lib")
    left_out = shutil.ignore_patterns("site-packages", "test", "tests", "idlelib", "tkinter", "config-*", "ensurepip")
    shutil.copytree(library, base / "lib" / library.name, ignore=left_out)
    import labkit

    beside = next(Path(path) for path in sys.path if (Path(path) / "numpy").is_dir())
    # ranks need the first three, the making of the archive the others
    for name in (*LOADED, "platformdirs", "pydantic", "pydantic_core", "annotated_types", "typing_inspection"):
        if (beside / name).is_dir():
            shutil.copytree(beside / name, site / name, ignore=shutil.ignore_patterns("tests"))
    shutil.copytree(Path(labkit.__file__).parent, site / "labkit")
    shutil.copy(beside / "typing_extensions.py", site)
    (export / "venv" / "pyvenv.cfg").write_text(f"home = {seen}/base/bin\ninclude-system-site-packages = false\n")
    (export / "venv" / "bin" / "python").symlink_to(f"{seen}/base/bin/{program.name}")
    return seen / "venv" / "bin" / "python"


def _archive(python: Path, variables: dict[str, str]) -> dict[str, Any]:
    """Commands that copy, start a rank and remove, of an archive of the environment on NFS."""
    ask = (
        "import json; from labkit.run.staging import archive; made = archive.made(interpreter=True); "
        "print(json.dumps({'stage': made.on_node('stage'), 'remove': made.on_node('remove'), 'rank': str(made.rank)}))"
    )
    done = subprocess.run([python, "-c", ask], env=variables, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _cold() -> int:
    """Mount the export anew, so that the client has nothing cached; the requests so far."""
    from tests.nfs import server

    server.sh(f"umount {NODE}")
    server.mount(0, "4.2", "hard")
    return _requests()


def _requests() -> int:
    """Calls that the server has had."""
    lines = dict(line.partition(" ")[::2] for line in _ASKED.read_text().splitlines())
    return int(lines["rpc"].split()[0])


def points() -> None:
    """What a point costs the process that measures, for starts of 10 to 50,000 points; see `bench/points.py`."""
    subprocess.run([sys.executable, str(ROOT / "bench" / "points.py")], check=True)


ROWS: dict[str, Callable[[], None]] = {"calls": calls, "start": start, "nfs": nfs, "points": points, **READING}
USUAL = ("calls", "start")


def main(names: Sequence[str]) -> None:
    """Print rows."""
    if list(names) == ["in-guest"]:
        in_guest()
        return
    for name in names or USUAL:
        ROWS[name]()
        print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", help=f"tables to print: {', '.join(ROWS)} (default: {', '.join(USUAL)})"
    )
    rows = parser.parse_args().rows
    if unknown := set(rows) - set(ROWS):
        parser.error(f"there is no row {', '.join(sorted(unknown))}; choose from {', '.join(ROWS)}")
    main(rows)
