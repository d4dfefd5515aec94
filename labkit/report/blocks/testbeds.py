"""The testbeds of the survey, and those of this report beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from labkit import testbeds as known
from labkit.errors import SpecError
from labkit.report import literature, markdown
from labkit.report.campaigns import Member, all_members
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.testbeds import soft_roce
from labkit.testbeds.simulation.network import NODES

_GB = 1e9
_UNITS = {"M": 2**20, "G": 2**30}  # of qemu's notation


def testbeds(content: Content) -> str:
    """Return a table of testbeds: ours first, then the survey's."""
    rows = [row for member in all_members(content) for row in _ours(member)]
    if not rows:
        return ""
    for one in literature.testbeds():
        cells = [one.name, str(one.nodes), one.interconnect, one.processor, str(one.memory_GB), one.software]
        rows.append([*map(escape, cells), "survey [@li2022]"])
    return markdown.table(
        ["testbed", "nodes", "interconnect", "processor", "memory (GB)", "communication software", "measured by"],
        rows,
        align="lrllrll",
        caption="Testbeds of this report and of the survey. {#tbl-testbeds}",
    )


def _ours(member: Member) -> list[list[str]]:
    """Return a row for each kind of testbed of a campaign."""
    rows: list[list[str]] = []
    records = member.records
    for testbed in dict.fromkeys(records["testbed"]) if len(records) else ():
        kind = str(testbed).partition(",")[0]
        part, host = records[records["testbed"] == testbed], _hardware(str(testbed), member.host)
        cells = [
            f"{member.name}, {kind}",
            str(max(1, part["host"].nunique())) if kind == "local" else _nodes(str(testbed)),
            _interconnect(kind, host),
            _processor(str(testbed), host),
            _memory(str(testbed), host),
            ", ".join(sorted({str(name) for name in part["library"]} - {"", "none", "nan"})) or "none",
        ]
        if not any(row[0] == escape(cells[0]) for row in rows):
            rows.append([*map(escape, cells), "this report"])
    return rows


def _hardware(testbed: str, host: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts of the host if the testbed uses its hardware; none of a testbed that labkit cannot read.

    An imported log was measured on another machine.
    """
    kind = re.split("[:,]", testbed)[0]
    if kind == "soft-roce":
        return host if _options(testbed) else {}
    return host if kind in known.names() else {}


def _nodes(testbed: str) -> str:
    """Return the number of nodes of an emulated or simulated testbed: of ``virtual-cluster:4`` 4, of two devices 2."""
    if testbed.startswith("simulated"):
        chosen = re.search(r",nodes=(\d{1,4})(?:,|$)", testbed)
        return chosen[1] if chosen else str(NODES)
    name, _, number = testbed.partition(",")[0].partition(":")
    if name not in ("virtual-cluster", "soft-roce"):
        return "–"
    return number if number.isdecimal() else "2"


def _interconnect(kind: str, host: Mapping[str, Any]) -> str:
    if kind.startswith("soft-roce"):
        return "soft-RoCE, emulated: shows function, not performance"
    if kind.startswith("virtual-cluster"):
        return "links between namespaces of one host, emulated"
    if kind.startswith("simulated"):
        return "simulated by SimGrid: nothing was measured"
    nics = [nic for nic in host.get("nics") or [] if isinstance(nic, Mapping) and nic.get("physical")]
    rdma = [
        str(one.get("name", one)) if isinstance(one, Mapping) else str(one) for one in host.get("rdma_devices") or []
    ]
    named = [f"{nic.get('kind')} {_speed(nic)}".strip() for nic in nics] + rdma
    return ", ".join(dict.fromkeys(named)) or "not recorded"


def _speed(nic: Mapping[str, Any]) -> str:
    speed = nic.get("speed_Mbps")
    return f"{speed / 1000:g} Gb/s" if isinstance(speed, int | float) and speed > 0 else f"({nic.get('driver')})"


def _processor(testbed: str, host: Mapping[str, Any]) -> str:
    """Name the processor of a node."""
    if testbed.startswith("simulated"):  # the machine that ran the simulation is no part of it
        return "none"
    name = str(host.get("cpu_model") or "not recorded")
    guest = _guest(testbed)
    return f"emulated on {name}" if guest and guest.accel == "tcg" else name


def _memory(testbed: str, host: Mapping[str, Any]) -> str:
    """Return the memory of a node in GB: of an emulated guest its own, of namespaces the host's, which they share."""
    if testbed.startswith("simulated"):
        return "–"
    if guest := _guest(testbed):
        return f"{_UNITS[guest.memory[-1]] * int(guest.memory[:-1]) / _GB:.1f}, one guest for both"
    total = host.get("memory_total_B")
    shared = ", shared" if testbed.startswith("virtual-cluster") else ""
    return f"{total / _GB:.0f}{shared}" if isinstance(total, int | float) else "–"


def _guest(testbed: str) -> soft_roce.Options | None:
    """Return the options of an emulated guest; None for other testbeds, and for text that describes none."""
    options = _options(testbed)
    return options if options and options.where == "guest" else None


def _options(testbed: str) -> soft_roce.Options | None:
    """Return the options of soft-RoCE; None for other testbeds, and for text that labkit cannot read."""
    try:
        name, _, given = known.parse(testbed)
        return soft_roce.options_of(given) if name == "soft-roce" else None
    except SpecError:  # of a campaign that this labkit did not measure
        return None


BLOCKS = {"testbeds": testbeds}
