"""Suites: notebooks with parameters, executed by papermill into a campaign, which keeps whatever was measured."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit import campaign, measuring, records, studies
from labkit.campaign import Campaign
from labkit.errors import LabkitError, SpecError, known
from labkit.spec import validated
from labkit.units import format_duration

if TYPE_CHECKING:
    import pandas as pd

HOME = Path(__file__).resolve().parent.parent
NOTEBOOKS, SUITES = HOME / "notebooks", HOME / "templates" / "suites"
PLOTLY = "application/vnd.plotly.v1+json"


@dataclass(frozen=True)
class Entry:
    """One notebook of a suite.

    Parameters
    ----------
    notebook : source, without outputs.
    parameters : set in it.
    suffix : tells the executed copies of a swept notebook apart.
    """

    notebook: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    suffix: str = ""

    @property
    def name(self) -> str:
        """Name of the executed notebook."""
        return self.notebook.stem + self.suffix

    def study(self, **more: Any) -> studies.Study:
        """The study with these parameters, checked."""
        return studies.of_notebook(self.notebook)(**{**self.parameters, **more})


@dataclass(frozen=True)
class Suite:
    """Notebooks in the order of a report."""

    name: str
    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Executed:
    """What became of a notebook: where it lies, s it took, and its error where it has one."""

    name: str
    path: Path
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of a suite."""

    campaign: Path
    notebooks: tuple[Executed, ...]
    measured: int
    there: int

    @property
    def sound(self) -> bool:
        """Whether every notebook ran to its end."""
        return not any(one.error for one in self.notebooks)

    def text(self) -> str:
        """A summary for people."""
        lines = []
        for one in self.notebooks:
            state = "failed" if one.error else "done"
            lines.append(f"{state:6}  {one.name}  {format_duration(one.seconds)}  {one.path}")
            lines += [f"        {line}" for line in one.error.splitlines()[:6]]
        failed = sum(bool(one.error) for one in self.notebooks)
        lines.append(
            f"{len(self.notebooks) - failed} of {len(self.notebooks)} notebooks done, {self.measured} points measured, "
            f"{self.there} were there already: {self.campaign}"
        )
        return "\n".join(lines)


# ---- reading a suite -------------------------------------------------------------------------------------------


def names() -> list[str]:
    """Suites that come with labkit."""
    return sorted(path.stem for path in SUITES.glob("*.toml"))


def load(name: str | Path, overrides: Sequence[str] = (), usual: Mapping[str, Any] | None = None) -> Suite:
    """A suite by its name in templates/suites or by its TOML file.

    Parameters
    ----------
    overrides : ``NAME=VALUE``, set in every notebook that has the parameter.
    usual : the same where nothing else sets it; no notebook need have it.

    Raises
    ------
    SpecError
        For an unknown suite, notebook or parameter, or a value of the wrong type; nothing was started.
    """
    path = Path(name) if str(name).endswith(".toml") else SUITES / f"{name}.toml"
    if not path.is_file():
        raise known("suite", str(name), names())
    try:
        held = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path}: {error}. Correct the file.") from error
    unknown = set(held) - {"title", "parameters", "notebook"}
    if unknown or not held.get("notebook"):
        raise SpecError(f"{path} has {sorted(held)}, but a suite has title, parameters and at least one [[notebook]].")
    if broken := [pair for pair in overrides if "=" not in pair]:
        raise SpecError(f"-p {broken[0]!r} is not of the form NAME=VALUE, as in -p launches=6.")
    shared = dict(usual or {}) | dict(held.get("parameters", {})) | dict(pair.split("=", 1) for pair in overrides)
    entries = [entry for one in held["notebook"] for entry in _entries(path, one, shared)]
    used = {key for entry in entries for key in entry.parameters}
    if useless := sorted(set(shared) - used - set(usual or {})):
        raise SpecError(f"no notebook of {path.stem} has the parameters {useless}.")
    return Suite(path.stem, str(held.get("title", path.stem)), tuple(entries))


