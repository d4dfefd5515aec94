"""How much of the time of a collective can a rank spend on its own work?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import benchmarks, figures, studies
from labkit.errors import SpecError
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.spec import Spec, sweep
from labkit.point.units import plural
from labkit.studies import amount, number, size_words, words

if TYPE_CHECKING:
    import pandas as pd

FORMS = ("mpi.allreduce", "mpi.iallreduce", "mpi.allreduce_persistent")


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the overlap notebook.

    Parameters
    ----------
    collectives : non-blocking ones, such as iallreduce.
    sizes : message sizes, MIN:MAX or a list.
    tests : calls of MPI_Test during the computation, a list to compare.
    ranks : ranks that take part.
    forms : sizes at which blocking, non-blocking and persistent allreduce are compared; empty leaves it out.
    transport : path of the messages.
    """

    collectives: str = "iallreduce,ialltoall,ibcast"
    sizes: str = "8:512Ki:*8"
    tests: str = "0,8"
    ranks: int = 2
    forms: str = "8:512Ki:*8"
    transport: str = "auto"


class Study(studies.Study):
    """Overlap of collectives with computation, and the three forms of one."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = tuple(
        dict.fromkeys([*(n for n, b in benchmarks.find().items() if n.startswith("mpi.i") and b.phases), *FORMS])
    )
    focus: ClassVar = (("mpi.iallreduce", "option_tests"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Every collective with and without MPI_Test; the forms of allreduce."""
        v = self.values
        where = {"ranks": v.ranks, "transport": v.transport, "launcher": v.launcher, "testbed": v.testbed}
        tests = [int(text) for text in words(v.tests)]
        specs = []
        for name in words(v.collectives):
            if f"mpi.{name}" not in self.benchmarks or f"mpi.{name}" == FORMS[0]:
                raise SpecError(f"collectives={name!r} is not a non-blocking collective. Set it to such as iallreduce.")
            specs += sweep(f"mpi.{name}", sizes=v.sizes, tests=tests, **where)
        if v.forms:
            specs += sweep(FORMS[0], sizes=v.forms, **where)
            specs += [s for name in FORMS[1:] for s in sweep(name, sizes=v.forms, overlap=False, **where)]
        return specs

    def _overlapped(self, tests: int | None = None) -> pd.DataFrame:
        """Rows with computation; those with this many calls of MPI_Test, or all."""
        rows = self.summary
        if "option_overlap" not in rows:
            return rows.iloc[:0]
        rows = rows[rows["option_overlap"].fillna(False).astype(bool)]
        rows = rows.assign(collective=rows["benchmark"].str.removeprefix("mpi."))
        return rows if tests is None else rows[rows["option_tests"] == tests]

    def _first(self) -> pd.DataFrame:
        """Rows of the first collective, with the fewest calls of MPI_Test."""
        rows = self._overlapped()
        rows = rows[rows["option_tests"] == rows["option_tests"].min()] if len(rows) else rows
        return rows[rows["benchmark"] == rows["benchmark"].iloc[0]] if len(rows) else rows

    def times_figure(self) -> Figure | Omitted:
        """Pure time, computation, and both together, of the first collective."""
        names = {"pure_us": "pure", "compute_us": "computation inside", "latency_us": "both together"}
        return self.drawn(figures.several_metrics, self._first(), names, label="time")

    def overlap_figure(self) -> Figure | Omitted:
        """Overlap by both definitions, without MPI_Test."""
        names = {"overlap_osu_percent": "OSU", "overlap_imb_percent": "IMB"}
        return self.drawn(
            figures.several_metrics, self._overlapped(0), names, label="overlap", series=["collective"], linear=True
        )

    def tests_figure(self) -> Figure | Omitted:
        """OSU's overlap with and without calls of MPI_Test."""
        rows = self._overlapped()
        return self.drawn(
            figures.versus_size, rows, "overlap_osu_percent", series=["collective", "option_tests"], tail=None
        )

    def forms_figure(self) -> Figure | Omitted:
        """Blocking, non-blocking and persistent allreduce, nothing overlapped."""
        rows = self.summary[self.summary["benchmark"].isin(FORMS)]
        if "option_overlap" in rows:
            rows = rows[~rows["option_overlap"].fillna(False).astype(bool)]
        return self.drawn(figures.versus_size, rows, "latency_us", series=["benchmark"])

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences = []
        for name, group in self._overlapped().groupby("benchmark", sort=False):
            for tests, rows in group.groupby("option_tests", sort=False):
                how = f"with {plural(int(tests), 'call')} of MPI_Test" if tests else "without MPI_Test"
                sentences += [f"{name} {how}: {text}" for text in _hidden(rows)]
        forms = self.summary[self.summary["benchmark"].isin(FORMS)]
        if "option_overlap" in forms:
            forms = forms[~forms["option_overlap"].fillna(False).astype(bool)]
        small = forms[forms["message_size_B"] == forms["message_size_B"].min()]
        by_form = {row["benchmark"]: row for row in small.to_dict("records")[::-1]}
        sentences += [_request(name, by_form) for name in FORMS[1:] if {name, FORMS[0]} <= by_form.keys()]
        return listed(sentences)


def _hidden(rows: pd.DataFrame) -> Iterator[str]:
    """How much computation hides, and how far the definitions differ, over sizes with a valid share."""
    known = rows[[bool(effects.stated_share(row, "overlap_osu_percent")) for row in rows.to_dict("records")]]
    if len(known) < len(rows):
        yield (
            f"the overlap of {len(rows) - len(known)} of {plural(len(rows), 'size')} is not known, because the times "
            "do not add "
            "up or come from one launch on a busy machine."
        )
    if known.empty:
        return
    osu, imb = known["overlap_osu_percent_value"], known["overlap_imb_percent_value"]
    best, gap = known.loc[osu.idxmax()], (osu - imb).abs()
    yield (
        f"computation hides at most {number(osu.max())} % of the pure time (OSU), at messages of "
        f"{size_words(best['message_size_B'])}; the median over sizes is {number(osu.median())} %."
    )
    if gap.notna().any():
        yield (
            f"the two definitions differ by at most {number(gap.max())} points, at "
            f"{size_words(known.loc[gap.idxmax()]['message_size_B'])}."
        )


def _request(name: str, by_form: Mapping[str, Mapping[str, Any]]) -> str:
    """What the request of a form adds to the blocking call."""
    form, blocking = by_form[name], by_form[FORMS[0]]
    effect = effects.between(form, blocking, "latency_us")
    values = (
        f"The smallest allreduce takes {amount(form, 'latency_us')} as {name} and "
        f"{amount(blocking, 'latency_us')} blocking"
    )
    return effect.said(f"{values}: the request {effect.change('µs')}", values)
