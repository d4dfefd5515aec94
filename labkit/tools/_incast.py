"""Many streams into one host: what several clients gave, as one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit import notes
from labkit.errors import SpecError
from labkit.spec import Effort, Reported, Spec
from labkit.tools._invocation import Parsed

_SUMMED = ("bandwidth_MBps", "sent_MBps", "retransmits", "message_rate_per_s")


def check(spec: Spec, effort: Effort, transport: str, what: str) -> None:
    """Refuse a path that a tool has not, and an exact count.

    Raises
    ------
    SpecError
        If it cannot be done.
    """
    asked = "tcp" if spec.transport == "auto" else spec.transport
    if asked != transport:
        raise SpecError(f"transport={spec.transport}, but {what}. Set transport={transport}.")
    if effort.iterations is not None:
        raise SpecError(
            f"iterations={effort.iterations}, but concurrent streams run for a time. Leave it out, and set duration."
        )


def combine(parts: Sequence[Parsed]) -> Parsed:
    """Sums over all clients, what each gave under the label ``sender``, each stream's bandwidth under its number."""
    totals: dict[str, Reported] = {}
    each, streams = list[Reported](), list[Reported]()
    for sender, part in enumerate(parts):
        whole = [v for v in part.reported if v.rank is None and v.t is None]
        for value in whole:
            if value.name in _SUMMED and value.statistic in ("mean", "total"):
                held = totals.get(value.name)
                totals[value.name] = replace(value, value=value.value + (held.value if held else 0.0))
        each += [replace(v, labels={"sender": sender}) for v in part.reported if v.rank is None]
        own = [v for v in part.reported if v.rank is not None and v.name == "bandwidth_MBps"]
        for value in own or [v for v in whole if v.name == "bandwidth_MBps" and v.statistic == "mean"]:
            streams.append(replace(value, rank=len(streams), labels={"sender": sender}))
    return Parsed(
        reported=(*totals.values(), *streams, *each),
        warnings=notes.once(part.warnings for part in parts),
        facts={"payload_B": sum(int(part.facts.get("payload_B") or 0) for part in parts)},
    )
