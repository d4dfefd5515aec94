"""A guest: a kernel of the distribution in qemu, on this machine's root file system, which it reads but does not write.

It needs no image, no network and no KVM. 9p shares the root below an overlay in memory. Commands and their output go
through serial ports, one for each command that runs at the same time. The supervisor ends the guest with its owner, and
removes its folder.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import LaunchError, SpecError
from labkit.io import supervise

_HERE = Path(__file__).parent
_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
_MACHINE = {"x86_64": "q35", "aarch64": "virt"}
PORTS = 14  # commands at the same time
BOOT_S = 60.0  # processor time of qemu, which other work on the machine hardly lengthens; about 6 s is usual
IDLE_S = 60.0  # wall time in which a booting guest uses more than `IDLE_SHARE` of the processor time it could get
IDLE_SHARE = 0.1
ATTEMPTS = 2
CONSOLE_LINES = 12  # in an error
LIFETIME_S = 4 * 3600  # a guest ends after that, whatever its owner does

# run qemu, then remove its folder; a signal ends qemu, but not the rm
_KEEP = """
folder=$1; shift
clear() { trap '' TERM INT HUP; kill "$child" 2>/dev/null; wait "$child"; rm -rf "$folder"; }
trap 'clear; exit 143' TERM INT HUP
"$@" & child=$!
trap '' PIPE
wait "$child"; status=$?
clear
exit "$status"
"""


@dataclass(frozen=True)
class Guest:
    """A guest that runs.

    Parameters
    ----------
    folder : folder with its ports.
    """

    folder: str

    def words(self, *variables: str) -> tuple[str, ...]:
        """Return the words before a command that run it in the guest; `variables` are ``NAME=value``."""
        return (sys.executable, "-I", "-S", str(_HERE / "_guest_exec.py"), self.folder, *variables, "--")

    def run(self, command: Sequence[str], *, limit: float = 120.0) -> str:
        """Run a command; return its standard output.

        Parameters
        ----------
        limit : time limit in s.

        Raises
        ------
        LaunchError
            If it fails, or does not end in time.
        """
        try:
            done = subprocess.run(
                [*self.words(), *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            raise LaunchError(f"The command in the guest did not finish within {limit:g} s.", command=command) from None
        if done.returncode:
            text = "A command in the guest failed."
            raise LaunchError(text, command=command, exit_status=done.returncode, stderr=done.stderr)
        return done.stdout


def kernel(
    required: Sequence[str], boot: Path = Path("/boot"), modules: Path = Path("/lib/modules")
) -> tuple[str, Path]:
    """Return release and image of the newest kernel on this machine that has some modules.

    Parameters
    ----------
    required : names of modules, such as ``rdma_rxe``.

    Raises
    ------
    LaunchError
        If there is none.
    """
    candidates = []
    for folder in modules.glob("*"):
        release = folder.name
        images = [image for image in (boot / f"vmlinuz-{release}", folder / "vmlinuz") if os.access(image, os.R_OK)]
        built = "\n".join(
            (folder / name).read_text() for name in ("modules.dep", "modules.builtin") if (folder / name).exists()
        )
        if images and all(f"/{name}.ko" in built for name in required):
            candidates.append((_version_numbers(release), release, images[0]))
    if not candidates:
        raise LaunchError(
            f"There is no readable kernel with {', '.join(required)} in {boot}. Install Debian package "
            f"linux-image-{'amd64' if platform.machine() == 'x86_64' else 'arm64'} (not the cloud kernel)."
        )
    return max(candidates)[1:]


def _version_numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of a release, for comparing."""
    return tuple(int(part) for part in release.replace("-", ".").split(".") if part.isdecimal())


