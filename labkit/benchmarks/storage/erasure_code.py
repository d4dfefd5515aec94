"""Time to encode a block into k data and m parity fragments, and to decode it from those that are left (EC-Bench)."""

import dataclasses
from typing import Any

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.storage import Decoding, Encoding
from labkit.point.spec import Spec, has
from labkit.tools import erasure_codes


def _check(spec: Spec[Encoding]) -> str:
    """Say what is wrong with the numbers of fragments; empty if nothing is."""
    k, m = spec.options.k, spec.options.m
    lost = spec.options.erasures if has(spec.options, Decoding) else 1
    if not (k >= 1 and m >= 1 and k + m <= 32):
        return f"k={k}, m={m}, but there must be at least 1 of each, and at most 32 together. Set k=4 and m=2."
    if not 1 <= lost <= min(k, m):
        return f"erasures={lost}, but 1 to {min(k, m)} of k={k} can be restored from m={m}. Set erasures=1."
    return "" if spec.size else "size=0, but a block has at least 1 B. Set size=65536."


_ENCODE: ToolBenchmark[Any] = ToolBenchmark(
    title="erasure code, encode",
    options=Encoding,
    check=_check,
    sizes="4Ki:4Mi:*4",
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: spec.size},
    tools=(erasure_codes.encode,),
    cadence="streaming",
    ends=Ends(where="none"),
    size_label="block size (B)",
    doc="""Time to encode a block into k fragments of data and m of parity, as EC-Bench measures it.

The size is that of the block; the bandwidth counts its bytes alone, not the parity. Every code is first made to decode
what it encoded with fragments lost, and each byte is compared. `cpu` among the reported values is the processor time of
the process over the time of the loop.
""",
)
FORMS = {
    "encode": _ENCODE,
    "decode": dataclasses.replace(
        _ENCODE,
        title="erasure code, decode",
        options=Decoding,
        tools=(erasure_codes.decode,),
        doc="""Time to decode a block of which fragments of data were lost, as EC-Bench measures it.

Twenty sets of lost fragments, drawn from the seed, take turns. The result of each set is compared with the original
before anything is timed. The size is that of the block; the bandwidth counts its bytes alone.
""",
    ),
}
