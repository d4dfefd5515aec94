"""Combine the results of several clients that send into one host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit.errors import SpecError
from labkit.point import notes
from labkit.point.spec import Effort, Reported, Spec
from labkit.tools._invocation import Parsed

_SUMMED = ("bandwidth_MBps", "sent_MBps", "retransmits", "message_rate_per_s")


def check(spec: Spec, effort: Effort, transport: str, what: str) -> None:
    """Refuse a path that a tool does not have, and an exact count.

    Raises
    ------
    SpecError
        If it cannot be done.
    """
    requested = "tcp" if spec.transport == "auto" else spec.transport
    if requested != transport:
        raise SpecError(f"transport={spec.transport}, but {what}. Set transport={transport}.")
    if effort.iterations is not None:
        raise SpecError(
            f"iterations={effort.iterations}, but concurrent streams run for a time. Leave it out, and set duration."
        )


def combine(parts: Sequence[Parsed]) -> Parsed:
    """Sum over all clients; keep each client's values with the label ``sender``, and the bandwidth of each stream."""
    totals: dict[str, Reported] = {}
    by_sender, streams = list[Reported](), list[Reported]()
    for sender, part in enumerate(parts):
        whole = [v for v in part.reported if v.rank is None and v.t is None]
        for value in whole:
            if value.name in _SUMMED and value.statistic in ("mean", "total"):
                total = totals.get(value.name)
                totals[value.name] = replace(value, value=value.value + (total.value if total else 0.0))
        by_sender += [replace(v, labels={"sender": sender}) for v in part.reported if v.rank is None]
        rates = [v for v in part.reported if v.rank is not None and v.name == "bandwidth_MBps"]
        for value in rates or [v for v in whole if v.name == "bandwidth_MBps" and v.statistic == "mean"]:
            streams.append(replace(value, rank=len(streams), labels={"sender": sender}))
    return Parsed(
        reported=(*totals.values(), *streams, *by_sender),
        warnings=notes.once(part.warnings for part in parts),
        facts={"payload_B": sum(int(part.facts.get("payload_B") or 0) for part in parts)},
    )
