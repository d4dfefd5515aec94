"""Memory answered instead of the device."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._launches import ONE_SIDED, one_sided
from labkit.judge.finding import Evidence, Finding
from labkit.read.records import rerun
from labkit.store.samples.facts import CACHEABLE, PAGE_CACHE


def test(case: Case) -> Finding | None:
    """More bytes moved than the device can move, and the page cache could hold them."""
    if case.about.code == "setting-matters":
        return CAUSE.found(case, one_sided(case, "page-cache", worse=False))
    if case.about.code != "storage-of-device" or case.about.form != "faster":
        return None
    much, how = CACHEABLE.of(case.samples.meta), PAGE_CACHE.of(case.samples.meta)
    if not much:
        return None
    if much == "none":
        return CAUSE.found(case, against=[Evidence(code="without", values={"how": how})])
    spec = case.samples.spec
    option = {"cache": "direct"} if spec.benchmark == "storage.read" else {"sync": "direct"}
    direct = spec.replace(options={**spec.values, **option})
    clues = [Evidence(code="could", values={"much": much, "how": how})]
    return CAUSE.found(case, clues, predicted=case.measured, command=rerun.command(direct), measure=[direct])


CAUSE = Cause(
    code="page-cache",
    name="page cache instead of the device",
    seen="the rate exceeds that of the device, and the page cache could hold the file",
    excluded="the page cache was bypassed or emptied",
    decides="the same point with O_DIRECT",
    clues={
        "could": "memory could answer {much} of the file; page cache: {how}",
        "without": "page cache: {how}",
        **ONE_SIDED,
    },
    remedy="Bypass the page cache (cache=direct, sync=direct), or use a file larger than memory.",
    test=test,
    explains=("verdict", "setting-matters"),
)
