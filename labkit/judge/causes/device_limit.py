"""A limit that is set on the rate of a device."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import narrow
from labkit.judge.causes._sizes import curve
from labkit.judge.finding import SHARE, Count, Evidence, Finding, Value


def test(case: Case) -> Finding | None:
    """Requests of several sizes reach the same rate, far below the rate of the device in another setting."""
    if case.about.code != "storage-of-device" or case.about.form:
        return None
    sizes, values = curve(case)
    if len(sizes) < 2 or not (values > 0).all() or sizes[-1] < 2 * sizes[0] or values.max() > _EVEN * values.min():
        return None
    spread = Value(value=float(values.max() / values.min() - 1), unit=SHARE)
    clue = Evidence(code="even", values={"sizes": Count(len(sizes), "size"), "spread": spread})
    return CAUSE.found(case, [clue, *narrow(case)], predicted=case.measured)


_EVEN = 1.25  # times by which rates differ that do not grow with the size
CAUSE = Cause(
    code="device-limit",
    name="a rate limit of the device",
    seen="requests of several sizes reach the same rate, and the device reached more in another setting",
    excluded="the rate grows with the size of the requests",
    decides="no control group, container or cloud quota (io.max, blkio.throttle)",
    clues={
        "even": "{sizes} reach the same within {spread}",
        "narrow": "its launches differ by {spread} only",
    },
    remedy="Look for io.max or blkio.throttle of the control group, and for the quota of the disk.",
    test=test,
)
