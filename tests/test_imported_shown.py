"""What users see of imported points: what a log states, what it does not state, and what labkit assumed."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import labkit
from labkit import figures, studies
from labkit.apps.cli import main
from labkit.figures import style
from labkit.point.spec import Spec
from labkit.read import records
from labkit.report import caveats, sources
from labkit.report.variables import key_numbers
from labkit.run import importing
from labkit.store.campaign import Campaign
from tests import made

GOLDEN = Path(__file__).parent / "golden"
OSU = """# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
4                       1.00
"""


def _shown(campaign: Campaign, form: str, capsys: pytest.CaptureFixture[str]) -> str:
    main(["show", str(campaign.path), "--format", form])
    return capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_an_assumed_number_of_ranks_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log.txt"
    file.write_text(OSU)
    campaign = importing.bring([file], into=tmp_path / "c").campaign
    assert "· 2 ranks (assumed) ·" in _shown(campaign, "table", capsys)
    assert json.loads(_shown(campaign, "json", capsys))["records"][0]["ranks_assumed"] is True
    (row,) = csv.DictReader(io.StringIO(_shown(campaign, "csv", capsys)))
    assert (row["ranks"], row["ranks_assumed"]) == ("2", "True")
    for names in (row, json.loads(_shown(campaign, "json", capsys))["records"][0], labkit.load(campaign).iloc[0]):
        assert {names[name] for name in ("transport", "launcher", "bind")} == {"not stated"}, "no default of labkit's"
    assert labkit.load(campaign)["ranks_assumed"].tolist() == [True]
    summary = records.summary(labkit.load(campaign))
    assert style.split(summary, ["ranks"])[0][0] == "ranks 2 (assumed) (imported)"
    assert figures.bars(summary, "ranks", "latency_us").data[0].x == ("ranks 2 (assumed)",)
    stated = importing.bring([file], into=tmp_path / "stated", ranks=2).campaign
    assert "· 2 ranks ·" in _shown(stated, "table", capsys)


@pytest.mark.filterwarnings("ignore")
def test_assumed_and_given_ranks_are_different_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log.txt"
    file.write_text(OSU)
    campaign = importing.bring([file], into=tmp_path / "c", testbed="T").campaign
    file.write_text(OSU.replace("1.00", "3.00"))
    importing.bring([file], into=campaign, testbed="T", ranks=2)
    text = _shown(campaign, "table", capsys)
    assert "2 ranks (assumed)" in text
    assert "2 ranks ·" in text
    assert labkit.load(campaign)["fingerprint"].nunique() == 2


@pytest.mark.filterwarnings("ignore")
def test_settings_and_sizes_that_no_log_states_are_not_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("a.txt", OSU), ("b.txt", OSU.replace("# Datatype: MPI_CHAR.\n", ""))):
        (tmp_path / name).write_text(text)
    campaign = importing.bring([tmp_path / "a.txt", tmp_path / "b.txt"], into=tmp_path / "c", testbed="T").campaign
    lines = _shown(campaign, "table", capsys).splitlines()
    assert any("not stated" in line and " 4 B" in line for line in lines)
    assert lines.count("not stated: by the log that was imported") == 1
    names = {name for name, *_ in style.split(records.summary(labkit.load(campaign)), ["option_datatype"])}
    assert names == {"uint8 (imported)", "datatype not stated (imported)"}
    log = GOLDEN / "logs" / "sockperf" / "pingpong_udp.txt"
    unsized = importing.bring([log], into=tmp_path / "d").campaign
    text = _shown(unsized, "table", capsys)
    assert "not stated" in text
    assert " 0 B" not in text


@pytest.mark.filterwarnings("ignore")
def test_every_value_of_a_log_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = GOLDEN / "logs" / "sockperf" / "pingpong_udp.txt"
    campaign = importing.bring([log, GOLDEN / "logs" / "iperf3" / "tcp.json"], into=tmp_path / "c").campaign
    frame = labkit.load(campaign).set_index("benchmark")
    assert frame.loc["sockets.udp_rr", "round_trip_us_p99999"] > 0
    text, table = _shown(campaign, "csv", capsys), _shown(campaign, "table", capsys)
    told = {row["benchmark"]: row["further"] for row in json.loads(_shown(campaign, "json", capsys))["records"]}
    for sample in campaign.samples():
        for value in sample.reported:
            if f"{value.name}_{value.statistic}" not in frame:
                note = next(one for one in told[sample.spec.benchmark] if one.startswith(f"{value.name}, "))
                assert note in text
                assert value.name in table


def test_a_table_names_the_library_of_each_row(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    for name, library in (("a" * 16, "Open MPI 4.1"), ("b" * 16, "MPICH 4.2")):
        meta = {"library": library, "fingerprint": name}
        campaign.save(made.samples(Spec(benchmark="mpi.latency", size=8), [[1000] * 50] * 2, meta=meta), name)
    table = studies.get("measured")(campaign=str(campaign.path), measure=False).table("mpi.latency")
    assert sorted(table["library"]) == ["MPICH 4.2", "Open MPI 4.1"]


@pytest.mark.filterwarnings("ignore")
def test_no_caveat_of_imported_points_advises_effort(tmp_path: Path) -> None:
    log = GOLDEN / "logs" / "iperf3" / "tcp_P2_R.txt"  # with three digits: no few iterations
    campaign = importing.bring([log], into=tmp_path / "c").campaign
    rows = labkit.load(campaign).to_dict("records")
    assert any(note.code == "few-digits" for row in rows for note in row["warnings"])
    assert not set().union(*(caveats.groups_of(row) for row in rows))


@pytest.mark.filterwarnings("ignore")
def test_rules_accept_a_bandwidth_without_a_stated_window(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """osu_bw does not print its window, so no rule can ask for the bytes of an iteration."""
    campaign = importing.bring([GOLDEN / "omb" / "pt2pt_bw.txt"], into=tmp_path / "c").campaign
    main(["lint", str(campaign.path)])
    assert "of level bad" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_no_advice_about_imported_points_needs_another_measurement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same rules have other remedies for points that labkit measured."""
    file = tmp_path / "log.txt"
    file.write_text(OSU)
    campaign = importing.bring([file, GOLDEN / "logs" / "sockperf" / "pingpong_udp.txt"], into=tmp_path / "c").campaign
    measured = Campaign(tmp_path / "m")
    measured.save(made.samples(Spec(benchmark="mpi.latency", size=8), [[1000] * 50] * 2), "a" * 16)
    texts = {}
    for name, one in (("imported", campaign), ("measured", measured)):
        main(["lint", str(one.path)])
        texts[name] = capsys.readouterr().out
    assert "Run again with --launches 6" in texts["measured"]
    assert "import all outputs" not in texts["measured"]
    assert "import all outputs" in texts["imported"]
    assert not re.search(r"--launches|time.cap|-i 1000|Measure|measure again|Time more", texts["imported"])
    rows = records.summary(labkit.load(campaign))
    assert studies.too_few(rows).why == "the imported logs do not state these percentiles."
    assert "Raise time_cap" in studies.too_few(records.summary(labkit.load(measured))).why


