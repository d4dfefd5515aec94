"""How fast are erasure codes, and what do fragments, block size and lost fragments cost?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from labkit import figures, records, studies
from labkit.markdown import table
from labkit.samples.facts import FINGERPRINT
from labkit.spec import Spec, sweep
from labkit.studies import LEFT_OUT, counts, markdown_list, number, size_words, statement, words
from labkit.units import parse_sizes

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

ENCODE, DECODE = "storage.encode", "storage.decode"


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook about erasure codes.

    Parameters
    ----------
    codes : to compare, a list; see `labkit describe storage.encode`.
    sizes : of a block, MIN:MAX or a list.
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
        return rows.assign(shape=[f"{k:.0f}+{m:.0f}" for k, m in zip(rows["option_k"], rows["option_m"], strict=True)])

    def sizes_figure(self, name: str) -> go.Figure | str:
        """Bandwidth against the size of a block, a line for each code.

        Parameters
        ----------
        name : of the benchmark.
        """
        rows = self._rows(name)
        if len(rows):
            rows = rows[(rows["shape"] == words(self.values.shapes)[0]) & (self._lost(rows) == 1)]
        return self.drawn(figures.versus_size, rows, "bandwidth_MBps", series=["option_code"], tail=None)

    def shapes_figure(self, name: str) -> go.Figure | str:
        """Bandwidth of the largest block for each number of fragments."""
        rows = self._rows(name)
        if len(rows):
            rows = rows[(rows["message_size_B"] == rows["message_size_B"].max()) & (self._lost(rows) == 1)]
            order = words(self.values.shapes)
            rows = rows.sort_values("shape", key=lambda column: column.map({s: n for n, s in enumerate(order)}))
        return self.drawn(
            lambda drawn, metric: figures.bars(drawn, "shape", metric, series=["option_code"]), rows, "bandwidth_MBps"
        )

    def erasures_figure(self) -> go.Figure | str:
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

    def processors(self) -> str:
        """Processor time of each code over the time of its loop, as a Markdown table."""
        values = records.reported(self.samples)
        values = values[values["name"] == "cpu"]
        if values.empty:
            return LEFT_OUT
        codes = {FINGERPRINT.of(one.meta): str(one.spec.option("code")) for one in self.samples}
        values = values.assign(code=values["fingerprint"].map(codes))
        shares = values.groupby(["code", "benchmark"])["value"].agg(["median", "min", "max"])
        rows = [
            [code, name, *(f"{number(share[part])} %" for part in ("median", "min", "max"))]
            for (code, name), share in shares.iterrows()
        ]
        return table(["code", "benchmark", "CPU use, median", "least", "most"], rows, align="llrrr")

    def findings(self) -> str:
        """Findings as a Markdown list."""
        sentences = []
        for name, verb in ((ENCODE, "encodes"), (DECODE, "decodes")):
            rows = self._rows(name)
            if not len(rows):
                continue
            rows = rows[(rows["message_size_B"] == rows["message_size_B"].max()) & (self._lost(rows) == 1)]
            rows = rows[rows["shape"] == words(self.values.shapes)[0]]
            for _, row in rows.sort_values("bandwidth_MBps_p50", ascending=False).iterrows():
                sentences.append(
                    f"{row['option_code']}, {row['shape']}, {verb} blocks of {size_words(row['message_size_B'])} at "
                    f"{statement(row, 'bandwidth_MBps')}."
                )
        return markdown_list(sentences) if sentences else LEFT_OUT
