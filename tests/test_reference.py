"""Published numbers: they are as their paper says, sums of parts are theirs, and a spoiled file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import reference
from labkit.errors import DataError, SpecError

FILES = reference.names()
GOOD = """
title = "T"
authors = "A"
published = "P"
doi = "10.1/1"
conditions = "C"
unit = "ns"
[[number]]
name = "a"
text = "one"
value = 1.0
where = "Table 1"
"""


@pytest.fixture
def paper() -> reference.Paper:
    return reference.load("breaking-band-2019")


@pytest.mark.parametrize("name", FILES)
def test_every_published_sum_is_the_sum_of_its_parts_as_printed(name: str) -> None:
    paper = reference.load(name)
    sums = [one for one in paper.numbers.values() if one.parts]
    assert all(paper.sum(one.name) == pytest.approx(one.value, abs=0.006) for one in sums)
    assert all(one.where and one.text and one.value > 0 for one in paper.numbers.values())
    assert paper.conditions
    assert paper.doi.startswith("10.")


def test_the_models_of_breaking_band_are_within_the_margins_that_it_states(paper: reference.Paper) -> None:
    """Sections 4.2, 4.3 and 6: 5 %, 5 %, 1 %, 4 %."""
    for name, margin in (("injection_llp", 5), ("latency_llp", 5), ("injection", 1), ("latency", 4)):
        assert abs(100 * (paper.sum(name) / paper[paper[name].observed].value - 1)) < margin
    assert paper.sum("injection_llp") == pytest.approx(295.73)
    assert paper.sum("latency") == pytest.approx(1387.02)


def test_what_breaking_band_says_of_cheaper_parts_follows_from_its_numbers(paper: reference.Paper) -> None:
    for claim in paper.claims:
        found = paper.saved(claim.total, claim.parts, claim.cheaper)
        assert found > claim.saved if claim.least else found == pytest.approx(claim.saved, abs=0.2), claim
    assert paper.saved("injection", ["wire", "pcie"], 90) == 0
    assert paper.saved("latency", ["switch"], 70) == pytest.approx(5.45, abs=0.005)
    software = ["hlp_post", "llp_post", "llp_prog", "hlp_rx_prog"]
    assert 100 - paper.saved("latency", ["network"], 100) == pytest.approx(72.4, abs=0.05)
    assert paper.saved("latency", software, 100) == pytest.approx(35.2, abs=0.05)


def test_a_part_that_is_passed_twice_counts_twice(paper: reference.Paper) -> None:
    assert [one.name for one in paper.leaves(["latency_llp"])].count("pcie") == 2
    assert paper.saved("latency_llp", ["pcie"], 100) == pytest.approx(100 * 2 * 137.49 / 1135.8)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "a"', 'name = "a"\nparts = ["b"]'),
        ('name = "a"', 'name = "a"\nparts = ["a"]'),
        ('where = "Table 1"', ""),
        ("value = 1.0", "value ="),
        ('text = "one"', 'text = "one"\ncolour = "red"'),
        ('unit = "ns"', ""),
        ("[[number]]", "[[numbers]]"),
        ('where = "Table 1"', 'where = "Table 1"\n[[number]]\nname = "a"\ntext = "again"\nvalue = 2.0\nwhere = "x"'),
    ],
)
def test_a_spoiled_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    monkeypatch.setattr(reference, "FOLDER", tmp_path)
    reference.load.cache_clear()
    (tmp_path / "good.toml").write_text(GOOD)
    assert reference.load("good").sum("a") == 1
    (tmp_path / "bad.toml").write_text(GOOD.replace(old, new))
    with pytest.raises(DataError, match=r"bad.toml is not a table of published numbers"):
        reference.load("bad")
    reference.load.cache_clear()


def test_an_unknown_paper_or_number_is_named(paper: reference.Paper) -> None:
    with pytest.raises(DataError, match="There are: breaking-band-2019"):
        reference.load("waves")
    with pytest.raises(SpecError, match=r"no published number 'wirre'.*wire"):
        paper.sum("wirre")
