"""The command ``labkit``, also as ``python -m labkit``: Ctrl-C ends it quietly from its first moment on.

Loading the command line takes most of a second. Until then there is nothing to clean up, so a signal ends the process
at once. This file imports nothing else before that is arranged.
"""

from __future__ import annotations

import os
import signal
import sys

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end(number: int, frame: object) -> None:
    """End the process with one line instead of a traceback."""
    os.write(2, b"labkit: stopped.\n" if number == signal.SIGINT else b"")
    os._exit(128 + number)


def main() -> int:
    """Run one command and return its exit code."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, end)
    from labkit.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
