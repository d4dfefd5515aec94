"""The page cache read ahead: recorded, beside reads with O_DIRECT."""

from bench.situations import Parameters, _page_cache
from labkit.store.samples import Samples


def _chosen(one: Samples, case: Parameters) -> bool:
    values = one.spec.values
    ahead = values["cache"] == "drop" and values["pattern"] == "sequential"
    return ahead or (values["cache"] == "direct" and values["engine"] == case["engine"] and values["depth"] == 1)


_CASES = [{"engine": name} for name in ("psync", "io_uring", "libaio", "psync")]
KIND = _page_cache.kind("reads that the page cache answers", "storage.read", ("cache", "drop"), _CASES, _chosen)
