"""Published numbers: they are as their paper says, sums of parts are theirs, and a spoiled file is named."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from labkit import benchmarks
from labkit.errors import DataError, SpecError
from labkit.io import project
from labkit.models import what_if
from labkit.read import reference
from labkit.report import literature

FILES = reference.names()
GOOD = """
title = "T"
authors = "A"
published = "P"
short = "A 2001"
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
    assert all(one.where and one.text and one.value >= 0 for one in paper.numbers.values())
    assert paper.conditions
    assert paper.doi.startswith("10.") or not paper.doi


def printed(name: str) -> dict[str, tuple[float, float]]:
    """Return what each number of a paper may be before its authors rounded it to the digits that they print."""
    file = tomllib.loads((reference.FOLDER / f"{name}.toml").read_text(), parse_float=Decimal)
    values = {one["name"]: Decimal(one["value"]) for one in file["number"]}
    half = {key: Decimal(5).scaleb(int(value.as_tuple().exponent) - 1) for key, value in values.items()}
    return {key: (float(value - half[key]), float(value + half[key])) for key, value in values.items()}


@pytest.mark.parametrize("name", FILES)
def test_every_published_ratio_follows_from_its_numbers_within_their_digits(name: str) -> None:
    paper, may_be = reference.load(name), printed(name)
    for one in paper.numbers.values():
        if not (one.ratio or one.saving):
            continue
        first, second = (may_be[other] for other in (one.ratio or one.saving))
        ratios = (first[0] / second[1], first[1] / second[0])
        savings = (100 * (1 - second[1] / first[0]), 100 * (1 - second[0] / first[1]))
        scale = 100 if one.unit == "%" else 1
        low, high = (scale * ratios[0], scale * ratios[1]) if one.ratio else savings
        low, high = sorted((low, high))
        assert one.measures in ("%", "times", "1"), one
        if one.relation == "above":
            assert high > one.value, one
        else:
            assert low <= may_be[one.name][1], one
            assert high >= may_be[one.name][0], one


@pytest.mark.parametrize("name", FILES)
def test_every_paper_is_in_the_bibliography_and_every_number_has_its_section_or_table(name: str) -> None:
    paper = reference.load(name)
    bibliography = (project.SHIPPED / "templates" / "report" / "references.bib").read_text()
    assert f"{{{paper.key},\n" in bibliography
    for one in paper.numbers.values():
        assert re.fullmatch(r"(section|Table|Figure) [\dIVX.]+", one.where), one
        assert not one.page, "the texts of the papers print no page numbers"


def test_every_published_number_has_a_benchmark_of_labkit_or_says_why_there_is_none() -> None:
    every = [one.number for one in reference.entries()]
    assert not [one.name for one in every if bool(one.benchmarks) == bool(one.unmeasured)]
    linked = Counter(bool(one.benchmarks) for paper in map(reference.load, FILES) for one in paper.numbers.values())
    assert linked == {True: 39, False: 190}
    assert {one.unmeasured for one in every} == {"", *reference.UNMEASURED}


def test_a_code_says_what_its_numbers_are() -> None:
    for one in (entry.number for entry in reference.entries()):
        if one.ratio or one.saving:
            assert one.unmeasured == "derived", f"{one.name} would be a second row of one experiment"
        if one.unmeasured == "derived":
            assert not one.library or one.parts or one.observed, one.name
        if "pause" in one.text:
            assert one.unmeasured == "instrument", one.name
        if one.where in ("Table 1", "Table 13") and one.network:
            assert one.unmeasured == {"Table 1": "stated", "Table 13": "setting"}[one.where], one.name
        if one.unmeasured == "definition":
            assert one.note, f"{one.name} does not say how the definitions differ"


def test_no_quantity_of_a_paper_is_compared_twice() -> None:
    keys = Counter(
        (one.file, number.benchmarks, number.metric, str(number.options), number.size, number.network)
        for one in reference.entries()
        if (number := one.number).benchmarks and not number.instead
    )
    assert [key for key, count in keys.items() if count > 1] == []


