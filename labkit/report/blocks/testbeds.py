"""The testbeds of the survey and of this report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.report import literature, markdown
from labkit.report.campaigns import Member, all_members
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.store.samples.facts import BROUGHT, TESTBED

_GB = 1e9
HERE = ("local", "file-system")  # testbeds that are this machine


def testbeds(content: Content) -> str:
    """Return a table of testbeds: ours first, then the survey's."""
    rows = [row for member in all_members(content) for row in _ours(member)]
    if not rows:
        return ""
    survey = literature.table(13)
    rows += [[*map(escape, one.cells), "survey [@li2022]"] for one in survey.rows]
    return markdown.table(
        [*survey.columns, "measured by"],
        rows,
        align="lrllrll",
        caption="Testbeds of this report and of the survey. {#tbl-testbeds}",
    )


def _ours(member: Member) -> list[list[str]]:
    """Return a row for each kind of testbed of a campaign."""
    rows: list[list[str]] = []
    records = member.records
    made_of = {point.spec.testbed: TESTBED.of(point.meta) for point in member.points}
    for testbed in dict.fromkeys(records["testbed"]) if len(records) else ():
        kind, facts = str(testbed).partition(",")[0], made_of.get(str(testbed), {})
        part = records[records["testbed"] == testbed]
        host = {} if part["origin"].isin(BROUGHT).all() else member.host  # a log was measured on another machine
        cells = [
            f"{member.name}, {kind}",
            str(max(1, part["host"].nunique())) if kind.startswith(HERE) else _nodes(kind, facts),
            _interconnect(kind, host),
            _processor(kind, facts, host),
            _memory(kind, facts, host),
            ", ".join(sorted({str(name) for name in part["library"]} - {"", "none", "nan"})) or "none",
        ]
        if not any(row[0] == escape(cells[0]) for row in rows):
            rows.append([*map(escape, cells), "this report"])
    return rows


def _nodes(kind: str, facts: Mapping[str, Any]) -> str:
    """Return the number of nodes of an emulated or simulated testbed; soft-RoCE has two devices."""
    return "2" if kind.startswith("soft-roce") else str(facts.get("nodes", "–"))


def _interconnect(kind: str, host: Mapping[str, Any]) -> str:
    if kind.startswith("soft-roce"):
        return "soft-RoCE, emulated: shows function, not performance"
    if kind.startswith("virtual-cluster"):
        return "links between namespaces of one host, emulated"
    if kind.startswith("simulated"):
        return "simulated by SimGrid: nothing was measured"
    nics = [nic for nic in _listed(host.get("nics")) if isinstance(nic, Mapping) and nic.get("physical")]
    devices = _listed(host.get("rdma_devices"))
    rdma = [str(one.get("name", one)) if isinstance(one, Mapping) else str(one) for one in devices]
    named = [f"{nic.get('kind')} {_speed(nic)}".strip() for nic in nics] + rdma
    return ", ".join(dict.fromkeys(named)) or "not recorded"


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _speed(nic: Mapping[str, Any]) -> str:
    speed = nic.get("speed_Mbps")
    return f"{speed / 1000:g} Gb/s" if isinstance(speed, int | float) and speed > 0 else f"({nic.get('driver')})"


def _processor(kind: str, facts: Mapping[str, Any], host: Mapping[str, Any]) -> str:
    """Name the processor of a node."""
    if kind.startswith("simulated"):  # the machine that ran the simulation is not part of it
        return "none"
    name = str(host.get("cpu_model") or "not recorded")
    return f"emulated on {name}" if facts.get("accel") == "tcg" else name


def _memory(kind: str, facts: Mapping[str, Any], host: Mapping[str, Any]) -> str:
    """Return the memory of a node in GB: of a guest its own, of namespaces the host's, which they share."""
    guest = "accel" in facts
    total = facts.get("memory_B") if guest else host.get("memory_total_B")
    if kind.startswith("simulated") or not isinstance(total, int | float):
        return "–"
    if guest:
        return f"{total / _GB:.1f}, one guest for both"
    return f"{total / _GB:.0f}{', shared' if kind.startswith('virtual-cluster') else ''}"


BLOCKS = {"testbeds": testbeds}
