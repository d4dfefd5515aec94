"""Styles of the report: their files, what they need, and what each says of a campaign."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import shlex
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import pandas as pd
import pypandoc
import pytest

from labkit import benchmarks, report
from labkit.apps import cli, show
from labkit.apps.teaching import handout, labs
from labkit.apps.teaching.attempts import Attempts
from labkit.errors import DataError, ReportError
from labkit.io import project
from labkit.point.columns import METRICS
from labkit.read import reference
from labkit.report import blocks, literature, sources, stage, styles, summary, templates
from labkit.report.blocks import paper as blocks_paper
from labkit.report.blocks import surveyed
from labkit.report.blocks import testbeds as blocks_testbeds
from labkit.report.content import Content
from labkit.report.markdown import needing
from labkit.store import samples
from tests.test_report import make_campaign, pages, point, text_of


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of the user, with a folder for its own parts of reports."""
    monkeypatch.setenv(project.PROJECT, str(project.init(tmp_path / "project").folder))
    folder = tmp_path / "project" / project.REPORT
    (folder / "styles").mkdir(parents=True)
    return folder


def test_every_shipped_style_loads_and_finds_its_chapters() -> None:
    assert {"report", "letter", "survey"} <= set(styles.find())
    shipped = styles.read(project.SHIPPED / "templates/report/book.yml")
    for name in styles.find():
        style = styles.load(name)
        assert style.settings.about, name
        book = styles.merged(shipped, style.config)["book"]
        for chapter in [*book["chapters"], *book.get("appendices", [])]:
            assert styles.is_pattern(chapter) or style.file(chapter).is_file()


def test_blocks_have_one_home_and_templates_ask_for_known_ones() -> None:
    known = {**stage.BLOCKS, **blocks.find()}
    assert not set(stage.BLOCKS) & set(blocks.find())
    asked = {
        name
        for path in styles.TEMPLATES.rglob("*.qmd")
        for name in re.findall(r"^<!-- generated: ([\w-]+) -->$", path.read_text(), re.M)
    }
    assert asked <= set(known)


@pytest.mark.parametrize(
    ("style", "campaigns", "contract", "message"),
    [
        ("bold", ["a"], None, r"There is no style 'bold'\. There are: .*letter, report, .*survey"),
        ("survey", ["a"], Path("c.toml"), r"--contract has no effect on --style survey"),
        (
            "acceptance",
            ["a"],
            None,
            r"needs an acceptance contract.*labkit report a --style acceptance --contract FILE",
        ),
        (
            "comparison",
            ["a"],
            None,
            r"needs 2 campaigns, but there is 1: a\. Name another one: labkit report a ANOTHER",
        ),
    ],
)
def test_what_a_style_needs(style: str, campaigns: list[str], contract: Path | None, message: str) -> None:
    with pytest.raises(ReportError, match=message):
        styles.required(style, campaigns, contract)


def test_a_style_may_be_like_another_but_not_like_itself(own: Path) -> None:
    (own / "styles" / "house.yml").write_text("labkit: {like: survey}\nbook: {author: [A. Author]}\n")
    house = styles.load("house")
    assert house.config["book"]["chapters"] == styles.load("survey").config["book"]["chapters"]
    assert house.config["book"]["author"] == ["A. Author"]
    (own / "styles" / "house.yml").write_text("labkit: {like: house}\n")
    with pytest.raises(ReportError, match="house' is like itself: house → house"):
        styles.load("house")
    (own / "styles" / "house.yml").write_text("labkit: {kile: survey}\n")
    with pytest.raises(ReportError, match="kile"):
        styles.load("house")
    (own / "styles" / "house.yml").write_text("- a\n")
    with pytest.raises(ReportError, match="must hold keys and values"):
        styles.load("house")


@pytest.mark.parametrize("name", ["/etc/passwd", "../x.qmd", "none.qmd"])
def test_a_style_takes_files_of_its_folders_only(name: str) -> None:
    with pytest.raises(ReportError, match="no such file"):
        styles.load("report").file(name)


def test_notebooks_stand_where_the_first_pattern_matches() -> None:
    names = ["10-a.ipynb", "20-b.ipynb", "50-c.ipynb"]
    assert styles.placed(["i.qmd", "5*.ipynb", "*.ipynb", "z.qmd"], names) == [
        "i.qmd",
        "50-c.ipynb",
        "10-a.ipynb",
        "20-b.ipynb",
        "z.qmd",
    ]
    assert styles.placed(["i.qmd", "2*.ipynb"], names) == ["i.qmd", "20-b.ipynb"]


