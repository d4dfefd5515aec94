"""What do programs that compute and communicate spend on the interconnect, and with whom do they talk?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from labkit import figures, studies
from labkit.benchmarks.compute import nas, nas_skeleton
from labkit.errors import SpecError, unknown_name
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.options.compute import Npb
from labkit.point.spec import Spec
from labkit.point.units import plural
from labkit.read import records
from labkit.store.samples.facts import COMMUNICATION
from labkit.studies import counts, statement, words
from labkit.tools import npb

if TYPE_CHECKING:
    from labkit.store.samples import Samples

_PREFIX, _SKELETON, _ORIGINAL = "compute.nas_", "_skeleton", "compute.npb"


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook about the NAS kernels.

    Parameters
    ----------
    launches : fresh starts of every point; the headline interval needs 6.
    time_cap : s of timed runs for a point and launch; a point has one run at least.
    kernels : a list of ep, is, cg, mg and ft.
    skeletons : programs of which only the messages run, a list of bt, sp and lu; empty for none.
    originals : programs of NPB itself to measure beside, a list such as cg,lu,bt; empty for none.
    classes : sizes of the problem, a list of S, W, A, B and C.
    ranks : a list; a kernel leaves out the numbers that it cannot use.
    transports : paths to compare, a list.
    """

    launches: int = 2
    time_cap: float = 0.3
    kernels: str = "ep,is,cg,mg,ft"
    skeletons: str = "bt,sp,lu"
    originals: str = ""
    classes: str = "S"
    ranks: str = "1,2,4"
    transports: str = "auto"


