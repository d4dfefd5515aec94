"""Base of the studies of RDMA verbs: their parameters, cautions, and tables of counters."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from labkit import studies, testbeds, tools
from labkit.figures.parts import Text
from labkit.host.network import rdma_devices
from labkit.judge import evidence
from labkit.studies._derived import of_samples

AUTO = "auto"
NO_RDMA = (
    "was not measured: there is no RDMA device here that pyverbs can use, and no soft-roce is up. Run `labkit testbed "
    "up soft-roce`, or set verbs_testbed=soft-roce, and run this notebook again."
)


def present(wanted: str, *, measure: bool) -> tuple[str, ...]:
    """Return the testbeds of verbs that a parameter names; for `AUTO` those that need not be brought up.

    Parameters
    ----------
    wanted : a testbed; empty for none; `AUTO` for a soft-roce that is up, else a device of this machine.
    measure : False where points are only read, from either testbed.
    """
    if wanted != AUTO:
        return (wanted,) if wanted else ()
    if not measure:
        return "soft-roce", "local"
    if any(testbeds.parse(one.text)[0] == "soft-roce" for one in testbeds.up()):
        return ("soft-roce",)
    return ("local",) if rdma_devices() and tools.version("pyverbs") != "unknown" else ()


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of all notebooks on RDMA verbs.

    Parameters
    ----------
    testbed : where they run: ``soft-roce``, or ``local`` with a device.
    device : name of the adapter; empty for the first that is active.
    launches, time_cap : few and short, for an emulated guest; raise both on an adapter.
    """

    testbed: str = "soft-roce"
    device: str = ""
    launches: int = 1
    time_cap: float = 0.3


class Study(studies.Study):
    """A study of verbs."""

    values: Parameters

    @property
    def where(self) -> dict[str, str]:
        """Fields of every spec that say where it runs."""
        return {"testbed": self.values.testbed, "device": self.values.device}

    def caution(self) -> Text:
        """Caution before any number: the numbers show function only, or nothing was measured."""
        if self.records.empty:
            return Text(
                f"Nothing of {', '.join(self.benchmarks)} was measured here. Set measure=True with "
                "testbed=soft-roce, or with testbed=local and a device."
            )
        absent = [name for name in self.benchmarks if name not in set(self.records["benchmark"])]
        missing = f"Not measured here: {', '.join(absent)}." if absent else ""
        warned = evidence.functional(list(self.records["badges"]))
        said = "\n\n".join(text for text in (warned, missing) if text)
        return Text(said or "No record is marked as functional only.")

    @of_samples
    def crossed(self) -> pd.DataFrame:
        """Bytes that crossed the link beside the payload, by point and launch."""
        return evidence.crossed(self.samples)

    def crossed_table(self) -> pd.DataFrame:
        """`crossed`, summed over the points of each benchmark and service."""
        return evidence.crossed_in_all(self.crossed)

    @of_samples
    def python_share(self) -> pd.DataFrame:
        """Cost of an empty pyverbs call, in µs."""
        return evidence.python_share(self.samples)
