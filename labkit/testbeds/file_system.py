"""A file system on a loop device of this machine, or another one that is mounted for the run: for storage benchmarks.

`file-system:ext4`, `xfs` and `btrfs` are newly made in a file of `size`, which the kernel mounts over a loop device.
`fuse2fs` serves an ext4 in such a file from user space (FUSE), and `tmpfs` has no device. `nfs` mounts the export
`source` of a server. Benchmarks of files work there if they name no directory. Mounting needs root.

The loop device lies on the file system of temporary files and uses its page cache. The numbers therefore compare file
systems on this machine with one another, not with a disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from labkit.errors import LaunchError, SpecError, unknown_name
from labkit.io import scratch
from labkit.io.mounts import mount_of, mounts
from labkit.point.notes import badge
from labkit.point.units import MiB, format_size, parse_size
from labkit.testbeds import Kind, Testbed

# command that makes it in a file, and the Debian package with its commands; fuse2fs and NFS have one of their own
_MAKERS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "ext4": (("mkfs.ext4", "-q", "-F"), "e2fsprogs"),
    "xfs": (("mkfs.xfs", "-q", "-f"), "xfsprogs"),
    "btrfs": (("mkfs.btrfs", "-q", "-f"), "btrfs-progs"),
    "fuse2fs": (("mkfs.ext4", "-q", "-F"), "e2fsprogs"),
}
KINDS = (*_MAKERS, "tmpfs", "nfs")
_BEGINS, _POINT = "labkit-file-system-", "mounted"
_LEAST = 300 * MiB  # mkfs.xfs takes no less
_SIZE = "1Gi"
_ADMIN = 1 << 21  # CAP_SYS_ADMIN of capabilities(7)
_PATIENCE_S = 60.0


def settled(argument: str, options: Mapping[str, str]) -> tuple[str, int, str]:
    """Return kind, size in B, and source.

    Raises
    ------
    SpecError
        If one of them cannot be.
    """
    if argument not in KINDS:
        raise unknown_name("file system", argument, list(KINDS))
    for name in options:
        if name not in ("size", "source"):
            raise unknown_name("option of file-system", name, ["size", "source"])
    source = options.get("source", "")
    if (argument == "nfs") != bool(source):
        wanted = "file-system:nfs,source=SERVER:/EXPORT" if argument == "nfs" else "no source"
        raise SpecError(f"testbed file-system:{argument} has source={source!r}. Set {wanted}.")
    if argument == "nfs" and "size" in options:
        raise SpecError("testbed file-system:nfs has a size, but its server decides that. Leave size out.")
    size = parse_size(options.get("size", _SIZE))
    if size < _LEAST:
        raise SpecError(f"size={options['size']}, but a file system needs {format_size(_LEAST)} or more. Set size=1Gi.")
    return argument, size, source


@cache
def lacks(argument: str) -> str:
    """Say why this machine cannot mount a file system; empty if nothing is known to be missing."""
    maker, package = _MAKERS.get(argument, ((), ""))
    commands = {maker[0]: package} if maker else {}
    commands |= {"fuse2fs": {"fuse2fs": "fuse2fs"}, "nfs": {"mount.nfs": "nfs-common"}}.get(argument, {})
    missing = {name: package for name, package in commands.items() if not _command(name)}
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        return f"it needs {', '.join(missing)}. Install with 'sudo apt-get install {packages}'."
    if not _capable():
        return "mounting needs root. Run labkit as root."
    driver = {"fuse2fs": "fuse"}.get(argument, argument)
    if driver not in _known() and not _loadable(driver):
        return f"this kernel has no {driver}. Use a machine whose /proc/filesystems lists it."
    if maker and argument != "fuse2fs" and not Path("/dev/loop-control").exists():
        return "this machine has no loop devices (/dev/loop-control)."
    return ""


def _capable() -> bool:
    """Whether this process may mount."""
    lines = Path("/proc/self/status").read_text().splitlines()
    held = next((line.split()[1] for line in lines if line.startswith("CapEff")), "0")
    return os.geteuid() == 0 and bool(int(held, 16) & _ADMIN)


def _known() -> set[str]:
    return {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines() if line}


def _loadable(driver: str) -> bool:
    """Whether the kernel has a module for a file system."""
    modprobe = _command("modprobe")
    return bool(modprobe) and not subprocess.run([modprobe, "-n", "-q", driver], check=False).returncode


def _command(name: str) -> str:
    """Path of a command, which may be one for root; empty if it is not there."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin") or ""