def test_a_link_to_a_network_names_path_ranks_and_a_benchmark_of_the_same_layer() -> None:
    """Else a value of another path, layer or scale would stand beside it."""
    for one in (entry.number for entry in reference.entries() if entry.number.benchmarks):
        if not one.network:
            continue
        assert one.transport or one.nodes == 1, one.name
        assert one.nodes == 1 or ("TCP" in one.network) == (one.transport == "tcp"), one.name
        for name in one.benchmarks:
            benchmark = benchmarks.get(name)
            assert benchmark.mpi == ("MPI" in one.library), f"{one.name}: {name} is of another layer than {one.library}"
            assert not benchmark.mpi or one.processes, f"{one.name} names no number of ranks"


def test_numbers_have_a_statistic_only_if_their_paper_states_one() -> None:
    older = reference.load("cluster-interconnects-2003").numbers.values()
    assert any(one.metric for one in older)
    assert not [one.name for one in older if one.statistic]


def test_the_models_of_breaking_band_are_within_the_margins_that_it_states(paper: reference.Paper) -> None:
    """Sections 4.2, 4.3 and 6: 5 %, 5 %, 1 %, 4 %."""
    for name, margin in (("injection_llp", 5), ("latency_llp", 5), ("injection", 1), ("latency", 4)):
        assert abs(100 * (paper.sum(name) / paper[paper[name].observed].value - 1)) < margin
    assert paper.sum("injection_llp") == pytest.approx(295.73)
    assert paper.sum("latency") == pytest.approx(1387.02)


def test_what_breaking_band_says_of_cheaper_parts_follows_from_its_numbers(paper: reference.Paper) -> None:
    for claim in paper.claims:
        saved = what_if.published(paper, claim.total, claim.parts, claim.cheaper)
        assert saved > claim.saved if claim.relation == "above" else saved == pytest.approx(claim.saved, abs=0.2), claim
        if claim.drawn:
            drawn = what_if.published(paper, claim.total, claim.parts, claim.drawn)
            assert drawn == pytest.approx(claim.saved, abs=0.005), claim
    assert what_if.published(paper, "injection", ["wire", "pcie"], 90) == 0
    assert what_if.published(paper, "latency", ["switch"], 70) == pytest.approx(5.45, abs=0.005)
    software = ["hlp_post", "llp_post", "llp_prog", "hlp_rx_prog"]
    assert 100 - what_if.published(paper, "latency", ["network"], 100) == pytest.approx(72.4, abs=0.05)
    assert what_if.published(paper, "latency", software, 100) == pytest.approx(35.2, abs=0.05)


