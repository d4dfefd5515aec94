"""Points without a measurement, for rules about the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.view import View

_NO_REASON = ("", "failed", "skipped", "no reason was recorded")


def left_out(view: View, *, reason: bool) -> Iterator[tuple[str, str]]:
    """Yield skipped and failed points, with or without a recorded reason, and the reason."""
    for what, why in view.failed:
        if (why.strip() not in _NO_REASON) == reason:
            yield what, why