def filled(tmp_path: Path, text: str, omitted: list[str], **blocks: str) -> templates.Filled:
    (tmp_path / "a.qmd").write_text(text)
    made = {name: partial(str, value) for name, value in blocks.items()}
    return templates.fill({"a.qmd": tmp_path / "a.qmd"}, made, labels=set(), optional=set(), omitted=omitted)


def test_a_style_without_notebooks_needs_none_executed() -> None:
    shows = {name: styles.load(name).shows_notebooks for name in ("report", "survey", "acceptance", "comparison")}
    assert shows == {"report": True, "survey": True, "acceptance": False, "comparison": False}


def test_sections_without_data_go_with_what_refers_to_them(tmp_path: Path) -> None:
    omitted: list[str] = []
    text = (
        f"# A {{#sec-a}}\n\nKept. {needing('sec-b', 'See @sec-b for more.')} Kept too.\n\n"
        "More in @sec-b. Not kept.\n\n## B {#sec-b}\n\nProse.\n\n<!-- generated: none -->\n\n"
        "### Below {#sec-below}\n\n<!-- generated: none -->\n\n## C {#sec-c}\n\n<!-- generated: some -->\n"
    )
    made = filled(tmp_path, text, omitted, none="", some="text").texts["a.qmd"]
    assert made == "# A {#sec-a}\n\nKept. Kept too.\n\n## C {#sec-c}\n\ntext\n"
    assert omitted == ["B"]


def test_a_chapter_without_data_goes_and_one_without_blocks_stays(tmp_path: Path) -> None:
    omitted: list[str] = []
    assert not filled(tmp_path, "# A\n\nProse.\n\n## B\n\n<!-- generated: none -->\n", omitted, none="").texts
    assert omitted == ["A"]
    assert filled(tmp_path, "# A\n\nProse.\n\n## B\n\nProse.\n", []).texts


def test_what_is_left_out_is_named_last(tmp_path: Path) -> None:
    omitted: list[str] = []
    (tmp_path / "a.qmd").write_text("# A\n\n<!-- generated: left-out -->\n\n## B\n\n<!-- generated: none -->\n")
    blocks = {"left-out": lambda: f"Without: {omitted}", "none": lambda: ""}
    files = {"a.qmd": tmp_path / "a.qmd"}
    made = templates.fill(files, blocks, labels=set(), optional=set(), omitted=omitted)
    assert "Without: ['B']" in made.texts["a.qmd"]


def test_an_unknown_part_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"asks for the generated block 'nothing'\. There are: some"):
        filled(tmp_path, "<!-- generated: nothing -->\n", [], some="x")


ROWS = literature.surveyed()
# rows and columns of each table in the paper; labkit has one row more in Table 4, for BT-IO and for UA, DC and DT
PAPER = {
    1: (9, 9), 2: (6, 12), 3: (6, 4), 4: (4 + 1, 2), 5: (8, 5), 6: (4, 4), 7: (3, 3),
    8: (2, 3), 9: (2, 3), 10: (2, 4), 11: (6, 5), 12: (4, 2), 13: (4, 6),
}  # fmt: skip
TEXT = {"4.2": 2, "4.3": 2, "4.4": 1, "4.5": 5, "4.6": 2, "7": 16}  # benchmarks that the text of a section names


def test_each_table_has_the_rows_and_columns_of_the_paper() -> None:
    tables = literature.tables()
    assert {one.number: (len(one.rows), len(one.columns)) for one in tables if one.number} == PAPER
    assert {one.section: len(one.rows) for one in tables if not one.number} == TEXT
    assert all(len(row.cells) == len(one.columns) for one in tables for row in one.rows)
    empty = [
        (row.name, cell) for one in tables for row in one.rows for cell in row.cells if cell in ("", "not legible")
    ]
    assert empty == [("Iometer", "not legible"), ("Swarm Edge", "")]


def test_the_supplement_says_where_it_has_more_rows_than_the_survey() -> None:
    text = (styles.TEMPLATES / "styles" / "supplement" / "benchmarks.qmd").read_text()
    assert "The last row of its Table 4 (UA, BT-IO, DC and DT) is split into" in text
    assert [row.name for row in literature.table(4).rows][-2:] == ["BT-IO", "UA, DC, DT"]