def test_a_part_that_is_passed_twice_counts_twice(paper: reference.Paper) -> None:
    assert [one.name for one in paper.leaves(["latency_llp"])].count("pcie") == 2
    assert what_if.published(paper, "latency_llp", ["pcie"], 100) == pytest.approx(100 * 2 * 137.49 / 1135.8)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "a"', 'name = "a"\nparts = ["b"]'),
        ('name = "a"', 'name = "a"\nparts = ["a"]'),
        ('where = "Table 1"', ""),
        ("value = 1.0", "value ="),
        ('text = "one"', 'text = "one"\ncolour = "red"'),
        ('title = "T"', 'title = "T"\npublisher = "X"'),
        ('unit = "ns"', ""),
        ('unit = "ns"', 'unit = "parsec"'),
        ("value = 1.0", 'value = "one"'),
        ("value = 1.0", "value = 1.0\nto = 0.5"),
        ("value = 1.0", 'value = 1.0\nrelation = "roughly"'),
        ("value = 1.0", 'value = 1.0\nsize = "4 stones"'),
        ("value = 1.0", 'value = 1.0\ninstead = "b"'),
        ("value = 1.0", 'value = 1.0\nratio = ["a"]'),
        ("value = 1.0", 'value = 1.0\nmetric = "latency_us"'),
        ("value = 1.0", 'value = 1.0\nunmeasured = "unknown"'),
        ("value = 1.0", 'value = 1.0\nbenchmarks = ["mpi.latency"]\nmetric = "latency_us"\nunmeasured = "stated"'),
        ("value = 1.0", 'value = 1.0\nbenchmarks = ["mpi.latncy"]\nmetric = "latency_us"'),
        ("value = 1.0", 'value = 1.0\nbenchmarks = ["mpi.latency"]\nmetric = "bandwidth_MBps"'),
        ("value = 1.0", 'value = 1.0\nunit = "B"\nbenchmarks = ["mpi.latency"]\nmetric = "latency_us"'),
        ('where = "Table 1"', 'where = "Figure 1"'),
        ('where = "Table 1"', 'where = "Figure 1"\nuncertainty = -1'),
        (
            'where = "Table 1"',
            'where = "Table 1"\n[[number]]\nname = "b"\ntext = "sum"\nvalue = 1.0\nunit = "µs"\nwhere = "x"\nparts = ["a"]',
        ),
        ("[[number]]", "[[numbers]]"),
        ("[[number]]", "[number]"),
        ("[[number]]", "number = [1]\n[other]"),
        ('where = "Table 1"', 'where = "Table 1"\n[claim]\ntotal = "a"'),
        ('unit = "ns"', "unit = 3"),
        ('where = "Table 1"', 'where = "Table 1"\n[[number]]\nname = "a"\ntext = "again"\nvalue = 2.0\nwhere = "x"'),
    ],
)
def test_a_spoiled_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    monkeypatch.setattr(reference, "FOLDER", tmp_path)
    (tmp_path / "good-2001.toml").write_text(GOOD)
    assert reference.load("good-2001").sum("a") == 1
    assert old in GOOD
    (tmp_path / "bad-2001.toml").write_text(GOOD.replace(old, new))
    with pytest.raises(DataError, match=r"bad-2001.toml is not a table of published numbers"):
        reference.load("bad-2001")


@pytest.mark.parametrize("error", [AttributeError, TypeError, KeyError])
def test_a_programming_error_in_reading_is_no_spoiled_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def broken(paper: reference.Paper) -> None:
        raise error("a bug")

    (tmp_path / "own-2026.toml").write_text(GOOD)
    monkeypatch.setattr(reference, "_follow", broken)
    with pytest.raises(error, match="a bug"):
        reference.read(tmp_path / "own-2026.toml")