def missing(programs: Mapping[str, str]) -> list[str]:
    """Return the Debian packages of those programs and files that are not installed."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    return sorted(
        {
            package
            for name, package in programs.items()
            if not (Path(name).exists() if name.startswith("/") else shutil.which(name, path=path))
        }
    )


def needs() -> dict[str, str]:
    """Return programs that any guest needs → Debian package of each."""
    machine = platform.machine()
    if machine not in _MACHINE:
        raise SpecError(f"This machine is a {machine}; but guests need {' or '.join(_MACHINE)}. Use another machine.")
    return {
        f"qemu-system-{machine}": f"qemu-system-{'x86' if machine == 'x86_64' else 'arm'}",
        "/bin/busybox": "busybox-static",
        "cpio": "cpio",
        "modprobe": "kmod",
    }


@contextmanager
def boot(
    *, required: Sequence[str], cpus: int, memory: str, accel: str = "tcg", limit: float = BOOT_S
) -> Iterator[Guest]:
    """Boot a guest and wait until it answers; try once more if it does not.

    Parameters
    ----------
    required : modules that its kernel must have.
    cpus, memory : processors and memory of the guest; memory in qemu's notation.
    accel : ``tcg`` emulates and works everywhere; ``kvm`` is fast, if the machine has it.
    limit : processor time of qemu in s until it must answer.

    Raises
    ------
    LaunchError
        If there is no such kernel, or the guest does not answer; with the end of its console.
    """
    release, image = kernel(required)
    for attempt in range(1, ATTEMPTS + 1):
        folder = Path(tempfile.mkdtemp(prefix="labkit-guest-"))
        try:
            _initrd(folder, release)
            for number in range(PORTS):
                (folder / f"lock{number}").touch()
            # the second attempt logs its progress to the console
            command = _qemu(folder, image, cpus, memory, accel, quiet=attempt < ATTEMPTS)
            tree = supervise.start(["sh", "-c", _KEEP, "sh", str(folder), *command], cwd="/", grace=5.0)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        with tree:
            guest = Guest(str(folder))
            if not (reason := _awaited(guest, tree, limit)):
                yield guest
                return
            console = folder / "console"
            console_text = console.read_text(errors="replace") if console.exists() else ""
            tree.stop()
    raise LaunchError(_unanswered(f"{reason} It ran kernel {release}.", console_text, tree.stderr_text()))


def _awaited(guest: Guest, tree: supervise.Tree, limit: float) -> str:
    """Wait until a guest answers; return why it does not, empty if it does."""
    watch = Boot(limit)
    while tree.poll() is None:
        if reason := watch.over(time.monotonic(), *_used(guest.folder)):
            return reason
        try:
            guest.run(["true"], limit=5.0)
        except LaunchError:
            time.sleep(0.2)
        else:
            return ""
    return f"The guest stopped while it booted (exit status {tree.poll()})."


@dataclass
class Boot:
    """Decide when to give up on a guest that does not answer.

    Parameters
    ----------
    limit : processor time of qemu, s.
    """

    limit: float
    since: float = 0.0  # start of the current interval of `IDLE_S`, clock time, s
    used: float = 0.0  # processor time then, s
    waited: float = 0.0  # time that qemu had waited for a processor until then, s
    begun: bool = False

    def over(self, now: float, used: float, waited: float) -> str:
        """Return why the guest has run out of time; empty if it has not.

        Parameters
        ----------
        now : of a clock, s.
        used, waited : processor time of qemu since its start, and the time it has waited for a processor, s.

        Examples
        --------
        On a loaded machine a guest gets its processor time late, so labkit waits longer.

        >>> watch = Boot(60)
        >>> [watch.over(now, used=now / 10, waited=now * 0.9) for now in (0.0, 100.0, 300.0, 500.0)]
        ['', '', '', '']
        >>> watch.over(601.0, used=60.1, waited=541.0)
        'The guest did not answer within 60 s of processor time.'
        """
        if used > self.limit:
            return f"The guest did not answer within {self.limit:g} s of processor time."
        if self.begun and now - self.since < IDLE_S:
            return ""
        wanted = used - self.used + waited - self.waited
        idle = self.begun and wanted < IDLE_SHARE * (now - self.since)
        self.since, self.used, self.waited, self.begun = now, used, waited, True
        return f"The guest did not answer, and used hardly any processor time for {IDLE_S:g} s." if idle else ""


def _used(folder: str) -> tuple[float, float]:
    """Return the processor time of a guest's qemu, and how long its threads waited for a processor, s."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # it ended meanwhile
            if entry.name.isdecimal() and _is_qemu((entry / "cmdline").read_bytes(), folder):
                rows = [path.read_text().split() for path in entry.glob("task/*/schedstat")]
                return sum(int(row[0]) for row in rows) / 1e9, sum(int(row[1]) for row in rows) / 1e9
    return 0.0, 0.0


def _is_qemu(words: bytes, folder: str) -> bool:
    """Whether a command line starts a guest's qemu."""
    program = words.partition(b"\0")[0]
    return Path(os.fsdecode(program)).name.startswith("qemu-system-") and f"file:{folder}/console".encode() in words


