"""Build the documentation site: docs/, the pages at the top of the repository, and a reference of the public names.

build.py FOLDER    writes FOLDER/index.html and the files it needs; a broken link or reference is an error
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sphinx.cmd.build import main as sphinx

import labkit
from labkit.apps import notebook

ROOT = Path(__file__).resolve().parents[3]
TOP = {"README.md": "index.md"} | {
    f"{name}.md": f"{name}.md" for name in ("CONTRIBUTING", "RELEASING", "SECURITY", "CHANGELOG")
}
PARTS = {
    "Measure": (
        "guide",
        "troubleshooting",
        "benchmarks",
        "sockets",
        "verbs",
        "congestion",
        "applications",
        "hpl",
        "nas",
        "on-a-cluster",
        "fieldkit",
        "virtual-cluster",
        "simulation",
    ),
    "Read and publish": (
        "explain",
        "questions",
        "explorer",
        "import",
        "statistics",
        "lint",
        "models",
        "gate",
        "history",
        "integrations",
        "tuning",
        "reference-data",
        "data-dictionary",
        "parity",
        "report",
        "teaching",
        "glossary",
    ),
    "How labkit works": (
        "performance",
        "reliability",
        "security",
        "SECURITY",
        "stability",
        "architecture",
        "CONTRIBUTING",
        "RELEASING",
        "CHANGELOG",
    ),
}


def staged(folder: Path) -> None:
    """Copy the pages into one folder, and adapt their links to it."""
    shutil.copytree(ROOT / "docs", folder, dirs_exist_ok=True)
    for name, target in TOP.items():
        (folder / target).write_text((ROOT / name).read_text())
    (folder / "api.md").write_text("\n".join(reference()))
    for page in folder.glob("*.md"):
        lines = page.read_text().splitlines(keepends=True)
        page.write_text("".join(line if line.startswith("    ") else linked(line, folder) for line in lines))  # no code
    with (folder / "index.md").open("a") as index:
        index.write("".join(toctree(title, names) for title, names in contents(folder).items()))


def linked(line: str, folder: Path) -> str:
    """Return a line of a page with links of the site."""
    return re.sub(r"\]\(([^)\s]+)\)", lambda match: f"]({link(match[1], folder)})", line)


def link(target: str, folder: Path) -> str:
    """Turn a link of the repository into a link of the site; copy its target if it is not a page."""
    path, anchor = re.fullmatch(r"([^#]*)(#.*)?", target).groups()  # type: ignore[union-attr]
    if "://" in target or not path:
        return target
    name = re.sub(r"^(?:\.\./|docs/)+", "", path)
    if (folder / TOP.get(name, name)).is_file():
        return TOP.get(name, name) + (anchor or "")
    source = ROOT / name
    if not source.is_file():
        raise SystemExit(f"docs: the link to {target} leads nowhere.")
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, folder / name)
    return name


def contents(folder: Path) -> dict[str, list[str]]:
    """Parts of the table of contents; a page that no part names goes to the last one."""
    parts = {title: list(names) for title, names in PARTS.items()}
    named = {name for names in parts.values() for name in names} | {"index", "api"}
    parts["How labkit works"] += sorted(page.stem for page in folder.glob("*.md") if page.stem not in named)
    return parts | {"Python": ["api"]}


def toctree(title: str, names: list[str]) -> str:
    """A part of the table of contents."""
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *names, "```", ""])


def reference() -> Iterator[str]:
    """Write the page of the public names: those of `labkit`, and the functions that notebooks call."""
    yield "# Python reference\n\n`from labkit import …` offers these names.\n"
    for name in sorted(labkit.__all__):
        thing = getattr(labkit, name)
        yield from directive(name, thing, members=inspect.isclass(thing) and not issubclass(thing, Exception))
    yield "## labkit.apps.notebook\n\nWhat a notebook calls.\n"
    for name, thing in vars(notebook).items():
        if inspect.isfunction(thing) and thing.__module__ == notebook.__name__ and not name.startswith("_"):
            yield from directive(name, thing, members=False, heading="###")


def directive(name: str, thing: object, *, members: bool, heading: str = "##") -> Iterator[str]:
    """Write the entry of a name, which Sphinx fills from its docstring."""
    kind = "class"
    if inspect.isfunction(thing):
        kind = "function"
    elif issubclass(thing, Exception):  # type: ignore[arg-type]
        kind = "exception"
    yield f"{heading} {name}\n\n```{{eval-rst}}"
    yield f".. auto{kind}:: {thing.__module__}.{thing.__qualname__}"  # type: ignore[attr-defined]
    yield "   :members:\n```\n" if members else "```\n"


def main(target: Path) -> int:
    """Stage and build; warnings, such as a broken link, are errors."""
    with tempfile.TemporaryDirectory(prefix="labkit-docs-") as scratch:
        source = Path(scratch) / "source"
        staged(source)
        shutil.rmtree(target, ignore_errors=True)
        arguments = [
            "-q",
            "-W",
            "--keep-going",
            "-b",
            "html",
            "-d",
            f"{scratch}/doctrees",
            "-c",
            str(Path(__file__).parent),
        ]
        return int(sphinx([*arguments, str(source), str(target)]))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