def _entries(suite: Path, one: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[Entry]:
    """A notebook of a suite, once for every combination of what it sweeps."""
    unknown = set(one) - {"name", "parameters", "sweep"}
    if unknown or "name" not in one:
        raise SpecError(f"{suite}: a [[notebook]] has name, parameters and sweep, but here are {sorted(one)}.")
    notebook = NOTEBOOKS / f"{one['name']}.ipynb"
    if not notebook.is_file():
        raise known("notebook", one["name"], [p.stem for p in NOTEBOOKS.glob("*.ipynb")])
    study = studies.of_notebook(notebook)
    has = studies.defaults(study)
    swept = {key: list(values) for key, values in one.get("sweep", {}).items()}
    for combination in itertools.product(*swept.values()):
        axis = dict(zip(swept, combination, strict=True))
        own = {key: value for key, value in shared.items() if key in has} | dict(one.get("parameters", {})) | axis
        checked = validated(study.parameters, own, what=f"notebook {notebook.stem}")
        typed = {key: getattr(checked, key) for key in own}
        suffix = "".join(f"-{value}" for value in axis.values()).replace("/", "_")
        yield Entry(notebook, typed, suffix)


def run(
    suite: Suite, *, into: str | Path | None = None, progress: Callable[[measuring.Progress], None] | None = None
) -> Outcome:
    """Execute every notebook of a suite; a failing one is kept with its error and the others go on.

    Parameters
    ----------
    into : campaign folder; the suite's name below data/campaigns when left out.
    progress : told about every point that a notebook measures.

    Raises
    ------
    LaunchError
        If somebody else measures into the campaign.
    """
    held = Campaign(into or campaign.root() / suite.name)
    parameters = {entry.name: dict(entry.parameters) for entry in suite.entries}
    held.update({"suite": suite.name, "title": suite.title, "notebooks": [], "parameters": parameters})
    before, executed = held.done(), []
    with held.lease(), _campaign(held.path):
        there = set(before)
        missing = {entry.name: _missing(entry, there) for entry in suite.entries}
        total, passed = sum(missing.values()), 0
        for entry in suite.entries:
            with _followed(held.path, passed, total, progress):
                executed.append(_execute(entry, held))
            passed += missing[entry.name]
        _finish([one.path for one in executed if one.path.exists()])
    save_records(records.table(held.samples(), campaign=held.name), held.path / "records.parquet")
    held.update({"notebooks": [{"name": o.name, "seconds": round(o.seconds, 2), "error": o.error} for o in executed]})
    return Outcome(held.path, tuple(executed), len(held.done() - before), len(before))


def save_records(frame: pd.DataFrame, path: Path) -> None:
    """Write records to Parquet by renaming; an option that benchmarks give different types becomes text."""
    aside = path.with_name(f".{path.name}.aside")
    frame.astype({name: "string" for name in frame if name.startswith("option_")}).to_parquet(aside)
    aside.rename(path)


def _missing(entry: Entry, there: set[tuple[str, str, int]]) -> int:
    """How many points a notebook will measure, which are there then; 0 when its study cannot even start."""
    try:
        points = {(p.spec.benchmark, p.fingerprint, p.launch) for p in entry.study().points}
    except LabkitError:
        return 0
    new = points - there
    there |= new
    return len(new)


def _execute(entry: Entry, held: Campaign) -> Executed:
    """One notebook through papermill."""
    import papermill
    from papermill.exceptions import PapermillException

    target = held.path / "notebooks" / f"{entry.name}.ipynb"
    target.parent.mkdir(exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.ipynb")
    began, error = time.monotonic(), ""
    held.log(f"notebook {entry.name} begins")
    try:
        papermill.execute_notebook(
            str(entry.notebook), str(partial), parameters=dict(entry.parameters), progress_bar=False, log_output=False,
            cwd=str(HOME), kernel_name="python3", extra_arguments=["--log-level=ERROR"],
        )  # fmt: skip
    except PapermillException as raised:
        error = f"{getattr(raised, 'ename', type(raised).__name__)}: {getattr(raised, 'evalue', raised)}"
    except Exception as raised:  # a kernel that died or could not start: the others go on
        error = f"{type(raised).__name__}: {raised}"
    if partial.exists():
        partial.rename(target)
    seconds = time.monotonic() - began
    held.log(f"notebook {entry.name} {'failed: ' + error if error else 'done'} after {seconds:.1f} s")
    return Executed(entry.name, target, seconds, error)


@contextmanager
def _campaign(path: Path) -> Iterator[None]:
    """Notebook kernels inherit where to measure into."""
    before = {name: value for name, value in os.environ.items() if name == studies.CAMPAIGN}
    os.environ[studies.CAMPAIGN] = str(path.resolve())
    try:
        yield
    finally:
        del os.environ[studies.CAMPAIGN]
        os.environ.update(before)


@contextmanager
def _followed(
    folder: Path, passed: int, total: int, progress: Callable[[measuring.Progress], None] | None
) -> Iterator[None]:
    """Tell a listener what the notebook's kernel writes to progress.json."""
    path, ended, began = folder / "progress.json", threading.Event(), time.monotonic()
    path.unlink(missing_ok=True)

    def follow() -> None:
        while not ended.wait(0.2) and progress is not None:
            try:
                state = json.loads(path.read_text())
            except (OSError, json.JSONDecodeError):
                continue
            done, elapsed = passed + state["done"], time.monotonic() - began
            each = elapsed / state["done"] if state["done"] else float("nan")
            progress(
                measuring.Progress(done, total, state["label"], elapsed, each * (total - done), state["n"], state["ci"])
            )

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _finish(paths: Sequence[Path]) -> None:
    """Give every figure of the executed notebooks its static twin; one browser for all."""
    import nbformat

    from labkit.figures import static

    books = {path: nbformat.read(path, as_version=4) for path in paths}
    bundles = [
        output["data"] for book in books.values() for cell in book.cells if cell.cell_type == "code"
        for output in cell.outputs if PLOTLY in output.get("data", {})
    ]  # fmt: skip
    for bundle, svg in zip(bundles, static.svgs([bundle[PLOTLY] for bundle in bundles]), strict=True):
        if svg:
            bundle["image/svg+xml"] = svg
    for path, book in books.items():
        aside = path.with_name(f".{path.name}.finish")
        nbformat.write(book, aside)
        aside.rename(path)
