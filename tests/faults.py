"""Faults on purpose, with an oracle outside labkit: log.txt, Parquet's own reader, and an mpirun that notes what it starts.

``python tests/faults.py [TRIES [SEED [OTHERS]]]`` sends every signal that many times, provokes the other faults that many
times or OTHERS times, and writes the table of docs/reliability.md. $LABKIT_FAULTS_SECONDS bounds how long it takes.
"""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq

from labkit.io.markdown import table
from labkit.run.staging import packed
from tests.waiting import commandline

ROOT = Path(__file__).resolve().parent.parent
MARK = "LABKIT_FAULT"
LAUNCHES, SIZES = 2, "1:256"
POINTS = 9 * LAUNCHES
WRAPPER = """#!{python} -S
import os, sys
os.environ.pop("LD_PRELOAD", None)
os.environ["LD_LIBRARY_PATH"] = {libraries!r} + ":" + os.environ.get("LD_LIBRARY_PATH", "")
if len(sys.argv) > 3:
    with open({log!r}, "a") as file:
        file.write(sys.argv[-1] + "\\n")
os.execv({mpirun!r}, [{mpirun!r}, *sys.argv[1:]])
"""
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


class BrokenError(AssertionError):
    """A promise was not kept."""


class MissedError(Exception):
    """The run was over before the fault came; it is tried again."""


