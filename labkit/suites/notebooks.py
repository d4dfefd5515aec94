"""One notebook of a suite: executed by papermill, followed while it runs, its figures given static twins."""

from __future__ import annotations

import dataclasses
import os
import re
import resource
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from labkit import measuring, outside, project, studies, writing
from labkit.campaign import Campaign
from labkit.errors import LabkitError, LaunchError, SpecError, of_point
from labkit.suites.definition import Entry

PLOTLY = "application/vnd.plotly.v1+json"
NAME = re.compile(r"[0-9A-Za-z_][^/\\\x00-\x1f\x7f]{0,199}")
DESCRIPTORS = 256  # that a run may open
ALLOWED = "at most 200 characters without / and \\, and a letter or digit first"


def _silent(kind: str, **facts: object) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Executed:
    """What became of a notebook: where it lies, s it took, and its error where it has one."""

    name: str
    path: Path
    seconds: float
    error: str = ""


def room() -> None:
    """Have as many descriptors as a kernel, its channels and the supervisors of ranks take.

    Raises
    ------
    LaunchError
        If the limit is lower, and may not be raised from here.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= DESCRIPTORS or soft == resource.RLIM_INFINITY:
        return
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        raise LaunchError(
            f"The limit of open files is {hard}, but a notebook needs {DESCRIPTORS}. Raise it with `ulimit -n 4096`, "
            "or ask your administrator for a higher hard limit."
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))


def execute(entry: Entry, held: Campaign, into: Path | None = None) -> Executed:
    """One notebook through papermill.

    Parameters
    ----------
    into : folder for the executed copy; the campaign's ``notebooks`` when left out, and then its log tells of it.

    Raises
    ------
    SpecError
        If the notebook's name is no name of a file, as that of a swept one may be; nothing was started.
    """
    import papermill
    from papermill.exceptions import PapermillException

    from labkit.suites import kernels

    if not NAME.fullmatch(entry.name):
        raise SpecError(f"The notebook name {entry.name[:80]!r} is not valid: use {ALLOWED}. Sweep other values.")
    target = (into or held.path / "notebooks") / f"{entry.name}.ipynb"
    careful = nullcontext if into else held.writing
    with careful():
        target.parent.mkdir(parents=True, exist_ok=True)
        for left in target.parent.glob(f".{target.name}.*.ipynb") if into is None else ():
            left.unlink()  # of a run that was killed: who holds the campaign is the only one to write here
    running = target.with_name(f".{target.name}.{os.getpid()}.ipynb")  # papermill asks for the suffix
    began, error = time.monotonic(), ""
    tell = _silent if into else held.tell
    tell("notebook", name=entry.name, state="begins")
    try:
        with entry.settled(), kernels.kept() as kind:
            papermill.execute_notebook(
                str(entry.notebook),
                str(running),
                parameters=dict(entry.parameters),
                progress_bar=False,
                log_output=False,
                cwd=str(project.home()),
                kernel_name="python3",
                extra_arguments=["--log-level=ERROR"],
                kernel_manager_class=kind,
            )
    except PapermillException as raised:
        error = f"{getattr(raised, 'ename', type(raised).__name__)}: {getattr(raised, 'evalue', raised)}"
    except Exception as raised:  # a kernel that died or could not start: the others go on
        error = f"{type(raised).__name__}: {raised}"
    with careful():
        try:
            if running.exists():
                writing.move(running, target)
        finally:
            running.unlink(missing_ok=True)
    seconds = time.monotonic() - began
    tell("notebook", name=entry.name, state="failed" if error else "done", error=error, seconds=seconds)
    return Executed(entry.name, target, seconds, error)


def measure_only(entry: Entry, held: Campaign) -> Executed:
    """Measure what a notebook would measure, where the packages that execute it are not installed."""
    began, error = time.monotonic(), ""
    held.tell("notebook", name=entry.name, state="begins")
    try:
        with entry.settled():
            entry.study().run()
    except LabkitError as raised:  # the others go on
        error = f"{type(raised).__name__}: {of_point(raised)}"
    seconds = time.monotonic() - began
    held.tell("notebook", name=entry.name, state="failed" if error else "measured", error=error, seconds=seconds)
    return Executed(entry.name, held.path / "notebooks" / f"{entry.name}.ipynb", seconds, error)


@contextmanager
def inherited(held: Campaign) -> Iterator[None]:
    """Notebook kernels inherit where to measure into, and which campaign that is."""
    own = {studies.CAMPAIGN: str(outside.resolved(held.path)), studies.IDENTITY: held.identity}
    before = {name: value for name, value in os.environ.items() if name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own:
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def followed(
    held: Campaign, passed: int, total: int, progress: Callable[[measuring.Progress], None] | None
) -> Iterator[None]:
    """Tell a listener what the notebook's kernel writes to the campaign."""
    ended, began = threading.Event(), time.monotonic()
    with suppress(OSError):
        (held.path / measuring.PROGRESS).unlink(missing_ok=True)

    def follow() -> None:
        while not ended.wait(0.2) and progress is not None:
            if (state := measuring.Progress.at(held)) is None:
                continue
            done, elapsed = passed + state.done, time.monotonic() - began
            left = elapsed / state.done * (total - done) if state.done else float("nan")
            progress(dataclasses.replace(state, done=done, total=total, elapsed=elapsed, remaining=left))

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def finish(paths: Sequence[Path]) -> None:
    """Give every figure of the executed notebooks its static twin; one browser for all."""
    if not paths:
        return
    import nbformat

    from labkit.figures import static

    books = {path: nbformat.read(path, as_version=4) for path in paths}
    bundles = [
        output["data"]
        for book in books.values()
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if PLOTLY in output.get("data", {})
    ]
    for bundle, svg in zip(bundles, static.svgs([bundle[PLOTLY] for bundle in bundles]), strict=True):
        if svg:
            bundle["image/svg+xml"] = svg
    for path, book in books.items():
        writing.replace(path, partial(nbformat.write, book))
