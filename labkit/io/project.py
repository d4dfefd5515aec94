"""Find notebooks, suites, templates and data: in the user's project, in the checkout, or in the installed package.

A wheel holds copies of these top-level folders below ``labkit/_shipped`` (see setup.py). A project is a folder that
`init` laid out: it has ``notebooks``, ``suites`` and ``_quarto.yml``. What a project holds takes precedence over what
labkit ships. ``quarto render`` there makes a book of the guide and the notebooks; reports have their own settings.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import SpecError
from labkit.io import atomic, safe_read

PROJECT = "LABKIT_PROJECT"
CONFIG = "_quarto.yml"  # of the book that `quarto render` makes of a project or a checkout
REPORT = "report"  # folder of a project with its own settings, styles, chapters, pictures and bibliography of reports
SETTINGS = "book.yml"  # of reports, in that folder and in labkit's templates/report
_ABOVE = Path(__file__).resolve().parents[2]
CHECKOUT = _ABOVE if (_ABOVE / "pyproject.toml").is_file() and (_ABOVE / "templates" / "suites").is_dir() else None
SHIPPED = CHECKOUT or Path(__file__).resolve().parents[1] / "_shipped"
NOTEBOOKS, SUITES = SHIPPED / "notebooks", SHIPPED / "templates" / "suites"
CAMPAIGNS = SHIPPED / "data" / "campaigns"
_LAID_OUT = ((NOTEBOOKS, "notebooks"), (SUITES, "suites"))
_BOOK = (  # what CONFIG names
    "index.qmd",
    "docs/guide.md",
    "templates/report/latest.lua",
    "templates/report/guide.lua",
    "templates/report/filters/safe.lua",
    "templates/report/filters/offline.lua",
    "templates/report/filters/policy.html",
    "templates/report/references.bib",
)
README = """# A labkit project

| in it | is |
|:--|:--|
| `notebooks/` | notebooks that measure and explain; `labkit lab` opens them |
| `suites/` | TOML files: which notebooks `labkit run NAME` executes, with which parameters |
| `report/book.yml` | title, order and look of reports |
| `_quarto.yml`, `index.qmd` | the book of guide and notebooks that `quarto render` makes here, if Quarto is installed |
| `data/campaigns/` | the measurements, one folder for each campaign |

Edit a notebook or a suite, or copy it: `10-latency-mine.ipynb` has the parameters of `10-latency.ipynb`.

    labkit doctor          # what could spoil a number on this machine
    labkit run quick       # measures this machine in a few minutes
    labkit report quick    # HTML and PDF
    labkit show examples/two-cores      # a recorded campaign that labkit brings
