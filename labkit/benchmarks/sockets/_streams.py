"""The check that benchmarks of streams share."""

from typing import Protocol

from labkit.point.spec import Spec


class Streams(Protocol):
    """Options of several streams at once."""

    @property
    def streams(self) -> int: ...


def stream(spec: Spec[Streams]) -> str:
    """Say what no tool can do: empty messages, fewer than one stream, or a negative rate."""
    if not spec.size:
        return "size=0, but a call sends at least 1 B. Set size=65536."
    if spec.options.streams < 1:
        return f"streams={spec.options.streams}, but there must be at least 1. Set streams=1."
    return ""
