"""Counters of the kernel: bytes that links and sockets have carried, and segments that hosts sent again."""

from __future__ import annotations

import _socket  # a part of socket, which would open four more files at the start of every rank
import os
import struct
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

LINKS = "LABKIT_LINKS"  # variable that tells rank 0 of them, as JSON
SWITCHES = "LABKIT_SWITCHES"  # variable with the process whose network has the testbed's switches


def read(links: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Read how many B every link has carried so far: ``NAME.tx_bytes`` and ``NAME.rx_bytes``.

    For each table there are also the segments of TCP of its host, named after the first part of a link:
    ``HOST.sent_segments``, ``HOST.retransmitted_segments``, and ``HOST.reordered_segments``.

    Parameters
    ----------
    links : name → table (``/proc/…/net/dev``) and the interface in it; one whose table is gone is left out.
    """
    tables = {table: interfaces(table) for table, _ in links.values()}
    counters = {}
    for name, (table, interface) in links.items():
        if interface in tables[table]:
            counters[f"{name}.rx_bytes"], counters[f"{name}.tx_bytes"] = tables[table][interface]
    hosts = {table: name.partition(".")[0] for name, (table, _) in links.items()}
    return counters | {
        f"{host}.{name}": count for table, host in hosts.items() for name, count in segments(table).items()
    }


def segments(table: str = "/proc/net/dev") -> dict[str, int]:
    """Count what TCP beside a table of interfaces sent, sent again, and saw out of order; empty if nobody knows."""
    found = _pairs(Path(table).with_name("snmp"), "Tcp:") | _pairs(Path(table).with_name("netstat"), "TcpExt:")
    return {name: sum(found[one] for one in ones) for name, ones in _SEGMENTS.items() if {*ones} <= {*found}}


def _pairs(table: Path, row: str) -> dict[str, int]:
    """Read two lines of a table with the same beginning: names, and their values."""
    try:
        lines = [line.split()[1:] for line in table.read_text().splitlines() if line.startswith(row)]
    except OSError:
        return {}
    return dict(zip(lines[0], map(int, lines[1]), strict=True)) if len(lines) == 2 else {}


_SEGMENTS = {
    "sent_segments": ("OutSegs",),
    "retransmitted_segments": ("RetransSegs",),
    "reordered_segments": ("TCPSACKReorder", "TCPRenoReorder", "TCPTSReorder"),  # times that Linux noticed it
}


def own_sockets() -> int | None:
    """Count the B of payload that the open TCP sockets of this process have sent and received; None if unknown.

    Traffic of other processes does not count.
    """
    total = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            if not entry.is_socket():
                continue
            with closing(_socket.socket(fileno=os.dup(int(entry.name)))) as one:
                info = one.getsockopt(_socket.IPPROTO_TCP, _socket.TCP_INFO, _CARRIED.size)
        except OSError:  # closed meanwhile, or no TCP socket
            continue
        if len(info) < _CARRIED.size:  # Linux before 4.2
            return None
        total += sum(_CARRIED.unpack(info))
    return total


_CARRIED = struct.Struct("=120x2Q")  # of struct tcp_info: tcpi_bytes_acked, tcpi_bytes_received


def interfaces(table: str = "/proc/net/dev") -> dict[str, tuple[int, int]]:
    """Read how many B every interface of a table has received and sent; empty if the table cannot be read."""
    try:
        lines = Path(table).read_text().splitlines()[2:]
    except OSError:
        return {}
    rows = ((name.strip(), rest.split()) for name, _, rest in (line.partition(":") for line in lines))
    return {name: (int(values[0]), int(values[8])) for name, values in rows}
