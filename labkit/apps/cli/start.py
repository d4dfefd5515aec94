"""The page that `labkit lab` opens on: what to measure, explore, learn and read, and what this machine can do."""

from __future__ import annotations

import base64
import json
import math
import re
import warnings
from pathlib import Path

from labkit import studies
from labkit.apps import show
from labkit.apps.teaching import course, labs
from labkit.errors import DataError, LabkitError
from labkit.io import beneath, project, safe_read
from labkit.io.markdown import table
from labkit.point.units import plural
from labkit.store import campaign
from labkit.store.campaign import Campaign

FOLDER, NAME = "_start", "start.md"  # below the notebooks; `labkit init` and git leave it out
TOPICS = {  # tens of a notebook's number → picture and topic
    "1": ("messages", "Messages: latency, rate, overhead"),
    "2": ("bandwidth", "Bandwidth and sockets"),
    "3": ("collectives", "Collectives, overlap, one-sided, files"),
    "4": ("storage", "Storage"),
    "5": ("verbs", "RDMA verbs"),
    "6": ("hosts", "Many hosts: congestion, patterns, all pairs"),
    "7": ("programs", "Programs: HPL, NAS kernels"),
    "8": ("explain", "Explain: bounds, models, parts, tuning"),
    "9": ("compare", "Compare, follow over time, import"),
}
_GUIDES = {
    "guide": "measure, read, publish",
    "troubleshooting": "a point failed: where to look",
    "teaching": "the labs, for teachers",
    "statistics": "what each number means",
    "benchmarks": "definitions of all benchmarks",
    "on-a-cluster": "sites, batch systems, many nodes",
    "models": "bounds, LogGP, breakdowns",
    "tuning": "find better settings of an MPI library",
    "glossary": "terms",
}
_SHOWN = 8  # campaigns
_LONG = 90.0  # s from which a time is in minutes
_MINUTES = re.compile(r"\*(\d+ minutes)")


def write(folder: Path) -> Path:
    """Write the page, with the guides, below the folder of notebooks.

    Parameters
    ----------
    folder : folder that JupyterLab shows.

    Returns
    -------
    The page, relative to the folder.

    Raises
    ------
    DataError
        If the folder cannot be written to.
    """
    with safe_read.about(folder / FOLDER):
        source = project.SHIPPED / "docs"
        for path in sorted(source.rglob("*")):
            if path.is_file():
                beneath.put(folder, f"{FOLDER}/docs/{path.relative_to(source)}", beneath.copied(path))
        beneath.put(folder, f"{FOLDER}/{NAME}", text(folder))
    return Path(FOLDER, NAME)


def text(folder: Path) -> str:
    """Return the page, in Markdown, with links as from a folder in the folder of notebooks."""
    parts = ["# labkit", machine(), *_measure(), *_notebooks(folder), *_labs(folder), *_campaigns(), *_guides(folder)]
    return "\n\n".join(parts) + "\n"


def machine() -> str:
    """Return the capabilities of this machine in a line, with a reference to `labkit doctor`."""
    checks = json.loads(show.doctor("json")[0])
    tools = {one["name"] for one in checks if one["state"] == "ok"}
    odd = [one for one in checks if one["state"] != "ok"]
    absent = [one["name"] for one in odd if one["found"].startswith(("not installed", "not built"))]
    doubtful = [one["name"] for one in odd if one["name"] not in absent]
    can = [words for name, words in (("MPI", "MPI"), ("sockperf", "sockets"), ("fio", "storage")) if name in tools]
    can += [name for name in sorted(tools) if name.startswith("testbed ")]
    parts = [f"**This machine** can use {', '.join(can) or 'no MPI and no tool'}"]
    parts += [f"not installed: {', '.join(absent)}"] if absent else []
    parts += [f"doubtful for exact numbers: {', '.join(doubtful)}"] if doubtful else []
    return f"{'; '.join(parts)}{' (`labkit doctor` says why)' if odd else ''}."


def _measure() -> list[str]:
    rows = [
        ["[From a campaign to a figure](../00-start.ipynb)", "load, filter, draw, save for a paper; twelve recipes"],
        ["[Measure and explore](../explorer.ipynb)", "choose a benchmark, see points as they come; run all its cells"],
        ["`labkit run quick`", "this machine in a few minutes, in a terminal"],
        ["`labkit explore`", "the same page without its notebook"],
        ["`labkit report CAMPAIGN`", "HTML and PDF of a campaign"],
    ]
    return ["## Measure and explore", table(["open or run", "what it does"], rows)]