@pytest.mark.filterwarnings("ignore")
def test_a_comparison_marks_an_assumed_number_of_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In settings, differences, points of one side and names of sides."""
    file = tmp_path / "log.txt"
    file.write_text(OSU)
    for name, ranks in (("old", (0, 4)), ("new", (0, 4, 8)), ("two", (0,)), ("four", (4,))):
        for count in ranks:
            importing.bring([file], into=tmp_path / name, testbed="T", ranks=count)

    def compared(*words: str) -> str:
        main(["compare", *words])
        return capsys.readouterr().out

    old, new, two, four = (str(tmp_path / name) for name in ("old", "new", "two", "four"))
    assert "2 (assumed)" in compared(old, new)
    assert {one["setting"]["ranks"] for one in json.loads(compared(old, new, "--format", "json"))["records"]} == {
        "2 (assumed)",
        "4",
    }
    assert "differs: ranks (2 (assumed), 4)" in compared(two, four, "--allow", "ranks")
    assert "only in old: mpi.allreduce 4 B, ranks=2 (assumed)" in compared(old, four)
    assert "4 against 2 (assumed)" in compared(old, "--by", "ranks")


@pytest.mark.filterwarnings("ignore")
def test_a_table_with_many_settings_has_one_column_of_those_that_are_stated(tmp_path: Path) -> None:
    """Logs of several tools state different settings: a column of each would not fit on a page."""
    files = [GOLDEN / "logs" / name for name in ("iperf3/tcp.json", "netperf/TCP_STREAM_o.txt", "iperf/tcp_plain.txt")]
    campaign = importing.bring(files, into=tmp_path / "c").campaign
    table = studies.get("imported")(campaign=str(campaign.path), measure=False).table("sockets.tcp_stream")
    assert len(table.columns) <= 8, list(table.columns)
    settings = dict(zip(table["testbed"], table["settings"], strict=True))
    assert "streams=1" in settings["tcp.json"]
    assert not any("not stated" in text for text in settings.values())
    (number, *_) = key_numbers(sources.read(campaign.path))
    assert "not stated" not in number.setting
