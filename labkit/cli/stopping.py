"""Signals that end a command: Ctrl-C raises KeyboardInterrupt, SIGTERM and SIGHUP raise SystemExit.

Both unwind the command, so each removes its unfinished files.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from labkit.__main__ import SIGNALS


class Heard:
    """A context in which signals raise exceptions.

    Attributes
    ----------
    number : of the first signal; 0 while there is none.
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}
        self._hook: Callable[[Any], Any] = sys.unraisablehook

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            given = {number: signal.getsignal(number) for number in SIGNALS}
            self._before = {number: handler for number, handler in given.items() if handler != signal.SIG_IGN}
            for number in self._before:
                signal.signal(number, self._raise)
            sys.unraisablehook = self._repeat
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.number:
            # if the interrupted code came from a text, as dataclasses make it, Python would kill itself at its end;
            # the next text makes it forget that
            eval("0")
        if self._before:
            sys.unraisablehook = self._hook
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _raise(self, number: int, frame: object) -> None:
        self.number = self.number or number
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    def _repeat(self, lost: Any) -> None:
        """Send a signal again whose exception Python could not raise, as in a callback of the garbage collector."""
        if self.number and issubclass(lost.exc_type, KeyboardInterrupt | SystemExit):
            threading.Timer(0.05, os.kill, (os.getpid(), self.number)).start()
        else:
            self._hook(lost)
