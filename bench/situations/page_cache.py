"""Writes went to the page cache instead of the device: recorded, beside writes with O_DIRECT."""

from bench.situations import Parameters, _page_cache
from labkit.store.samples import Samples


def _chosen(one: Samples, case: Parameters) -> bool:
    sync = one.spec.values["sync"]
    best = sync == "direct" and one.spec.count("depth") > 1  # one request at a time would be a fault of its own
    return best or (sync == "none" and one.spec.values["pattern"] == case["pattern"])


_CASES = [{"pattern": name} for name in ("random", "sequential") for _ in range(2)]
KIND = _page_cache.kind("writes into the page cache", "storage.write", ("sync", "none"), _CASES, _chosen)
