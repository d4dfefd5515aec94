"""How do the numbers that papers print compare with those of this machine, for equal arguments?"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from labkit import benchmarks, host, studies
from labkit.benchmarks import DeviceBenchmark, InterferenceBenchmark, ToolBenchmark
from labkit.errors import SpecError, unknown_name
from labkit.figures.parts import Omitted, Text, listed
from labkit.point.host_list import named
from labkit.point.notes import joined
from labkit.point.spec import Spec
from labkit.point.units import plural
from labkit.read import reference
from labkit.read.reference import ANY, UNITS, UNMEASURED, Entry, comparing
from labkit.read.reference.comparing import Comparison, Point
from labkit.studies import words

_NORMAL = ("%", "times")
_NO_GPU, _MISSING = "it needs a GPU", "its points are missing in this campaign"
_NO_ADAPTER = "it needs RDMA: set rdma=local on hosts with adapters, or rdma=soft-roce to see that it works"


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook about published numbers.

    Parameters
    ----------
    papers : names of the papers, a list; empty for all that `labkit reference` lists.
    ranks : most ranks of a point; 0 for as many as this machine has processors. A share or a ratio is measured with
        these where the paper has more, other numbers are left out.
    order : order of the matrix of HPL, for which each paper took the largest that fits.
    testbed : for numbers that need several hosts; empty leaves them out.
    rdma : testbed for numbers over RDMA; empty leaves them out.
    device : RDMA adapter; empty for the first that is active.
    hosts : hosts of MPI ranks, in place of this machine and of the testbed, a list.
    launcher : how ranks start.
    """

    time_cap: float = 0.5
    papers: str = ""
    ranks: int = 0
    order: int = 2000
    testbed: str = "virtual-cluster:5"
    rdma: str = ""
    device: str = ""
    hosts: str = ""
    launcher: str = "auto"


