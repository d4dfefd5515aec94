"""Odd results of `labkit.judge.plausibility`, for rules that ask for a comment on them."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Subject
from labkit.judge.plausibility import Oddity
from labkit.judge.view import View


def odd(view: View, *, decided: bool) -> Iterator[tuple[Subject, Oddity]]:
    """Yield odd results on which launches have decided, or on which they have not."""
    for one in view.odd:
        if (one.confidence != "undecided") == decided:
            points = tuple(dict.fromkeys(reading.fingerprint for reading in one.readings if reading.fingerprint))
            yield Subject(benchmark=one.benchmark, setting=one.setting, points=points), one
