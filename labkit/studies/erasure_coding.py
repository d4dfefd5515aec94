"""How fast are erasure codes, and what do fragments, block size and lost fragments cost?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from labkit import figures, studies
from labkit.figures.parts import NOTHING, Figure, Omitted, Table, Text, listed
from labkit.judge import effects
from labkit.options.storage import Encoding
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_share, parse_sizes
from labkit.read import records
from labkit.store.samples.facts import FINGERPRINT
from labkit.studies import bare, counts, number, size_words, statement, words

if TYPE_CHECKING:
    import pandas as pd

ENCODE, DECODE = "storage.encode", "storage.decode"


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook about erasure codes.

    Parameters
    ----------
    codes : to compare, a list; see `labkit describe storage.encode`.
    sizes : size of a block, MIN:MAX or a list.
    shapes : fragments of data and of parity as K+M, a list; each at the largest size.
    erasures : lost fragments of data, a list; each at the largest size with the first shape that allows it.
    """

    codes: str = "isa_l_rs_vand,isa_l_rs_cauchy,jerasure_rs_vand,jerasure_rs_cauchy,liberasurecode_rs_vand"
    sizes: str = "4Ki,64Ki,1Mi"
    shapes: str = "4+2,6+3,10+4"
    erasures: str = "1,2"