class Run:
    """One campaign that something happens to.

    Parameters
    ----------
    folder : an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.children: list[subprocess.Popen[str]] = []
        self.iterations = 30_000
        self.folder, self.into, self.name = folder, folder / "c", f"{os.getpid()}-{random.getrandbits(48):x}"
        self.started = folder / "started"
        self.mpirun = folder / "mpirun"
        places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        real = shutil.which("mpirun", path=places) or "mpirun"
        libraries = str(Path(real).resolve().parent.parent / "lib")
        text = WRAPPER.format(python=sys.executable, log=str(self.started), mpirun=real, libraries=libraries)
        self.mpirun.write_text(text)
        self.mpirun.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LABKIT_LEASE")}
        return clean | {MARK: self.name, "LABKIT_CAMPAIGNS": str(self.folder)} | more

    def command(self) -> list[str]:
        asked = ["-m", SIZES, "-i", str(self.iterations), "--launches", str(LAUNCHES), "--time-limit", "20"]
        asked += ["--launcher", str(self.mpirun)]
        where = ["--transport", "shm", "--into", str(self.into), "--format", "csv"]
        return [sys.executable, "-m", "labkit", "measure", "mpi.latency", *asked, *where]

    def start(self, *prefix: str, command: list[str] | None = None, **more: str) -> subprocess.Popen[str]:
        """Start labkit with nothing between it and us."""
        with (self.folder / "said").open("w") as out:
            process = subprocess.Popen(
                [*prefix, *(command or self.command())],
                env=self.environment(**more),
                stdout=subprocess.DEVNULL,
                stderr=out,
                text=True,
                cwd=ROOT,
            )
        self.children.append(process)
        return process

    def said(self) -> str:
        """What labkit wrote on standard error."""
        return (self.folder / "said").read_text()

    def processes(self, like: Callable[[list[str]], bool] = lambda words: True) -> list[int]:
        """Processes of this run, by a variable they inherit; of them those with such words on their command line."""
        pids = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                ours = f"{MARK}={self.name}\0".encode() in (entry / "environ").read_bytes() + b"\0"
                alive = ours and " Z " not in (entry / "stat").read_text()
                if alive and like((entry / "cmdline").read_bytes().decode(errors="replace").split("\0")):
                    pids.append(int(entry.name))
            except OSError:
                continue
        return pids

    def acknowledged(self) -> list[str]:
        """Files that log.txt says are saved."""
        log = self.into / "log.txt"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return [line.split()[-1] for line in lines if " saved " in line]

    def launched(self) -> list[int]:
        """Points of every start of ranks, from the plan on its command line."""
        words = self.started.read_text().split() if self.started.exists() else []
        return [json.loads(zlib.decompress(base64.urlsafe_b64decode(word)))["points"] for word in words]

    def whole(self) -> set[str]:
        """Samples files that Parquet's own reader reads, with as many rows as were asked for; others break the promise."""
        files = set()
        for path in self.into.glob("samples/*/[!.]*.parquet"):
            rows = pq.read_table(path).num_rows
            if rows != self.iterations:
                raise BrokenError(f"{path} has {rows} rows, not {self.iterations}")
            files.add(str(path.relative_to(self.into)))
        return files

    def wait_for_end(self, seconds: float = 60) -> None:
        """Nothing of the run may go on."""
        until = time.monotonic() + seconds
        while self.processes():
            if time.monotonic() > until:
                raise BrokenError(
                    f"goes on after {seconds:.0f} s: {[commandline(pid)[:120] for pid in self.processes()]}"
                )
            time.sleep(0.1)

    def settle(self, fault: int = 0, *, lost: int = 0) -> str:
        """Check what is there, run again, and check that exactly the rest was launched.

        Parameters
        ----------
        fault : points that were acknowledged when the fault came.
        lost : acknowledged points that the fault itself destroyed.
        """
        self.wait_for_end()
        acknowledged, there = self.acknowledged(), self.whole()
        if (
            len(acknowledged) != len(set(acknowledged))
            or len(set(acknowledged) - there) != lost
            or len(acknowledged) < fault
        ):
            raise BrokenError(
                f"acknowledged {len(acknowledged)}, of which {sorted(set(acknowledged) - there)} are not there"
            )
        before = self.launched()
        done = subprocess.run(
            self.command(), env=self.environment(), capture_output=True, text=True, timeout=300, cwd=ROOT, check=False
        )
        if done.returncode:
            raise BrokenError(f"the second run ended with {done.returncode}: {done.stderr[-1500:]}")
        after = self.launched()[len(before) :]
        if sum(after) != POINTS - len(there):
            raise BrokenError(f"{len(there)} of {POINTS} points were there, but the second run launched {after}")
        if len(self.whole()) != POINTS or Counter(self.acknowledged()).most_common(1)[0][1] > 1 + lost:
            raise BrokenError(f"in the end {len(self.whole())} of {POINTS} are there")
        self.wait_for_end()
        return f"{fault} then, {len(there)} kept"

    def mended(self, fault: int, before: int) -> str:
        """A run that went on by itself: all is there, one point is marked, nothing acknowledged was launched again.

        Parameters
        ----------
        fault : points that were acknowledged when the fault came.
        before : starts until then.
        """
        self.wait_for_end()
        if len(self.whole()) != POINTS or sorted(set(self.acknowledged())) != sorted(self.whole()):
            raise BrokenError(f"{len(self.whole())} of {POINTS} are there: {self.said()[-800:]}")
        if sum(self.launched()[before:]) > POINTS - fault:
            raise BrokenError(f"{fault} were acknowledged, but then {self.launched()[before:]} were launched")
        marked = [
            path
            for path in self.into.glob("samples/*/*.parquet")
            if b'"retried"' in pq.read_metadata(path).metadata[b"labkit"]
        ]
        if not 1 <= len(marked) <= POINTS // LAUNCHES:
            raise BrokenError(f"{len(marked)} points are marked as retried")
        return self.settle(fault)


def _reached(run: Run, process: subprocess.Popen[str], count: int) -> int:
    """Wait until so many points are acknowledged; how many are by then."""
    until = time.monotonic() + 240
    while (saved := len(run.acknowledged())) < count:
        if process.poll() is not None or time.monotonic() > until:
            raise MissedError(f"{saved} of {count} points, status {process.poll()}: {run.said()[-600:]}")
        time.sleep(0.005)
    return saved