class Study(studies.Study):
    """Published numbers beside points of the same arguments, each with the ratio of both."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = tuple(dict.fromkeys(name for one in reference.entries() for name in one.number.benchmarks))
    values: Parameters

    @property
    def entries(self) -> list[Entry]:
        """The numbers of the chosen papers."""
        known, chosen = reference.names(), words(self.values.papers)
        for name in chosen:
            if name not in known:
                raise unknown_name("paper", name, known)
        return [one for name in chosen or known for one in reference.entries(file=name)]

    @property
    def linked(self) -> list[Entry]:
        """Those that a benchmark measures, as the quantities that it measures."""
        return [
            Entry(one.file, one.paper, one.paper.measurable(one.number))
            for one in self.entries
            if one.number.benchmarks and not one.number.instead
        ]

    def specs(self) -> list[Spec]:
        """A point for each number and benchmark of it, with the paper's arguments, if this machine allows it."""
        specs = [
            spec
            for one in self.linked
            for point in comparing.points(one.number)
            if not self._reason_against(one, point)
            for spec in self._specs(one, point)
        ]
        if not specs:
            raise SpecError("No number of these papers can be measured here. Leave papers empty, or raise ranks.")
        return list(dict.fromkeys(specs))

    def _specs(self, one: Entry, point: Point) -> Iterator[Spec]:
        """A spec for each size of a point."""
        v, number, mpi = self.values, one.number, benchmarks.get(point.benchmark).mpi
        options = {**point.options, **({"n": v.order} if number.options.get("n") == ANY else {})}
        hosts = named(v.hosts) if mpi else ()
        each = number.processes // number.nodes if hosts and number.nodes else int(_apart(point.benchmark))
        ranks = min(point.processes, self._most)
        if hosts and _apart(point.benchmark):  # each of two jobs has half of them
            ranks = min(ranks, len(hosts) // 2)
        for size in point.sizes:
            yield Spec(
                benchmark=point.benchmark,
                size=size,
                ranks=ranks,
                ppn=each if mpi else 0,
                hosts=hosts,
                launcher=v.launcher if mpi else "auto",
                transport=point.transport,
                device=v.device if number.transport == "rdma" else "",
                testbed="local" if hosts else self._place_of(one, point),
                options=options,
            )

    @property
    def _most(self) -> int:
        return self.values.ranks or len(os.sched_getaffinity(0))

    def _place_of(self, one: Entry, point: Point) -> str:
        """Testbed of a point; empty if the parameters leave it out."""
        if one.number.transport == "rdma":
            return self.values.rdma
        return self.values.testbed if _apart(point.benchmark) else "local"

    def _reason_against(self, one: Entry, point: Point) -> str:
        """Why a number is not measured here; empty if it is."""
        number = one.number
        if not number.statistic:
            return comparing.UNNAMED
        if number.needs:
            return f"it needs {number.needs}"
        if point.processes > self._most and number.unit not in _NORMAL:
            return f"the paper has {plural(point.processes, 'process', 'processes')}, and ranks={self._most} here"
        benchmark = benchmarks.get(point.benchmark)
        given = self.values.hosts and benchmark.mpi
        if isinstance(benchmark, DeviceBenchmark) and self.values.measure and not given and not host.gpus():
            return _NO_GPU
        if not given and not self._place_of(one, point):
            return _NO_ADAPTER if number.transport == "rdma" else "it needs several hosts, and testbed is empty"
        if number.transport == "rdma" and _apart(point.benchmark) and self.values.rdma.startswith("soft-roce"):
            return "it needs several hosts with adapters"
        return ""

    # ---- what came of it -------------------------------------------------------------------------------------------

    def compared(self) -> list[tuple[Entry, Comparison]]:
        """Each number that was measured, with the points of the paper's processes or the nearest."""
        found = []
        for one in self.linked:
            tables = (self.of(name) for name in one.number.benchmarks)
            if best := comparing.first(one.number, tables):
                found.append((one, best))
        return found

    def table(self) -> pd.DataFrame:
        """Published and measured value, launches, and the ratio of both."""
        rows = [
            {
                "published in": one.place,
                "quantity": ", ".join(filter(None, (one.number.text, one.number.network))),
                "published": one.number.stated,
                "measured here": _measured(best),
                "launches": best.launches,
                "ratio": best.ratio,
            }
            for one, best in self.compared()
        ]
        return pd.DataFrame(rows)

    def left_out(self) -> pd.DataFrame:
        """Numbers that labkit can measure and that were not measured here, each with the reason."""
        measured = {(one.file, one.number.name) for one, _ in self.compared()}
        rows = [
            {
                "published in": one.place,
                "quantity": ", ".join(filter(None, (one.number.text, one.number.network))),
                "published": one.number.stated,
                "not measured here": self._why(one),
            }
            for one in self.linked
            if (one.file, one.number.name) not in measured
        ]
        return pd.DataFrame(rows)

    def _why(self, one: Entry) -> str:
        """Why a number has no measured value."""
        reasons = dict.fromkeys(self._reason_against(one, point) for point in comparing.points(one.number))
        absent = self.campaign.facts.get("absent", {})
        found = [*filter(None, reasons), *(absent[name] for name in one.number.benchmarks if name in absent)]
        lacking = [line for line in self.lacking if any(name in line for name in one.number.benchmarks)]
        on_gpu = any(isinstance(benchmarks.get(name), DeviceBenchmark) for name in one.number.benchmarks)
        return joined(dict.fromkeys([*found, *lacking])) or (_NO_GPU if on_gpu else _MISSING)

    def unlinked(self) -> pd.DataFrame:
        """How many numbers no benchmark of labkit measures, by reason."""
        counts: Counter[str] = Counter(one.number.unmeasured for one in self.entries if one.number.unmeasured)
        rows = [
            {"code": code, "the number is": why, "numbers": counts[code]}
            for code, why in UNMEASURED.items()
            if code in counts
        ]
        return pd.DataFrame(rows)

    def findings(self) -> Text | Omitted:
        """How many numbers were measured, and how many have a ratio; the table has the ratios."""
        found = self.compared()
        ratios = [best for _, best in found if not best.why]
        first = (
            f"{len(found)} of {plural(len(self.linked), 'number')} that labkit can measure were measured here with the "
            f"paper's arguments, {len(ratios)} of them with a ratio of measured to published."
        )
        return listed([first] if found else [])


def _apart(name: str) -> bool:
    """Whether the points of a benchmark need several hosts."""
    benchmark = benchmarks.get(name)
    several = isinstance(benchmark, ToolBenchmark) and benchmark.ends.several
    return several or isinstance(benchmark, InterferenceBenchmark)


def _measured(best: Comparison) -> str:
    """The measured value with its unit, path and scale."""
    unit = "" if UNITS[best.number.unit][0] == "1" else f" {best.number.unit}"
    return f"{best.measured}{unit}" + (f" ({best.setting})" if best.setting else "")