def outline(argument: str, options: Mapping[str, str]) -> Testbed:
    """Return the testbed; where it is mounted is known when it is up."""
    kind, size, source = settled(argument, options)
    facts = {"kind": kind, "source": source} if source else {"kind": kind, "size_B": size}
    badges = () if kind in ("tmpfs", "nfs") else (badge("loop device"),)
    return Testbed(f"file-system:{kind}", badges=badges, facts=facts, directory="its folder")


@contextmanager
def open(argument: str, options: Mapping[str, str]) -> Iterator[Testbed]:
    """Make the file system, mount it, and unmount and remove it at the end.

    Raises
    ------
    LaunchError
        If it cannot be mounted here, or there is no room for its file.
    """
    kind, size, source = settled(argument, options)
    made = outline(argument, options)
    if why := lacks(kind):
        raise LaunchError(f"testbed file-system:{kind} cannot be mounted here: {why}")
    with scratch.folder(_BEGINS, release=lambda left: _unmount(left / _POINT)) as folder:
        point = folder / _POINT
        point.mkdir()
        free = shutil.disk_usage(folder).free
        if kind in _MAKERS and free < size:
            raise LaunchError(f"{folder} has {free} B free, but size={size}. Set a smaller size, or TMPDIR.")
        try:
            _mount(kind, size, source, folder / "image", point)
            point.chmod(0o1777)
            facts = {**made.facts, "mount_options": mount_of(point).options}
            yield replace(made, directory=str(point), facts=facts)
        finally:
            _unmount(point)


def _mount(kind: str, size: int, source: str, image: Path, point: Path) -> None:
    """Make a file system, if it is a new one, and mount it."""
    if kind in _MAKERS:
        with image.open("wb") as file:
            file.truncate(size)
        _run([*_MAKERS[kind][0], str(image)])
    if kind == "fuse2fs":
        _run(["fuse2fs", str(image), str(point), "-o", "fakeroot"])
    elif kind == "tmpfs":
        _run(["mount", "-t", "tmpfs", "-o", f"size={size}", "labkit", str(point)])
    elif kind == "nfs":
        _run(["mount", "-t", "nfs", source, str(point)])
    else:
        _run(["mount", "-t", kind, "-o", "loop", str(image), str(point)])
    until = time.monotonic() + _PATIENCE_S
    while not _mounted(point):  # a server in user space comes up after its command has ended
        if time.monotonic() > until:
            raise LaunchError(f"file-system:{kind} is not mounted after {_PATIENCE_S:g} s. See dmesg.")
        time.sleep(0.01)


def _mounted(point: Path) -> bool:
    return any(one.point == str(point.resolve()) for one in mounts())


def _unmount(point: Path) -> None:
    """Unmount; a file system that is still in use disappears when it is not."""
    if _mounted(point) and subprocess.run(["umount", str(point)], check=False, capture_output=True).returncode:
        subprocess.run(["umount", "-l", str(point)], check=False, capture_output=True)


def _run(command: Sequence[str]) -> None:
    words = [_command(command[0]) or command[0], *command[1:]]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        raise LaunchError(f"{' '.join(command)} failed: {said[0]}. Choose another file system.")


TESTBED = Kind(open=open, outline=outline, argument="kind", lacks=lambda argument, options: lacks(argument))
