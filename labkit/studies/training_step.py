"""What does the link make of a step of training, and what do overlap, bucket size and compression save?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import figures, studies, testbeds
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.models.limits import Limit
from labkit.point.spec import Spec, sweep
from labkit.point.units import parse_size
from labkit.store.samples.facts import GRADIENT_B
from labkit.studies import _linked, amount, centre, number, size_words, statement, words
from labkit.studies.verbs_under_loss_and_delay import level

if TYPE_CHECKING:
    import pandas as pd

STEP, LIBRARIES = "learning.training_step", ("learning.all_reduce", "mpi.allreduce")
FACTORS = {  # option of the testbed → label of its axis
    "rate": "rate of a link (Mbit/s)",
    "delay": "delay of a link (ms)",
    "loss": "packets lost (%)",
}
FLOOR = "gradients of 32 bits at the link's rate"
WAYS = (("none", "none"), ("after", "none"), ("overlap", "none"), ("overlap", "float16"), ("overlap", "powersgd"))


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on a step of training.

    Parameters
    ----------
    rates : rates of the links of the testbed, a list.
    delays, losses : delays and losses of the links at the first rate, lists; packets lost are in %.
    layers, width, length, batch : layers, width, length and batch of the model, on each rank.
    buckets : size of a message of gradients, B, at the first rate; empty leaves them out.
    sizes : sizes of an all-reduce of torch beside one of MPI, at the first rate; empty leaves it out.
    ranks : ranks that train.
    testbed : testbed with links that have a rate.
    """

    rates: str = "50mbit,200mbit,800mbit"
    delays: str = "1ms,4ms"
    losses: str = "1"
    layers: int = 2
    width: int = 128
    length: int = 32
    batch: int = 4
    buckets: str = "64Ki,256Ki,25Mi"
    sizes: str = "4Ki,64Ki,1Mi"
    ranks: int = 2
    testbed: str = "virtual-cluster:2"