def _notebooks(folder: Path) -> list[str]:
    """Return a row for each topic: its picture, and its notebooks with the time that they measure at most."""
    rows = []
    for tens, (picture, topic) in TOPICS.items():
        found = [path for path in sorted(folder.glob(f"{tens}*.ipynb")) if not path.is_symlink()]
        links = [f"[{_title(path)}](../{path.name}){_time(path.stem)}" for path in found]
        if links:
            shown = f'<img class="labkit-picture" src="{_picture(picture)}" width="220" alt="{topic}">'
            rows.append([shown, f"**{topic}**<br>{'<br>'.join(links)}"])
    return [
        "## Notebooks",
        "The time is what a notebook measures at most, with its parameters as they are.",
        table(["topic", "notebooks"], rows),
    ]


def _picture(name: str) -> str:
    """Return a picture as part of the page: JupyterLab renders a page twice, and would abort the first requests."""
    data = (project.SHIPPED / "templates/start" / f"{name}.svg").read_bytes()
    return f"data:image/svg+xml;base64,{base64.b64encode(data).decode()}"


def _title(path: Path) -> str:
    """Return the title of a notebook: the first heading in it, or its name if there is none or it is damaged."""
    try:
        cells = safe_read.json_object(path).get("cells")
    except DataError:
        return path.stem
    found = [one for one in cells if isinstance(one, dict)] if isinstance(cells, list) else []
    sources = [one.get("source") for one in found if one.get("cell_type") == "markdown"]
    lines = [line for one in sources if isinstance(one, str | list) for line in "".join(map(str, one)).splitlines()]
    head = next((line for line in lines if line.startswith("# ")), f"# {path.stem}")
    return head[2:].partition(" {#")[0]


def _time(stem: str) -> str:
    """Return how long a notebook measures at most; nothing if that is unknown or nothing is measured."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study = studies.get(stem.partition("-")[2].replace("-", "_"))()
    except LabkitError:  # a notebook of the user's own, or parameters that this machine lacks the program for
        return ""
    seconds = len(study.points) * study.effort.time_cap
    return f", {f'{math.ceil(seconds)} s' if seconds < _LONG else f'{seconds / 60:.0f} min'}" if seconds else ""


def _labs(folder: Path) -> list[str]:
    """Return a row for each lab, in order."""
    rows = []
    for stem in course.stems():
        path = folder / "labs" / stem / f"{stem}.ipynb"
        if path.is_file() and not path.is_symlink():
            minutes = _MINUTES.search(safe_read.text(path))
            lab = labs.get(course.name_of(stem))
            rows.append(
                [stem.partition("-")[0], f"[{lab.title}](../labs/{stem}/{stem}.ipynb)", minutes[1] if minutes else ""]
            )
    return (
        [
            "## Labs",
            "Predict, measure, compare, answer. No lab needs a cluster.",
            table(["no.", "lab", "time"], rows, align="rll"),
        ]
        if rows
        else []
    )


def _campaigns() -> list[str]:
    """Return a row for each of the newest campaigns."""
    paths = sorted(campaign.root().glob("**/campaign.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    rows = []
    for path in paths[:_SHOWN]:
        one = Campaign(path.parent)
        name = path.parent.relative_to(campaign.root()).as_posix()
        count = len(one.benchmarks("*"))
        rows.append(
            [
                f"`{name}`",
                str(one.facts.get("created", ""))[:10],
                plural(count, "benchmark"),
                f"`labkit explore {name}`",
            ]
        )
    if not rows:
        return ["## Campaigns", "There is none yet. `labkit run quick` makes one."]
    more = [f"The newest {_SHOWN} of {len(paths)}."] if len(paths) > _SHOWN else []
    return ["## Campaigns", *more, table(["campaign", "made", "holds", "open"], rows)]


def _guides(folder: Path) -> list[str]:
    """Return a line for each guide that is there."""
    there = project.SHIPPED / "docs"
    lines = [
        f"- [{name}](docs/{name}.md): {words}" for name, words in _GUIDES.items() if (there / f"{name}.md").is_file()
    ]
    return ["## Guides", "\n".join(lines)] if lines else []