def test_each_benchmark_has_the_section_that_describes_it() -> None:
    section = {row.name: row.section for row in ROWS}
    assert [section[name] for name in ("Perftest", "RDMA-bench", "NetPerf", "iPerf", "qperf", "GPCNeT")] == [
        f"3.{n}" for n in range(1, 7)
    ]
    for place, names in (
        ("4.2", ("OSU UPC benchmarks", "OSU UPC++ benchmarks")),
        ("4.3", ("RPC-perf", "Apache Thrift Benchmarks (ATB)")),
        ("4.4", ("SPDK NVMe perf", "Iometer", "Encoding")),
        ("4.5", ("PARAM", "NCCL Tests", "OSU benchmarks on GPUs (OMB-GPU)")),
        ("4.6", ("YCSB", "OSU HiBD-Benchmarks")),
        ("4.7", ("Social Network", "Router")),
        ("7", ("MLPerf", "PARSEC")),
    ):
        assert {section[name] for name in names} == {place}
    assert {row.section for row in ROWS if row.section[0] != "3"} <= set(literature.sections())


def test_a_test_that_labkit_counts_stands_in_its_row() -> None:
    """The cells are what the paper prints, so no test is counted that it does not name."""
    for row in ROWS:
        named = {word.lower() for cell in row.cells for word in re.split(r"[,/ ]+", cell.replace("multi-", ""))}
        missing = [test for test in row.tests if test.split()[-1].lower() not in named]
        assert not missing or row.name == "IMB-IO", row.name  # whose names have forms: S_[ACTION]_indv/expl


def printed(text: str, label: str) -> list[list[str]]:
    """Return head and rows of the table with a label."""
    lines = text.partition(f"{{#{label}}}")[0].split("\n\n")[-2].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in (lines[0], *lines[2:])]


def test_the_column_of_labkit_has_five_words() -> None:
    text = surveyed.surveyed(Content([], {}))
    words = []
    for one in literature.tables():
        if not one.rows[0].kind:
            continue
        rows = printed(text, f"tbl-surveyed-{surveyed.key_of(one)}")
        rows = [list(row) for row in zip(*rows, strict=True)] if one.turned else rows
        assert rows[0] == [*one.columns, "labkit"]
        assert len(rows) == 1 + len(one.rows)
        words += [row[-1] for row in rows[1:]]
    assert words == [surveyed.KINDS[row.kind] for row in ROWS]
    assert len(surveyed.KINDS) == 5


def test_the_counts_of_each_section_are_those_of_its_tables() -> None:
    rows = printed(surveyed.scope(Content([], {})) + "\n", "tbl-scope")[1:]
    counts = [[int(cell) for cell in row[1:]] for row in rows]
    assert sum(row[0] for row in counts) == len(ROWS)
    assert all(row[0] == sum(row[1:-1]) for row in counts)


def test_the_table_of_testbeds_prints_what_the_numbers_of_table_13_say() -> None:
    numbers = reference.load("hot-interconnects-survey-2022")
    for row in literature.table(13).rows:
        name = row.name.lower()
        assert row.cells[1:] == (
            str(int(numbers[f"{name}_nodes"].value)),
            f"{numbers[f'{name}_link'].network} ({numbers[f'{name}_link'].value:g} Gbps)",
            row.cells[3],
            str(int(numbers[f"{name}_memory"].value)),
            row.cells[5],
        )


def test_the_survey_names_what_labkit_has() -> None:
    rows = {row.name: row for row in ROWS}
    assert rows["blocking collectives"].counterparts["osu_allreduce"] == "mpi.allreduce"
    assert not [name for name in rows["Five kernels: IS, EP, CG, MG, FT"].benchmarks if "skeleton" in name]
    assert rows["Three pseudo applications: BT, SP, LU"].benchmarks == [
        f"compute.nas_{k}_skeleton" for k in ("bt", "lu", "sp")
    ]


def test_what_labkit_does_not_have_is_none_and_what_is_not_the_program_is_no_program() -> None:
    kinds = {row.name: row.kind for row in ROWS}
    for name in ("RPC-perf", "PerfZero", "SPEC"):
        assert kinds[name] == "none", name
    for name in (
        "Iometer",
        "SPDK NVMe perf",
        "BT-IO",
        "RDMA-bench",
        "NCCL Tests",
        "Social Network",
        "Swarm Edge",
        "Router",
    ):
        assert kinds[name] == "stand-in", name
    programs = {row.name for row in ROWS if row.kind == "program"}
    assert programs == {
        *("Perftest", "NetPerf", "iPerf", "qperf", "IOzone", "YCSB", "BT-MZ, SP-MZ, LU-MZ", "UA, DC, DT")
    }


