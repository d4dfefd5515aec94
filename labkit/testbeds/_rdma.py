"""Which RDMA device and which entry of its table of addresses (GID) an end uses, told by that end itself."""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.errors import LaunchError, SpecError
from labkit.spec import Spec
from labkit.tools import Place

# every used entry of every active port 1: device, link layer, index, GID, type
FIND = """
for port in /sys/class/infiniband/*/ports/1; do
  read -r state <$port/state && case $state in *ACTIVE*) ;; *) continue ;; esac || continue
  device=${port#/sys/class/infiniband/}
  read -r layer <$port/link_layer
  for type in $port/gid_attrs/types/[0-9] $port/gid_attrs/types/[0-9][0-9]; do
    read -r kind <$type && read -r gid <$port/gids/${type##*/} && echo "${device%%/*}|$layer|${type##*/}|$gid|$kind"
  done
done 2>/dev/null; :
"""


@dataclass(frozen=True)
class Gid:
    """An entry of a device's table of addresses.

    Parameters
    ----------
    device : ``mlx5_0``.
    layer : ``Ethernet`` or ``InfiniBand``.
    index : its place in the table.
    gid : eight groups of four hex digits.
    kind : ``RoCE v2``, ``IB/RoCE v1``, …
    """

    device: str
    layer: str
    index: int
    gid: str
    kind: str

    @property
    def ipv4(self) -> str:
        """The IPv4 address it stands for; empty where it stands for none."""
        mapped = ipaddress.IPv6Address(self.gid).ipv4_mapped
        return str(mapped) if mapped else ""


def parsed(text: str) -> list[Gid]:
    """Entries from what `FIND` printed."""
    rows = (line.split("|") for line in text.splitlines() if line.count("|") == 4)
    return [Gid(device, layer, int(index), gid, kind) for device, layer, index, gid, kind in rows]


def chosen(entries: Sequence[Gid], device: str = "") -> Gid:
    """The entry to use: of RoCE the one of version 2 that stands for an IPv4 address, of InfiniBand the first.

    Parameters
    ----------
    device : its name; empty for the first device that has such an entry.

    Raises
    ------
    SpecError
        If there is no such device or entry; names those there are.
    """
    there = sorted({entry.device for entry in entries})
    own = [entry for entry in entries if device in ("", entry.device)]
    if not own:
        what = f"device={device!r}, but" if device else "There is no active RDMA device here:"
        raise SpecError(
            f"{what} active are {', '.join(there) or 'none'}. Name one of these, or use --testbed soft-roce."
        )
    routed = [entry for entry in own if entry.kind == "RoCE v2" and entry.ipv4]
    direct = [entry for entry in own if entry.layer == "InfiniBand" and not entry.index]
    found = [*routed, *direct]
    if not found:
        raise SpecError(
            f"{own[0].device} has no RoCE v2 address for IPv4. Give its network interface an IPv4 address, or "
            "choose an entry of its table with -o gid=INDEX."
        )
    return found[0]


def asked(command: Sequence[str], *, limit: float = 30.0) -> str:
    """Standard output of a short command.

    Raises
    ------
    LaunchError
        If it fails or does not end in time.
    """
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        raise LaunchError(f"no answer within {limit:g} s.", command=command) from None
    if done.returncode:
        raise LaunchError(
            "this command failed. Fix the cause, and try again.",
            command=command,
            exit_status=done.returncode,
            stderr=done.stderr,
        )
    return done.stdout


def listening(words: Sequence[str], protocol: str, port: int) -> bool:
    """Whether anybody listens on a port in the place that these words lead to; for rdma_cm on any."""
    if protocol == "rdma_cm":
        return "LISTEN" in asked([*words, "rdma", "resource", "show", "cm_id"])
    state = {"tcp": "0A", "udp": "07"}[protocol]
    table = asked([*words, "sh", "-c", f"cat /proc/net/{protocol} /proc/net/{protocol}6"])
    rows = (line.split() for line in table.splitlines() if ":" in line)
    return any(row[3] == state and int(row[1].rpartition(":")[2], 16) == port for row in rows if len(row) > 3)


def place(spec: Spec) -> Place:
    """Where the ends of a verbs tool run on real devices: the server on the peer host, by ssh, or on this machine.

    Raises
    ------
    SpecError
        If an end has no such device, or there is more than one peer.
    LaunchError
        If the peer cannot be asked.
    """
    if spec.family != "verbs" or spec.transport in ("shm", "tcp"):
        return Place()
    if len(spec.hosts) > 1:
        raise SpecError(f"hosts={','.join(spec.hosts)}, but {spec.benchmark} has one peer. Name one host.")
    local = [host for host in spec.hosts if host in ("localhost", "127.0.0.1")]
    peer = "" if local or not spec.hosts else spec.hosts[0].partition(":")[0]
    far = ("ssh", "-oBatchMode=yes", peer, "--") if peer else ()
    here = chosen(parsed(asked(["sh", "-c", FIND])), spec.device)
    there = chosen(parsed(asked([*far, f"sh -c '{FIND}'"])), spec.device) if peer else here
    return Place(
        address=peer or "127.0.0.1",
        server=far,
        server_words={"device": there.device, "gid": str(there.index)},
        client_words={"device": here.device, "gid": str(here.index), "rdma_address": there.ipv4},
        listens=lambda protocol, port: listening(far, protocol, port),
        loopback=not peer,
    )
