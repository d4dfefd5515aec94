"""Counters of loss, pause and congestion: of a host's TCP and UDP, interfaces and RDMA ports, and of a switch's queues.

A rank of each host reads them before and after the timed chunks of a point. It starts no process for that: ethtool -S
is a system call, tc -s qdisc a message to the kernel. Names end in the counter's own name, as the kernel or the driver
has it: ``Tcp.RetransSegs``, ``eth0.rx_discards_phy``, ``mlx5_0.1.np_cnp_sent``, ``switch.vc3.dropped_packets``.

Run by path, the module prints the counters of the queues of the network it runs in, as JSON.
"""

from __future__ import annotations

import _socket  # a part of socket, which would open four more files at the start of every rank
import ctypes
import fcntl
import json
import os
import re
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path

SWITCH = "switch"  # first part of the names of a virtual switch's queues
# words in counter names for lost, delayed or marked packets; names differ between drivers
_TELLS = re.compile(
    r"retrans|timeout|loss|lost|dsack|spurious|drop|discard|prun|overflow|reorder|zerowindow|ecn|cepkts|deliveredce|cnp|"
    r"pause|xoff|congest|xmit_wait|out_of_|seq_err|nak|retry|err(or)?s?$|missed|marked",
    re.IGNORECASE,
)
_SENT, _AGAIN = "Tcp.OutSegs", "Tcp.RetransSegs"  # the first tells how many the second are of


def grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return by how much counters grew; without those that did not, or were set back."""
    more = {name: value - before[name] for name, value in after.items() if value > before.get(name, value)}
    again = {name.removesuffix(_AGAIN) for name in more if name.endswith(_AGAIN)}
    return {name: by for name, by in more.items() if not name.endswith(_SENT) or name.removesuffix(_SENT) in again}


class Host:
    """Counters of the host, or of the network namespace, that this process is in.

    Parameters
    ----------
    proc, sys : where the kernel shows them.
    """

    def __init__(self, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> None:
        self._net = proc / "net"
        ports = sorted((sys / "class/infiniband").glob("*/ports/*/*counters/*"))
        self._ports = {_port(path): path for path in ports if _TELLS.search(path.name)}
        self._adapters: dict[str, list[str]] | None = None  # interface → names of what its driver counts

    def read(self) -> dict[str, int]:
        """Return all counters by name."""
        counters = protocols(self._net) | interfaces(self._net / "dev")
        for name, path in self._ports.items():
            if (value := _number(path)) is not None:
                counters[name] = value
        try:
            return counters | self._of_drivers()
        except OSError:  # a sandbox without sockets
            return counters

    def _of_drivers(self) -> dict[str, int]:
        """What drivers count, as ``ethtool -S`` shows it."""
        with closing(_socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)) as one:
            if self._adapters is None:
                found = {name: driver_names(one.fileno(), name) for name in _interfaces(self._net / "dev")}
                self._adapters = {  # a name for each counter that matters, and none for the others
                    interface: [f"{interface}.{name}" if _TELLS.search(name) else "" for name in names]
                    for interface, names in found.items()
                    if any(map(_TELLS.search, names))
                }
            counters: dict[str, int] = {}
            for interface, names in self._adapters.items():
                values = _driver_values(one.fileno(), interface, len(names))
                counters |= {name: value for name, value in zip(names, values, strict=False) if name}
        return counters


def protocols(net: Path) -> dict[str, int]:
    """Return what TCP, UDP and IP beside a folder ``/proc/…/net`` count of loss, marks and full buffers."""
    counters: dict[str, int] = {}
    for table in (net / "snmp", net / "netstat"):
        lines = _lines(table)
        for head, row in zip(lines[::2], lines[1::2], strict=False):
            values = row.split()
            counters |= {name: int(values[at]) for at, name in _columns(head) if at < len(values)}
    return counters


@cache
def _columns(head: str) -> list[tuple[int, str]]:
    """Places and names of the counters that matter, from the line above them, which names them all."""
    protocol, *names = head.split()
    named = [(at, f"{protocol}{name}".replace(":", ".")) for at, name in enumerate(names, 1)]
    return [(at, name) for at, name in named if _TELLS.search(name) or name == _SENT]


def interfaces(table: Path) -> dict[str, int]:
    """Return errors and drops of every interface of a table ``/proc/…/net/dev``."""
    places = {"rx_errors": 2, "rx_dropped": 3, "rx_fifo_errors": 4, "tx_errors": 10, "tx_dropped": 11}
    rows = {name: values.split() for name, values in _rows(table)}
    return {f"{name}.{what}": int(row[at]) for name, row in rows.items() for what, at in places.items() if name != "lo"}


def _interfaces(table: Path) -> list[str]:
    return [name for name, _ in _rows(table) if name != "lo"]


def _rows(table: Path) -> list[tuple[str, str]]:
    """Name and values of every interface of a table of the kernel."""
    return [(name.strip(), values) for name, _, values in (line.partition(":") for line in _lines(table)[2:])]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    """The number in a file; None if the port has no such counter."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _port(path: Path) -> str:
    """Name of a counter of an RDMA port: device, port, counter."""
    return f"{path.parts[-5]}.{path.parts[-3]}.{path.name}"


# ---- drivers: ethtool.h --------------------------------------------------------------------------------------------

_ETHTOOL, _ABOUT, _NAMES, _VALUES = 0x8946, 0x3, 0x1B, 0x1D  # SIOCETHTOOL, ETHTOOL_GDRVINFO, _GSTRINGS, _GSTATS
_STATISTICS, _LENGTH, _COUNT_AT = 1, 32, 180  # ETH_SS_STATS, ETH_GSTRING_LEN, n_stats of ethtool_drvinfo
_ROOM = 1 << 12  # B more than needed: an interface may get further counters meanwhile


