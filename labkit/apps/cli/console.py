"""Shared by all commands: exit codes, messages, progress, the choice of a format."""

from __future__ import annotations

import argparse
import math
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from labkit.io import project
from labkit.io.sanitize import plain, raw
from labkit.point.units import format_duration

if TYPE_CHECKING:
    from labkit.run.measuring import Progress

OK, ERROR, FAILED, INTERVAL = 0, 1, 2, 3  # FAILED: a gate; INTERVAL: not reached, or too few launches for a gate
OWN_FORMATS = ("table", "json", "csv", "parquet")
RESULTS = (*OWN_FORMATS, "omb", "imb", "gpcnet", "otlp")  # formats of results


def say(text: str) -> None:
    """Print a message on standard error."""
    print(plain(f"labkit: {text}"), file=sys.stderr)


def warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning on standard error; it can replace `warnings.showwarning`."""
    say(f"warning: {message}")


def tell_brought(options: argparse.Namespace) -> None:
    """Print where each named example is, and the suite and notebooks that labkit takes because the project has none."""
    named = getattr(options, "campaign", None) or []
    for name in [*([named] if isinstance(named, str) else named), *(getattr(options, "against", None) or [])]:
        from labkit.store import campaign

        if (path := campaign.example(name)) is not None:
            say(f"{name} is an example that labkit brings: {path}")
    if (suite := getattr(options, "suite", None)) is None or (mine := project.current()) is None:
        return
    if suite in (known := project.suites()):
        from labkit import suites

        for path in dict.fromkeys([known[suite], *(entry.notebook for entry in suites.load(suite).entries)]):
            if not path.is_relative_to(mine):
                say(f"the project {mine} has no {path.name}, so labkit takes its own: {path}")


def formats(verb: argparse.ArgumentParser, *names: str) -> None:
    """Add the option --format; the first name is the default."""
    verb.add_argument("--format", choices=names, default=names[0], help="output format (default: %(default)s)")


def output(verb: argparse.ArgumentParser) -> None:
    """Add the options of commands that print results."""
    formats(verb, *RESULTS)
    verb.add_argument("--full", action="store_true", help="with --format omb: add the columns that OSU prints with -f")
    verb.add_argument(
        "--output", metavar="FILE", help="write to a file, a device or a pipe (default: -, standard output)"
    )


class _Drawn:
    """A progress bar on standard error that appears once there is something to show."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def _begin(self, total: int, **style: Any) -> None:
        from tqdm import tqdm

        self._bar = tqdm(total=total, file=raw(sys.stderr), dynamic_ncols=True, **style)


class Bar(_Drawn):
    """Progress on standard error: the point in flight and the time left; a bar on a terminal, lines in a file."""

    EVERY = 30.0  # s between lines of a file

    def __init__(self) -> None:
        super().__init__()
        self._told, self._ended = 0.0, False  # s of the last line; whether it was the final one

    def say(self, text: str) -> None:
        """Print a message above the bar."""
        if self._bar is not None:
            self._bar.clear()
        say(text)
        if self._bar is not None:
            self._bar.refresh()

    def __call__(self, state: Progress) -> None:
        """Show a new state."""
        remaining = "" if math.isnan(state.remaining) else f"{format_duration(round(state.remaining))} left · "
        if not sys.stderr.isatty():
            if state.waits:
                say(f"{state.done} of {state.total}, {state.label}")
                return
            ended = state.done == state.total and not self._ended
            self._told = min(self._told, state.elapsed)  # which begins again with each notebook of a suite
            if state.elapsed - self._told >= self.EVERY or (self._told and ended):
                self._told, self._ended = state.elapsed, state.done == state.total
                say(f"{state.done} of {state.total}, {remaining}{state.label}")
            return
        if self._bar is None:
            form = "{percentage:3.0f}% |{bar:20}| {n_fmt}/{total_fmt} {desc}"
            self._begin(state.total, bar_format=form, miniters=0, mininterval=0.1)
        self._bar.total = state.total
        self._bar.set_description_str(f"{remaining}{plain(state.label)}", refresh=state.done == state.total)
        self._bar.update(state.done - self._bar.n)  # redraws, unless it just has


class ReadBar(_Drawn):
    """A progress bar on a terminal for large files that are read."""

    LARGE = 4_000_000  # B; less is read at once

    def __call__(self, done: int, total: int) -> None:
        """Show how many bytes of how many are read."""
        if self._bar is None and total > self.LARGE and sys.stderr.isatty():
            self._begin(total, unit="B", unit_scale=True, desc="reading")
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
