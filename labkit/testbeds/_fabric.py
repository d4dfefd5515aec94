"""Program that holds a virtual cluster: a process for the switches, and one for each host.

Run by path, with nothing but the standard library::

    python -I -S _fabric.py PLAN

Only its process holds a namespace: when the processes end, for any reason, the kernel removes network, host names and
links. The hosts' processes end when the first one does. The program prints one line of JSON: ``{"pids": […]}`` when
the cluster is complete, or ``{"error": …}``.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from typing import TypedDict

_NEW = {"mount": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000, "net": 0x40000000}  # sched.h
_BIND, _PRIVATE, _RECURSIVE = 0x1000, 1 << 18, 0x4000  # MS_* of linux/mount.h
_SET_TAP, _TAP, _ONLY_FRAMES = 0x400454CA, 0x0002, 0x1000  # TUNSETIFF, IFF_TAP, IFF_NO_PI of linux/if_tun.h
_libc = ctypes.CDLL(None, use_errno=True)


class HostPlan(TypedDict):
    """A host: name and address, lines for ``ip -batch`` and ``tc -batch``, and values of files below /proc/sys."""

    name: str
    address: str
    ip: list[str]
    tc: list[str]
    settings: dict[str, str]


class Plan(TypedDict):
    """A cluster.

    ``ip`` and ``tc`` are lines of the switches; ``{n}`` stands for the process of host n. ``ordinary`` is whether the
    user is not root. ``cables`` has the two ends of each cable, TAP devices that the command ``relay`` connects, where
    ``{n}`` represents the file of end n; empty for veth pairs.
    """

    ordinary: bool
    hosts: list[HostPlan]
    ip: list[str]
    tc: list[str]
    cables: list[tuple[str, str]]
    relay: list[str]


class RefusedError(Exception):
    """The kernel or a program refused."""


def _check(result: int, what: str) -> None:
    if result:
        raise RefusedError(f"{what}: {os.strerror(ctypes.get_errno())}")


def _unshare(*kinds: str) -> None:
    """Move this process to new namespaces of some kinds."""
    _check(_libc.unshare(sum(_NEW[kind] for kind in kinds)), f"no new namespaces ({', '.join(kinds)})")


def _mount(source: str, target: str, kind: str, flags: int = 0) -> None:
    words = (word.encode() for word in (source, target, kind))
    _check(_libc.mount(*words, ctypes.c_ulong(flags), None), f"mount on {target}")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:  # noqa: PTH123 (pathlib starts slowly)
        file.write(text)


def _switch_namespaces(ordinary: bool) -> None:
    """Make the namespaces of the switches; an ordinary user becomes root of a user namespace."""
    user, group = os.geteuid(), os.getegid()
    if ordinary:
        _unshare("user")
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"0 {user} 1")
        _write("/proc/self/gid_map", f"0 {group} 1")
    _unshare("net", "mount", "uts", "ipc")
    _mount("none", "/", "none", _PRIVATE | _RECURSIVE)


def _batch(program: str, lines: list[str]) -> None:
    """Run all lines by ``ip -batch`` or ``tc -batch``."""
    if lines:
        text = "".join(f"{line}\n" for line in lines)
        done = subprocess.run([program, "-batch", "-"], input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RefusedError(f"{program}: {done.stderr.strip()}")


def _host(host: HostPlan, order_pipe: int, answer_pipe: int) -> None:
    """Act as a host: make its namespaces, then its end of the cable, then wait for the end of the first process."""
    try:
        os.read(order_pipe, 1)
        _unshare("net", "mount", "uts", "ipc")
        socket.sethostname(host["name"])
        _mount("none", "/dev/shm", "tmpfs")
        _mount("none", "/sys", "sysfs")  # without this, it shows the interfaces of the machine
        os.write(answer_pipe, b"+\n")
        os.read(order_pipe, 1)
        _batch("ip", host["ip"])
        _batch("tc", host["tc"])
        for name, value in host["settings"].items():
            _write(f"/proc/sys/{name}", value)
        os.write(answer_pipe, b"+\n")
    except (RefusedError, OSError) as error:
        os.write(answer_pipe, str(error).encode())
    os.read(order_pipe, 1)  # returns at the end of the first process


def _keep_only(*needed: int) -> None:
    """Close all files but these; a pipe of another host would keep that host alive."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    for fd in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        if fd > 2 and fd not in needed:
            with contextlib.suppress(OSError):
                os.close(fd)


def _fork(host: HostPlan) -> tuple[int, int, int]:
    """Fork a host; return its process, the pipe for orders to it, and the pipe of its answers."""
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


def _step(hosts: list[tuple[int, int, int]]) -> None:
    """Let every host take its next step, and wait for all."""
    for _, order, _ in hosts:
        os.write(order, b"!")
    answers = [os.read(answer, 4096).decode() for _, _, answer in hosts]
    errors = [text.strip() or "a host is gone" for text in answers if text != "+\n"]
    if errors:
        raise RefusedError(errors[0])


def _mount_hosts_file(plan: Plan, pids: list[int]) -> None:
    """Mount /etc/hosts with the names of all hosts. A remote start reads the process from the comment."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("127.0.0.1\tlocalhost\n")
        for host, pid in zip(plan["hosts"], pids, strict=True):
            file.write(f"{host['address']}\t{host['name']}\t# process {pid}\n")
        file.flush()
        os.chmod(file.name, 0o644)  # noqa: PTH101
        _mount(file.name, "/etc/hosts", "none", _BIND)  # outlives the file's name


def _tap(name: str) -> int:
    """Make a TAP device, and return the file of its frames."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, _SET_TAP, struct.pack("16sH22x", name.encode(), _TAP | _ONLY_FRAMES))
    return fd


def _start_relay(words: list[str], fds: list[int]) -> None:
    """Start the program that carries frames between the ends of all cables; it ends with this process."""
    if os.fork() == 0:
        _libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        _keep_only(*fds)
        for fd in fds:
            os.set_inheritable(fd, True)
        os.execv(words[0], [word.format(*fds) for word in words])
    for fd in fds:
        os.close(fd)


def main() -> int:
    """Make the cluster of the plan, and hold it."""
    plan: Plan = json.loads(sys.argv[1])
    try:
        _switch_namespaces(plan["ordinary"])
        hosts = [_fork(host) for host in plan["hosts"]]
        pids = [pid for pid, _, _ in hosts]
        _mount_hosts_file(plan, pids)
        _step(hosts)
        fds = [_tap(name) for cable in plan["cables"] for name in cable]
        _batch("ip", [line.format(*pids) for line in plan["ip"]])
        _batch("tc", plan["tc"])
        _step(hosts)
        if fds:
            _start_relay(plan["relay"], fds)
    except (RefusedError, OSError) as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        return 1
    sys.stdout.write(json.dumps({"pids": [os.getpid(), *pids]}) + "\n")
    sys.stdout.flush()
    signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
