"""Execute one notebook of a suite by papermill, follow it while it runs, and add static twins of its figures."""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from labkit import host
from labkit.errors import LabkitError, LaunchError, LostError, SpecError, of_point
from labkit.figures import static
from labkit.io import atomic, beneath, extras, project, safe_read
from labkit.run import measuring
from labkit.store.campaign import Campaign
from labkit.store.notebooks import NAME
from labkit.suites import sections
from labkit.suites.definition import Entry

if TYPE_CHECKING:
    import nbformat

    from labkit.suites.kernels import Kept

PLOTLY = "application/vnd.plotly.v1+json"
DESCRIPTORS = 256  # files that a run may open
ALLOWED = "at most 200 characters without / and \\, and a letter or digit first"


def _silent(kind: str, **facts: object) -> None:
    """Ignore an event."""


@dataclass(frozen=True)
class Executed:
    """The result of executing a notebook: its path, the time it took in s, and its error; empty if it has none."""

    name: str
    path: Path
    seconds: float
    error: str = ""


def raise_open_file_limit() -> None:
    """Raise the limit of open files to what a kernel, its channels and the supervisors of ranks need.

    Raises
    ------
    LaunchError
        If the hard limit is lower.
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


def execute(entry: Entry, campaign: Campaign, into: Path | None = None, kernel: Kept | None = None) -> Executed:
    """Execute one notebook by papermill.

    Parameters
    ----------
    into : folder for the executed copy; by default the campaign's ``notebooks``, and then the campaign logs it.
    kernel : runs it, without the setting of `entry`, and stays; by default its own kernel.

    Raises
    ------
    SpecError
        If the notebook's name is not valid for a file, as after a sweep of texts. Nothing was started.
    """
    extras.import_notebooks()
    if not NAME.fullmatch(entry.name):
        raise SpecError(f"The notebook name {entry.name[:80]!r} is not valid: use {ALLOWED}. Sweep other values.")
    target = (into or campaign.path / "notebooks") / f"{entry.name}.ipynb"
    guarded = nullcontext if into else campaign.writing
    with ExitStack() as stack:
        with guarded():
            home, name = (into.parent, into.name) if into else (campaign.open_path, "notebooks")
            place = stack.enter_context(beneath.folder(home, name, make=True))
            if into is None:
                for abandoned in place.glob(f".{target.name}.*.ipynb"):
                    abandoned.unlink()  # left by a killed run: only the holder of the campaign lock writes here
        return _executed(entry, campaign, place, target, kernel, logged=into is None)


def _executed(
    entry: Entry, campaign: Campaign, place: Path, target: Path, kernel: Kept | None, *, logged: bool
) -> Executed:
    """Execute a notebook and write the executed copy into an open folder.

    Parameters
    ----------
    place : the open folder.
    target : where the copy is, as users see it.
    logged : whether the campaign gets events of it.
    """
    import papermill  # 1.5 s; optional
    from papermill.exceptions import PapermillException

    from labkit.suites import kernels  # papermill

    # papermill needs the suffix; the name is random, so that nobody can place a link there in advance
    running = place / f".{target.name}.{os.getpid()}-{secrets.token_hex(8)}.ipynb"
    began, error = time.monotonic(), ""
    tell = campaign.tell if logged else _silent
    tell("notebook", name=entry.name, state="begins")
    if whole := sections.expanded(entry.notebook, entry.study):
        running.write_text(json.dumps(whole))
    source = running if whole else entry.notebook
    try:
        variables = kernels.variables(entry.given(campaign))
        fresh = kernels.prepared(kernels.NotInterrupted, variables) if kernel is None else nullcontext()
        with fresh as kernel_class:
            papermill.execute_notebook(
                str(source),
                str(running),
                parameters=dict(entry.parameters),
                progress_bar=False,
                log_output=False,
                cwd=str(project.home()) if kernel is None else None,
                kernel_name="python3",
                extra_arguments=list(kernels.ARGUMENTS),
                **({"kernel_manager_class": kernel_class} if kernel is None else {"km": kernel}),
            )
    except PapermillException as raised:
        error = f"{getattr(raised, 'ename', type(raised).__name__)}: {getattr(raised, 'evalue', raised)}"
    except Exception as raised:  # a kernel that died or could not start: the others go on
        error = f"{type(raised).__name__}: {raised}"
    with campaign.writing() if logged else nullcontext():
        try:
            if running.exists():
                atomic.move(running, place / target.name)
        finally:
            running.unlink(missing_ok=True)
    seconds = time.monotonic() - began
    tell("notebook", name=entry.name, state="failed" if error else "done", error=error, seconds=seconds)
    return Executed(entry.name, target, seconds, error)


def measure_only(entry: Entry, campaign: Campaign) -> Executed:
    """Measure what a notebook would measure if the packages that execute it are not installed."""
    began, error = time.monotonic(), ""
    campaign.tell("notebook", name=entry.name, state="begins")
    try:
        entry.study(campaign).run()
    except LabkitError as raised:  # the others go on
        error = f"{type(raised).__name__}: {of_point(raised)}"
    seconds = time.monotonic() - began
    campaign.tell("notebook", name=entry.name, state="failed" if error else "measured", error=error, seconds=seconds)
    return Executed(entry.name, campaign.path / "notebooks" / f"{entry.name}.ipynb", seconds, error)


@contextmanager
def progress_reported(
    campaign: Campaign, finished: int, total: int, progress: Callable[[measuring.Progress], None] | None
) -> Iterator[None]:
    """Call a listener with the progress that the notebook's kernel writes to the campaign."""
    stop, began = threading.Event(), time.monotonic()
    with suppress(LostError):
        campaign.drop(measuring.PROGRESS)

    def follow() -> None:
        while not stop.wait(0.2) and progress is not None:
            if (state := measuring.Progress.at(campaign)) is None:
                continue
            done, elapsed = finished + state.done, time.monotonic() - began
            remaining = elapsed / state.done * (total - done) if state.done else float("nan")
            progress(dataclasses.replace(state, done=done, total=total, elapsed=elapsed, remaining=remaining))

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _read(path: Path) -> nbformat.NotebookNode:
    """Read a notebook.

    Raises
    ------
    DataError
        If it is none.
    """
    import nbformat  # 1.2 s; optional

    content = safe_read.text(path, most=safe_read.MOST_NOTEBOOK_B)
    try:
        book: nbformat.NotebookNode = nbformat.reads(content, as_version=4)
    except (ValueError, RecursionError) as error:
        raise safe_read.explained(error, path) from error
    return book


def add_static_figures(paths: Sequence[Path]) -> None:
    """Add a static twin to every figure of the executed notebooks; one browser draws all.

    If no browser is installed, labkit adds none. The report later draws the missing ones, or warns.
    """
    if not paths or not host.browser():
        return
    import nbformat  # as in `_read`

    books = {path: _read(path) for path in paths}
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
        beneath.put(path.parent.parent, f"{path.parent.name}/{path.name}", partial(nbformat.write, book))