def test_a_file_that_is_edited_is_read_again_and_one_that_never_ends_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "own-2026.toml"
    file.write_text(GOOD)
    assert reference.read(file)["a"].value == 1
    file.write_text(GOOD.replace("value = 1.0", "value = 2.0"))
    os.utime(file, ns=(0, 1))
    assert reference.read(file)["a"].value == 2
    os.mkfifo(tmp_path / "pipe-2026.toml")
    with pytest.raises(DataError, match="is a named pipe, but it must be a file"):
        reference.read(tmp_path / "pipe-2026.toml")
    (tmp_path / "binary-2026.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        reference.read(tmp_path / "binary-2026.toml")


def test_an_unknown_paper_or_number_is_named(paper: reference.Paper) -> None:
    with pytest.raises(DataError, match="There are: breaking-band-2019"):
        reference.load("waves")
    with pytest.raises(SpecError, match=r"no published number 'wirre'.*wire"):
        paper.sum("wirre")


def test_numbers_are_converted_to_seconds_and_bytes_and_stated_as_the_paper_does() -> None:
    ethernet, older = reference.load("ethernet-scientific-2020"), reference.load("cluster-interconnects-2003")
    assert ethernet["roce_bandwidth"].si == pytest.approx(97e9 / 8)
    assert ethernet["roce_bandwidth"].stated == "> 97 Gb/s"
    assert ethernet["roce_bandwidth"].size_B == 4 * 2**20
    assert (ethernet["tcp_latency"].stated, ethernet["tcp_latency"].ends) == ("13 to 15 µs", (13, 15))
    assert older["vapi_bandwidth"].si == 831 * 2**20
    assert older["vapi_bandwidth"].size_B is None
    assert ethernet["mtu"].si == 4500
    assert ethernet["mtu"].read == "table"
    assert older.place(older["elan_put"]) == "Liu et al. 2003, section 4.1"


def test_a_number_read_from_a_figure_has_its_uncertainty(tmp_path: Path) -> None:
    text = GOOD.replace('where = "Table 1"', 'where = "Figure 1"\nuncertainty = 0.25')
    (tmp_path / "own-2026.toml").write_text(text)
    number = reference.read(tmp_path / "own-2026.toml")["a"]
    assert (number.read, number.stated, number.ends) == ("figure", "1.0 ± 0.25 ns", (0.75, 1.25))


def test_a_search_finds_numbers_that_have_all_words() -> None:
    found = reference.search(["RoCE", "mpi.latency"])
    assert [(one.file, one.number.name) for one in found] == [("ethernet-scientific-2020", "roce_latency")]
    assert {one.file for one in reference.search(["latency"])} == set(FILES) - {"ibisco-cluster-2025"}
    assert [one.number.stated for one in reference.search(["saved", "switch"])] == ["5.45 %"]
    assert [one.number.stated for one in reference.search(["saved", "uct"])][:1] == ["up to 13.33 %"]
    assert len(reference.search([], file="ibisco-cluster-2025")) == len(reference.load("ibisco-cluster-2025").numbers)
    assert reference.search(["no such thing"]) == []


def test_a_project_brings_its_own_papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("notebooks", "suites", "data/reference"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "_quarto.yml").write_text("")
    (tmp_path / "data" / "reference" / "own-2026.toml").write_text(GOOD)
    monkeypatch.setenv(project.PROJECT, str(tmp_path))
    assert reference.names() == sorted([*FILES, "own-2026"])
    assert [one.place for one in reference.search(["own-2026"])] == ["A 2001, Table 1"]


def test_up_to_is_no_upper_bound_that_is_not_reached() -> None:
    assert reference.load("hot-interconnects-survey-2022")["efa"].stated == "up to 100 Gb/s"


def test_what_is_marked_as_printed_is_alike_in_all_files() -> None:
    numbers = reference.load("hot-interconnects-survey-2022").numbers
    printed = {one.library.removesuffix(", as printed") for one in numbers.values() if "as printed" in one.library}
    assert printed
    assert printed <= {row.cells[5] for row in literature.table(13).rows}


def test_numbers_are_stated_with_the_digits_that_the_paper_prints() -> None:
    older, band = reference.load("cluster-interconnects-2003"), reference.load("breaking-band-2019")
    ethernet, survey = reference.load("ethernet-scientific-2020"), reference.load("hot-interconnects-survey-2022")
    assert (older["elan_put"].stated, ethernet["qos_tcp_alone"].stated) == ("2.0 µs", "6.0 s")
    assert (band["switch"].stated, band["samples"].stated) == ("108 ns", "≥ 100")
    assert (survey["tofud_latency"].stated, survey["infiniband_rate"].stated) == ("0.5 to 1 µs", "up to 400 Gb/s")
    assert ethernet["roce_rx0_duration"].stated == "64272"


def test_the_table_of_interconnects_prints_what_the_numbers_of_table_1_say() -> None:
    """The report shows cells as printed, and `labkit reference` shows numbers: they are of one table."""
    numbers = [
        one for one in reference.load("hot-interconnects-survey-2022").numbers.values() if one.where == "Table 1"
    ]
    signs = {"": "", "about": "~", "below": "<"}
    for text, column in (("bandwidth", 3), ("latency", 4)):
        stated = [
            f"{signs[one.relation]}{one.value:g}" + (f"-{one.to:g}" if one.to else "")
            for one in numbers
            if one.text.startswith(text)
        ]
        printed = [row.cells[column].replace("\u2013", "-") for row in literature.table(1).rows]
        assert [cell for cell in printed if cell != "N/A"] == stated


def test_a_number_that_the_paper_prints_as_words_is_quoted() -> None:
    words = {"elan_notification_small": "no extra overhead", "gpu_over_host": "about a tenth", "bt_io_less": "order of"}
    notes = {one.number.name: one.number.note for one in reference.entries()}
    assert all(text in notes[name] for name, text in words.items())
