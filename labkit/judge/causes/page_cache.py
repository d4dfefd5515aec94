"""Memory answered instead of the device."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._launches import ONE_SIDED, one_sided
from labkit.judge.causes._other_settings import with_options
from labkit.judge.finding import Evidence, Finding, Wanted
from labkit.read.records import statistic_of
from labkit.store.samples.facts import CACHEABLE, PAGE_CACHE


def test(case: Case) -> Finding | None:
    """More bytes moved than the device can move, and the page cache could hold them."""
    if case.about.code == "setting-matters":
        if case.about.values.get("factor") == "pattern":  # read-ahead or cached pages: the badge tells neither apart
            return None
        return CAUSE.found(case, one_sided(case, "page-cache", worse=False))
    if case.about.code != "storage-of-device" or case.about.form not in ("faster", "mostly", "ahead"):
        return None
    much, how = CACHEABLE.of(case.samples.meta), PAGE_CACHE.of(case.samples.meta)
    if not much:
        return None
    if much == "none":
        return CAUSE.found(case, against=[Evidence(code="without", values={"how": how})])
    slower, same = _direct(case)
    ahead = case.spec.benchmark == "storage.read" and case.spec.values.get("pattern") == "sequential"
    clues = [Evidence(code="could", values={"much": much, "how": how}), *[Evidence(code="ahead")] * ahead, *slower]
    return CAUSE.found(case, clues, same, predicted=case.measured)


def points(case: Case) -> list[Wanted]:
    """Return the point past the page cache."""
    if case.about.kind != "verdict":
        return []
    name = "cache" if case.spec.benchmark == "storage.read" else "sync"
    return [Wanted(with_options(case.spec, **{name: "direct"}))]


def _direct(case: Case) -> tuple[list[Evidence], list[Evidence]]:
    """Return the clue that the point is slower past the page cache, or that it is not."""
    rows = [row for one in points(case) if (row := case.view.measured(one)) is not None]
    if not rows or not case.metric:
        return [], []
    value = case.view.value(rows[0], case.metric, statistic_of(rows[0], case.metric))
    slower = value.value * _MUCH < case.measured.value
    clue = [Evidence(code="slower" if slower else "no slower", values={"value": value})]
    return (clue, []) if slower else ([], clue)


_MUCH = 1.25  # times the rate past the page cache from which memory must have answered
CAUSE = Cause(
    code="page-cache",
    name="page cache instead of the device",
    seen="the rate exceeds the device's rate, and the page cache could hold the file",
    excluded="the page cache was bypassed or emptied",
    decides="O_DIRECT",
    clues={
        "could": "it is faster than the device, and memory could hold {much} of the file; page cache: {how}",
        "ahead": "the kernel reads ahead of sequential requests, which makes them larger",
        "without": "page cache: {how}",
        "slower": "past the page cache it reaches {value} only",
        "no slower": "past the page cache it reaches {value} too",
        **ONE_SIDED,
    },
    remedy="Bypass the page cache (cache=direct, sync=direct), or use a file larger than memory.",
    test=test,
    points=points,
    names={"ahead": "read-ahead of the page cache"},
    explains=("verdict", "setting-matters"),
)