def _asked(socket: int, interface: str, head: bytes, size: int) -> bytes:
    """Return the answer of a driver to a command of ethtool; empty without one."""
    buffer = ctypes.create_string_buffer(head, len(head) + 2 * size + _ROOM)
    try:
        fcntl.ioctl(socket, _ETHTOOL, struct.pack("16sP16x", interface.encode()[:15], ctypes.addressof(buffer)))
    except OSError:
        return b""
    return buffer.raw


def driver_names(socket: int, interface: str) -> list[str]:
    """Return the names of what the driver of an interface counts."""
    about = _asked(socket, interface, struct.pack("I", _ABOUT), 256)
    count = struct.unpack_from("I", about, _COUNT_AT)[0] if about else 0
    head = struct.pack("3I", _NAMES, _STATISTICS, count)
    texts = _asked(socket, interface, head, count * _LENGTH)[len(head) :] if count else b""
    names = (texts[at : at + _LENGTH] for at in range(0, min(count * _LENGTH, len(texts)), _LENGTH))
    return [name.partition(b"\0")[0].decode(errors="replace").strip() for name in names]


def _driver_values(socket: int, interface: str, count: int) -> tuple[int, ...]:
    """Return what the driver of an interface has counted, in the order of its names; empty if that changed."""
    answer = _asked(socket, interface, struct.pack("2I", _VALUES, count), count * 8)
    if not answer or struct.unpack_from("I", answer, 4)[0] != count:
        return ()
    return struct.unpack_from(f"{count}Q", answer, 8)


# ---- queues: rtnetlink, pkt_sched.h ----------------------------------------------------------------------------------

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_GET_LINKS, _GET_QUEUES, _DUMP, _DONE, _ERROR = 18, 38, 0x301, 3, 2  # RTM_GETLINK, RTM_GETQDISC, flags, NLMSG_*
_NAME, _KIND, _COUNTED, _QUEUE, _OWN = 3, 1, 7, 3, 4  # IFLA_IFNAME, TCA_KIND, TCA_STATS2, TCA_STATS_QUEUE, _APP
_HEAD = struct.Struct("=IHHII")
_LEAVES = ("bfifo", "pfifo", "red")  # queues that hold packets themselves; others count what these do


class Queues:
    """Counters of the queues at the ports of a virtual switch.

    Parameters
    ----------
    process : in whose network the switch is; 0 for this one's.

    Raises
    ------
    OSError
        If the process is gone, or this user may not look there.
    """

    def __init__(self, process: int = 0) -> None:
        self._socket = _inside(process) if process else _netlink()

    def read(self) -> dict[str, int]:
        """Return the packets that each port dropped and marked so far."""
        names = {}
        for body in self._dump(_GET_LINKS, 16):
            names[struct.unpack_from("=i", body, 4)[0]] = _text(_attributes(body[16:]).get(_NAME, b""))
        counters: dict[str, int] = {}
        for body in self._dump(_GET_QUEUES, 20):
            parts, port = _attributes(body[20:]), names.get(struct.unpack_from("=i", body, 4)[0], "")
            counted, kind = _attributes(parts.get(_COUNTED, b"")), _text(parts.get(_KIND, b""))
            if kind not in _LEAVES or _QUEUE not in counted:
                continue
            values = {"dropped_packets": struct.unpack_from("=3I", counted[_QUEUE])[2]}
            if kind == "red" and _OWN in counted:
                values["ecn_marked_packets"] = struct.unpack_from("=4I", counted[_OWN])[3]
            for what, value in values.items():  # a port with classes has several queues
                name = f"{SWITCH}.{port}.{what}"
                counters[name] = counters.get(name, 0) + value
        return counters

    def close(self) -> None:
        """Close the socket to the kernel."""
        self._socket.close()

    def _dump(self, kind: int, size: int) -> Iterator[bytes]:
        """Yield the bodies of the messages that answer a question with a body of this many B."""
        self._socket.send(_HEAD.pack(_HEAD.size + size, kind, _DUMP, 1, 0) + bytes(size))
        while True:
            piece = self._socket.recv(1 << 17)
            at = 0
            while at + _HEAD.size <= len(piece):
                length, kind_of, *_ = _HEAD.unpack_from(piece, at)
                if kind_of in (_DONE, _ERROR):
                    return
                yield piece[at + _HEAD.size : at + length]
                at += (length + 3) & ~3


def _netlink() -> _socket.socket:
    return _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, 0)


def _inside(process: int) -> _socket.socket:
    """Open the socket in the network of another process; this thread is back in its own afterwards."""
    libc = ctypes.CDLL(None, use_errno=True)
    own, other = (os.open(f"/proc/{one}/ns/net", os.O_RDONLY | os.O_CLOEXEC) for one in ("thread-self", process))
    try:
        if libc.setns(other, _NEW_NETWORK):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        try:
            return _netlink()
        finally:
            if libc.setns(own, _NEW_NETWORK):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(own)
        os.close(other)


def _attributes(data: bytes) -> dict[int, bytes]:
    """Return the attributes of a message, by number."""
    found, at = {}, 0
    while at + 4 <= len(data):
        length, number = struct.unpack_from("=HH", data, at)
        if length < 4:
            break
        found[number & 0x3FFF] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode(errors="replace")


if __name__ == "__main__":
    with closing(Queues()) as own:
        sys.stdout.write(json.dumps(own.read()))