def listed() -> tuple[str, str]:
    """What `labkit list` prints: the table of what labkit runs, and the line of what it imports only."""
    table, _, imported = show.benchmarks_text("table").partition("\n\nimported from logs")
    return table, imported


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section}-{row.name}")
def test_a_row_of_the_survey_agrees_with_the_list_of_labkit(row: literature.Surveyed) -> None:
    table, imported = listed()
    where = imported if row.kind == "import" else table
    assert all(re.search(rf"(?m)(^|[ ,]){re.escape(name)}\b", where) for name in row.benchmarks)
    assert bool(row.benchmarks) == (row.kind != "none")
    assert bool(row.reason) == (row.kind == "none")
    assert bool(row.note) or row.kind != "stand-in", "a stand-in names its difference"
    assert row.imported or row.kind != "import"
    assert not row.tests or row.counterparts, "0 of its tests"
    if row.kind == "program":
        runs = {tool.__module__ for name in row.benchmarks for tool in getattr(benchmarks.get(name), "tools", ())}
        assert {f"labkit.tools.{tool}" for tool in row.tools} <= runs
    if row.kind == "definition":
        named = ("OSU", "OMB", "osu_", "IMB", "NAS", "NPB")
        assert row.tests or all(any(word in benchmarks.get(name).doc for word in named) for name in row.benchmarks)


@pytest.mark.parametrize("row", [row for row in ROWS if row.lacks or row.note], ids=lambda row: row.name)
def test_a_note_names_options_that_exist_and_lacks_only_what_labkit_lacks(row: literature.Surveyed) -> None:
    """What a row lacks occurs in no line of `labkit list` and in no option of its benchmarks."""
    lines = [line for line in listed()[0].splitlines() if line.split(" ")[0] in row.benchmarks]
    options: dict[str, Any] = {}
    for name in row.benchmarks:
        options |= get_type_hints(benchmarks.get(name).options)
    choices = [str(choice) for kind in options.values() for choice in get_args(kind)]
    text = "\n".join([*lines, *options, *choices]).lower()
    assert not [words for words in row.lacks if words.lower() in text]
    assert not re.search(r"\b(no|without) [\w-]+ (mode|option)", row.note), "put what is missing into lacks"
    for name, choice in re.findall(r"\b(\w+)=(\w+)", row.note):
        assert name in options, f"{row.name} has no option {name}"
        assert choice in choices or not get_args(options[name])


def test_a_program_counts_as_measured_only_if_it_ran_itself() -> None:
    """sockets.tcp_stream of iperf3 is not a run of netperf."""
    records = pd.DataFrame({"benchmark": ["sockets.tcp_stream"], "library": ["iperf3 3.12"]})
    content = Content([SimpleNamespace(records=records)], {})  # type: ignore[list-item]
    table = {line.split(" | ")[0].strip("| "): line for line in surveyed.surveyed(content).splitlines()}
    assert table["NetPerf"].endswith("| no |")
    assert table["iPerf"].endswith("| 1 of 3 |")
    assert surveyed.counts(content).endswith("This report measured 1.")


def test_the_count_of_the_surveyed_benchmarks_follows_from_their_rows() -> None:
    text = surveyed.counts(Content([], {}))
    assert f"The survey names {len(ROWS)} benchmarks" in text
    numbers = [int(word) for word in re.findall(r"\b\d+\b", text)]
    assert sum(numbers[1:-1]) == len(ROWS)
    pages = [project.SHIPPED / "README.md", *(project.SHIPPED / "docs").glob("*.md"), *styles.TEMPLATES.rglob("*.qmd")]
    counted = re.compile(r"\d+ of the \d+ (surveyed )?benchmarks|runs \d+ of", re.I)
    assert not [page.name for page in pages if counted.search(page.read_text())], "a count that does not follow"


def test_experiments_say_how_to_repeat_them() -> None:
    every = [one for paper in literature.papers() for one in paper.experiments]
    assert len(literature.papers()) == 5
    assert all(one.labkit or (one.needs and one.command) for one in every)
    assert all(one.metric in METRICS for one in every if one.metric)
    keys = set(re.findall(r"^@\w+\{([^,]+)", (styles.TEMPLATES / "references.bib").read_text(), re.M))
    assert {paper.paper.key for paper in literature.papers()} <= keys
    for each in literature.papers():
        for one in each.experiments:
            assert all(each.paper[name] for name in (*one.values, *one.further))


def bibliography() -> dict[str, dict[str, Any]]:
    """The shipped bibliography as pandoc reads it, by key."""
    file = styles.TEMPLATES / "references.bib"
    read = pypandoc.convert_text(file.read_text(), "csljson", "biblatex")
    return {one["id"]: one for one in json.loads(read)}


