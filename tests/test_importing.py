"""Import of what other benchmarks printed, and the same layouts for what labkit measured."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks, classic, importing, records
from labkit.campaign import Campaign
from labkit.errors import DataError, LabkitWarning, SpecError
from labkit.formats import imb, omb
from labkit.samples import Samples
from labkit.spec import Effort, Spec

GOLDEN = Path(__file__).parent / "golden"
LATENCY = GOLDEN / "omb" / "pt2pt_latency.txt"
ALLREDUCE = GOLDEN / "omb" / "opt_allreduce_fzc.txt"
MPI1 = GOLDEN / "imb" / "MPI1.txt"


# ---- import


def test_every_row_becomes_a_point_without_samples(tmp_path: Path) -> None:
    outcome = importing.bring([LATENCY], into=tmp_path / "c")
    assert (outcome.added, outcome.present, outcome.warnings) == (11, 0, ())
    found = list(outcome.campaign.samples())
    assert sorted(one.spec.size for one in found) == [2**i for i in range(11)]
    for one in found:
        assert (one.origin, one.n, one.launch, one.spec.ranks) == ("imported", 0, 0, 2)
        assert one.source == LATENCY.read_text()
    (eight,) = (one for one in found if one.spec.size == 8)
    assert [(v.name, v.unit, v.statistic, v.value) for v in eight.reported] == [("latency_us", "µs", "mean", 0.27)]


def test_records_follow_from_it_as_from_any_other(tmp_path: Path) -> None:
    held = importing.bring([LATENCY, MPI1], into=tmp_path / "c").campaign
    frame = records.table(held.samples())
    assert set(frame["origin"]) == {"imported"}
    row = frame[(frame["benchmark"] == "mpi.latency") & (frame["library"] == "OMB 7.4")].iloc[3]
    assert (row["message_size_B"], row["latency_us_mean"], row["n"], row["engine"]) == (8, 0.27, 0, "OMB")
    row = frame[frame["benchmark"] == "mpi.allreduce"].iloc[0]
    assert (row["latency_us_osu_mean"], row["option_cadence"], row["timing"]) == (0.03, "isolated", "each")
    assert records.headline_statistic(frame[frame["benchmark"] == "mpi.allreduce"], "latency_us") == "osu_mean"


def test_published_numbers_are_told_from_all_others(tmp_path: Path) -> None:
    text = tmp_path / "table.txt"
    text.write_text("# OSU MPI Bandwidth Test\n# Size      Bandwidth (MB/s)\n4194304      12125.00\n")
    for added in (1, 0):
        held = importing.bring([text], into=tmp_path / "c", testbed="RoCE", published="Kenny et al. 2020,\n Fig. 2")
        assert held.added == added
    [row] = records.table(held.campaign.samples()).to_dict("records")
    assert (row["origin"], row["testbed"], row["bandwidth_MBps_mean"]) == ("published", "RoCE", 12125)
    assert "published, not measured here: Kenny et al. 2020, Fig. 2" in row["warnings"]


def test_the_same_text_adds_nothing_twice(tmp_path: Path) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_bytes(LATENCY.read_bytes())
    assert importing.bring([LATENCY], into=tmp_path / "c").added == 11
    for paths in ([LATENCY], [LATENCY, LATENCY]):
        again = importing.bring(paths, into=tmp_path / "c")
        assert (again.added, again.present) == (0, 11 * len(paths))
    assert len(list(Campaign(tmp_path / "c").samples())) == 11


def test_files_are_repeats_of_one_another_only_where_the_user_says_so(tmp_path: Path) -> None:
    other = tmp_path / "second.txt"
    other.write_text(LATENCY.read_text().replace("0.27", "0.28"))
    apart = importing.bring([LATENCY, other], into=tmp_path / "apart").campaign
    assert {one.launch for one in apart.samples()} == {0}
    assert {one.spec.testbed for one in apart.samples()} == {LATENCY.name, "second.txt"}
    for _ in range(2):
        together = importing.bring([LATENCY, other], into=tmp_path / "together", testbed="cluster").campaign
    assert sorted((one.launch for one in together.samples()), key=int) == [0] * 11 + [1] * 11
    assert set(records.summary(records.table(together.samples()))["launches"]) == {2}


def test_tables_of_the_same_test_in_one_text_are_launches(tmp_path: Path) -> None:
    text = tmp_path / "three.txt"
    text.write_text(LATENCY.read_text() * 3)
    outcome = importing.bring([text], into=tmp_path / "c")
    assert outcome.added == 33
    frame = records.summary(records.table(outcome.campaign.samples()))
    assert set(frame["launches"]) == {3}


def test_what_the_text_tells_is_in_the_options(tmp_path: Path) -> None:
    files = [GOLDEN / "omb" / f"opt_allreduce_{name}.txt" for name in ("f", "c_mpi_int", "c_mpi_float")]
    held = importing.bring([*files, MPI1], into=tmp_path / "c", ranks=16).campaign
    found = {(one.spec.testbed, one.spec.option("datatype"), one.spec.ranks) for one in held.samples("mpi.allreduce")}
    assert found == {
        ("opt_allreduce_f.txt", "uint8", 16), ("opt_allreduce_c_mpi_int.txt", "int32", 16),
        ("opt_allreduce_c_mpi_float.txt", "float32", 16), ("MPI1.txt", "float32", 2),
    }  # fmt: skip
    full = next(one for one in held.samples("mpi.allreduce") if one.spec.testbed == "opt_allreduce_f.txt")
    assert full.effort.iterations == 50


def test_ranks_that_nobody_told_are_assumed_with_a_warning(tmp_path: Path) -> None:
    outcome = importing.bring([ALLREDUCE], into=tmp_path / "c")
    (said,) = outcome.warnings
    assert "osu_allreduce: the text does not tell the number of ranks: 2 assumed. Say it with --ranks." in said
    frame = records.table(outcome.campaign.samples())
    assert frame["warnings"].str.contains("2 assumed").all()
    assert list(frame["verified"]) == [True, True, False]
    assert "validation failed" in frame["warnings"].iloc[2]


def test_a_derived_datatype_is_a_doubt(tmp_path: Path) -> None:
    held = importing.bring([GOLDEN / "omb" / "opt_latency_ddt.txt"], into=tmp_path / "c").campaign
    assert records.table(held.samples())["warnings"].str.contains("derived datatype").all()


def test_a_test_without_a_benchmark_is_named_and_the_rest_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = {n: replace(b, classics={}) if n == "mpi.bcast" else b for n, b in benchmarks.find().items()}
    monkeypatch.setattr(benchmarks, "find", lambda: without)
    outcome = importing.bring([MPI1], into=tmp_path / "c")
    (said,) = (text for text in outcome.warnings if "Bcast " in text)
    assert said == f"{MPI1}, line 275: IMB-MPI1 Bcast has no benchmark in labkit, its 8 rows are left out."
    assert outcome.added > 0
    with pytest.raises(DataError, match=r"Nothing was imported.*osu_bcast has no benchmark.*'labkit list'"):
        importing.bring([GOLDEN / "omb" / "coll_bcast.txt"], into=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_nothing_is_kept_when_one_file_is_broken(tmp_path: Path) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_text(MPI1.read_text()[:5000])
    with pytest.raises(DataError, match=r"broken\.txt, line \d+: found .*, wanted"):
        importing.bring([LATENCY, broken], into=tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "line 1: found 'nothing', wanted the output of the OSU micro-benchmarks (OMB) or of the Intel MPI"),
        (b"\x7fELF\x00\x01", "wanted the output of the OSU"),
        (b"bandwidth: 12 GB/s\n", "line 1: found 'bandwidth: 12 GB/s', wanted the output of the OSU"),
        (LATENCY.read_bytes() + MPI1.read_bytes(), "not of both in one file"),
        (None, "cannot be read: No such file or directory. Name a file"),
    ],
)
def test_a_file_of_another_kind_is_one_clear_error(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "text"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as found:
        importing.bring([path], into=tmp_path / "c")
    assert said in str(found.value)
    assert str(path) in str(found.value)


# ---- the layouts for what was measured


def measured(benchmark: str, size: int, us: list[list[float]], launch: int = 0, **options: object) -> Samples:
    """Samples with given times of every rank."""
    time_ns = (np.asarray(us) * 1000).astype(np.int64)
    spec = benchmarks.resolve(
        Spec(benchmark=benchmark, size=size, ranks=max(len(us), 2), options=tuple(options.items()))
    )  # type: ignore[arg-type]
    return Samples(
        spec=spec, effort=Effort(), host={"architecture": "x86_64", "kernel": "6.1"}, launch=launch, time_ns=time_ns,
        ranks=tuple(range(len(us))), meta={"library": "Open MPI 4.1.4", "start": "2026-11-21T00:46:42+00:00"},
    )  # fmt: skip


def test_omb_layout_has_omb_s_definitions() -> None:
    two = [measured("mpi.latency", size, [[2.0, 4.0, 6.0]]) for size in (1, 8)]
    (table,) = omb.parse(classic.text(two[::-1], "omb"))
    assert (table.test, table.columns) == ("osu_latency", ("Avg Latency(us)",))
    assert [(row.size, row.values) for row in table.rows] == [(1, (2.0,)), (8, (2.0,))]
    assert table.parameters["Measured by"].startswith("labkit ")
    bandwidth = measured("mpi.bandwidth", 1000, [[64.0, 192.0]])
    (table,) = omb.parse(classic.text([bandwidth], "omb"))
    assert table.rows[0].values == (500.0,)  # work over time, never the mean of rates
    reduced = measured("mpi.allreduce", 8, [[1.0, 3.0], [5.0, 7.0]])
    (table,) = omb.parse(classic.text([reduced], "omb"))
    assert (table.columns, table.rows[0].values) == (("Avg Latency(us)",), (4.0,))
    (table,) = omb.parse(classic.text([reduced], "omb", full=True))
    assert table.rows[0].values == (4.0, 2.0, 6.0, 2)
    assert table.parameters["Datatype"] == "MPI_FLOAT"
    (table,) = omb.parse(classic.text([measured("mpi.barrier", 0, [[1.0], [3.0]])], "omb"))
    assert (table.sized, table.rows[0].values) == (False, (2.0,))


def test_omb_layout_has_the_loop_s_mean_of_one_sided_calls(tmp_path: Path) -> None:
    one = measured("mpi.put_latency", 8, [[0.04] * 100])
    one = replace(one, meta=dict(one.meta) | {"loop_ns": [[8200]], "chunks": [100]})
    printed = classic.text([one], "omb")
    (table,) = omb.parse(printed)
    assert (table.test, table.rows[0].values) == ("osu_put_latency", (0.08,))
    assert "labkit's median is that of single calls" in printed
    (tmp_path / "put.txt").write_text(printed)
    (again,) = importing.bring([tmp_path / "put.txt"], into=tmp_path / "c").campaign.samples()
    assert [(v.name, v.statistic, v.value) for v in again.reported] == [("latency_us", "osu_mean", 0.08)]


def test_imb_layout_has_imb_s_definitions() -> None:
    many = [
        measured("mpi.latency", 100, [[2.0, 4.0]]),
        measured("mpi.allreduce", 8, [[1.0, 3.0], [5.0, 7.0]]),
        measured("mpi.barrier", 0, [[1.0], [3.0]]),
    ]
    tables = {table.test: table for table in imb.parse(classic.text(many, "imb"))}
    assert tables["IMB-MPI1 PingPong"].rows[0].values == (2, 1.5, 66.67)
    assert tables["IMB-MPI1 Allreduce"].rows[0].values == (2, 2.0, 6.0, 4.0)
    assert tables["IMB-MPI1 Barrier"].rows[0].values == (1, 1.0, 3.0, 2.0)
    assert tables["IMB-MPI1 PingPong"].parameters["#processes"] == "2"


@pytest.mark.parametrize(
    ("version", "call", "options"),
    [
        ("2021.11", "IMB-MPI1 Bcast", {"cadence": "isolated", "rotate": False}),
        ("2021.11", "./bin/IMB-MPI1 Bcast -sync off -iter 9", {"cadence": "streaming", "rotate": False}),
        ("2021.11", "IMB-MPI1 -root_shift on Bcast", {"cadence": "isolated", "rotate": True}),
        ("4.1", "IMB-MPI1 Bcast", {"cadence": "streaming", "rotate": True}),
        ("4.1", "IMB-MPI1 -sync on Bcast -root_shift 0", {"cadence": "isolated", "rotate": False}),
    ],
)
def test_imb_s_collectives_have_a_barrier_after_each_call_unless_told_otherwise(
    tmp_path: Path, version: str, call: str, options: dict[str, object]
) -> None:
    text = classic.text([measured("mpi.bcast", 8, [[1.0], [2.0]])], "imb").replace(imb.VERSION, version)
    head, rule, rest = text.partition("# List of Benchmarks")
    path = tmp_path / "bcast.txt"
    path.write_text(f"{head}# Calling sequence was: \n\n# {call} \n\n{rule}{rest}")
    (one,) = importing.bring([path], into=tmp_path / "c").campaign.samples()
    assert options.items() <= one.spec.values.items()


def test_tests_that_count_otherwise_are_converted_both_ways(tmp_path: Path) -> None:
    # an exchange in a grid of 2 x 2, 8 messages a rank
    printed = classic.text([measured("mpi.stencil", 100, [[8.0] * 2] * 4, cadence="streaming")], "imb")
    (table,) = imb.parse(printed)
    assert (table.test, table.rows[0].values[:3]) == ("IMB-P2P Stencil2D", (2, 1.0, 400.0))
    path = tmp_path / "imb.txt"
    path.write_text(printed)
    (one,) = importing.bring([path], into=tmp_path / "c").campaign.samples()
    assert {("latency_us", 8.0), ("bandwidth_MBps", 100.0)} <= {(v.name, v.value) for v in one.reported}

    printed = classic.text([measured("mpi.reduce_scatter_block", 8, [[1.0]] * 4)], "omb")
    assert omb.parse(printed)[0].rows[0].size == 32  # of the whole vector there
    path.write_text(printed)
    (one,) = importing.bring([path], into=tmp_path / "d", ranks=4).campaign.samples()
    assert one.spec.size == 8


def test_what_is_not_quite_the_same_says_so(tmp_path: Path) -> None:
    with pytest.warns(LabkitWarning, match="shown as IMB-P2P Birandom, which is not quite the same: it draws one pair"):
        printed = classic.text([measured("mpi.random_pairs", 8, [[1.0]] * 2, cadence="streaming")], "imb")
    path = tmp_path / "imb.txt"
    path.write_text(printed)
    outcome = importing.bring([path], into=tmp_path / "c")
    (one,) = outcome.campaign.samples()
    assert "is not quite mpi.random_pairs: it draws one pair" in one.meta["warnings"][0]
    assert one.meta["warnings"][0] in outcome.warnings[0]


def test_every_launch_has_its_table() -> None:
    many = [measured("mpi.latency", size, [[2.0]], launch) for launch in (0, 1) for size in (1, 2)]
    assert [len(table.rows) for table in omb.parse(classic.text(many, "omb"))] == [2, 2]
    assert [len(table.rows) for table in imb.parse(classic.text(many, "imb"))] == [2, 2]


@pytest.mark.parametrize("form", ["omb", "imb"])
def test_every_classic_of_every_benchmark_can_be_written_and_read(form: str) -> None:
    for name, benchmark in benchmarks.find().items():
        for test in classic.tests(benchmark, form):
            ranks = max(benchmark.ranks[0], 2)
            spec = Spec(benchmark=name, size=8 if benchmark.sized else 0, ranks=ranks)
            spec = benchmarks.resolve(spec)
            one = Samples(
                spec=spec, effort=Effort(), host={}, launch=0, time_ns=np.full((ranks, 3), 2000, np.int64),
                ranks=tuple(range(ranks)), meta={"library": "Open MPI 4.1.4", "test": test},
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LabkitWarning)
                printed = classic.text([one], form)
            (table,) = (omb if form == "omb" else imb).parse(printed)
            assert table.test == {"osu_bw_fan_in": "osu_bw", "osu_bw_fan_out": "osu_bw"}.get(test, test)
            assert len(table.rows) == 1


def test_what_was_imported_is_written_again_alike(tmp_path: Path) -> None:
    held = importing.bring([LATENCY], into=tmp_path / "c").campaign
    again = omb.parse(classic.text(list(held.samples()), "omb"))[0]
    assert (again.rows, again.columns) == (omb.parse(LATENCY.read_text())[0].rows, ("Avg Latency(us)",))
    copy = tmp_path / "imb.txt"
    copy.write_text(classic.text(list(importing.bring([MPI1], into=tmp_path / "d").campaign.samples()), "imb"))
    own = {(t.test, r.size): r.values for t in imb.parse(copy.read_text()) for r in t.rows}
    whole = {(t.test, r.size): r.values for t in imb.parse(MPI1.read_text()) for r in t.rows}
    assert own.items() <= whole.items()
    assert importing.bring([copy], into=tmp_path / "d").added == len(own)


def test_what_labkit_measured_comes_back_as_labkit_s(tmp_path: Path) -> None:
    for form in ("omb", "imb"):
        path = tmp_path / form
        path.write_text(classic.text([measured("mpi.latency", 8, [[2.0, 4.0]])], form))
        (one,) = importing.bring([path], into=tmp_path / "c" / form).campaign.samples()
        assert one.meta["library"].startswith("labkit ")
        assert {(v.name, v.statistic, v.value) for v in one.reported} >= {("latency_us", "mean", 1.5)}


def test_other_options_than_the_classic_s_are_told() -> None:
    with pytest.warns(LabkitWarning, match=r"is shown as osu_allreduce, but differs: cadence=streaming \(there isol"):
        classic.text([measured("mpi.allreduce", 8, [[1.0]], cadence="streaming")], "omb")


def test_a_benchmark_without_a_classic_is_refused_before_anything_starts() -> None:
    with pytest.raises(
        SpecError, match=r"format=imb, but micro.clock is no test of IMB. Those that are: .*mpi.latency"
    ):
        classic.check("micro.clock", "imb")