class Study(studies.Study):
    """NAS kernels over ranks: rate, share of communication, messages of each pair of ranks."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (
        *(f"{_PREFIX}{name}" for name in nas.KERNELS),
        *(f"{_PREFIX}{name}{_SKELETON}" for name in nas_skeleton.PROBLEMS),
        _ORIGINAL,
    )
    values: Parameters

    def specs(self) -> list[Spec]:
        """Every kernel and program of every class on each number of ranks that it can use."""
        v, many = self.values, counts(self.values.ranks, "ranks")
        kernels, classes = words(v.kernels.lower()), words(v.classes.upper())
        if not (many and kernels and classes):
            raise SpecError("kernels, classes or ranks is empty. Set kernels=is,cg, classes=S and ranks=1,2,4.")
        for name in kernels:
            if name not in nas.KERNELS:
                raise unknown_name("NAS kernel", name, list(nas.KERNELS))
        partial = words(v.skeletons.lower())
        for name in partial:
            if name not in nas_skeleton.PROBLEMS:
                raise unknown_name("skeleton", name, list(nas_skeleton.PROBLEMS))
        programs: list[tuple[str, dict[str, str]]]
        programs = [(f"{_PREFIX}{name}", {}) for name in (*kernels, *(f"{name}{_SKELETON}" for name in partial))]
        programs += [(_ORIGINAL, {"kernel": name, "model": "mpi"}) for name in words(v.originals.upper())]
        specs = [
            Spec(
                benchmark=benchmark,
                size=0,
                ranks=ranks,
                transport=path if ranks > 1 else "auto",
                launcher=v.launcher,
                testbed=v.testbed,
            ).replace(options={**options, "npb_class": letter})
            for benchmark, options in programs
            for letter in classes
            for ranks in many
            for path in words(v.transports)
        ]
        possible = [spec for spec in dict.fromkeys(specs) if not _complaint(spec)]
        if not possible:
            raise SpecError(f"ranks={v.ranks}: {_complaint(specs[0])}")
        return possible

    # ---- rows --------------------------------------------------------------------------------------------------

    def rows(self) -> pd.DataFrame:
        """Rows of the summary with kernel and class in words, kernels in NPB's order."""
        rows = self.summary
        if rows.empty:
            return rows
        rows = rows[rows["benchmark"].str.startswith(_PREFIX) & ~rows["benchmark"].str.endswith(_SKELETON)]
        names = rows["benchmark"].str.removeprefix(_PREFIX)
        rows = rows.assign(
            kernel=names.str.upper(), problem=names.str.upper() + " " + rows["option_npb_class"].astype(str)
        )
        place = {name: k for k, name in enumerate(nas.KERNELS)}
        order = rows.assign(place=names.map(place), size=rows["option_npb_class"].map(nas.CLASSES.index))
        return order.sort_values(["size", "place", "ranks", "transport"]).drop(columns=["place", "size"])

    def examples(self, skeletons: bool = False) -> list[Samples]:
        """The first launch of each kernel's, or skeleton's, largest class on the most ranks, in NPB's order."""
        chosen = []
        for name in (one for one in self.benchmarks if one.endswith(_SKELETON) == skeletons):
            found = [one for one in self.samples if one.spec.benchmark == name and one.n]
            if found:
                chosen.append(max(found, key=lambda one: (_size(one), one.spec.ranks, -one.launch, one.spec.transport)))
        return chosen

    # ---- figures -----------------------------------------------------------------------------------------------

    def rate_figure(self) -> Figure | Omitted:
        """Operations per second against ranks, a line for each problem."""
        rows = self.rows()
        series = ["problem", *self._paths(rows)]
        return self.drawn(figures.versus, rows, "ranks", shown="operations_Mops", series=series)

    def share_figure(self) -> Figure | Omitted:
        """Share of the run time inside MPI, a bar for each problem on each number of ranks but one."""
        rows = self.rows()
        rows = rows[rows["ranks"] > 1] if len(rows) else rows
        series = ["ranks", *self._paths(rows)]
        return self.drawn(figures.bars, rows, "problem", metric="communication_percent", series=series)

    def _paths(self, rows: pd.DataFrame) -> list[str]:
        """The column of paths as a series, where several are compared."""
        several = len(rows) and rows["transport"].nunique() > 1 and len(words(self.values.transports)) > 1
        return ["transport"] if several else []

    def split_figure(self) -> Figure | Omitted:
        """Share of computation and communication of every rank, most ranks."""
        programs = [
            figures.Shares(_title(one), *(one.phases[name].mean(axis=-1) * 1e-9 for name in _PHASES))
            for one in self.examples()
            if one.over is None
        ]
        return Figure(figures.time_split(programs, small="mean over the runs of a launch")) if programs else NOTHING

    def traffic_figure(self, skeletons: bool = False) -> Figure | Omitted:
        """Bytes of a run between each pair of ranks."""
        programs = [figures.Traffic(_title(one), *_matrices(one)) for one in self.examples(skeletons)]
        if not any(one.messages.any() for one in programs):
            return NOTHING
        return Figure(figures.traffic(programs))

    # ---- tables ------------------------------------------------------------------------------------------------

    def table(self) -> pd.DataFrame:
        """Every point: rate, run time, computation and communication of the slowest rank, share of communication."""
        columns = {
            "problem": "kernel and class",
            "ranks": "ranks",
            "transport": "transport",
            "operations_Mops_p50": "Mop/s",
            "operations_Mops_low": "low",
            "operations_Mops_high": "high",
            "run_time_s_p50": "time (s)",
            "computation_s_p50": "computation (s)",
            "communication_s_p50": "communication (s)",
            "communication_percent_value": "of the time (%)",
            "n": "n",
        }
        rows = self.rows()
        return rows[[name for name in columns if name in rows]].rename(columns=columns)

    def skeletons(self) -> pd.DataFrame:
        """Every skeleton: run time, bandwidth and rate of its messages, all ranks together."""
        columns = {
            "skeleton": "program, class",
            "ranks": "ranks",
            "transport": "transport",
            "run_time_s_p50": "time (s)",
        }
        columns |= {"run_time_s_low": "low", "run_time_s_high": "high", "bandwidth_MBps_p50": "MB/s"}
        columns |= {"message_rate_per_s_p50": "messages (1/s)", "n": "n"}
        rows = self.summary
        rows = rows[rows["benchmark"].str.endswith(_SKELETON)] if len(rows) else rows
        if rows.empty:
            return rows
        names = rows["benchmark"].str.removeprefix(_PREFIX).str.removesuffix(_SKELETON).str.upper()
        rows = rows.assign(skeleton=names + " " + rows["option_npb_class"].astype(str))
        rows = rows.sort_values(["skeleton", "ranks", "transport"])
        return rows[[name for name in columns if name in rows]].rename(columns=columns)

    def originals(self) -> pd.DataFrame:
        """Every program of NPB itself: rate and run time, beside the rate of labkit's kernel for the same problem."""
        columns = {
            "problem": "program, class",
            "ranks": "ranks",
            "transport": "transport",
            "operations_Mops_value": "Mop/s",
            "operations_Mops_low": "low",
            "operations_Mops_high": "high",
            "run_time_s_value": "time (s)",
            "launches": "launches",
            "operations_Mops_p50": "Mop/s of labkit's kernel",
        }
        rows, kernels = self.summary, self.rows()
        rows = rows[rows["benchmark"] == _ORIGINAL] if len(rows) else rows
        if rows.empty:
            return rows
        rows = rows.assign(problem=rows["option_kernel"].astype(str) + " " + rows["option_npb_class"].astype(str))
        if "run_time_s_value" in rows:
            rows["run_time_s_value"] = [records.value_of(row, "run_time_s").text for row in rows.to_dict("records")]
        rows = rows.drop(columns="operations_Mops_p50", errors="ignore").sort_values(["problem", "ranks", "transport"])
        if len(kernels):
            rows = rows.merge(kernels[[*_PLACE, "operations_Mops_p50"]], how="left", on=_PLACE)
        return rows[[name for name in columns if name in rows]].rename(columns=columns)

    def messages(self, skeletons: bool = False) -> pd.DataFrame:
        """Messages of a run: how many and how large, with how many partners, and calls of collectives."""
        table = []
        for one in self.examples(skeletons):
            count, sent = _matrices(one)
            others = ~np.eye(len(count), dtype=bool)
            collectives = COMMUNICATION.of(one.meta).get("collectives", {})
            calls = [f"{name} {calls} × {moved // calls} B" for name, (calls, moved) in collectives.items() if calls]
            table.append(
                {
                    "kernel, class, ranks": _title(one),
                    "partners": int(((count > 0) & others).sum(axis=1).max()),
                    "messages": int((count * others).sum()),
                    "MB": float((sent * others).sum() / 1e6),
                    "mean message (B)": float((sent * others).sum() / max((count * others).sum(), 1)),
                    "collectives of a rank": ", ".join(calls) or "none",
                }
            )
        return pd.DataFrame(table)

    # ---- sentences ---------------------------------------------------------------------------------------------

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._rates(), *self._shares(), *self._verified()])

    def _rates(self) -> Iterator[str]:
        """Speedup of each problem from the fewest to the most ranks."""
        rows = self.rows()
        for problem, group in rows.groupby("problem", sort=False) if len(rows) else ():
            least, most = group["ranks"].min(), group["ranks"].max()
            if least == most:
                continue
            few, many = (group[group["ranks"] == ranks].iloc[0] for ranks in (least, most))
            effect = effects.between(few, many, "run_time_s")
            rate, start = statement(many, "operations_Mops"), plural(least, "rank")
            yield effect.said(
                f"{problem}: {rate} on {most} ranks, {effect.times} as fast as on {start}",
                f"{problem}: {rate} on {most} ranks, {statement(few, 'operations_Mops')} on {start}",
            )

    def _shares(self) -> Iterator[str]:
        """Which kernel spends the most, and the least, inside MPI."""
        rows = self.rows()
        rows = rows[rows["ranks"] > 1] if len(rows) else rows
        if rows.empty:
            return
        rows = rows[rows["ranks"] == rows["ranks"].max()].sort_values("communication_percent_value")
        parts = [
            f"{row['problem']} {effects.stated_share(row, 'communication_percent') or 'not known'}"
            for _, row in rows.iterrows()
        ]
        yield (
            f"Share of the run time inside MPI on {plural(rows['ranks'].iloc[0], 'rank')}, mean over ranks: "
            f"{', '.join(parts)}. It includes waiting for ranks that are late."
        )

    def _verified(self) -> Iterator[str]:
        if self.examples():
            yield "Every result agrees with the published one, or the point would have failed."
        if self.examples(skeletons=True):
            yield "Every message of a skeleton was the one that its receiver expected, or the point would have failed."


