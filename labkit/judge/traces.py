"""Traces in the kept output of tools."""

from __future__ import annotations

from collections.abc import Iterable

from labkit.errors import DataError, SpecError
from labkit.formats import otlp
from labkit.store.samples import Samples


def text(samples: Iterable[Samples]) -> str:
    """Return the traces of points as OTLP JSON for a collector of OpenTelemetry, one request per line.

    Raises
    ------
    DataError
        If no point has any.
    """
    lines = [line for one in samples for line in one.source.splitlines() if line.startswith(otlp.BEGINS)]
    if not lines:
        raise DataError(
            "No point has traces. Measure services such as services.social_network, or take another format."
        )
    return "\n".join(lines) + "\n"


def check(benchmark: str) -> None:
    """Refuse a benchmark whose points keep no traces.

    Raises
    ------
    SpecError
        If it is not one of the services.
    """
    if not benchmark.startswith("services."):
        raise SpecError(f"--format otlp with {benchmark}, which keeps no traces. Measure services.social_network.")
