"""Faults on purpose, with an oracle outside labkit: log.txt, Parquet's own reader, and an mpirun that notes what it starts.

``python tests/faults.py [TRIES [SEED]]`` provokes every fault that many times and writes the table of docs/reliability.md.
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
from pathlib import Path

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
MARK = "LABKIT_FAULT"
ITERATIONS, LAUNCHES, SIZES = 3000, 2, "1:256"
POINTS = 9 * LAUNCHES
WRAPPER = """#!{python} -S
import os, sys
if len(sys.argv) > 3:
    with open({log!r}, "a") as file:
        file.write(sys.argv[-1] + "\\n")
os.execv({mpirun!r}, [{mpirun!r}, *sys.argv[1:]])
"""
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


class BrokenError(AssertionError):
    """A promise was not kept."""


class Run:
    """One campaign that something happens to.

    Parameters
    ----------
    folder : an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.into, self.name = folder, folder / "c", f"{os.getpid()}-{random.getrandbits(48):x}"
        self.started = folder / "started"
        self.mpirun = folder / "mpirun"
        places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        real = shutil.which("mpirun", path=places) or "mpirun"
        self.mpirun.write_text(WRAPPER.format(python=sys.executable, log=str(self.started), mpirun=real))
        self.mpirun.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LABKIT_LEASE")}
        return clean | {MARK: self.name, "LABKIT_CAMPAIGNS": str(self.folder)} | more

    def command(self) -> list[str]:
        asked = ["-m", SIZES, "-i", str(ITERATIONS), "--launches", str(LAUNCHES), "--time-limit", "20"]
        asked += ["--launcher", str(self.mpirun)]
        where = ["--transport", "shm", "--into", str(self.into), "--format", "csv"]
        return [sys.executable, "-m", "labkit.cli", "measure", "mpi.latency", *asked, *where]

    def start(self, *prefix: str, command: list[str] | None = None, **more: str) -> subprocess.Popen[str]:
        """Start labkit with nothing between it and us."""
        with (self.folder / "said").open("w") as out:
            return subprocess.Popen(
                [*prefix, *(command or self.command())], env=self.environment(**more), stdout=subprocess.DEVNULL,
                stderr=out, text=True, cwd=ROOT,
            )  # fmt: skip

    def said(self) -> str:
        """What labkit wrote on standard error."""
        return (self.folder / "said").read_text()

    def processes(self, word: str = "") -> list[int]:
        """Processes of this run, by a variable they inherit; those alone whose command line holds a word."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                ours = f"{MARK}={self.name}\0".encode() in (entry / "environ").read_bytes() + b"\0"
                alive = ours and " Z " not in (entry / "stat").read_text()
                if alive and word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def acknowledged(self) -> list[str]:
        """Files that log.txt says are saved."""
        log = self.into / "log.txt"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return [line.split()[-1] for line in lines if " saved " in line]

    def launched(self) -> list[int]:
        """Points of every start of ranks, from the plan on its command line."""
        words = self.started.read_text().split() if self.started.exists() else []
        return [len(json.loads(zlib.decompress(base64.urlsafe_b64decode(word)))["points"]) for word in words]

    def whole(self) -> set[str]:
        """Samples files that Parquet's own reader reads, with as many rows as were asked for; others break the promise."""
        found = set()
        for path in self.into.glob("samples/*/[!.]*.parquet"):
            rows = pq.read_table(path).num_rows
            if rows != ITERATIONS:
                raise BrokenError(f"{path} has {rows} rows, not {ITERATIONS}")
            found.add(str(path.relative_to(self.into)))
        return found

    def wait_for_end(self, seconds: float = 60) -> None:
        """Nothing of the run may go on."""
        until = time.monotonic() + seconds
        while self.processes():
            if time.monotonic() > until:
                raise BrokenError(f"goes on after {seconds:.0f} s: {[commandline(pid) for pid in self.processes()]}")
            time.sleep(0.1)

    def settle(self, *, lost: int = 0) -> str:
        """Check what is there, run again, and check that exactly the rest was launched."""
        self.wait_for_end()
        told, there = self.acknowledged(), self.whole()
        if len(told) != len(set(told)) or len(set(told) - there) != lost:
            raise BrokenError(f"acknowledged {len(told)}, of which {sorted(set(told) - there)} are not there")
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
        return f"{len(there)} kept"


