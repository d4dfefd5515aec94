"""Flent, perfSONAR, IO500, LinkTest, JUBE and Ramble: units and statistics, what is refused, compressed files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from labkit.errors import DataError
from labkit.formats import flent, io500, jube, linktest, perfsonar, ramble
from labkit.formats.reading.json import Entry
from labkit.formats.reading.log import LARGEST, Run
from labkit.point.columns import STATISTICS
from labkit.read import records
from labkit.run import importing
from labkit.run.importing import pieces, text

LOGS = Path(__file__).parent / "golden" / "logs"


def values(run: Run) -> dict[str, float]:
    return {f"{one.name} {one.statistic}": one.value for one in run.values}


def codes(run: Run) -> list[str]:
    return [one.code for one in (*run.remarks, *run.doubts)]


def test_a_series_of_flent_has_the_values_that_the_tool_printed() -> None:
    content = (LOGS / "flent" / "rrul.flent").read_text()
    ping, stream, total = flent.runs(content, "x")
    assert values(ping)["round_trip_us mean"] == pytest.approx(15_200)  # of five values; the interpolated ones are four
    assert values(ping)["round_trip_us p50"] == 12_000
    assert values(ping)["round_trip_us max"] == 30_000
    assert "round_trip_us p95" not in values(ping)
    assert codes(ping) == []
    assert values(stream)["bandwidth_MBps p50"] == 780 / 8
    assert codes(stream) == ["tool-mean"]
    assert (values(total)["bandwidth_MBps mean"], codes(total)) == (200, ["interpolated", "tool-mean"])
    assert stream.stated["cong_control"] == "cubic"


def test_raw_values_of_older_files_of_flent_are_not_read() -> None:
    """Before format 4 they were rates of netperf, not times."""
    content = (LOGS / "flent" / "rrul.flent").read_text()
    ping, *_ = flent.runs(content.replace('"version": 4', '"version": 3'), "x")
    assert values(ping)["round_trip_us mean"] == pytest.approx((10 + 12 + 11 + 30) / 4 * 1e3)
    assert codes(ping) == ["interpolated"]


def test_only_a_series_of_pings_has_its_unit_in_its_name() -> None:
    """A name after :: is of another quantity of the same tool, such as a number of lost packets."""
    whole = {"metadata": {"NAME": "x"}, "results": {"Ping (ms) UDP": [2.0], "Ping (ms) UDP::lost": [3.0]}}
    ping, lost = flent.runs(json.dumps(whole), "x")
    assert values(ping)["round_trip_us mean"] == 2000
    assert (values(lost)["value mean"], lost.values[0].unit) == (3, "")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("PT0.0121S", 0.0121),
        ("PT0,5S", 0.5),
        ("PT1M0.25S", 60.25),
        ("P1DT2H", 93_600),
        ("P2W", 1_209_600),
        ("PT0S", 0),
    ],
)
def test_durations_are_those_of_iso_8601(text: str, wanted: float) -> None:
    assert perfsonar.seconds(Entry(text, "x")) == pytest.approx(wanted)


@pytest.mark.parametrize("text", ["P1Y", "P1M", "P", "PT", "0.5", "PT1.5M", "-PT1S", "PT1S ", "PT٣S", 5, None])
def test_a_duration_without_a_fixed_length_is_refused(text: object) -> None:
    with pytest.raises(DataError, match="an ISO 8601 duration without years and months"):
        perfsonar.seconds(Entry(text, "x"))


def test_percentiles_of_one_way_latency_are_those_that_pscheduler_prints() -> None:
    (run,) = perfsonar.runs((LOGS / "perfsonar" / "latency.json").read_text(), "x")
    found = values(run)
    assert found["latency_us p50"] == pytest.approx(2550)  # rank 50.5 of 100: between 2.50 and 2.60 ms
    assert found["latency_us p75"] == pytest.approx(2600)
    assert found["latency_us p95"] == pytest.approx(3000)
    assert found["clock_error_us max"] == 250
    assert run.clock_ns == pytest.approx(10_000)  # two decimals of a ms
    wide = {"spec": {"bucket-width": 0.1}, "result": {"succeeded": True, "histogram-latency": {"0.25": 2}}}
    (run,) = perfsonar.runs(json.dumps(wide), "x")
    assert values(run)["latency_us max"] == pytest.approx(25_000)


def test_a_result_without_the_receivers_number_is_doubted() -> None:
    content = json.loads((LOGS / "perfsonar" / "throughput_archived.json").read_text())
    del content["result"]["summary"]["summary"]["receiver-throughput-bits"]
    (run,) = perfsonar.runs(json.dumps(content["result"]), "x")
    assert values(run)["bandwidth_MBps mean"] == 9.4e9 / 8e6
    assert "sender-only" in codes(run)
    content["result"]["summary"]["summary"] |= {"sent": 1000, "lost": 10, "jitter": 0.25}
    (run,) = perfsonar.runs(json.dumps(content["result"]), "x")
    assert run.test == "pScheduler throughput UDP"
    assert values(run)["lost_percent mean"] == 1
    assert values(run)["jitter_us mean"] == 250
    assert "bandwidth_MBps mean" not in values(run)


def test_a_failed_test_and_wrong_numbers_of_pscheduler_are_refused() -> None:
    for content, why in (
        ({"succeeded": False, "error": "no route", "roundtrips": []}, "test failed: no route"),
        ({"succeeded": True, "roundtrips": [{"seq": 1}], "loss": 1}, "a round trip with a time"),
        ({"succeeded": True, "roundtrips": [{"rtt": "PT1S"}], "loss": 100.0}, "a share from 0 to 1"),
        ({"succeeded": True, "histogram-latency": {"x": 1}}, "times instead of 'x'"),
        ({"succeeded": True, "histogram-latency": {"1.0": 10**300}}, "times with numbers of packets"),
        ({"succeeded": True, "histogram-latency": {}}, "times with numbers of packets"),
        ({"succeeded": True}, "one of them"),
    ):
        with pytest.raises(DataError, match=why):
            perfsonar.runs(json.dumps(content), "x")


def test_both_files_of_io500_have_the_same_values_and_marks() -> None:
    whole = io500.runs((LOGS / "io500" / "result.txt").read_text(), "x")
    rows = io500.runs((LOGS / "io500" / "result_summary.txt").read_text(), "x")
    assert [(run.options, values(run), run.version, codes(run)) for run in whole] == [
        (run.options, values(run), run.version, codes(run)) for run in rows
    ]
    assert [codes(run) for run in rows] == [[], ["invalid-phase"], ["invalid-phase"]]
    assert {one.name: (one.value, one.unit) for one in rows[-1].values} == {
        "bandwidth_score_GiBps": (12.5, "GiB/s"),
        "metadata_score_kIOPS": (80.25, "kIOPS"),
        "io500_score": (31.671833, "√(GiB/s·kIOPS)"),
    }


def test_a_damaged_line_of_io500_is_refused() -> None:
    content = (LOGS / "io500" / "result_summary.txt").read_text()
    with pytest.raises(DataError, match=r"line 2: found '.RESULT.*wanted phase, score, unit and time"):
        io500.runs(content.replace("12.500000 GiB/s", "12.500000 GiX/s"), "x")


def test_results_of_io500_without_their_end_are_refused() -> None:
    content = (LOGS / "io500" / "result.txt").read_text()
    with pytest.raises(DataError, match=r"the section .SCORE. with its hash by here"):
        io500.runs(content.partition("[SCORE]")[0], "x")
    assert len(io500.runs(content + content, "x")) == 6


def test_linktest_names_what_its_values_are_over() -> None:
    (old,) = linktest.runs((LOGS / "linktest" / "version1.txt").read_text(), "x")
    (new,) = linktest.runs((LOGS / "linktest" / "version2.txt").read_text(), "x")
    assert values(old)["bandwidth_MBps mean"] == pytest.approx(5000 * 1.048576)
    assert values(old)["bandwidth_MBps min_of_pairs"] == pytest.approx(131072 / 40, rel=1e-4)
    assert values(new)["latency_us min_of_pairs"] == 16
    assert values(new)["bandwidth_MBps max_of_pairs"] == pytest.approx(262144 / 16, rel=1e-4)
    assert new.stated == {
        "mode": "mpi", "num_messages": "100", "num_warmup_messages": "10", "bidirectional": "true", "bisection": "true",
    }  # fmt: skip
    content = (LOGS / "linktest" / "version2.txt").read_text()
    (unsized,) = linktest.runs(content.partition("\n")[2], "x")
    assert "size-unknown" in codes(unsized)
    with pytest.raises(DataError, match="the end of the test: a line 'RESULT: Avg Time'"):
        linktest.runs(content.partition("RESULT")[0], "x")
    ended = (
        content.partition("RESULT")[0] + "Timing Summary: Estimated time remaining for iteration: 0.0 ms (0 steps).\n"
    )
    assert values(linktest.runs(ended, "x")[0]) == values(new)
    assert [run.stated for run in linktest.runs(content + content.replace("262144 --bidirectional", "8"), "x")] == [
        new.stated,
        {name: value for name, value in new.stated.items() if name != "bidirectional"},
    ]
    with pytest.raises(DataError, match="a whole line 'Aggregated Results"):
        linktest.runs("Aggregated Results: min:   20.00000 us (   12.2070 GiB/s) avg:", "x")


def test_columns_with_a_unit_are_values_and_all_others_settings() -> None:
    runs = jube.runs((LOGS / "jube" / "pretty.txt").read_text(), "x")
    assert dict(runs[0].options) == {"table": "scaling", "nodes": "1", "mode": "ring"}
    assert [(one.name, one.unit, one.value) for one in runs[0].values] == [("time", "s", 2.5), ("bw_avg", "GB/s", 10.4)]
    assert [one.name for one in runs[1].values] == ["time"]  # the other cell is empty
    aligned = "nodes,time[s]\n    1,   2.50\n"
    assert [values(run) for run in jube.runs(aligned, "x")] == [{"time value": 2.5}]
    with pytest.raises(DataError, match=r"line 3: .* wanted 2 cells"):
        jube.runs("nodes,time[s]\n1,2.5\n1,2,3\n", "x")
    with pytest.raises(DataError, match="Give the columns with results a unit in JUBE"):
        jube.runs("nodes,time\n1,2.5\n", "x")


def test_repeats_of_ramble_are_launches(tmp_path: Path) -> None:
    held = importing.bring([LOGS / "ramble" / "repeats.json"], into=tmp_path / "c").campaign
    summary = records.summary(records.table(held.samples()))
    assert list(summary["launches"]) == [2]
    assert list(summary["ranks"]) == [2]
    content = json.loads((LOGS / "ramble" / "repeats.json").read_text())
    (run,) = ramble.runs(json.dumps({"experiments": content["experiments"][:1]}), "x")
    assert values(run) == {"Latency mean": 1.55, "Latency min": 1.5, "Latency max": 1.6}
    assert codes(run) == ["over-repeats"]
    assert {one.statistic for one in run.values} <= set(STATISTICS)


def test_numbers_with_commas_are_refused_in_tables_of_any_columns() -> None:
    for read, name in ((jube, "jube/pretty.txt"), (ramble, "ramble/results.txt"), (ramble, "ramble/repeats.json")):
        content = (LOGS / name).read_text().replace("2.50", "2,50").replace("1.50", "1,500.0")
        with pytest.raises(DataError, match="a number with a decimal point"):
            read.runs(content, "x")


def test_text_and_json_of_ramble_say_the_same(tmp_path: Path) -> None:
    first, failed = ramble.runs((LOGS / "ramble" / "results.txt").read_text(), "x")
    assert dict(first.options) == {"experiment": "hpl.standard.four_nodes", "context": "N-NB-P-Q = 1000-64-2-2"}
    assert values(first) == {"Time value": 12.5, "GFlops value": 53.4}
    assert codes(failed) == ["test-failed"]


def test_any_log_may_be_compressed(tmp_path: Path) -> None:
    packed = tmp_path / "stream.txt.gz"
    packed.write_bytes(gzip.compress((LOGS / "stream" / "serial.txt").read_bytes()))
    (found,), (plain,) = text.parts(packed), text.parts(LOGS / "stream" / "serial.txt")
    assert (found.kind, found.digest, found.size) == (plain.kind, plain.digest, plain.size)
    assert [run.values for run in found.runs(lambda count: None)] == [
        run.values for run in plain.runs(lambda count: None)
    ]


def test_a_compressed_file_that_grows_without_limit_or_is_damaged_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LARGEST == 64 << 20
    monkeypatch.setattr(pieces, "LARGEST", 4 << 20)
    bomb, cut, wrong = tmp_path / "bomb.gz", tmp_path / "cut.gz", tmp_path / "wrong.gz"
    bomb.write_bytes(gzip.compress(b"STREAM version $Revision: 5.10 $\n" + b"a\n" * (8 << 20)))
    with pytest.raises(DataError, match=r"bomb.gz: found 'more than 4 MiB when unpacked'"):
        text.parts(bomb)
    whole = gzip.compress((LOGS / "flent" / "rrul.flent").read_bytes())
    cut.write_bytes(whole[:-40])
    wrong.write_bytes(whole[:60] + b"\0" * 40 + whole[100:])
    for path in (cut, wrong):
        with pytest.raises(DataError, match="is damaged"):
            text.parts(path)
