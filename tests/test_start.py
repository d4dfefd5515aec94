"""The page that `labkit lab` opens on names what is there, and every link of it leads somewhere."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from labkit.apps.cli import start
from labkit.apps.teaching import course
from labkit.errors import DataError
from labkit.io import project
from labkit.store import campaign


def test_the_start_page_names_all_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_time", lambda stem: f", {stem}")  # else every study is imported
    monkeypatch.setenv(campaign.HOME, str(project.CAMPAIGNS))
    shutil.copytree(project.NOTEBOOKS, tmp_path / "notebooks", ignore=shutil.ignore_patterns("run-*", "_start", ".*"))
    page = tmp_path / "notebooks" / start.write(tmp_path / "notebooks")
    text = page.read_text()
    assert text.startswith("# labkit\n\n**This machine** can use ")
    links = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", text)
    for link in (a or b for a, b in links):
        assert link.startswith("data:image/svg+xml;base64,") or (page.parent / link).is_file(), link
    named = {Path(a).stem for a, _ in links}
    assert {path.stem for path in project.NOTEBOOKS.glob("*.ipynb")} <= named  # each in a topic
    labs = list(map(text.find, (f"{stem}.ipynb" for stem in course.stems())))
    assert labs == sorted(labs)  # 1, 2, … 10
    assert -1 not in labs
    assert "`labkit explore " in text
    assert "](docs/statistics.md)" in text


@pytest.mark.parametrize("name", ["_start", "_start/docs", "_start/docs/guide.md", "_start/start.md"])
def test_a_link_in_the_notebooks_chooses_no_place(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(campaign.HOME, str(tmp_path / "none"))
    outside, place = tmp_path / "outside", tmp_path / "notebooks" / name
    outside.mkdir()
    place.parent.mkdir(parents=True)
    place.symlink_to(outside if "." not in place.name else outside / "file")
    with pytest.raises(DataError, match=rf"{place} is a link, so labkit would write outside of its folder\."):
        start.write(tmp_path / "notebooks")
    assert not list(outside.iterdir())


def test_a_damaged_notebook_is_listed_by_its_name(tmp_path: Path) -> None:
    texts = ["", "[]", '{"cells": 1}', '{"cells": [1, {"cell_type": "markdown"}]}']
    for number, text in enumerate(texts):
        (path := tmp_path / f"1{number}-own.ipynb").write_text(text)
        assert start._title(path) == path.stem
    path.write_text('{"cells": [{"cell_type": "markdown", "source": ["x\\n", "# Own {#sec-own}\\n"]}]}')
    assert start._title(path) == "Own"


def test_a_missing_program_is_no_doubt_about_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("MPI", "ok", "4.1"), ("load", "warn", "1.8 of 2 cores"), ("ior", "warn", "not installed; instead: fio")]
    checks = [{"name": name, "state": state, "found": found} for name, state, found in rows]
    monkeypatch.setattr(start.show, "doctor", lambda form: [json.dumps(checks)])
    said = "can use MPI; not installed: ior; doubtful for exact numbers: load (`labkit doctor` says why)."
    assert start.machine() == f"**This machine** {said}"


def test_the_time_of_a_notebook_is_what_it_measures_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    assert start._time("40-storage") == ", 4 min"
    assert start._time("51-completion") == ", 8 s"  # no tenths
    assert start._time("95-imported") == ""
    assert start._time("11-of-my-own") == ""