def _unanswered(reason: str, console: str, stderr: str) -> str:
    """Return the message about a guest that does not answer, with the last lines of its console."""
    lines = [line for line in console.replace("\r", "").splitlines() if line.strip()][-CONSOLE_LINES:]
    said = "\n".join(f"  {line[:200]}" for line in lines)
    parts = [f"{reason} labkit tried {ATTEMPTS} times."]
    parts.append(f"The last lines of its console:\n{said}" if lines else "Its console is empty.")
    if stderr.strip():
        parts.append(f"qemu: {stderr.strip()[-400:]}")
    return "\n".join(parts)


def _qemu(folder: Path, image: Path, cpus: int, memory: str, accel: str, *, quiet: bool) -> list[str]:
    """Return the command line of qemu."""
    machine, fast = platform.machine(), accel == "kvm"
    serial = "ttyS0" if machine == "x86_64" else "ttyAMA0"
    command = [
        "timeout",
        "--kill-after=5",
        str(LIFETIME_S),
        f"qemu-system-{machine}",
        "-M",
        _MACHINE[machine],
        "-accel",
        "kvm" if fast else "tcg,thread=multi",
        "-cpu",
        "host" if fast else "max",
        "-smp",
        str(cpus),
        "-m",
        memory,
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
        "-net",
        "none",
        "-serial",
        f"file:{folder}/console",
        "-fsdev",
        "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
        "-device",
        "virtio-9p-pci,fsdev=root,mount_tag=hostroot",
        "-device",
        "virtio-serial-pci,max_ports=31",
        "-kernel",
        str(image),
        "-initrd",
        f"{folder}/initrd",
        "-append",
        f"console={serial} {'quiet loglevel=3' if quiet else 'loglevel=6'} panic=-1 mitigations=off audit=0 selinux=0"
        + " apparmor=0"
        + ("" if fast else " tsc=unstable"),
    ]
    for number in range(PORTS):
        command += [
            "-chardev",
            f"socket,id=port{number},path={folder}/port{number},server=on,wait=off",
            "-device",
            f"virtserialport,chardev=port{number},name=labkit.{number}",
        ]
    return command


def _initrd(folder: Path, release: str) -> None:
    """Make the initrd of the guest: busybox, the modules that reach this machine's root, the agent."""
    root = folder / "root"
    for name in ("bin", "modules", "proc", "sys", "dev", "lower", "upper", "new"):
        (root / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin")
    for name in ("sh", "mount", "insmod", "switch_root", "mkdir", "cp", "poweroff"):
        (root / "bin" / name).symlink_to("busybox")
    for number, module in enumerate(_modules(release)):
        _unpacked(module, root / "modules" / f"{number:02}-{module.name.partition('.ko')[0]}.ko")
    for name, source in {"init": "_guest_init.sh", "run.sh": "_guest_run.sh", "agent.py": "_guest_agent.py"}.items():
        shutil.copy(_HERE / source, root / name)
        (root / name).chmod(0o755)
    listing = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    with (folder / "initrd").open("wb") as archive:
        subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=listing.encode(), stdout=archive, check=True
        )
    shutil.rmtree(root)


def _modules(release: str) -> list[Path]:
    """Return the files of the first modules and their dependencies, in the order of loading."""
    program, files = shutil.which("modprobe", path="/usr/sbin:/sbin:/usr/bin:/bin") or "modprobe", dict[Path, None]()
    for name in _MODULES:
        command = [program, "-S", release, "--show-depends", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LaunchError(
                f"Kernel {release} has no {name}. Install the full kernel of the distribution.",
                command=command,
                exit_status=done.returncode,
                stderr=done.stderr,
            )
        lines = (shlex.split(line) for line in done.stdout.splitlines())
        files |= {Path(words[1]): None for words in lines if words[0] == "insmod"}
    return list(files)


def _unpacked(module: Path, target: Path) -> None:
    """Copy a module, decompressed, because busybox reads no compressed ones."""
    program = {".xz": "xz", ".zst": "zstd", ".gz": "gzip"}.get(module.suffix)
    if program is None:
        shutil.copy(module, target)
        return
    with target.open("wb") as plain:
        subprocess.run([program, "-dc", str(module)], stdout=plain, check=True)
