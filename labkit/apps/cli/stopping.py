"""Signals that end a command: Ctrl-C raises KeyboardInterrupt, SIGTERM and SIGHUP raise SystemExit.

Both exceptions unwind the stack, so that every command removes its unfinished files.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from labkit.io.signals import ENDING


class Heard:
    """A context in which signals raise exceptions.

    Attributes
    ----------
    number : number of the first signal; 0 while there is none.
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}
        self._hook: Callable[[Any], Any] = sys.unraisablehook

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            given = {number: signal.getsignal(number) for number in ENDING}
            self._before = {number: handler for number, handler in given.items() if handler != signal.SIG_IGN}
            for number in self._before:
                signal.signal(number, self._raise)
            sys.unraisablehook = self._repeat
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.number:
            # If the signal interrupted code compiled from a string, as dataclasses do, Python would kill itself on
            # exit. Compiling another string resets that.
            eval("0")
        if self._before:
            sys.unraisablehook = self._hook
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _raise(self, number: int, frame: object) -> None:
        self.number = self.number or number
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    def _repeat(self, lost: Any) -> None:
        """Send a signal again if Python could not raise its exception, as in a callback of the garbage collector."""
        if self.number and issubclass(lost.exc_type, KeyboardInterrupt | SystemExit):
            threading.Timer(0.05, os.kill, (os.getpid(), self.number)).start()
        else:
            self._hook(lost)