class Study(studies.Study):
    """A step of training against the link, and the collective below it beside MPI's."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (STEP, *LIBRARIES)
    focus: ClassVar = ((STEP, "option_communication"), (STEP, "option_compression"), (STEP, "testbed"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Each way to communicate over each link; buckets and collectives over the first one."""
        v, specs = self.values, list[Spec]()
        places = [self._over(rate=rate) for rate in words(v.rates)]
        first = {"rate": words(v.rates)[0]}
        for factor, levels in _linked.possible(v, delay=v.delays, loss=v.losses).items():
            places += [self._over(**first, **{factor: level}) for level in words(levels)]
        for place in places:
            for communication, compression in WAYS:
                specs += self._step(place, communication=communication, compression=compression)
        for bucket in words(v.buckets):
            specs += self._step(places[0], bucket=parse_size(bucket))
        if v.sizes:
            where: dict[str, Any] = {"sizes": v.sizes, "ranks": v.ranks, "testbed": places[0]}
            specs += sweep(LIBRARIES[0], in_place=True, **where)
            specs += sweep(LIBRARIES[1], **where)
        return list(dict.fromkeys(specs))

    def _over(self, **options: str) -> str:
        """The testbed with these options of its links."""
        return testbeds.with_options(self.values.testbed, **options)

    def _step(self, place: str, **options: Any) -> list[Spec]:
        v = self.values
        model = {"layers": v.layers, "width": v.width, "length": v.length, "batch": v.batch}
        return sweep(STEP, sizes=[0], ranks=v.ranks, testbed=place, **model, **options)

    # ---- tables

    def against(self, factor: str) -> pd.DataFrame:
        """Rows of steps with torch's own buckets, against a property of the links; empty if it does not vary."""
        rows = self.of(STEP)
        if rows.empty:
            return rows
        given = [testbeds.parse(str(text))[2] for text in rows["testbed"]]
        others = {"delay", "loss"} - {factor}
        rows = rows.assign(
            level=[level(options.get(factor, "")) for options in given],
            way=[
                row.option_communication + ("" if row.option_compression == "none" else f", {row.option_compression}")
                for row in rows.itertuples()
            ],
        )
        fits = [not (others & options.keys()) for options in given]
        if factor != "rate":
            first = words(self.values.rates)[0]
            fits = [fit and options.get("rate") == first for fit, options in zip(fits, given, strict=True)]
        rows = rows[fits]
        rows = rows[rows["option_bucket"] == rows["option_bucket"].max()]
        return rows.sort_values(["way", "level"]) if rows["level"].nunique() > 1 else rows.iloc[:0]

    def buckets(self) -> pd.DataFrame:
        """Rows of steps with overlap and without compression over the first link, by size of a bucket."""
        rows = self.of(STEP)
        if rows.empty:
            return rows
        plain = (rows["option_communication"] == "overlap") & (rows["option_compression"] == "none")
        here = rows["testbed"] == self._over(rate=words(self.values.rates)[0])
        return rows[plain & here].sort_values("option_bucket")

    def parts(self) -> pd.DataFrame:
        """Phases of a step over each rate: the columns of a table."""
        steps = [f"step_s_{end}" for end in ("p50", "low", "high")]
        phases = {f"{part}_s_p50": f"{part} (s)" for part in ("forward", "backward", "reduction")}
        rows = self.against("rate")
        if len(rows):  # only `after` has a separate reduction: with overlap it is part of the backward pass
            own = rows["option_communication"] == "after"
            rows = rows.assign(reduction_s_p50=rows["reduction_s_p50"].where(own))
        rows = rows.filter(["way", "level", *steps, *phases, "n", "launches"])
        return rows.rename(columns={"level": "Mbit/s", **phases})

    # ---- the least that the link allows

    @property
    def gradient_B(self) -> int:  # noqa: N802 (a column's name)
        """Bytes of the gradients of a step, 32 bits each; 0 if no step was measured."""
        return next((size for one in self.samples if (size := GRADIENT_B.of(one.meta))), 0)

    def least_s(self, testbed: str) -> float | None:
        """Time that a host's link needs to send its part of an all-reduce of the gradients; None without a rate.

        Every rank sends 2 (n - 1) / n times the gradients at least, however they are reduced.
        """
        rate = testbeds.parse(testbed)[2].get("rate", "")
        if not rate or not self.gradient_B:
            return None
        ranks = self.values.ranks
        return 2 * (ranks - 1) / ranks * 8 * self.gradient_B / (level(rate) * 1e6)

    def _floored(self, drawn: Figure | Omitted, rows: pd.DataFrame, place: str) -> Figure | Omitted:
        """A figure with the least time that the links allow."""
        places = zip(rows[place], rows["testbed"], strict=True) if len(rows) else ()
        known = {at: least for at, testbed in places if (least := self.least_s(str(testbed))) is not None}
        if isinstance(drawn, Omitted) or not known:
            return drawn
        how = f"2 (n - 1) / n of {number(self.gradient_B / 1e6)} MB over the rate"
        floor = Limit(
            name=FLOOR,
            benchmarks=(STEP,),
            kind="floor",
            metric="step_s",
            values=dict(sorted(known.items())),
            formulas=dict.fromkeys(known, how),
            measured=False,
        )
        return Figure(figures.bounded(drawn.plot, [floor]))

    # ---- figures

    def step_figure(self, factor: str) -> Figure | Omitted:
        """Time of a step against a property of the links, a line for each way to communicate."""
        rows = self.against(factor)
        drawn = self.drawn(figures.versus, rows, "level", shown="step_s", label=FACTORS[factor], series=["way"])
        return self._floored(drawn, rows, "level")

    def bucket_figure(self) -> Figure | Omitted:
        """Time of a step against the size of a bucket."""
        rows = self.buckets()
        rows = rows.assign(bucket_B=rows["option_bucket"]) if len(rows) else rows  # an axis of sizes
        drawn = self.drawn(figures.versus, rows, "bucket_B", shown="step_s", label="bucket of gradients (B)")
        return self._floored(drawn, rows, "bucket_B")

    def libraries_figure(self) -> Figure | Omitted:
        """Bus bandwidth of an all-reduce of torch and of MPI over the first link."""
        rows = self.summary[self.summary["benchmark"].isin(LIBRARIES)]
        return self.drawn(figures.versus_size, rows, "busbw_GBps", series=["benchmark"], tail=None)

    # ---- sentences

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences: list[str] = []
        rows = self.against("rate")
        for rate, group in rows.groupby("level") if len(rows) else ():
            by_way = {row["way"]: row for _, row in group.iterrows()}
            if "none" not in by_way:
                continue
            alone = centre(by_way["none"], "step_s")
            if (least := self.least_s(str(by_way["none"]["testbed"]))) is not None:
                sentences.append(
                    f"At {number(rate)} Mbit/s a link needs at least {number(least)} s for the gradients "
                    f"({number(self.gradient_B / 1e6)} MB), and a step without communication takes {number(alone)} s."
                )
            for way in _WAYS:
                if way in by_way:
                    effect = effects.between(by_way[way], by_way["none"], "step_s")
                    takes = (
                        f"At {number(rate)} Mbit/s a step that sends its gradients {_WAYS[way]} (`{way}`) takes "
                        f"{statement(by_way[way], 'step_s')}"
                    )
                    than = "one without communication"
                    sentences.append(
                        effect.said(f"{takes}, {effect.times} as long as {than}", f"{takes}, {than} {number(alone)} s")
                    )
        both = self.summary[self.summary["benchmark"].isin(LIBRARIES)]
        for size, group in both.groupby("message_size_B") if len(both) else ():
            torch, mpi = (group[group["benchmark"] == name] for name in LIBRARIES)
            if len(torch) and len(mpi):
                effect = effects.between(torch.iloc[0], mpi.iloc[0], "busbw_GBps")
                sentences.append(
                    effect.said(
                        f"An all-reduce of {size_words(size)} has {effect.times} the bus bandwidth in torch that it "
                        "has in MPI over the same link",
                        f"An all-reduce of {size_words(size)} has a bus bandwidth of "
                        f"{amount(torch.iloc[0], 'busbw_GBps')} in torch, {amount(mpi.iloc[0], 'busbw_GBps')} in MPI",
                    )
                )
        sentences += _linked.left_out(self.values, delay=self.values.delays, loss=self.values.losses)
        return listed(sentences)


_WAYS = {
    "after": "after it has computed them all",
    "overlap": "while it computes",
    "overlap, float16": "while it computes, in 16 bits",
    "overlap, powersgd": "while it computes, compressed by PowerSGD",
}