def test_each_entry_of_the_bibliography_has_authors_venue_year_and_where_it_is() -> None:
    entries = bibliography()
    assert len(entries) == (styles.TEMPLATES / "references.bib").read_text().count("\n}\n")
    for key, one in entries.items():
        assert one["title"], key
        assert one["author"], key
        assert not [author for author in one["author"] if author.get("family") == "others"], key
        assert one.get("container-title") or one.get("publisher"), f"{key} has no venue"
        assert one["issued"]["date-parts"][0][0], key
        assert key == "ibisco2025" or "DOI" in one or "URL" in one, key  # the copy that was read bears no identifier
        assert re.fullmatch(r"10\.\d{4,}/\S+", one.get("DOI", "10.1000/x")), key
        assert re.match(r"https?://", one.get("URL", "https://")), key
        assert "et al" not in str(one["author"]), key
    for key in ("osu", "imb", "ior"):  # programs change: a version, and when it was read
        assert entries[key]["version"]
        assert entries[key]["accessed"]


def test_reference_data_and_bibliography_have_the_same_identifiers() -> None:
    entries = bibliography()
    for name in reference.names():
        paper = reference.load(name)
        assert entries[paper.key].get("DOI", "") == paper.doi, name
        assert str(entries[paper.key]["issued"]["date-parts"][0][0]) in paper.short, name
        families = [author["family"] for author in entries[paper.key]["author"]]
        assert [author.rsplit(" ", 1)[1] for author in paper.authors.split(", ")] == families, name


def test_commands_of_experiments_are_commands_of_labkit() -> None:
    lines = [line for p in literature.papers() for one in p.experiments for line in one.command.splitlines()]
    ours = [shlex.split(line)[1:] for line in lines if line.startswith("labkit ")]
    assert len(ours) > 8
    for words in ours:
        cli.parser().parse_args(words)  # exits where an option does not exist


def test_a_spoiled_list_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1.toml").write_text('title = "b"\nnumbers = "c"\ncolour = "red"\n')
    monkeypatch.setattr(literature, "PAPERS", tmp_path)
    literature.papers.cache_clear()
    try:
        with pytest.raises(DataError, match=r"1\.toml.*colour"):
            literature.papers()
    finally:
        literature.papers.cache_clear()


LOGS = Path(__file__).parent / "golden" / "imb"
BODY = ["index", "introduction", "method", "results", "threats", "related", "conclusion", "references"]


@pytest.mark.slow
def test_a_survey_is_a_paper_whose_supplement_has_the_chapters_of_the_survey(tmp_path: Path) -> None:
    campaign = make_campaign(tmp_path / "c")
    paper = report.build([campaign], engine="plain", style="survey")
    listed = re.findall(r'<li><a href="([\w-]+)\.html"', paper.html.read_text())
    assert [name for name in listed if name in BODY] == BODY
    assert listed.index("results") + 1 == listed.index("published"), "all results are one chapter"
    assert re.search(r"<h2[^>]*>.*?3\.1.*?Latency", (paper.html.parent / "results.html").read_text())
    assert paper.supplement is not None
    (link,) = re.findall(r'href="([^"]*)">supplement', (paper.html.parent / "method.html").read_text())
    assert (paper.html.parent / link).read_bytes() == paper.supplement.read_bytes()
    assert "Is a network as fast as it should be" in pages(paper)["index.html"].text
    built = report.build([campaign], engine="plain", style="supplement")
    assert built.pdf is not None
    assert built.pdf.read_bytes() == paper.supplement.read_bytes()
    listed = re.findall(r'<li><a href="([\w-]+)\.html"', built.html.read_text())
    order = ["index", "testbeds", "interconnects", "benchmarks", "methods", "papers", "discussion"]
    assert [name for name in listed if name in order] == order
    assert listed[-3:] == ["description", "artifact", "figures"]
    made = pages(built)
    assert "Pinnacles" in made["testbeds.html"].text
    assert "40 of 40" not in made["benchmarks.html"].text
    assert "osu" in made["benchmarks.html"].text.lower()
    assert "--style supplement" in made["artifact.html"].text
    assert built.pdf.stat().st_size > 10_000


@pytest.mark.parametrize("name", ["two-cores-limits", "two-cores-settings"])
def test_an_abstract_about_few_results_says_more_of_the_method(name: str) -> None:
    content = Content([sources.read(project.CAMPAIGNS / "examples" / name)], {})
    text = re.sub("<span.*?</span>", "", blocks_paper.summary(content))
    assert 150 <= len(text.split()) <= 250
    places = [text.find(one) for one in blocks_paper._HOW]
    shown = [place for place in places if place >= 0]
    assert shown == sorted(shown)
    assert places[0] >= 0, "the others follow while there is room"
    assert "numbers that other papers print" not in blocks_paper.contributions(content), "none stands beside a value"