class Study(studies.Study):
    """Encoding and decoding over block size, fragments and lost fragments."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (ENCODE, DECODE)
    focus: ClassVar = ((ENCODE, "option_code"), (DECODE, "option_code"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Both operations over sizes, over shapes, and decoding over lost fragments."""
        v, codes = self.values, words(self.values.codes)
        shapes = [self._shape(text) for text in words(v.shapes)]
        sizes = parse_sizes(v.sizes)
        k, m = shapes[0]
        specs = []
        for name in (ENCODE, DECODE):
            specs += sweep(name, sizes=sizes, ranks=1, code=codes, k=k, m=m)
            for data, parity in shapes[1:]:
                specs += sweep(name, sizes=[max(sizes)], ranks=1, code=codes, k=data, m=parity)
        for lost in counts(v.erasures, "erasures"):
            fitting = next(((a, b) for a, b in shapes if min(a, b) >= lost), None)
            if fitting is not None:
                specs += sweep(
                    DECODE, sizes=[max(sizes)], ranks=1, code=codes, k=fitting[0], m=fitting[1], erasures=lost
                )
        return list(dict.fromkeys(specs))

    @staticmethod
    def _shape(text: str) -> tuple[int, int]:
        data, _, parity = text.partition("+")
        (k,), (m,) = counts(data, "shapes"), counts(parity or "0", "shapes")
        return k, m

    def _rows(self, name: str) -> pd.DataFrame:
        rows = self.of(name)
        if rows.empty:
            return rows
        codes = words(self.values.codes)
        rows = rows.sort_values("option_code", key=lambda column: column.map(codes.index), kind="stable")
        return rows.assign(shape=[f"{k:.0f}+{m:.0f}" for k, m in zip(rows["option_k"], rows["option_m"], strict=True)])

    def sizes_figure(self, name: str) -> Figure | Omitted:
        """Bandwidth against the size of a block, a line for each code.

        Parameters
        ----------
        name : name of the benchmark.
        """
        rows = self._rows(name)
        if len(rows):
            rows = rows[(rows["shape"] == words(self.values.shapes)[0]) & (self._lost(rows) == 1)]
        return self.drawn(figures.versus_size, rows, "bandwidth_MBps", series=["option_code"], tail=None)

    def shapes_figure(self, name: str) -> Figure | Omitted:
        """Bandwidth of the largest block for each number of fragments."""
        rows = self._rows(name)
        if len(rows):
            rows = rows[(rows["message_size_B"] == rows["message_size_B"].max()) & (self._lost(rows) == 1)]
            order = words(self.values.shapes)
            rows = rows.sort_values("shape", key=lambda column: column.map({s: n for n, s in enumerate(order)}))
        return self.drawn(
            lambda drawn, metric: figures.bars(drawn, "shape", metric, series=["option_code"]), rows, "bandwidth_MBps"
        )

    def erasures_figure(self) -> Figure | Omitted:
        """Time to decode the largest block against the number of lost fragments."""
        rows = self._rows(DECODE)
        if len(rows):
            rows = rows[rows["message_size_B"] == rows["message_size_B"].max()]
            most = rows.groupby("shape")["option_erasures"].nunique().idxmax()
            rows = rows[rows["shape"] == most]
        return self.drawn(
            figures.versus, rows, "option_erasures", shown="latency_us", series=["option_code"], label="lost fragments"
        )

    @staticmethod
    def _lost(rows: pd.DataFrame) -> pd.Series:
        """Lost fragments of each row; 1 for encoding, which loses none."""
        return rows["option_erasures"].fillna(1) if "option_erasures" in rows else rows["launches"] * 0 + 1

    def processors(self) -> Table | Omitted:
        """Processor time of each code over the time of its loop."""
        values = records.reported(self.samples)
        values = values[values["name"] == "cpu"]
        if values.empty:
            return NOTHING
        codes = {FINGERPRINT.of(one.meta): one.spec.of(Encoding).options.code for one in self.samples}
        values = values.assign(code=values["fingerprint"].map(codes))
        shares = values.groupby(["code", "benchmark"])["value"].agg(["median", "min", "max"])
        rows = [
            [code, name, *(f"{number(share[part])} %" for part in ("median", "min", "max"))]
            for (code, name), share in shares.iterrows()
        ]
        return Table.of(["code", "benchmark", "CPU use, median", "least", "most"], rows, align="llrrr")

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        shape = words(self.values.shapes)[0]
        sentences = []
        for name, doing in ((ENCODE, "Encoding"), (DECODE, "Decoding")):
            rows = self._rows(name)
            rows = rows[(rows["shape"] == shape) & (self._lost(rows) == 1)] if len(rows) else rows
            if not len(rows):
                continue
            rows = rows[rows["message_size_B"] == rows["message_size_B"].max()]
            rows = rows.sort_values("bandwidth_MBps_p50", ascending=False)
            codes = [(row["option_code"], row) for row in rows.to_dict("records")]
            rates = [f"{code} {bare(row, 'bandwidth_MBps')}" for code, row in codes]
            first, rest = codes[0], rates[1:]
            lost = ", one fragment lost" if name == DECODE else ""
            what = f"{doing} blocks of {size_words(first[1]['message_size_B'])} ({shape}{lost})"
            if len(records.sound(rows, "bandwidth_MBps")) < len(rows):  # a bound may be the fastest
                sentences.append(f"{what}, MB/s: {', '.join(rates)}.")
                continue
            what = f"{what}: {first[0]}"
            rate = statement(first[1], "bandwidth_MBps")
            if rest:
                others = f"; the others, MB/s: {', '.join(rest)}"
                effect = effects.between(first[1], codes[1][1], "bandwidth_MBps", tests=effects.pairs(len(codes)))
                sentences.append(
                    effect.said(
                        f"{what} is the fastest with {rate}{others}",
                        f"{what} has {rate}{others}",
                    )
                )
            else:
                sentences.append(f"{what} with {rate}.")
        return listed([*sentences, *self._of_parity()])

    def _of_parity(self) -> Iterator[str]:
        """How the rate of encoding falls from the fewest to the most fragments of parity."""
        rows = self._rows(ENCODE)
        if rows.empty or rows["option_m"].nunique() < 2:
            return
        rows = rows[rows["message_size_B"] == rows["message_size_B"].max()].sort_values("option_m", kind="stable")
        falls = {}
        for code, group in rows.groupby("option_code", sort=False):
            few, many = group.iloc[0].to_dict(), group.iloc[-1].to_dict()
            if few["shape"] != many["shape"]:
                falls[str(code)] = effects.between(many, few, "bandwidth_MBps"), few["shape"], many["shape"]
        slower = {code: fall for code, fall in falls.items() if fall[0].less}
        if slower:
            code, (effect, fewest, most) = min(slower.items(), key=lambda item: item[1][0].ratio)
            yield effect.said(
                f"More parity costs {code} most, because every byte goes into each fragment of parity: {most} is "
                f"encoded at {format_share(effect.ratio)} of the rate of {fewest}",
                code,
            )
        elif falls:
            yield "No code shows that it encodes more slowly with more parity."