def signalled(number: int) -> Callable[[Run, random.Random], str]:
    """A signal to labkit at a random moment from the start of the ranks on, in half of the cases between points."""

    def fault(run: Run, chance: random.Random) -> str:
        process = run.start()
        if chance.random() < 0.5:
            _reached(run, process, chance.randrange(1, POINTS - 1))
        else:
            while not run.launched() and process.poll() is None:
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 1.5))
        known = len(run.acknowledged())
        process.send_signal(number)
        process.wait(timeout=240)
        return run.settle(known)

    return fault


def _launcher(words: list[str]) -> bool:
    return Path(words[0]).name.startswith(("mpirun", "mpiexec", "prterun"))  # Open MPI 5 turns mpirun into prterun


def _rank(words: list[str]) -> bool:
    return words[1:3] in (["-m", "labkit.worker"], [*packed.FLAGS])


def killed(like: Callable[[list[str]], bool]) -> Callable[[Run, random.Random], str]:
    """SIGKILL to a process of the run, after some points and before all; labkit goes on by a fresh start."""

    def fault(run: Run, chance: random.Random) -> str:
        run.iterations *= 5  # samples are saved in groups: ranks with short points can end within the first
        process = run.start()
        _reached(run, process, chance.randrange(1, POINTS - 2))
        known, before, targets = len(run.acknowledged()), len(run.launched()), run.processes(like)
        if not targets or known == POINTS:
            raise MissedError("no target")
        try:
            os.kill(chance.choice(targets), signal.SIGKILL)
        except ProcessLookupError as error:
            raise MissedError("just gone") from error
        if process.wait(timeout=240):
            raise BrokenError(f"labkit ended with {process.returncode}: {run.said()[-1500:]}")
        if known == len(run.acknowledged()) or " retrying " not in (run.into / "log.txt").read_text():
            raise MissedError("the ranks had just done their work")
        return run.mended(known, before)

    return fault


