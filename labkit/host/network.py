"""Network interfaces and RDMA devices of this machine, from /sys. No addresses: reports are published."""

from __future__ import annotations

import fcntl
import socket
import struct
from pathlib import Path
from typing import Required, TypedDict

_SIOCGIFADDR = 0x8915  # linux/sockios.h
_VETH = "veth"  # the kernel says 10 Gbit/s of each, whatever it carries
_KINDS = {"1": "ethernet", "32": "infiniband", "772": "loopback"}  # ARPHRD_* of linux/if_arp.h


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:  # an interface that is down refuses to tell its speed
        return ""


class Slot(TypedDict, total=False):
    """The PCI Express link of a device, and its NUMA node; empty if it has none.

    Parameters
    ----------
    pcie_speed, pcie_max_speed : current and maximum speed, as Linux prints them: ``8.0 GT/s PCIe``.
    pcie_width, pcie_max_width : lanes.
    numa_node : -1: none.
    """

    pcie_speed: str
    pcie_max_speed: str
    pcie_width: int
    pcie_max_width: int
    numa_node: int


class Interface(Slot):
    """A network interface.

    Parameters
    ----------
    kind : ethernet, infiniband, loopback or other.
    physical : whether there is a device behind it.
    model : PCI or virtio numbers.
    speed_Mbps : None where unknown.
    mtu : B; None where unknown.
    families : IPv4, IPv6: those it has an address of.
    """

    name: Required[str]
    kind: Required[str]
    physical: Required[bool]
    driver: Required[str]
    model: Required[str]
    speed_Mbps: Required[int | None]
    mtu: Required[int | None]
    state: Required[str]
    families: Required[list[str]]


class RdmaDevice(Slot):
    """An RDMA device; `link_layer`, `rate` and `state` are those of its first port."""

    name: Required[str]
    type: Required[str]
    firmware: Required[str]
    link_layer: Required[str]
    rate: Required[str]
    state: Required[str]


def interfaces() -> list[Interface]:
    """Describe every network interface that this process can see."""
    with_ipv6 = {line.split()[-1] for line in _read(Path("/proc/net/if_inet6")).splitlines()}
    return [
        _interface(path, path.name in with_ipv6) for path in sorted(Path("/sys/class/net").glob("*")) if path.is_dir()
    ]


def _interface(path: Path, ipv6: bool) -> Interface:
    device, speed, mtu = path / "device", _read(path / "speed"), _read(path / "mtu")
    driver = (device / "driver").resolve().name if (device / "driver").exists() else _type(path)
    numbers = [_read(device / name).removeprefix("0x") for name in ("vendor", "device")]
    return {
        "name": path.name,
        "kind": _KINDS.get(_read(path / "type"), "other"),
        "physical": device.exists(),
        "driver": driver,
        "model": ":".join(numbers) if all(numbers) else "",
        "speed_Mbps": int(speed) if speed.isdecimal() and int(speed) > 0 and driver != _VETH else None,
        "mtu": int(mtu) if mtu.isdecimal() else None,
        "state": _read(path / "operstate"),
        "families": [name for name, has in (("IPv4", _has_ipv4(path.name)), ("IPv6", ipv6)) if has],
        **_slot(device),
    }


def _slot(device: Path) -> Slot:
    """Describe the PCI Express link of a device."""
    speed, width = (_read(device / f"current_link_{what}") for what in ("speed", "width"))
    if not speed or not width.isdecimal():
        return {}
    best, most, node = _read(device / "max_link_speed"), _read(device / "max_link_width"), _read(device / "numa_node")
    return {
        "pcie_speed": speed,
        "pcie_max_speed": best or speed,
        "pcie_width": int(width),
        "pcie_max_width": int(most) if most.isdecimal() else int(width),
        "numa_node": int(node) if node.lstrip("-").isdecimal() else -1,
    }


def _type(path: Path) -> str:
    """Return the kind of a virtual interface, such as bridge, vlan or veth, if the kernel tells.

    One end of a veth pair has no name of its kind, but the number of the other end.
    """
    pairs = dict(line.partition("=")[::2] for line in _read(path / "uevent").splitlines())
    paired = _read(path / "iflink") not in (_read(path / "ifindex"), "0")
    return pairs.get("DEVTYPE", _VETH if paired else "")


def _has_ipv4(name: str) -> bool:
    request = struct.pack("256s", name.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ipv4:
        try:
            fcntl.ioctl(ipv4, _SIOCGIFADDR, request)
        except OSError:
            return False
    return True


def rdma_devices() -> list[RdmaDevice]:
    """Describe every RDMA device."""
    return [
        {
            "name": path.name,
            "type": _read(path / "hca_type") or _read(path / "node_desc"),
            "firmware": _read(path / "fw_ver"),
            "link_layer": _read(path / "ports/1/link_layer"),
            "rate": _read(path / "ports/1/rate"),
            "state": _read(path / "ports/1/state").partition(": ")[2],
            **_slot(path / "device"),
        }
        for path in sorted(Path("/sys/class/infiniband").glob("*"))
    ]
