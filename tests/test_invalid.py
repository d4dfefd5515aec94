"""A campaign whose numbers are not measurements is marked as invalid wherever a report shows its numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from labkit import report
from labkit.judge import rules
from labkit.judge.rule import LINTED
from labkit.report import invalid, sources
from labkit.report.content import Content
from labkit.report.stage import stage
from labkit.store import samples

from .test_report import make_campaign, pages, point

RULE = "the rule that an untimed pass verifies every byte"


def broken(folder: Path) -> Path:
    """A campaign of which one point was not verified, as by a labkit that somebody changed."""
    make_campaign(folder)
    for launch in range(3):
        one = point("mpi.latency", 8, "tcp", launch)
        name = f"{one.meta['fingerprint']}-{launch}.parquet"
        samples.save(replace(one, meta={**one.meta, "verified": False}), folder / "samples" / "mpi.latency" / name)
    return folder


def captions(text: str) -> dict[str, str]:
    """Captions of a staged chapter of Markdown by label."""
    tables = re.findall(r"^: (.*) \{#(tbl-[\w-]+)\}$", text, re.M)
    figures = re.findall(r"^!\[(.*)\]\([^)]*\)\{#(fig-[\w-]+)", text, re.M)
    return {label: caption for caption, label in [*tables, *figures]}


def test_rules_that_void_a_number_are_checked_by_lint_and_are_bad() -> None:
    voiding = {code for code, rule in rules.every().items() if rule.voids}
    assert voiding == {"unverified", "copied-launches", "tail-order"}
    assert all(rules.every()[code].level == "bad" and rules.every()[code].about in LINTED for code in voiding)


@pytest.mark.parametrize(
    "style", ["report", pytest.param("survey", marks=pytest.mark.slow), pytest.param("slides", marks=pytest.mark.slow)]
)
def test_the_front_page_and_each_number_of_a_broken_campaign_say_invalid(style: str, tmp_path: Path) -> None:
    source = sources.read(broken(tmp_path / "c"))
    assert {one.code for one in source.invalid} == {"unverified"}
    made, _ = stage([source], style=style, engine="plain", folder=tmp_path / "made")
    index = (tmp_path / "made" / "index.qmd").read_text()
    head, callout, *_ = index.split("\n\n")
    assert head.startswith(("# ", "## "))
    assert 'title="Invalid"' in callout
    assert "breaks the rule `unverified`: an untimed pass verifies every byte" in callout
    assert "mpi.latency" in callout
    found = {}
    for file in (tmp_path / "made").glob("*.qmd"):
        found |= captions(file.read_text())
    marked = {label for label, caption in found.items() if caption.startswith("**Invalid:** the campaign breaks")}
    assert marked >= {label for label in found if label.startswith("fig-")}
    assert not marked & {"tbl-rules", "tbl-files", "tbl-hosts", "tbl-versions", "tbl-threats"}
    if style == "report":
        assert {"tbl-key", "fig-front"} <= marked
    shown = [
        line
        for file, _ in made.chapters
        for piece in made.pieces(file)
        for key, line in piece.options.items()
        if key in ("fig-cap", "tbl-cap")
    ]
    assert shown or style == "slides"
    assert all(RULE in line for line in shown)


def test_a_sound_campaign_is_not_marked(tmp_path: Path) -> None:
    source = sources.read(make_campaign(tmp_path / "c"))
    assert not source.invalid
    texts = {"index.qmd": "# Summary\n\n: Key. {#tbl-key}\n"}
    before = dict(texts)
    invalid.mark(texts, Content([source], {}))
    assert texts == before


def test_of_several_campaigns_the_broken_one_is_named(tmp_path: Path) -> None:
    bad, good = sources.read(broken(tmp_path / "a")), sources.read(make_campaign(tmp_path / "b"))
    bad.facts["name"], good.facts["name"] = "spoiled", "sound"
    texts = {"index.qmd": "# Summary\n\n: Key numbers. {#tbl-key}\n\n: Hosts. {#tbl-hosts}\n"}
    invalid.mark(texts, Content([bad, good], {}))
    assert f": **Invalid:** campaign spoiled breaks {RULE}. Key numbers. {{#tbl-key}}" in texts["index.qmd"]
    assert "\n: Hosts. {#tbl-hosts}" in texts["index.qmd"]


@pytest.mark.slow
def test_the_pages_show_the_word(tmp_path: Path) -> None:
    built = report.build([broken(tmp_path / "c")], engine="plain")
    shown = pages(built)
    assert "Invalid" in shown["index.html"].text
    assert shown["10-latency.html"].text.count(f"Invalid: the campaign breaks {RULE}.") == 3
