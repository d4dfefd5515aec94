"""Daemon of one testbed: ``python -m labkit.testbeds TEXT LIFETIME``. A signal or the end of LIFETIME takes it down."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

from labkit import testbeds
from labkit.errors import LabkitError


class _Stopped(BaseException):
    """A signal came."""


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise _Stopped


def main(arguments: Sequence[str]) -> int:
    """Bring up, note, wait, take down."""
    text, lifetime = arguments[0], float(arguments[1])
    name, argument, options = testbeds.parse(text)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        with (
            testbeds.get(name).open(argument, options) as testbed,
            testbeds.noted(text, lifetime, testbed.handle),
        ):
            time.sleep(lifetime)
    except _Stopped:
        pass
    except LabkitError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
