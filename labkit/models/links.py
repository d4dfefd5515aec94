"""Payload rates of links and buses: signalling rate, line code, lanes, and the headers of every packet.

Rates are bits per second, sizes bytes. Sources: InfiniBand Architecture Specification 1.7 (line codes, headers), IEEE
802.3 (frames), RFC 7323 (TCP timestamps), InfiniBand Annex A17 (RoCEv2), PCI Express Base Specification 6.0.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from labkit.errors import SpecError, unknown_name

# generation → data rate of a lane, bit/s: signalling rate × line code (from HDR on also forward error correction)
INFINIBAND = {
    "SDR": 2.5e9 * 8 / 10,
    "DDR": 5e9 * 8 / 10,
    "QDR": 10e9 * 8 / 10,
    "FDR10": 10.3125e9 * 64 / 66,
    "FDR": 14.0625e9 * 64 / 66,
    "EDR": 25.78125e9 * 64 / 66,
    "HDR": 50e9,
    "NDR": 100e9,
    "XDR": 200e9,
}
# generation → transfers per second and lane, and the share that carries data
PCIE = {
    1: (2.5e9, 8 / 10),
    2: (5e9, 8 / 10),
    3: (8e9, 128 / 130),
    4: (16e9, 128 / 130),
    5: (32e9, 128 / 130),
    6: (64e9, 236 / 256),  # flits: 236 of 256 B are transaction layer packets
}
# B beside the payload of a write with a 64-bit address: framing and sequence 4, header 16, LCRC 4; in flits the header
PCIE_HEADER, FLIT_HEADER = 24, 16
FRAME = 38  # B of Ethernet beside the packet: preamble 8, header 14, check sum 4, gap 12
SHAPED_FRAME = 14  # B of a frame that Linux traffic control counts beside the packet
_HEADERS = {
    "tcp": 20 + 20 + 12,  # IPv4, TCP, timestamps
    "udp": 20 + 8,  # IPv4, UDP
}
_ROCE = 20 + 8 + 12 + 4  # B of a packet beside its payload: IPv4, UDP, base transport header, ICRC
_INFINIBAND = 8 + 12 + 4 + 2  # B: local route header, base transport header, ICRC, VCRC
_RATE = re.compile(r"(?P<rate>[\d.]+) Gb/sec \((?P<lanes>\d+)X(?: (?P<generation>\w+))?\)")
_PCIE = re.compile(r"(?:gen)?(?P<generation>[1-6])x(?P<width>1|2|4|8|12|16|32)")


@dataclass(frozen=True, kw_only=True)
class Efficiency:
    """Share of a link's rate that payload can have.

    Parameters
    ----------
    payload, packet : B of payload in a packet, and B that the packet takes on the link.
    """

    payload: int
    packet: int

    @property
    def share(self) -> float:
        """Payload over packet."""
        return self.payload / self.packet

    def framed(self, size: float) -> float:
        """B on the link for the packets of a message of this many B; a message without bytes has one packet, too."""
        return size + max(math.ceil(size / self.payload), 1) * (self.packet - self.payload)

    def __str__(self) -> str:
        return f"{self.payload} of {self.packet} B of a packet are payload"


def infiniband_rate(text: str) -> float:
    """Data rate of a port in bit/s, from what Linux prints in ``/sys/class/infiniband/*/ports/*/rate``.

    Linux prints signalling rates for SDR, DDR and QDR, and rounded rates for FDR.

    Raises
    ------
    SpecError
        If the text is not of that form.

    Examples
    --------
    >>> infiniband_rate("100 Gb/sec (4X EDR)"), infiniband_rate("40 Gb/sec (4X QDR)")
    (100000000000.0, 32000000000.0)
    """
    match = _RATE.fullmatch(text.strip())
    if not match:
        raise SpecError(f"rate={text!r}, but it must read like '100 Gb/sec (4X EDR)'. Copy it from ibstat or /sys.")
    generation = (match["generation"] or "SDR").upper()
    if generation not in INFINIBAND:
        raise unknown_name("InfiniBand generation", generation, list(INFINIBAND))
    return INFINIBAND[generation] * int(match["lanes"])


def ethernet(mtu: int, protocol: str = "tcp", *, frame: int = FRAME) -> Efficiency:
    """Efficiency of full packets of TCP or UDP over IPv4.

    Parameters
    ----------
    mtu : MTU of the interface, B.
    protocol : ``tcp`` or ``udp``.
    frame : B of a frame beside the packet: `FRAME` on a wire, `SHAPED_FRAME` where traffic control sets the rate.

    Raises
    ------
    SpecError
        If the protocol is neither, or no payload fits the packet.

    Examples
    --------
    >>> round(ethernet(1500).share, 4), round(ethernet(9000).share, 4), round(ethernet(1500, frame=14).share, 4)
    (0.9415, 0.99, 0.9564)
    """
    if protocol not in _HEADERS:
        raise unknown_name("protocol", protocol, list(_HEADERS))
    return _packets(mtu - _HEADERS[protocol], mtu + frame, f"mtu={mtu}")


def roce(payload: int, *, frame: int = FRAME) -> Efficiency:
    """Efficiency of RoCEv2 packets that are full.

    Parameters
    ----------
    payload : active MTU of the port: 256, 512, 1024, 2048 or 4096 B.
    frame : as in `ethernet`.

    Examples
    --------
    >>> round(roce(1024).share, 4), round(roce(4096).share, 4)
    (0.9259, 0.9804)
    """
    return _packets(payload, payload + _ROCE + frame, f"active_mtu={payload}")


def infiniband(payload: int) -> Efficiency:
    """Efficiency of InfiniBand packets within a subnet that are full.

    Parameters
    ----------
    payload : active MTU of the port: 256, 512, 1024, 2048 or 4096 B.

    Examples
    --------
    >>> round(infiniband(2048).share, 4), round(infiniband(4096).share, 4)
    (0.9875, 0.9937)
    """
    return _packets(payload, payload + _INFINIBAND, f"active_mtu={payload}")


def _packets(payload: int, packet: int, given: str) -> Efficiency:
    if payload < 1:
        raise SpecError(f"{given}, but then no payload fits a packet. State the MTU of the interface, such as 1500.")
    return Efficiency(payload=payload, packet=packet)


def pcie(generation: int, width: int, payload: int = 256) -> tuple[float, Efficiency]:
    """Data rate of a PCI Express link in bit/s in each direction, and the efficiency of full write packets.

    Acknowledgements and flow control take some per cent more, so a device never reaches the product.

    Parameters
    ----------
    width : lanes.
    payload : largest payload of a packet (MaxPayload of ``lspci -vv``): 128, 256 or 512 B.

    Raises
    ------
    SpecError
        If there is no such generation.

    Examples
    --------
    >>> rate, share = pcie(3, 16)
    >>> round(rate / 8e9, 2), round(share.share, 3)
    (15.75, 0.914)
    """
    if generation not in PCIE:
        raise unknown_name("PCI Express generation", str(generation), [str(one) for one in PCIE])
    transfers, code = PCIE[generation]
    header = FLIT_HEADER if generation >= 6 else PCIE_HEADER
    return transfers * width * code, Efficiency(payload=payload, packet=payload + header)


def pcie_of(text: str) -> tuple[int, int]:
    """Generation and lanes of a text like ``3x16``.

    Examples
    --------
    >>> pcie_of("3x16"), pcie_of("gen4x8")
    ((3, 16), (4, 8))
    """
    match = _PCIE.fullmatch(text.strip().lower())
    if not match:
        raise SpecError(f"pcie={text!r}, but it must read like 3x16: generation and lanes. See LnkSta of 'lspci -vv'.")
    return int(match["generation"]), int(match["width"])


def pcie_generation(speed: str) -> int | None:
    """Generation of the speed that Linux prints, such as ``8.0 GT/s PCIe``; None if unknown.

    Examples
    --------
    >>> pcie_generation("8.0 GT/s PCIe"), pcie_generation("Unknown")
    (3, None)
    """
    match = re.match(r"(\d+(?:\.\d+)?) GT/s", speed, re.ASCII)
    transfers = float(match[1]) * 1e9 if match else 0.0
    return next((generation for generation, (rate, _) in PCIE.items() if rate == transfers), None)