"""


def make(target: str) -> str:
    """Return the command that makes a target of the checkout, from the working folder; empty outside a checkout."""
    if CHECKOUT is None:
        return ""
    with suppress(OSError):  # the working folder was deleted
        if Path.cwd() == CHECKOUT:
            return f"make {target}"
    return f"make -C {shlex.quote(str(CHECKOUT))} {target}"


def rebuild() -> str:
    """Return the command that compiles the kernels and programs again."""
    return make("setup") or "pip install --force-reinstall --no-deps labkit"


def current() -> Path | None:
    """Return the user's project: $LABKIT_PROJECT, else the nearest project from the working folder up.

    labkit uses a project of another user only if $LABKIT_PROJECT names it, because it executes the notebooks in it.

    Raises
    ------
    SpecError
        If $LABKIT_PROJECT names a folder that is not a project.
    """
    if named := os.environ.get(PROJECT):
        if not _is_project(Path(named)):
            raise SpecError(
                f"{PROJECT}={named}, but that folder is not a labkit project: it must hold notebooks, suites and "
                f"{CONFIG}. Make one with `labkit init {named}`, or unset {PROJECT}."
            )
        return safe_read.resolved(named)
    with suppress(OSError):  # the working folder was deleted
        here = Path.cwd()
        for folder in (here, *here.parents):
            if not _is_shared(folder) and _is_project(folder) and folder.stat().st_uid == os.geteuid():
                return folder
    return None


def _is_shared(folder: Path) -> bool:
    """Whether it is the root of the file system or the home folder: everything below would belong to the project."""
    return folder in (Path(folder.anchor), safe_read.resolved(Path("~").expanduser()))


def _is_project(folder: Path) -> bool:
    try:
        return (folder / CONFIG).is_file() and all((folder / name).is_dir() for _, name in _LAID_OUT)
    except OSError:
        return False


def home() -> Path:
    """Return the folder that holds ``data`` and executes notebooks: project, checkout, or the working folder."""
    return current() or CHECKOUT or Path.cwd()


def notebooks() -> dict[str, Path]:
    """Notebooks of studies (number 10 or above) by name; the project's replace labkit's."""
    return _named("notebooks", NOTEBOOKS, "[1-9]*.ipynb")


def notebook_of(name: str) -> Path | None:
    """Return labkit's or the project's notebook for a name in a campaign; a sweep appends values to the name."""
    matches = [path for path in notebooks().values() if f"{name}-".startswith(f"{path.stem}-")]
    return max(matches, key=lambda path: len(path.stem)) if matches else None


def suites() -> dict[str, Path]:
    """Suites by name; the project's replace labkit's."""
    return _named("suites", SUITES, "*.toml")


def _named(name: str, shipped: Path, pattern: str) -> dict[str, Path]:
    """Files of the folder that labkit ships and of the project's, by their stems; the project's take precedence."""
    project, folders = current(), [shipped]
    if project:
        folders.append(project / name)
    files = {path.stem: path for folder in folders for path in folder.glob(pattern)}
    return dict(sorted(files.items()))


def config() -> Path:
    """The settings of reports: the project's, else labkit's.

    Raises
    ------
    SpecError
        If ``_quarto.yml`` of the project has settings of the report: that file is for the book of the folder.
    """
    project = current()
    if project and '"*.ipynb"' in safe_read.text(project / CONFIG, most=1 << 20):
        raise SpecError(
            f"{project / CONFIG} holds settings of reports, but those belong into {project / REPORT / SETTINGS}. Move "
            f"it there, and copy {SHIPPED / CONFIG} into its place."
        )
    own = project / REPORT / SETTINGS if project else None
    return own if own and own.is_file() else SHIPPED / "templates" / "report" / SETTINGS


def to_edit() -> Path:
    """The folder of notebooks that the user may change.

    Raises
    ------
    SpecError
        If there is neither a project nor a checkout. Notebooks in the installed package do not change.
    """
    folder = current() or CHECKOUT
    if folder is None:
        raise SpecError(
            f"{Path.cwd()} is in no labkit project, so there are no notebooks to work on. Make a project: "
            "labkit init my-project && cd my-project"
        )
    return folder / "notebooks"


@dataclass(frozen=True)
class LaidOut:
    """What `init` did.

    Parameters
    ----------
    folder : the project.
    written : new files, relative to the folder.
    kept : files that existed already and did not change.
    """

    folder: Path
    written: tuple[str, ...]
    kept: tuple[str, ...]

    def text(self) -> str:
        """A summary for people, with what to do next."""
        lines = [f"{self.folder}: files written: {len(self.written)}"]
        if self.kept:
            lines.append(f"files that were there already and stay as they are: {len(self.kept)}")
        if safe_read.resolved(".") != safe_read.resolved(self.folder):
            lines.append(f"next:  cd {self.folder}")
        return "\n".join([*lines, "next:  labkit run quick", "       labkit report quick", "       labkit lab"])


def init(folder: str | Path) -> LaidOut:
    """Lay out notebooks, suites, report settings and a folder for data; never overwrite a file.

    Parameters
    ----------
    folder : new, empty, or with other files in it. A project that exists gets the files that it lacks.

    Raises
    ------
    SpecError
        If it is a file, the checkout, the home folder or the root of the file system, or if it is not a project and
        holds a file of the same name. Nothing was written.
    DataError
        If it cannot be written to.
    """
    if not str(folder).strip():
        raise SpecError("The name of the folder is empty. Name a folder, or . for this one.")
    target = safe_read.resolved(folder)
    files = dict(_files())
    with safe_read.about(target):
        if target.exists() and not target.is_dir():
            raise SpecError(f"{folder} is a file, but a project is a folder. Name another place.")
        if _is_shared(target):
            raise SpecError(
                f"{target} holds more than a project: all that is below it would belong to it. Name a folder in it, "
                "such as my-cluster."
            )
        if CHECKOUT and target.is_relative_to(CHECKOUT):
            raise SpecError(f"{folder} is in labkit's own checkout, which has all of it. Name a folder elsewhere.")
        present = [name for name in files if os.path.lexists(target / name)]
        if present and not _is_project(target):
            raise SpecError(
                f"{folder} holds {present[0]} and is not a labkit project. labkit overwrites nothing; name another "
                "folder."
            )
        (target / "data" / "campaigns").mkdir(parents=True, exist_ok=True)
        written = [name for name, content in files.items() if _new(target / name, content)]
    return LaidOut(target, tuple(written), tuple(name for name in files if name not in written))


def _files() -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of a project's files; the settings that mark a project come last."""
    for source, name in _LAID_OUT:
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            inside = path.relative_to(source)
            if not any(part.startswith((".", "run-", "_")) for part in inside.parts):
                content = path.read_bytes()
                yield f"{name}/{inside}", with_kernel(content) if path.suffix == ".ipynb" else content
    for name in _BOOK:
        yield name, (SHIPPED / name).read_bytes()
    yield f"{REPORT}/{SETTINGS}", (SHIPPED / "templates" / "report" / SETTINGS).read_bytes()
    yield "README.md", README.encode()
    yield CONFIG, (SHIPPED / CONFIG).read_bytes()


def kernel() -> dict[str, Any]:
    """Return the metadata that a kernel of this Python writes into a notebook when JupyterLab opens it.

    JupyterLab marks a notebook as changed if it held other metadata before.
    """
    language = {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": platform.python_version(),
    }
    spec = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"kernelspec": spec, "language_info": language}


def with_kernel(content: bytes) -> bytes:
    """Return a notebook with the metadata of this Python's kernel."""
    book = json.loads(content)
    book["metadata"] |= kernel()
    return (json.dumps(book, indent=1, ensure_ascii=False) + "\n").encode()


def _new(path: Path, content: bytes) -> bool:
    """Write a new file, whole or not at all; return False if something has its name already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return atomic.create(path, content)
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            return False
        atomic.replace(path, content)
        return True
