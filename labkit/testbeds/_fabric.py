"""Holder of a virtual cluster as a program: a process for the switches, one for each host, and no name anywhere.

Run by path, with nothing but the standard library::

    python -I -S _fabric.py PLAN

Every namespace is held by its process alone: when these end, however they do, the kernel takes network, host names
and links away. The hosts' processes end when the first one does. It prints one line of JSON: ``{"pids": […]}`` once
all is there, or ``{"error": …}``.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from typing import Any

_NEW = {"mount": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000, "net": 0x40000000}  # sched.h
_BIND, _PRIVATE, _RECURSIVE = 0x1000, 1 << 18, 0x4000  # MS_* of linux/mount.h
_libc = ctypes.CDLL(None, use_errno=True)


class RefusedError(Exception):
    """The kernel or a program said no."""


def _check(result: int, what: str) -> None:
    if result:
        raise RefusedError(f"{what}: {os.strerror(ctypes.get_errno())}")


def _unshare(*kinds: str) -> None:
    """Leave the namespaces of some kinds for new ones."""
    _check(_libc.unshare(sum(_NEW[kind] for kind in kinds)), f"no new namespaces ({', '.join(kinds)})")


def _mount(source: str, target: str, kind: str, flags: int = 0) -> None:
    words = (word.encode() for word in (source, target, kind))
    _check(_libc.mount(*words, ctypes.c_ulong(flags), None), f"mount on {target}")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123 (pathlib starts slowly)
        file.write(text)


def _apart(ordinary: bool) -> None:
    """Namespaces of the switches; an ordinary user becomes root of a user namespace."""
    user, group = os.geteuid(), os.getegid()
    if ordinary:
        _unshare("user")
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"0 {user} 1")
        _write("/proc/self/gid_map", f"0 {group} 1")
    _unshare("net", "mount", "uts", "ipc")
    _mount("none", "/", "none", _PRIVATE | _RECURSIVE)


def _told(program: str, lines: list[str]) -> None:
    """Have ip or tc do all of these lines."""
    if lines:
        text = "".join(f"{line}\n" for line in lines)
        done = subprocess.run([program, "-batch", "-"], input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RefusedError(f"{program}: {done.stderr.strip()}")


def _host(host: dict[str, Any], orders: int, answers: int) -> None:
    """Be a host: own namespaces, then its end of the cable, then nothing until the first process is gone."""
    try:
        os.read(orders, 1)
        _unshare("net", "mount", "uts", "ipc")
        socket.sethostname(host["name"])
        _mount("none", "/dev/shm", "tmpfs")
        _mount("none", "/sys", "sysfs")  # else it shows the interfaces of the machine
        os.write(answers, b"+\n")
        os.read(orders, 1)
        _told("ip", host["ip"])
        _told("tc", host["tc"])
        os.write(answers, b"+\n")
    except (RefusedError, OSError) as error:
        os.write(answers, str(error).encode())
    os.read(orders, 1)  # returns at the end of the first process


def _keep_only(*kept: int) -> None:
    """Close all files but these; another host's would keep that one alive."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(nothing, fd)
    for fd in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        if fd > 2 and fd not in kept:
            with contextlib.suppress(OSError):
                os.close(fd)


def _fork(host: dict[str, Any]) -> tuple[int, int, int]:
    """Process of a host, where to write orders to it, and where to read its answers."""
    orders, order = os.pipe()
    answer, answers = os.pipe()
    pid = os.fork()
    if pid == 0:
        _libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        _keep_only(orders, answers)
        _host(host, orders, answers)
        os._exit(0)
    os.close(orders)
    os.close(answers)
    return pid, order, answer


def _go(hosts: list[tuple[int, int, int]]) -> None:
    """Have every host take its next step, and wait for all."""
    for _, order, _ in hosts:
        os.write(order, b"!")
    said = [os.read(answer, 4096).decode() for _, _, answer in hosts]
    wrong = [text.strip() or "a host is gone" for text in said if text != "+\n"]
    if wrong:
        raise RefusedError(wrong[0])


def _names(plan: dict[str, Any], pids: list[int]) -> None:
    """Every host finds every other by name; the comment is what a remote start looks for."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("127.0.0.1\tlocalhost\n")
        for host, pid in zip(plan["hosts"], pids, strict=True):
            file.write(f"{host['address']}\t{host['name']}\t# process {pid}\n")
        file.flush()
        os.chmod(file.name, 0o644)  # noqa: PTH101
        _mount(file.name, "/etc/hosts", "none", _BIND)  # outlives the file's name


def main() -> int:
    """Make what the plan says, and hold it."""
    plan = json.loads(sys.argv[1])
    try:
        _apart(plan["ordinary"])
        hosts = [_fork(host) for host in plan["hosts"]]
        pids = [pid for pid, _, _ in hosts]
        _names(plan, pids)
        _go(hosts)
        _told("ip", [line.format(*pids) for line in plan["ip"]])
        _told("tc", plan["tc"])
        _go(hosts)
    except (RefusedError, OSError) as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        return 1
    sys.stdout.write(json.dumps({"pids": [os.getpid(), *pids]}) + "\n")
    sys.stdout.flush()
    signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