def test_a_paper_about_imported_numbers_does_not_say_that_labkit_measured_them(tmp_path: Path) -> None:
    log = next(one for one in sorted(LOGS.iterdir()) if one.is_file())
    assert cli.main(["import", str(log), "--into", str(tmp_path / "c")]) == 0
    stage.stage([sources.read(tmp_path / "c")], style="survey", engine="plain", folder=tmp_path / "report")
    texts = {path.name: path.read_text() for path in (tmp_path / "report").glob("*.qmd")}
    assert "were imported from the output of other tools" in texts["index.qmd"]
    assert "samples are kept" not in texts["index.qmd"]
    assert "numbers of MPI" in texts["introduction.qmd"]
    assert "measured elsewhere" in texts["method.qmd"]
    assert "Every sample is kept" not in texts["method.qmd"]
    assert "one host, |" not in texts["threats.qmd"], "the log names none"


CONTRACT = """
title = "Our contract"
[[clause]]
name = "loose"
benchmark = "mpi.latency"
statistic = "latency_us_p50"
relation = "<="
bound = 1_000
[[clause]]
name = "tight"
benchmark = "mpi.latency"
where = {transport = "tcp"}
statistic = "latency_us_p50"
relation = "<="
bound = 0.001
"""


@pytest.mark.slow
def test_acceptance_has_a_verdict_of_each_clause_and_a_page_to_sign(tmp_path: Path) -> None:
    contract = tmp_path / "c.toml"
    contract.write_text(CONTRACT)
    campaign = make_campaign(tmp_path / "c")
    other = point("mpi.bcast", 8, "shm", 0)
    samples.save(other, campaign / "samples" / "mpi.bcast" / f"{other.meta['fingerprint']}-0.parquet")
    log = tmp_path / "tests.jsonl"
    for _ in range(2):
        assert cli.main(["gate", str(campaign), "--contract", str(contract), "--log", str(log)]) == 2
    before = log.read_bytes()
    built = report.build([campaign], engine="plain", style="acceptance", contract=contract, log=log)
    assert log.read_bytes() == before, "a report is not a test"
    assert built.html.parent.parent == campaign / "report-acceptance"
    made = pages(built)
    assert "(mpi.latency)." in made["methods.html"].text
    assert "mpi.bcast" not in made["methods.html"].text, "no clause judges it"
    first = made["index.html"].text
    assert "Our contract: campaign synthetic is not accepted. Fulfilled: 1 of 2 clauses; not fulfilled: tight" in first
    assert "pass loose" in first
    assert "fail tight" in first
    assert "failed no memory left" in made["retests.html"].text
    signed = made["index.html"].text
    assert "signature" in signed
    assert "c 2 6 fail campaign tested before" in signed, "each test of the log"
    assert "loose 1, 2 none" in signed, "each clause: its tests"
    assert "tight none 1, 2" in signed
    assert "No test on record" not in signed
    assert hashlib.sha256(before).hexdigest() in signed
    assert hashlib.sha256(contract.read_bytes()).hexdigest() in made["index.html"].text
    assert "bound = 0.001" in made["contract.html"].text
    assert "--style acceptance --contract c.toml --log tests.jsonl" in made["artifact.html"].text
    assert "wholly within the bound" in first, "the evidence is on the page to sign"
    assert "none: 3 launches" in first
    paper = (built.html.parents[1] / "report.typ").read_text()
    assert "#pagebreak(" not in paper, "chapters follow on the same page"


def test_a_contract_that_is_none_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[clause]\n")
    with pytest.raises(DataError, match=r"has no \[\[clause\]\]"):
        styles.required("acceptance", ["a"], tmp_path / "c.toml")


def test_a_log_of_tests_that_is_none_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (contract := tmp_path / "c.toml").write_text(CONTRACT)
    log = tmp_path / "tests.jsonl"
    with pytest.raises(ReportError, match="holds no test"):
        styles.required("acceptance", ["a"], contract, log=log)
    log.write_text("notes\n")
    with pytest.raises(DataError, match="line 1 is not a test of a contract"):
        styles.required("acceptance", ["a"], contract, log=log)
    with pytest.raises(ReportError, match="--log without --contract"):
        styles.required("report", ["a"], None, log=log)


@pytest.mark.slow
def test_comparison_has_the_verdicts_of_labkit_compare(tmp_path: Path) -> None:
    first, second = make_campaign(tmp_path / "a"), make_campaign(tmp_path / "b")
    facts = json.loads((second / "campaign.json").read_text())
    (second / "campaign.json").write_text(json.dumps(facts | {"name": "other"}))
    built = report.build([first, second], engine="plain", style="comparison")
    made = pages(built)
    assert "comparisons of other against synthetic" in made["index.html"].text
    assert "same" in made["index.html"].text
    assert "No point is shown to have changed" in made["changes.html"].text
    assert "differ in no recorded factor" in made["changes.html"].text
    assert "latency" in made["index.html"].text