def commandline(pid: int) -> str:
    """A process for a message."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120]
    except OSError:
        return "gone"


def _killed(run: Run, chance: random.Random, number: int, word: str = "") -> str:
    """A signal at a random moment, to labkit or to a process of the run with a word in its command line."""
    process = run.start()
    until = time.monotonic() + 60
    while not run.launched() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)  # ranks are being started
    time.sleep(chance.uniform(0, 2.5))
    targets = run.processes(word) if word else [process.pid]
    if targets:
        with suppress(ProcessLookupError):
            os.kill(chance.choice(targets), number)
    process.wait(timeout=120)
    return run.settle()


def signalled(number: int) -> Callable[[Run, random.Random], str]:
    """A signal to labkit."""
    return lambda run, chance: _killed(run, chance, number)


def mpirun_killed(run: Run, chance: random.Random) -> str:
    """SIGKILL to the launcher; labkit starts the point anew."""
    return _killed(run, chance, signal.SIGKILL, "mpirun")


def rank_killed(run: Run, chance: random.Random) -> str:
    """SIGKILL to a rank; labkit starts the point anew."""
    return _killed(run, chance, signal.SIGKILL, "labkit.worker")


def disk_full(run: Run, chance: random.Random) -> str:
    """A file system of a few pages in a mount namespace of its own; then the campaign on one with room."""
    room = chance.randrange(40, 200)
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
    return run.settle()


def truncated(run: Run, chance: random.Random) -> str:
    """A finished file loses its end, another its right bytes; both are named, deleted by hand, and measured again."""
    if subprocess.run(run.command(), env=run.environment(), capture_output=True, cwd=ROOT, check=False).returncode:
        raise BrokenError("could not be measured")
    files = sorted(run.into.glob("samples/*/*.parquet"))
    for path, harm in zip(chance.sample(files, 2), ("cut", "changed"), strict=True):
        content = bytearray(path.read_bytes())
        if harm == "cut":
            del content[chance.randrange(len(content)) :]
        else:
            content[chance.randrange(4, len(content) // 2)] ^= 0x55
        path.write_bytes(content)
        verify = [sys.executable, "-m", "labkit.cli", "verify", str(run.into)]
        done = subprocess.run(verify, env=run.environment(), capture_output=True, text=True, cwd=ROOT, check=False)
        if done.returncode != 1 or path.name not in done.stdout + done.stderr:
            raise BrokenError(f"{path.name} was {harm}, but verify says: {done.stdout[-500:]}{done.stderr[-500:]}")
        path.unlink()
    (run.into / "log.txt").write_text("")
    return run.settle()


def kernel_killed(run: Run, chance: random.Random) -> str:
    """SIGKILL to the kernel of a notebook that measures; the notebook fails, the next run goes on where it was."""
    suite = run.folder / "own.toml"
    text = f'[parameters]\nlaunches = {LAUNCHES}\ntime_cap = 0.3\n[[notebook]]\nname = "10-latency"\n[notebook.parameters]\n'
    suite.write_text(
        text
        + f'sizes = "{SIZES}"\ntransports = "shm"\nallreduce = ""\nclock = false\n[[sweep]]\n[sweep.setting]\nlauncher = ["{run.mpirun}"]\n'
    )
    command = [sys.executable, "-m", "labkit.cli", "run", str(suite), "--into", str(run.into)]
    process = run.start(command=command)
    while not run.launched() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(chance.uniform(0, 2.5))
    for pid in run.processes("ipykernel_launcher")[:1]:
        os.kill(pid, signal.SIGKILL)
    process.wait(timeout=200)
    run.wait_for_end()
    told = run.acknowledged()
    there = {str(path.relative_to(run.into)) for path in run.into.glob("samples/*/[!.]*.parquet")}
    for name in there:
        pq.read_table(run.into / name)
    if set(told) - there or len(told) != len(set(told)):
        raise BrokenError(f"acknowledged, but not there: {set(told) - there}")
    before = len(run.launched())
    again = subprocess.run(
        command, env=run.environment(), capture_output=True, text=True, timeout=300, cwd=ROOT, check=False
    )
    launched = sum(run.launched()[before:])
    if again.returncode or launched != POINTS - len(there):
        raise BrokenError(f"{len(there)} were there, the second run launched {launched}: {again.stdout[-800:]}")
    run.wait_for_end()
    return f"{len(there)} kept"


FAULTS: dict[str, Callable[[Run, random.Random], str]] = {
    "SIGKILL to labkit": signalled(signal.SIGKILL),
    "SIGTERM to labkit": signalled(signal.SIGTERM),
    "SIGINT to labkit": signalled(signal.SIGINT),
    "SIGKILL to mpirun": mpirun_killed,
    "SIGKILL to a rank": rank_killed,
    "SIGKILL to the kernel of a notebook": kernel_killed,
    "disk full": disk_full,
    "files cut off and changed": truncated,
}


def tried(fault: str, seed: int) -> str:
    """Provoke a fault once; what was kept, or why a promise was broken."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background hands on that it is ignored
    with tempfile.TemporaryDirectory(prefix="labkit-fault-", ignore_cleanup_errors=True) as folder:
        run = Run(Path(folder))
        try:
            return FAULTS[fault](run, random.Random(seed))
        finally:
            for pid in run.processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def main() -> None:
    """Write the table."""
    words = [int(word) for word in sys.argv[1:]]
    tries, seed = words[0] if words else 200, words[1] if len(words) > 1 else 1
    limit = time.monotonic() + float(os.environ.get("LABKIT_FAULTS_SECONDS", "inf"))
    outcomes: dict[str, list[str]] = {fault: [] for fault in FAULTS}
    for number in range(tries):
        for fault in FAULTS:
            if time.monotonic() > limit:
                break
            try:
                outcome = tried(fault, seed * 1000 + number)
            except (BrokenError, subprocess.TimeoutExpired) as error:
                outcome = f"BROKEN: {error}"
            outcomes[fault].append(outcome)
            print(f"{number + 1:4} of {tries}  {fault:36} {outcome}", flush=True)
            write(outcomes, seed)
    if any(outcome.startswith("BROKEN") for found in outcomes.values() for outcome in found):
        raise SystemExit(1)


def write(outcomes: dict[str, list[str]], seed: int) -> None:
    """The table into its page."""
    page = ROOT / "docs" / "reliability.md"
    rows = ["| fault | times tried | as promised | points kept before the second run |", "|:--|--:|--:|:--|"]
    for fault, found in outcomes.items():
        good = [outcome for outcome in found if outcome.endswith(" kept")]
        kept = sorted(int(outcome.split()[0]) for outcome in good)
        span = f"{kept[0]} to {kept[-1]} of {POINTS}" if kept else "–"
        rows.append(f"| {fault} | {len(found)} | {len(good)} | {span} |")
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    table = "\n".join(
        [f"`make faults`, {when}, seed {seed}, load average {os.getloadavg()[0]:.1f} at its end:", "", *rows]
    )
    head, _, rest = page.read_text().partition(BEGIN)
    page.write_text(f"{head}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
