"""Run one end of a plan by the name of its program, and return the result of the client."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable, Mapping
from typing import Any

from labkit.kernels.verbs import costs, crowd, host, manager, scenarios
from labkit.kernels.verbs.ends import End
from labkit.kernels.verbs.loops import latency, measured, pingping, python_share, stream
from labkit.kernels.verbs.meeting import Meeting
from labkit.kernels.verbs.objects import Device, VerbsError
from labkit.kernels.verbs.plan import HOT_SPOTS, ONE_SIDED, ROUND_TRIPS, STREAMS, Plan

ALONE: Mapping[str, Callable[[str, int, Plan], dict[str, Any]]] = {
    "registration": costs.registration,
    "setup": costs.setup,
}
LOOPS: Mapping[str, Callable[[End, int], list[int]]] = {
    "latency": latency,
    "pingping": pingping,
    "bandwidth": stream,
    "host_overhead": host.overhead,
    "availability": host.availability,
}
SCENARIOS: Mapping[str, Callable[[Device, Plan, Meeting, bool], dict[str, Any]]] = {
    "echo": scenarios.echo,
    "sequencer": scenarios.sequencer,
    "key_value": scenarios.key_value,
    "connect": manager.connect,
}


def run(role: str, device: str, gid: int, port: int, address: str, plan: Plan) -> dict[str, Any] | None:
    """Run one end of a plan.

    Parameters
    ----------
    role : ``server``, ``client``, or ``alone`` for a program without a peer.
    device, gid : device of this end, and index of its address.
    port, address : port and address of the server.

    Returns
    -------
    From the client ``time_ns``, ``extras`` (further columns), ``facts`` and ``warnings``; from the server None.
    """
    facts = {"pyverbs": _version(), "device": device}
    index = gid if plan.gid < 0 else plan.gid
    try:
        if role == "alone":
            result = ALONE[plan.program](device, gid, plan)
        elif plan.program in HOT_SPOTS and role == "server":
            crowd.around(device, index, port, plan)
            return None
        elif plan.program in HOT_SPOTS:
            result = crowd.hub(device, index, port, address, plan)
        else:
            with Meeting(port, address) as meeting, Device(device, gid=index) as opened:
                facts |= {"gid": opened.gid, "active_mtu": opened.mtu}
                program = SCENARIOS.get(plan.program, _loop)
                result = program(opened, plan, meeting, role == "server")
    except EOFError:
        raise VerbsError(f"the peer has gone; its standard error says why. ({role})") from None
    result["facts"] = facts | result.get("facts", {})
    return None if role == "server" else {"time_ns": [], "extras": {}, "warnings": []} | result


def _loop(device: Device, plan: Plan, meeting: Meeting, server: bool) -> dict[str, Any]:
    """Verify the bytes, then run the loop of the plan."""
    end = End(device, plan, meeting, server=server)
    end.verify()
    began = time.perf_counter()
    loop = LOOPS[plan.program]

    def agree(count: int) -> int:
        if server:
            return int(meeting.hear())
        meeting.tell(count)
        return count

    times = measured(plan, lambda count: loop(end, count), agree, server=server)
    extras = {name: values[-len(times) :] for name, values in end.phases.items()}  # without those of the warm-up
    facts: dict[str, Any] = {"verified": True, "timed_s": time.perf_counter() - began}
    warnings = []
    if plan.program in ROUND_TRIPS and plan.operation not in ONE_SIDED:
        times = [time_ns // 2 for time_ns in times]  # one way, as in perftest
    if plan.program in STREAMS:
        arrived = meeting.swap(end.received)
        if not server and plan.connection != "RC" and arrived is not None:
            last = plan.tx_depth * plan.qps * (plan.iterations or 5)
            facts["arrived_of_last"] = arrived
            if plan.iterations and arrived < last:
                text = f"{arrived} of {last} messages arrived; {plan.connection} may lose messages."
                values = {"arrived": arrived, "sent": last}
                warnings.append({"code": "lost-messages", "text": text, "values": values})
    else:
        meeting.swap()
    if not server:
        facts |= python_share(device, end.pair.peer, end.memory)
    return {"time_ns": times, "extras": extras, "facts": facts, "warnings": warnings}


def _version() -> str:
    """Version of pyverbs, if its package names one."""
    try:
        return importlib.metadata.version("pyverbs")
    except importlib.metadata.PackageNotFoundError:
        return "of the system"