def clock_jumped(run: Run, chance: random.Random) -> str:
    """The wall clock that labkit sees jumps in the middle of a run, by up to a day, there or back."""
    library, clock = run.folder / "clock.so", run.folder / "seconds"
    source = Path(__file__).with_name("clock.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    process = run.start(LD_PRELOAD=str(library), LABKIT_TEST_CLOCK=str(clock))
    known = _reached(run, process, chance.randrange(1, POINTS - 2))
    clock.write_text(f"{chance.choice('+-')}{chance.randrange(60, 86400)}\n")
    second = subprocess.run(
        run.command(), env=run.environment(), capture_output=True, text=True, timeout=240, cwd=ROOT, check=False
    )
    if process.poll() is None and "is in use" not in second.stderr:
        raise BrokenError(f"a second run was not told to stop: {second.stderr[-600:]}")
    if process.wait(timeout=240):
        raise BrokenError(f"labkit ended with {process.returncode}: {run.said()[-1500:]}")
    if len(run.whole()) != POINTS or sum(run.launched()) != POINTS:
        raise BrokenError(f"{len(run.whole())} of {POINTS} are there, launched {run.launched()}")
    if (run.into / "lease.json").exists():
        raise BrokenError("the lease was left behind")
    times = [line.split()[0] for line in (run.into / "log.txt").read_text().splitlines()]
    if max(abs(_moment(b) - _moment(a)) for a, b in pairwise(times)) < 50:
        raise MissedError("the clock did not jump")
    return run.settle(known)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def disk_full(run: Run, chance: random.Random) -> str:
    """A file system of a few pages in a mount namespace of its own; then the campaign on one with room."""
    room = chance.randrange(60, 900)
    script = f"mkdir -p {run.into} && mount -t tmpfs -o size={room}k labkit {run.into} && "
    script += f'"$@"; status=$?; mkdir {run.folder}/copy && cp -a {run.into}/. {run.folder}/copy; exit $status'
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    process = run.start("unshare", *user, "--mount", "sh", "-c", script, "sh")
    status = process.wait(timeout=200)
    copy = run.folder / "copy"
    if status == 0 and len(list(copy.glob("samples/*/*.parquet"))) < POINTS:
        raise BrokenError("labkit ended with 0 on a full disk")
    if status and "space" not in run.said():
        raise BrokenError(f"a full disk was not named: {run.said()[-600:]}")
    shutil.rmtree(run.into, ignore_errors=True)
    copy.rename(run.into)
    for aside in run.into.rglob(".*"):
        if aside.is_file() and not aside.name.startswith(".progress"):
            raise BrokenError(f"{aside} was left behind")
    return run.settle(len(run.acknowledged()))


def damaged(run: Run, chance: random.Random) -> str:
    """Files lose their end, their right bytes, all their bytes, their permission: each is named, deleted, measured again."""
    if subprocess.run(run.command(), env=run.environment(), capture_output=True, cwd=ROOT, check=False).returncode:
        raise BrokenError("could not be measured")
    files = sorted(run.into.glob("samples/*/*.parquet"))
    known = len(run.acknowledged())
    powerless = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    harms = ("cut", "changed", "emptied", *(["closed"] if not powerless or shutil.which("setpriv") else []))
    for path, harm in zip(chance.sample(files, len(harms)), harms, strict=True):
        content = bytearray(path.read_bytes())
        if harm == "cut":
            del content[chance.randrange(1, len(content)) :]
        elif harm == "changed":
            content[chance.randrange(4, len(content) // 2)] ^= 0x55
        elif harm == "emptied":
            content = bytearray(len(content))  # what some file systems leave of a file after a loss of power
        path.write_bytes(content)
        path.chmod(0 if harm == "closed" else 0o644)
        verify = [*powerless, sys.executable, "-m", "labkit", "verify", str(run.into)]
        done = subprocess.run(verify, env=run.environment(), capture_output=True, text=True, cwd=ROOT, check=False)
        named = [line for line in done.stdout.splitlines() if path.name in line]
        if done.returncode != 1 or len(named) != 1 or "1 of them damaged" not in done.stdout:
            raise BrokenError(f"{path.name} was {harm}, but verify says: {done.stdout[-500:]}{done.stderr[-500:]}")
        path.unlink()
        name = str(path.relative_to(run.into))
        for log in (run.into / "log.txt", run.into / "events.jsonl"):
            log.write_text("".join(line for line in log.read_text().splitlines(True) if name not in line))
    return run.settle(known - len(harms))


def kernel_killed(run: Run, chance: random.Random) -> str:
    """SIGKILL to the kernel of a notebook that measures; the notebook fails, the next run goes on where it was."""
    suite = run.folder / "own.toml"
    text = f'[parameters]\nlaunches = {LAUNCHES}\ntime_cap = 0.3\n[[notebook]]\nname = "10-latency"\n[notebook.parameters]\n'
    suite.write_text(
        text
        + f'sizes = "{SIZES}"\ntransports = "shm"\nallreduce = ""\nclock = false\n[[sweep]]\n[sweep.setting]\nlauncher = ["{run.mpirun}"]\n'
    )
    command = [sys.executable, "-m", "labkit", "run", str(suite), "--into", str(run.into)]
    process = run.start(command=command)
    known = _reached(run, process, chance.randrange(1, POINTS - 2))
    targets = run.processes(lambda words: "ipykernel_launcher" in words)
    if not targets:
        raise MissedError("no kernel")
    os.kill(targets[0], signal.SIGKILL)
    process.wait(timeout=200)
    if not process.returncode:
        raise MissedError("the notebook had just ended")
    run.wait_for_end()
    acknowledged = run.acknowledged()
    there = {str(path.relative_to(run.into)) for path in run.into.glob("samples/*/[!.]*.parquet")}
    for name in there:
        pq.read_table(run.into / name)
    if set(acknowledged) - there or len(acknowledged) != len(set(acknowledged)) or len(acknowledged) < known:
        raise BrokenError(f"acknowledged, but not there: {set(acknowledged) - there}")
    before = len(run.launched())
    again = subprocess.run(
        command, env=run.environment(), capture_output=True, text=True, timeout=300, cwd=ROOT, check=False
    )
    launched = sum(run.launched()[before:])
    if again.returncode or launched != POINTS - len(there):
        raise BrokenError(f"{len(there)} were there, the second run launched {launched}: {again.stdout[-800:]}")
    run.wait_for_end()
    return f"{known} then, {len(there)} kept"


FAULTS: dict[str, Callable[[Run, random.Random], str]] = {
    "SIGKILL to labkit": signalled(signal.SIGKILL),
    "SIGTERM to labkit": signalled(signal.SIGTERM),
    "SIGINT to labkit": signalled(signal.SIGINT),
    "SIGKILL to mpirun": killed(_launcher),
    "SIGKILL to a rank": killed(_rank),
    "SIGKILL to the kernel of a notebook": kernel_killed,
    "disk full": disk_full,
    "clock that jumps": clock_jumped,
    "files damaged": damaged,
}


def tried(fault: str, seed: int) -> str:
    """Provoke a fault once; what was kept, or why a promise was broken."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background hands on that it is ignored
    for again in range(3):
        with tempfile.TemporaryDirectory(prefix="labkit-fault-", ignore_cleanup_errors=True) as folder:
            run = Run(Path(folder))
            try:
                return FAULTS[fault](run, random.Random(f"{fault} {seed} {again}"))
            except MissedError as error:
                missed = str(error)
            finally:
                for pid in run.processes():
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                for process in run.children:
                    process.wait()
    return f"missed: {missed}"


def main() -> None:
    """Write the table."""
    words = [int(word) for word in sys.argv[1:]]
    tries, seed = words[0] if words else 200, words[1] if len(words) > 1 else 1
    others = words[2] if len(words) > 2 else tries
    limit = time.monotonic() + float(os.environ.get("LABKIT_FAULTS_SECONDS", "inf"))
    outcomes: dict[str, list[str]] = {fault: [] for fault in FAULTS}
    for number in range(tries):
        for fault in FAULTS:
            if time.monotonic() > limit or (number >= others and "to labkit" not in fault):
                continue
            try:
                outcome = tried(fault, seed * 1000 + number)
            except (BrokenError, subprocess.TimeoutExpired) as error:
                outcome = f"BROKEN: {error}"
            outcomes[fault].append(outcome)
            print(f"{number + 1:4} of {tries}  {fault:36} {outcome}", flush=True)
            write(outcomes, seed)
    if any(outcome.startswith("BROKEN") for trials in outcomes.values() for outcome in trials):
        raise SystemExit(1)


def write(outcomes: dict[str, list[str]], seed: int) -> None:
    """The table into its page."""
    page = ROOT / "docs" / "reliability.md"
    head = ["fault", "times tried", "as promised", "missed", "acknowledged when it came", "there before the second run"]
    rows = []
    for fault, trials in outcomes.items():
        good = [outcome for outcome in trials if outcome.endswith(" kept")]
        missed = sum(outcome.startswith("missed") for outcome in trials)
        numbers = [sorted(int(outcome.split()[place]) for outcome in good) for place in (0, 2)]
        spans = [f"{points[0]} to {points[-1]} of {POINTS}" if points else "–" for points in numbers]
        rows.append([fault, str(len(trials) - missed), str(len(good)), str(missed), *spans])
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    about = f"`make faults`, {when}, seed {seed}, load average {os.getloadavg()[0]:.1f} at its end:"
    before, _, rest = page.read_text().partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{about}\n\n{table(head, rows, align='lrrrll')}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
