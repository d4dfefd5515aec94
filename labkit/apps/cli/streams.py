"""Make the standard streams usable: they may be closed, full, or of an encoding that lacks a character."""

from __future__ import annotations

import errno
import io
import locale
import os
import sys


def settle(restart: bool) -> None:
    """Make the standard streams usable for any text.

    Parameters
    ----------
    restart : start Python again with UTF-8 where the locale has another encoding: files of labkit are UTF-8.
    """
    if restart and locale.getencoding().lower() != "utf-8" and not sys.flags.utf8_mode:
        os.environ["PYTHONUTF8"] = "1"  # also for ranks and kernels
        sys.stdout and sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    for number in (0, 1, 2):  # a closed number would go to the next file that is opened, and get the messages
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or io.TextIOWrapper(_Closed(), encoding="utf-8", write_through=True)
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if restart and type(sys.stdout) is io.TextIOWrapper:
        settings = {"encoding": sys.stdout.encoding, "line_buffering": sys.stdout.line_buffering}
        sys.stdout = _Named(sys.stdout.detach(), **settings)  # type: ignore[arg-type]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Write everything printed to its device, so that a full one is an error.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        silence()
        raise OSError(error.errno, os.strerror(error.errno or 0), "standard output") from error


def silence() -> None:
    """Discard the rest of standard output: nobody reads it, and Python would report an error at exit."""
    try:
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)
    except (OSError, ValueError):
        sys.stdout = io.StringIO()


class _Named(io.TextIOWrapper):
    """Standard output with errors that name it."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise OSError(error.errno, os.strerror(error.errno or 0), "standard output") from error


class _Closed(io.RawIOBase):
    """Standard output that was closed before labkit began; printing a result there is an error."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
