"""Campaigns and notebooks of any shape: a report of them is staged, or refused in a sentence; what is staged is harmless."""

from __future__ import annotations

import copy
import json
import random
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from labkit.errors import LabkitError
from labkit.report.check import check
from labkit.report.sources import described, read
from labkit.report.stage import stage
from labkit.store.campaign import Campaign
from labkit.suites import rereading
from tests.test_hostile import PROSE, RUN, SVG, TAG, Elements, hostile_campaign, hostile_notebook

DEEP: Any = "x"
for _ in range(150):
    DEEP = [DEEP]
GARBAGE: list[Any] = [
    None,
    3,
    -1,
    1e308,
    True,
    "",
    "x" * 2000,
    [],
    {},
    [[]],
    [1, "a", None],
    {"a": {"b": [1]}},
    DEEP,
    "\ud800\udfff",
    "\x00\x1b[2J",
    "../../x",
    "/etc/passwd",
    TAG,
    SVG,
    "{{< include /etc/passwd >}}",
    "{{<\ninclude x\n>}}",
    "---\nexecute: true\n---",
    "```\n" + TAG,
    "#| label: [1]\nx",
    "#| label: fig-a}b\nx",
    "#| a: &a [*a]\nx",
    "#| fig-cap: 3\n#| label: fig-q\nx",
    "#| - x",
    "#| {",
    "%%html\n" + TAG,
    f'# x {{#sec-x onclick="{RUN}"}}',
    "@fig-nowhere",
    "[^n]",
    "$$ x $$ {#eq-a}",
    ":::: {.callout-note}",
    "![x](/etc/passwd)",
    *PROSE,
]


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a tree of JSON."""
    keys = list(document) if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else []
    return [place for key in keys for place in [(*path, key), *places(document[key], (*path, key))]]


def changed(document: Any, chance: random.Random) -> Any:
    """The tree with up to three of its parts replaced, removed or renamed."""
    document = copy.deepcopy(document)
    for _ in range(chance.randint(1, 3)):
        there = places(document)
        if not there:
            break
        *path, last = chance.choice(there)
        inner = document
        for key in path:
            inner = inner[key]
        kind = chance.random()
        if kind < 0.75:
            inner[last] = copy.deepcopy(chance.choice(GARBAGE))
        elif kind < 0.9:
            del inner[last]
        elif isinstance(inner, dict):
            inner[str(chance.choice(["", "x", "../x", TAG, "\x00"]))] = inner.pop(last)
    return document


def harmless(folder: Path) -> None:
    """Nothing that is staged can act."""
    for path in folder.glob("*.ipynb"):
        book = nbformat.read(path, as_version=4)
        assert set(book.metadata) <= {"kernelspec", "language_info"}
        for cell in book.cells:
            assert cell.cell_type in ("markdown", "code")
            assert not re.search(r"(?m)^---[ \t]*$", cell.source), path
            for word in re.findall(r"\{\{<[^>]*", cell.source):
                assert re.match(r"\{\{< *(var|pagebreak)", word), word
            for out in cell.get("outputs", []):
                for kind, text in out.get("data", {}).items():
                    if kind in ("text/html", "image/svg+xml"):
                        elements = Elements(text)
                        assert not elements.acting, elements.acting
                        assert (
                            not {"iframe", "object", "embed", "form", "foreignobject", "base", "link"} & elements.tags
                        )
                        assert elements.scripts <= {"application/json"}


@pytest.mark.parametrize("count", [10, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_campaign_of_any_shape_is_staged_or_refused(count: int, tmp_path: Path) -> None:
    folder = hostile_campaign(tmp_path / "c")
    facts, book = json.loads((folder / "campaign.json").read_text()), hostile_notebook()
    facts |= {"parameters": {"10-latency": {"launches": 2}}, "sweep": {"settings": {"10-latency": {"bind": "core"}}}}
    book = json.loads(nbformat.writes(book))
    (folder / "notebooks" / "30-link.ipynb").unlink()
    errors: list[str] = []
    staged, chance = 0, random.Random(count)
    for number in range(count):
        (folder / "campaign.json").write_text(json.dumps(changed(facts, chance) if number % 2 else facts))
        (folder / "notebooks" / "10-a.ipynb").write_text(json.dumps(book if number % 2 else changed(book, chance)))
        try:
            campaign = Campaign(folder)
            assert "\n" not in described(campaign, ())
            rereading.missing(campaign)
            made, _ = stage(
                [read(folder)],
                style="report",
                engine="plain" if number % 4 < 2 else "quarto",
                folder=tmp_path / f"staged{number}",
            )
            staged += 1
            harmless(made.folder)
            check(made)
        except LabkitError as error:
            errors.append(str(error))
        assert not list(tmp_path.rglob("*PWNED*"))
    assert staged > count / 3
    assert all(errors)