_PLACE = ["problem", "ranks", "transport"]
_PHASES = ("computation_ns", "communication_ns")


def _complaint(one: Spec) -> str:
    """What is wrong with the ranks of a kernel or program; empty if nothing is."""
    if one.benchmark == _ORIGINAL:
        return npb.wrong(one.having(Npb(**one.values)))
    spec = one.of(nas.Options)
    letter = nas.letter(spec)
    if letter not in nas.CLASSES:
        raise unknown_name("class", str(letter), list(nas.CLASSES))
    if not spec.benchmark.endswith(_SKELETON):
        return nas.KERNELS[spec.benchmark.removeprefix(_PREFIX)].check(spec)
    if spec.ranks == 1:
        return "ranks=1, but a skeleton has messages between ranks. Set ranks=4."
    return nas_skeleton.check(spec)


def _size(one: Samples) -> int:
    """Place of a point's class among all."""
    return nas.CLASSES.index(nas.letter(one.spec.of(nas.Options)))


def _title(one: Samples) -> str:
    """Kernel, class and ranks in words."""
    name, letter = one.spec.benchmark.removeprefix(_PREFIX), nas.CLASSES[_size(one)]
    kernel = name.removesuffix(_SKELETON).upper()
    return f"{kernel} {letter}, {one.spec.ranks} {'rank' if one.spec.ranks == 1 else 'ranks'}"


def _matrices(one: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Messages and bytes from each rank to each."""
    count = np.zeros((2, one.spec.ranks, one.spec.ranks), np.int64)
    for rank, peer, messages, sent in COMMUNICATION.of(one.meta).get("pairs", []):
        count[:, rank, peer] = messages, sent
    return count[0], count[1]
