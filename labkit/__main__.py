"""The command ``labkit``, also as ``python -m labkit``: Ctrl-C ends it quietly from the start.

Loading the command line takes most of a second. There is nothing to clean up yet, so a signal ends the process at once.
This file therefore installs its handlers before it imports anything else.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from labkit.io.signals import ENDING

_OBJECTS = 200_000  # made between two collections: more than modules make while they load; 50,000 cost 0.02 s


def end(number: int, frame: object) -> None:
    """End the process with one line instead of a traceback."""
    os.write(2, b"labkit: stopped.\n" if number == signal.SIGINT else b"")
    os._exit(128 + number)


def main() -> int:
    """Run one command and return its exit code."""
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:  # ignored by the parent, as under nohup
            signal.signal(number, end)
    gc.set_threshold(_OBJECTS)
    from labkit.apps.cli import main as command  # after the handlers

    return _leave(command())


def _leave(status: int) -> int:
    """End the process as Python does, except that modules are not taken apart: after pandas that takes 0.1 s."""
    import atexit  # after the handlers
    import threading

    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # then Python has an exit status and a message for it
        return status
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