@pytest.mark.slow
def test_factors_that_nobody_declared_mark_a_comparison(tmp_path: Path) -> None:
    first, second = make_campaign(tmp_path / "a"), make_campaign(tmp_path / "b")
    for file in (second / "samples").rglob("*.parquet"):
        one = samples.load(file)
        samples.save(dataclasses.replace(one, meta=one.meta | {"library": "MPICH 5"}), file)
    built = report.build([first, second], engine="plain", style="comparison")
    text = pages(built)["index.html"].text
    assert "Not comparable" in text
    assert "library" in text
    built = report.build([first, second], engine="plain", style="comparison", allow=["library"])
    made = pages(built)
    assert "Not comparable" not in made["index.html"].text
    assert "library Open MPI 4.1.4 MPICH 5 yes" in made["changes.html"].text


@pytest.mark.slow
def test_slides_have_a_finding_as_title_above_one_figure(tmp_path: Path) -> None:
    built = report.build([make_campaign(tmp_path / "c")], engine="plain", style="slides")
    made = pages(built)
    page = (built.html.parent / "10-latency.html").read_text()
    (heading,) = re.findall(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    assert "but both were measured at different times" in " ".join(heading.split())
    assert page.count("<figcaption") == 1
    assert "size = 1" not in made["10-latency.html"].text
    assert (built.html.parent / "assets" / "style.css").is_file()
    assert "presentation-16-9" in (built.html.parent.parent / "report.typ").read_text()


@pytest.mark.slow
def test_own_logo_colour_and_words(tmp_path: Path, own: Path) -> None:
    (own / "figures").mkdir()
    (own / "figures" / "logo.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="red"/></svg>'
    )
    (own / "figures" / "rack.png").write_bytes(b"a picture that chapters name")
    style = own / "styles" / "house.yml"
    style.write_text(
        'labkit: {about: ours, like: report, logo: figures/logo.svg, colour: "#7a1f1f"}\nlang: de\n'
        "language: {crossref-fig-title: Abbildung, crossref-ch-prefix: Kapitel, toc-title-website: Auf dieser Seite}\n"
    )
    built = report.build([make_campaign(tmp_path / "c")], engine="plain", style="house")
    page = built.html.read_text()
    assert '<html lang="de">' in page
    assert 'src="figures/logo.svg"' in page
    assert (built.html.parent / "figures" / "logo.svg").is_file()
    assert (built.html.parent / "figures" / "rack.png").is_file()
    assert "#7a1f1f" in (built.html.parent / "assets" / "style.css").read_text()
    text = pages(built)["10-latency.html"].text
    assert "Abbildung" in text
    assert "Auf dieser Seite" in text
    typst = (built.html.parent.parent / "report.typ").read_text()
    assert '#let ink = rgb("#7a1f1f")' in typst
    assert '#let logo = "figures/logo.svg"' in typst
    for wrong, message in (("logo: /etc/passwd", "house.yml: logo="), ("colour: red", "house.yml: colour=")):
        style.write_text(f"labkit: {{{wrong}}}\n")
        with pytest.raises(ReportError, match=message):
            styles.load("house")


def test_all_files_that_a_style_lacks_are_named_at_once(own: Path) -> None:
    (own / "mine.bib").write_text("")
    (own / "styles" / "house.yml").write_text(
        "labkit: {like: report, logo: figures/logo.svg}\nbibliography: [references.bib, mine.bib, other.bib]\ncsl: a.csl\n"
        'book: {chapters: [index.qmd, site.qmd, "*.ipynb"]}\n'
    )
    wanted = f"The style house names figures/logo.svg, a.csl, other.bib, site.qmd, but no such files are in {own}, and not among"
    with pytest.raises(ReportError) as caught:
        styles.required("house", ["c"], None)
    assert str(caught.value).startswith(wanted)
    for name in styles.find():
        assert all(map(styles.load(name).has, styles.load(name).named())) or name == "house"


@pytest.mark.slow
def test_a_lab_report_has_predictions_figures_and_answers(tmp_path: Path) -> None:
    folder, lab = tmp_path / "run-latency-and-bandwidth", labs.get("latency_and_bandwidth")
    attempts = Attempts(folder)
    attempts.note_source("recorded")
    attempts.predict(lab.predictions[0].name, 7.0)
    attempts.answer(lab.questions[0].name, 2.5, True)
    attempts.hint(lab.questions[0].name)
    built = handout.build(folder, engine="plain", progress=lambda text: None)
    assert built.html.is_relative_to(folder)
    made = pages(built)
    assert lab.title in made["index.html"].text
    chapter = made["lab.html"].text
    assert lab.predictions[0].text in chapter
    assert f"{lab.questions[0].text} 2.5 right 1 1" in chapter
    assert "Source: recorded" in chapter
    assert 'class="plot"' in (built.html.parent / "lab.html").read_text()
    with pytest.raises(DataError, match="is not a folder of a lab"):
        handout.build(tmp_path)


CSL = """<style xmlns="http://purl.org/net/xbiblio/csl" version="1.0" class="in-text" default-locale="en-US">
<info><title>Numbers</title><id>numbers</id>{}<updated>2026-01-01T00:00:00+00:00</updated></info>
<citation><layout prefix="[" suffix="]" delimiter=", "><text variable="citation-number"/></layout></citation>
<bibliography><layout><text variable="citation-number" prefix="[" suffix="] "/><text variable="title"/></layout>
</bibliography></style>
"""


def test_a_style_of_citations_that_only_points_to_another_is_refused(own: Path, tmp_path: Path) -> None:
    """pandoc would fetch the other one."""
    link = '<link href="http://www.zotero.org/styles/ieee" rel="independent-parent"/>'
    (own / "mine.csl").write_text(CSL.format(link))
    (own / "styles" / "house.yml").write_text("labkit: {like: report}\ncsl: mine.csl\n")
    style = styles.load("house")
    with pytest.raises(
        ReportError, match=r"csl: mine\.csl only points to another style, http://www\.zotero\.org/styles/ieee"
    ):
        stage._files(style.config, style, tmp_path)


@pytest.mark.slow
def test_own_chapters_authors_and_bibliography(tmp_path: Path, own: Path) -> None:
    (own / "site.qmd").write_text("# Our site {#sec-site}\n\nSee @sec-methods and [@mine2026].\n")
    (own / "mine.bib").write_text("@misc{mine2026, title = {Our cluster}, author = {Own, Ann}, year = {2026}}\n")
    (own / "csl").mkdir()
    (own / "csl" / "mine.csl").write_text(CSL.format(""))
    (own / "styles" / "house.yml").write_text(
        "bibliography: [references.bib, mine.bib]\ncsl: csl/mine.csl\nbook:\n  title: Ours\n  author: [Ann Own, Bo Next]\n"
        "  chapters: [index.qmd, site.qmd, '*.ipynb', methods.qmd, references.qmd]\n"
        "labkit: {about: ours}\n"
    )
    built = report.build([make_campaign(tmp_path / "c")], engine="plain", style="house")
    made = pages(built)
    assert "Our site" in made["site.html"].text
    assert re.search(r"\[\d+\] Our cluster", made["references.html"].text)
    assert re.search(r"See Chapter \d+ and \[\d+\]", made["site.html"].text)
    assert re.search(r"\[\d+\] Our cluster", text_of(built))
    assert "Ann Own, Bo Next" in made["index.html"].text
    assert "Ours" in made["index.html"].text


HOST = {"cpu_model": "P", "memory_total_B": 25_276_502_016}
GUEST = {"accel": "tcg", "cpus": 2}


@pytest.mark.parametrize(
    ("kind", "facts", "host", "processor", "memory"),
    [
        ("local", {}, HOST, "P", "25"),
        ("virtual-cluster:4", {"nodes": 4, "per_leaf": 4}, HOST, "P", "25, shared"),
        ("soft-roce", GUEST | {"memory_B": 1 << 30}, HOST, "emulated on P", "1.1, one guest for both"),
        ("soft-roce", GUEST, HOST, "emulated on P", "–"),
        ("soft-roce", {"mtu": 4200}, HOST, "P", "25"),
        ("simulated:fat-tree", {"simulated": True, "nodes": 8}, HOST, "none", "–"),
        ("osu.txt", {}, {}, "not recorded", "–"),  # imported: measured elsewhere
    ],
)
def test_a_node_has_its_own_memory_and_processor(
    kind: str, facts: dict[str, Any], host: dict[str, Any], processor: str, memory: str
) -> None:
    assert blocks_testbeds._processor(kind, facts, host) == processor
    assert blocks_testbeds._memory(kind, facts, host) == memory


@pytest.mark.parametrize("garbage", [1.5, 3, True, "eth0", {"a": 1}])
def test_adapters_that_are_no_list_are_none(garbage: Any) -> None:
    host = {"nics": garbage, "rdma_devices": garbage}
    assert blocks_testbeds._interconnect("local", host) == "not recorded"
    assert summary._interfaces(host) == []
