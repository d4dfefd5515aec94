"""Import of what other benchmarks printed, and the same layouts for what labkit measured."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks
from labkit.apps import cli
from labkit.errors import DataError, LabkitWarning, SpecError
from labkit.formats import imb, logs, omb
from labkit.formats.reading.lines import Lines
from labkit.io import scratch
from labkit.point.notes import joined, texts
from labkit.point.spec import Spec
from labkit.read import equivalents, records
from labkit.run import importing
from labkit.run.importing import staging
from labkit.run.importing.kinds import FORMATS
from labkit.store import archive, samples
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples, compacted
from labkit.store.samples.patterned import Points

from . import made

GOLDEN = Path(__file__).parent / "golden"
LATENCY = GOLDEN / "omb" / "pt2pt_latency.txt"
ALLREDUCE = GOLDEN / "omb" / "opt_allreduce_fzc.txt"
MPI1 = GOLDEN / "imb" / "MPI1.txt"


# ---- import


def test_every_row_becomes_a_point_without_samples(tmp_path: Path) -> None:
    outcome = importing.bring([LATENCY], into=tmp_path / "c")
    assert (outcome.added, outcome.present, outcome.warnings) == (11, 0, ())
    points = list(outcome.campaign.samples())
    assert sorted(one.spec.size for one in points) == [2**i for i in range(11)]
    for one in points:
        assert (one.origin, one.n, one.launch, one.spec.ranks) == ("imported", 0, 0, 2)
        assert one.source == LATENCY.read_text()
    (eight,) = (one for one in points if one.spec.size == 8)
    assert [(v.name, v.unit, v.statistic, v.value) for v in eight.reported] == [("latency_us", "µs", "mean", 0.27)]


def test_records_follow_from_it_as_from_any_other(tmp_path: Path) -> None:
    campaign = importing.bring([LATENCY, MPI1], into=tmp_path / "c").campaign
    frame = records.table(campaign.samples())
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
        outcome = importing.bring([text], into=tmp_path / "c", testbed="RoCE", published="Kenny et al. 2020,\n Fig. 2")
        assert outcome.added == added
    [row] = records.table(outcome.campaign.samples()).to_dict("records")
    assert (row["origin"], row["testbed"], row["bandwidth_MBps_mean"]) == ("published", "RoCE", 12125)
    assert "published, not measured here: Kenny et al. 2020, Fig. 2" in texts(row["warnings"])


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
    campaign = importing.bring([*files, MPI1], into=tmp_path / "c", ranks=16).campaign
    settings = {
        (one.spec.testbed, one.spec.values["datatype"], one.spec.ranks) for one in campaign.samples("mpi.allreduce")
    }
    assert settings == {
        ("opt_allreduce_f.txt", "uint8", 16),
        ("opt_allreduce_c_mpi_int.txt", "int32", 16),
        ("opt_allreduce_c_mpi_float.txt", "float32", 16),
        ("MPI1.txt", "float32", 2),
    }
    full = next(one for one in campaign.samples("mpi.allreduce") if one.spec.testbed == "opt_allreduce_f.txt")
    assert full.effort.iterations == 50


def test_ranks_that_nobody_told_are_assumed_with_a_warning(tmp_path: Path) -> None:
    outcome = importing.bring([ALLREDUCE], into=tmp_path / "c")
    (said,) = outcome.warnings
    assert "osu_allreduce: the log does not state the number of ranks: 2 assumed. Set it with --ranks." in said
    frame = records.table(outcome.campaign.samples())
    assert all("2 assumed" in joined(cell) for cell in frame["warnings"])
    assert list(frame["verified"]) == [True, True, False]
    assert "validation failed" in joined(frame["warnings"].iloc[2])


def test_a_derived_datatype_is_a_doubt(tmp_path: Path) -> None:
    campaign = importing.bring([GOLDEN / "omb" / "opt_latency_ddt.txt"], into=tmp_path / "c").campaign
    assert all("derived datatype" in joined(cell) for cell in records.table(campaign.samples())["warnings"])


GPU_SIDES = "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"


@pytest.mark.parametrize(
    ("test", "title", "above", "benchmark", "options"),
    [
        ("pt2pt_latency", "-CUDA", GPU_SIDES, "gpu.mpi_latency", {"memory": "device", "peer_memory": "host"}),
        ("pt2pt_latency", "-CUDA", "# Send Buffer on MARS (X) and Receive Buffer on HOST (H)\n", "gpu.mpi_latency", {}),
        ("coll_bcast", "-CUDA", "", "gpu.mpi_bcast", {"memory": "device"}),
        ("coll_bcast", "-CUDA MANAGED", "", "gpu.mpi_bcast", {"memory": "managed"}),
    ],
)
def test_buffers_in_the_memory_of_a_gpu_are_another_benchmark(
    tmp_path: Path, test: str, title: str, above: str, benchmark: str, options: dict[str, str]
) -> None:
    golden = (GOLDEN / "omb" / f"{test}.txt").read_text()
    head, rest = golden.replace("OSU MPI ", f"OSU MPI{title} ", 1).split("\n# Datatype", 1)
    (tmp_path / "log.txt").write_text(f"{head}\n{above}# Datatype{rest}")
    importing.bring([tmp_path / "log.txt"], into=tmp_path / "c")
    points = list(Campaign(tmp_path / "c").samples())
    assert {one.spec.benchmark for one in points} == {benchmark}
    assert all(one.spec.values[name] == value for one in points for name, value in options.items())


def test_a_test_without_a_benchmark_is_named_and_the_rest_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = {n: replace(b, equivalents={}) if n == "mpi.bcast" else b for n, b in benchmarks.every().items()}
    monkeypatch.setattr(benchmarks, "every", lambda: without)
    outcome = importing.bring([MPI1], into=tmp_path / "c")
    (said,) = (text for text in outcome.warnings if "Bcast " in text)
    assert said == f"{MPI1}, line 275: IMB-MPI1 Bcast has no benchmark in labkit; left out: 8 rows."
    assert outcome.added > 0
    with pytest.raises(DataError, match=r"labkit imported nothing.*osu_bcast has no benchmark.*'labkit list'"):
        importing.bring([GOLDEN / "omb" / "coll_bcast.txt"], into=tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("source", "end", "said"),
    [
        (LATENCY, -2, "the last line is incomplete, and was left out."),
        (MPI1, MPI1.read_text().index("# Benchmarking Reduce"), "the output of a run ends here, before "),
    ],
)
def test_the_whole_rows_of_a_cut_text_are_imported(tmp_path: Path, source: Path, end: int, said: str) -> None:
    cut = tmp_path / "cut.txt"
    cut.write_text(source.read_text()[:end])
    outcome = importing.bring([cut], into=tmp_path / "c")
    assert any(said in warning for warning in outcome.warnings)
    assert 0 < outcome.added < importing.bring([source], into=tmp_path / "whole").added


def test_nothing_is_kept_when_one_file_is_broken(tmp_path: Path) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_text(MPI1.read_text().replace("t[usec]", "seconds", 1))
    with pytest.raises(DataError, match=r"broken\.txt, line \d+: found .*, wanted"):
        importing.bring([LATENCY, broken], into=tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "line 1: found 'nothing', wanted the output of a benchmark that labkit reads"),
        (b"n1: one\nn1: two\nn1: three\n", "'n1:' stands before almost every line"),
        (
            b"one\nten requests completed in a hurry\n",
            "line 2: found 'ten requests completed in a hurry', wanted a line that begins the output of redis-benchmark",
        ),
        (b"\x7fELF\x00\x01", "wanted the output of a benchmark that labkit reads"),
        (b"bandwidth: 12 GB/s\n", "line 1: found 'bandwidth: 12 GB/s', wanted the output of a benchmark"),
        (
            b"$ mpirun -n 2 osu_bw\n1 2.5\n",
            "line 2: found '1 2.5', wanted Bandwidth (MB/s) as OMB prints it",
        ),
        (b"hello\nfio-3.33 starting\nread: 3\n", "line 2: found 'fio-3.33 starting', wanted all that fio printed"),
        (
            b"[ 5] 1.0 Gbits/sec iperf3 server\n",
            "this line names iperf3, but no line begins its output. Save the output",
        ),
        (b"#  all_reduce_perf -b 8\n 8 2 float\n", "wanted all that nccl-tests printed"),
        (None, "cannot be read: No such file or directory. Name a file"),
    ],
)
def test_a_file_of_another_kind_is_one_clear_error(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "text"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        importing.bring([path], into=tmp_path / "c")
    assert said in str(raised.value)
    assert str(path) in str(raised.value)


def grown(rows: int, tables: int = 1) -> str:
    """OMB's output with tables of many rows."""
    head = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
    return (head + "".join(f"{8 * (i + 1):<10}{0.2 + i / 1000:18.2f}\n" for i in range(rows))) * tables


@pytest.mark.parametrize("tables", [1, 40])
def test_work_and_what_is_kept_grow_with_the_rows_and_no_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: int
) -> None:
    counts: list[tuple[int, int]] = []
    whole = hashlib.sha256
    for rows in (1000, 4000):
        digests = reading = 0

        def counted(*args: Any, **kwargs: Any) -> Any:
            nonlocal digests
            digests += 1
            return whole(*args, **kwargs)

        def read(done: int, total: int) -> None:
            nonlocal reading
            reading += 1
            assert done <= total

        path = tmp_path / f"{rows}.txt"
        path.write_text(grown(rows // tables, tables))
        monkeypatch.setattr(hashlib, "sha256", counted)
        outcome = importing.bring([path], into=tmp_path / f"c{rows}", progress=read)
        monkeypatch.setattr(hashlib, "sha256", whole)
        assert outcome.added == rows
        entries = list(outcome.campaign.files("mpi.latency").named())
        assert len(entries) == rows
        kept = sum(len(raw.header) for _, _, raw in entries)
        assert max(len(raw.header) for _, _, raw in entries) < 6000
        counts.append((digests, kept))
        assert reading <= 4
        assert not outcome.campaign.files("mpi.latency").points
        assert len(outcome.campaign.files("mpi.latency").compacted) == 1
    (few, small), (many, large) = counts
    assert many <= 4.2 * few + 20
    assert large <= 4.6 * small


@pytest.mark.slow
def test_a_long_table_is_read_in_parts_and_each_point_has_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text(grown(9000))
    campaign = importing.bring([path], into=tmp_path / "c").campaign
    assert importing.bring([path], into=tmp_path / "c").present == 9000
    by_size = {one.spec.size: one for one in campaign.samples()}
    assert len(by_size) == 9000
    last = by_size[72000]
    assert last.source == path.read_text()[: path.read_text().index("8  ")] + f"{72000:<10}{9.2:18.2f}\n"
    assert (last.meta["place"].partition(":")[2], last.reported[0].value) == ("9003", 9.2)


def test_metadata_are_those_that_a_samples_file_would_have(tmp_path: Path) -> None:
    files = [LATENCY, ALLREDUCE, GOLDEN / "omb" / "opt_mbw_V.txt", MPI1, *(GOLDEN / "imb").glob("m*.txt")]
    campaign = importing.bring(files, into=tmp_path / "c", published='Kenny "et al." \\ 100 %').campaign
    for name in campaign.benchmarks():
        for (fingerprint, launch), path, raw in campaign.files(name).named():
            one = samples.decode(raw, path)
            assert json.loads(raw.header) == samples.metadata(one)
            assert (one.launch, one.meta["fingerprint"]) == (launch, fingerprint)
    assert archive.verify(campaign.path)[1] == []


def kept(campaign: Campaign) -> list[tuple[str, tuple[str, int], bytes]]:
    """Everything that an import brought, byte for byte."""
    return sorted(
        (name, at, raw.header) for name in campaign.benchmarks() for at, _, raw in campaign.files(name).named()
    )


@pytest.mark.parametrize("form", ["omb", "imb"])
@pytest.mark.slow
def test_rows_read_many_at_once_are_the_points_of_rows_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    files = [path for path in sorted((GOLDEN / form).glob("*.txt")) if re.search(r"\n *\d+ +\d", path.read_text())]
    if form == "omb":
        files.append(tmp_path / "long.txt")
        files[-1].write_text(grown(5000) + grown(30, 40))
    whole = [
        kept(importing.bring(files, into=tmp_path / f"a{testbed}", testbed=testbed).campaign) for testbed in ("", "one")
    ]
    monkeypatch.setattr(Lines, "bulk", lambda self, form, most: (0, [], []))
    each = [
        kept(importing.bring(files, into=tmp_path / f"b{testbed}", testbed=testbed).campaign) for testbed in ("", "one")
    ]
    assert whole == each
    assert len(whole[0]) > 100


def test_metadata_and_fingerprints_are_those_of_a_point_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / 'a "quoted" \\ µ.txt'
    path.write_text(grown(60) + grown(100, 3))
    for testbed in ("", "a testbed"):
        campaign = importing.bring([path], into=tmp_path / f"c{testbed}", testbed=testbed).campaign
        for (fingerprint, launch), where, raw in campaign.files("mpi.latency").named():
            one = samples.decode(raw, where)
            assert raw.header == json.dumps(samples.metadata(one), allow_nan=False).encode()
            identity = {"library": "OMB 7.4", "text": "" if testbed else sha(str(path))}
            assert (one.launch, one.spec.fingerprint(identity)) == (launch, fingerprint)


def test_a_file_that_is_not_what_was_written_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacted, "digest", lambda path: "0" * 16)
    with pytest.raises(DataError, match=r"does not hold what labkit wrote to it\. Check the disk"):
        importing.bring([LATENCY], into=tmp_path / "c")
    assert not list(tmp_path.rglob("*.parquet*"))


def test_points_written_in_portions_are_those_of_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path := tmp_path / "several.txt").write_text(grown(300) + grown(24, 40) + LATENCY.read_text())
    whole = importing.bring([path], into=tmp_path / "whole").campaign
    for name, most in (("PORTION", 20_000), ("TOGETHER", 20_000)):
        with monkeypatch.context() as patch:
            patch.setattr(staging, name, most)
            parts = importing.bring([path], into=tmp_path / name).campaign
        assert len(parts.files("mpi.latency").compacted) > 5
        assert kept(parts) == kept(whole)
        again = importing.bring([path], into=parts)
        assert (again.added, again.present) == (0, len(kept(whole)))


def test_other_ranks_of_the_same_text_are_other_points(tmp_path: Path) -> None:
    for ranks, before in ((4, 0), (8, 0), (4, 10)):
        outcome = importing.bring([ALLREDUCE], into=tmp_path / "c", ranks=ranks)
        assert (outcome.present > 0) == (before > 0)
        assert (outcome.added > 0) == (before == 0)


def test_points_of_an_import_can_be_compacted(tmp_path: Path) -> None:
    campaign = importing.bring([ALLREDUCE, LATENCY], into=tmp_path / "c").campaign
    importing.bring([MPI1], into=campaign)
    before = kept(campaign)
    campaign.compact()
    assert kept(campaign) == before
    assert archive.verify(campaign.path)[1] == []
    assert importing.bring([LATENCY], into=campaign).added == 0


def test_a_golden_file_of_imported_points_loads_for_ever(tmp_path: Path) -> None:
    folder = tmp_path / "samples" / "mpi.latency"
    folder.mkdir(parents=True)
    golden = GOLDEN / "compacted-imported" / "compacted-format-2.parquet"
    (folder / golden.name).write_bytes(golden.read_bytes())
    points = sorted(Campaign(tmp_path).samples(), key=lambda one: (one.launch, one.spec.size))
    (table,) = omb.parse(LATENCY.read_text())
    assert [(one.spec.size, *one.reported) for one in points] == [
        (row.size, *omb.reported(table, row)) for row in table.rows
    ]
    assert {one.source for one in points} == {LATENCY.read_text()}
    assert all(one.meta["place"].startswith(f"{sha(str(LATENCY))[:16]}:") for one in points)


@pytest.mark.parametrize(
    ("pieces", "pattern"),
    [("8", "{\0}{\0}"), ("8\0009", "{\0}"), ("8", "{\0\1\1}"), ("8", "no JSON \0"), ("", "\0{}}")],
)
def test_a_hostile_pattern_is_one_error(tmp_path: Path, pieces: str, pattern: str) -> None:
    points = Points([b"12345678"], [pattern], ["shared"], [pieces])
    folder = tmp_path / "samples" / "mpi.latency"
    folder.mkdir(parents=True)
    compacted.write_patterned(points, folder, lambda names: np.zeros(len(names), np.int32))
    with pytest.raises(DataError, match=r"compacted-.*\. Restore it from a copy, or delete it"):
        list(Campaign(tmp_path).samples())


KILLED = """
import sys, time
from labkit.run import importing
def progress(done, total):
    print(flush=True)
    time.sleep(600)
importing.bring([sys.argv[1]], into=sys.argv[2], progress=progress)
"""


def test_the_root_of_the_file_system_is_no_campaign() -> None:
    with pytest.raises(DataError, match="root of the file system"):
        importing.bring([MPI1], into="/")


@pytest.mark.parametrize("new", [True, False])
def test_what_a_killed_import_left_goes_with_the_next(tmp_path: Path, new: bool) -> None:
    into = tmp_path / "c"
    if not new:
        importing.bring([ALLREDUCE], into=into)
    with scratch.folder(staging.BEGINS, tmp_path if new else into) as living:
        with subprocess.Popen([sys.executable, "-c", KILLED, LATENCY, into], stdout=subprocess.PIPE) as ours:
            assert ours.stdout is not None
            ours.stdout.readline()
            assert len(list(living.parent.glob(f"{staging.BEGINS}*"))) == 2
            ours.kill()
        outcome = importing.bring([LATENCY], into=into)
        assert outcome.added
        assert list(tmp_path.rglob(f"{staging.BEGINS}*")) == [living]
    assert archive.verify(into)[1] == []


def sha(path: str) -> str:
    """Digest of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_fingerprints_are_those_of_earlier_imports(tmp_path: Path) -> None:
    campaign = importing.bring([LATENCY, MPI1], into=tmp_path / "c").campaign
    for one in campaign.samples():
        identity = {"library": str(one.meta["library"]), "text": sha(str(one.meta["file"]))}
        assert one.meta["fingerprint"] == one.spec.fingerprint(identity)


def test_points_of_an_earlier_import_with_a_file_each_are_known(tmp_path: Path) -> None:
    first = importing.bring([LATENCY], into=tmp_path / "a").campaign
    old = Campaign(tmp_path / "old")
    kept = list(first.samples())
    for one in kept[:-1]:
        old.save(one, str(one.meta["fingerprint"]))
    outcome = importing.bring([LATENCY], into=old)
    assert (outcome.added, outcome.present) == (1, len(kept) - 1)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "windows.txt"
    path.write_bytes(LATENCY.read_text().replace("\n", "\r\n").encode(encoding))
    outcome = importing.bring([path], into=tmp_path / "c")
    assert (outcome.added, outcome.warnings) == (11, ())


def test_other_text_is_left_out_and_named_once(tmp_path: Path) -> None:
    path = tmp_path / "noisy.txt"
    noise = "".join(f"[node{i % 7}:{4000 + i}] 1 more process has sent help message\n" for i in range(500))
    path.write_text(noise + LATENCY.read_text() + noise + "\x1b[31mred\x1b[0m\n")
    outcome = importing.bring([path], into=tmp_path / "c")
    assert outcome.added == 11
    (said,) = outcome.warnings
    assert said == (
        f"{path}: 1001 lines that belong to no table skipped: '[node0:4000] 1 more process has sent help message' "
        "(line 1, 1000 times); 'red' (line 1016)."
    )


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_what_is_no_file_is_refused_with_a_sentence_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/null") if kind == "device" else tmp_path / "it"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    said = rf"(?i)is a {kind}, not a file\. Save the output"
    if kind == "folder":
        said = r"labkit can import no file of this folder\. it has no file\. Name a folder with the output"
    with pytest.raises(DataError, match=said) as error:
        importing.bring([path], into=tmp_path / "c")
    assert len(str(error.value).splitlines()) == 1
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("ranks", [-3, -1, 10**12, True])
def test_ranks_that_cannot_be_are_an_error(tmp_path: Path, ranks: int) -> None:
    with pytest.raises(SpecError, match=rf"--ranks {ranks}, but it must be a whole number from 1"):
        importing.bring([ALLREDUCE], into=tmp_path / "c", ranks=ranks)
    assert not (tmp_path / "c").exists()


def test_too_few_ranks_for_a_test_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"--ranks 1, but mpi\.multi_latency .osu_multi_lat. needs at least 2"):
        importing.bring([GOLDEN / "omb" / "pt2pt_multi_lat.txt"], into=tmp_path / "c", ranks=1)


def test_groups_at_once_are_told_from_one_alone(tmp_path: Path) -> None:
    campaign = importing.bring([GOLDEN / "imb" / "multi_all.txt"], into=tmp_path / "c").campaign
    frame = records.table(campaign.samples())
    latency = frame[frame["benchmark"] == "mpi.latency"]
    assert set(latency["testbed"]) == {f"multi_all.txt,groups=2,group={i}" for i in (0, 1)}
    assert set(latency["ranks"]) == {2}
    assert all("2 groups ran at the same time" in joined(cell) for cell in latency["warnings"])
    barrier = frame[(frame["benchmark"] == "mpi.barrier") & (frame["ranks"] == 4)]
    assert list(barrier["testbed"]) == ["multi_all.txt"]


def test_an_import_that_fails_late_leaves_a_campaign_as_it_was(tmp_path: Path) -> None:
    campaign = importing.bring([LATENCY], into=tmp_path / "c").campaign
    before = sorted(
        (str(p), p.stat().st_mtime_ns) for p in campaign.path.rglob("*") if p.is_file() and p.name != "lease.json"
    )
    broken = tmp_path / "broken.txt"
    broken.write_text(grown(6000) + "8         x\n")
    for paths in ([broken], [MPI1, broken]):
        with pytest.raises(DataError, match=r"broken\.txt, line \d+"):
            importing.bring(paths, into=tmp_path / "c")
        after = sorted(
            (str(p), p.stat().st_mtime_ns) for p in campaign.path.rglob("*") if p.is_file() and p.name != "lease.json"
        )
        assert after == before
        assert not list(tmp_path.rglob(".labkit-import-*"))


# ---- the layouts for what was measured


def measured(benchmark: str, size: int, us: list[list[float]], launch: int = 0, **options: object) -> Samples:
    """Samples with given times of every rank."""
    spec = benchmarks.resolve(Spec(benchmark=benchmark, size=size, ranks=max(len(us), 2), options=options))  # type: ignore[arg-type]
    meta = {"library": "Open MPI 4.1.4", "start": "2026-11-21T00:46:42+00:00"}
    host = {"architecture": "x86_64", "kernel": "6.1"}
    return made.samples(spec, np.asarray(us) * 1000, launch=launch, host=host, meta=meta)


def test_omb_layout_has_omb_s_definitions() -> None:
    two = [measured("mpi.latency", size, [[2.0, 4.0, 6.0]]) for size in (1, 8)]
    (table,) = omb.parse(equivalents.text(two[::-1], "omb"))
    assert (table.test, table.columns) == ("osu_latency", ("Avg Latency(us)",))
    assert [(row.size, row.values) for row in table.rows] == [(1, (2.0,)), (8, (2.0,))]
    assert table.parameters["Measured by"].startswith("labkit ")
    bandwidth = measured("mpi.bandwidth", 1000, [[64.0, 192.0]])
    (table,) = omb.parse(equivalents.text([bandwidth], "omb"))
    assert table.rows[0].values == (500.0,)  # work over time, never the mean of rates
    reduced = measured("mpi.allreduce", 8, [[1.0, 3.0], [5.0, 7.0]])
    (table,) = omb.parse(equivalents.text([reduced], "omb"))
    assert (table.columns, table.rows[0].values) == (("Avg Latency(us)",), (4.0,))
    (table,) = omb.parse(equivalents.text([reduced], "omb", full=True))
    assert table.rows[0].values == (4.0, 2.0, 6.0, 2)
    assert table.parameters["Datatype"] == "MPI_FLOAT"
    (table,) = omb.parse(equivalents.text([measured("mpi.barrier", 0, [[1.0], [3.0]])], "omb"))
    assert (table.sized, table.rows[0].values) == (False, (2.0,))


def test_omb_layout_has_the_loop_s_mean_of_one_sided_calls(tmp_path: Path) -> None:
    one = measured("mpi.put_latency", 8, [[0.04] * 100])
    one = replace(one, meta=dict(one.meta) | {"loop_ns": [[8200]], "chunks": [100]})
    printed = equivalents.text([one], "omb")
    (table,) = omb.parse(printed)
    assert (table.test, table.rows[0].values) == ("osu_put_latency", (0.08,))
    assert "labkit's median is the median of single calls" in printed
    (tmp_path / "put.txt").write_text(printed)
    (again,) = importing.bring([tmp_path / "put.txt"], into=tmp_path / "c").campaign.samples()
    assert [(v.name, v.statistic, v.value) for v in again.reported] == [("latency_us", "osu_mean", 0.08)]


def test_imb_layout_has_imb_s_definitions() -> None:
    many = [
        measured("mpi.latency", 100, [[2.0, 4.0]]),
        measured("mpi.allreduce", 8, [[1.0, 3.0], [5.0, 7.0]]),
        measured("mpi.barrier", 0, [[1.0], [3.0]]),
    ]
    tables = {table.test: table for table in imb.parse(equivalents.text(many, "imb"))}
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
    text = equivalents.text([measured("mpi.bcast", 8, [[1.0], [2.0]])], "imb").replace(imb.VERSION, version)
    head, rule, rest = text.partition("# List of Benchmarks")
    path = tmp_path / "bcast.txt"
    path.write_text(f"{head}# Calling sequence was: \n\n# {call} \n\n{rule}{rest}")
    (one,) = importing.bring([path], into=tmp_path / "c").campaign.samples()
    assert options.items() <= one.spec.values.items()


def test_tests_that_count_otherwise_are_converted_both_ways(tmp_path: Path) -> None:
    # an exchange in a grid of 2 x 2, 8 messages a rank
    printed = equivalents.text([measured("mpi.stencil", 100, [[8.0] * 2] * 4, cadence="streaming")], "imb")
    (table,) = imb.parse(printed)
    assert (table.test, table.rows[0].values[:3]) == ("IMB-P2P Stencil2D", (2, 1.0, 400.0))
    path = tmp_path / "imb.txt"
    path.write_text(printed)
    (one,) = importing.bring([path], into=tmp_path / "c").campaign.samples()
    assert {("latency_us", 8.0), ("bandwidth_MBps", 100.0)} <= {(v.name, v.value) for v in one.reported}

    printed = equivalents.text([measured("mpi.reduce_scatter_block", 8, [[1.0]] * 4)], "omb")
    assert omb.parse(printed)[0].rows[0].size == 32  # of the whole vector there
    path.write_text(printed)
    (one,) = importing.bring([path], into=tmp_path / "d", ranks=4).campaign.samples()
    assert one.spec.size == 8


def test_what_is_not_quite_the_same_says_so(tmp_path: Path) -> None:
    with pytest.warns(LabkitWarning, match="shown as IMB-P2P Birandom, which differs: IMB draws one pair"):
        printed = equivalents.text([measured("mpi.random_pairs", 8, [[1.0]] * 2, cadence="streaming")], "imb")
    path = tmp_path / "imb.txt"
    path.write_text(printed)
    outcome = importing.bring([path], into=tmp_path / "c")
    (one,) = outcome.campaign.samples()
    assert "is not quite mpi.random_pairs: IMB draws one pair" in one.meta["warnings"][0]
    assert one.meta["warnings"][0] in outcome.warnings[0]


def test_every_launch_has_its_table() -> None:
    many = [measured("mpi.latency", size, [[2.0]], launch) for launch in (0, 1) for size in (1, 2)]
    assert [len(table.rows) for table in omb.parse(equivalents.text(many, "omb"))] == [2, 2]
    assert [len(table.rows) for table in imb.parse(equivalents.text(many, "imb"))] == [2, 2]


def test_tests_of_openshmem_are_told_apart_by_title_and_columns(tmp_path: Path) -> None:
    files = [GOLDEN / "omb" / f"oshm_{name}.txt" for name in ("put", "put_nb", "put_mr", "put_overlap", "barrier")]
    campaign = importing.bring(files, into=tmp_path / "c", ranks=2).campaign
    table = records.table(campaign.samples())
    assert set(table["benchmark"]) == {
        "shmem.put_latency",
        "shmem.put_nb_latency",
        "shmem.put_rate",
        "shmem.put_overlap",
        "shmem.barrier",
    }
    put = table[table["benchmark"] == "shmem.put_latency"].set_index("message_size_B")
    assert put.loc[1, "option_timing"] == "total"
    assert put.loc[1, "latency_us_mean"] == 0.02
    overlap = table[table["benchmark"] == "shmem.put_overlap"].set_index("message_size_B")
    assert overlap.loc[1, "overlap_osu_percent_value"] == 76.17
    rate = table[table["benchmark"] == "shmem.put_rate"].set_index("message_size_B")
    assert rate.loc[2, "message_rate_per_s_mean"] == 45454545.45


# laid out as the printf calls of OMB 7.4 lay it out: util/osu_util_pgas.c, upc/osu_upc_memput.c, openshmem/osu_oshm_atomics.c
PGAS = """\
# OSU UPC MEMPUT Test v7.4
# [ pairs: 2 ]
# Size              Latency (us)
1                           0.15
2                           0.16
# OSU UPC Barrier Latency Test v7.4
# Avg Latency(us)
             3.10
# OSU UPC GatherAll Latency Test v7.4
# Size           Avg Latency(us)     Min Latency(us)     Max Latency(us)  Iterations
1                           0.10                0.09                0.20        1000
# OSU UPC++ Async Copy (Get) Test v7.4
# [ pairs: 1 ]
# Size              Latency (us)
8                           1.25
# OSU UPC++ AlltoAll Latency Test v7.4
# Size           Avg Latency(us)
4                           2.50
"""
ATOMICS = """\
# OSU OpenSHMEM Atomic Operation Rate Test v7.4
# Operation                Million ops/s        Latency (us)
shmem_int_fadd                      1.25                0.80
shmem_longlong_fadd                 1.50                0.70
shmem_longlong_cswap                2.50                0.40
"""


def test_tests_of_upc_and_upcxx_have_benchmarks_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "pgas.txt").write_text(PGAS)
    campaign = importing.bring([tmp_path / "pgas.txt"], into=tmp_path / "c", ranks=4).campaign
    found = {
        (one.spec.benchmark, one.spec.size, one.spec.ranks): {v.statistic: v.value for v in one.reported}
        for one in campaign.samples()
    }
    assert found == {
        ("pgas.upc_memput", 1, 4): {"mean": 0.15},
        ("pgas.upc_memput", 2, 4): {"mean": 0.16},
        ("pgas.upc_barrier", 0, 4): {"osu_mean": 3.1},
        ("pgas.upc_gather_all", 1, 4): {"osu_mean": 0.1, "rank_min": 0.09, "rank_max": 0.2},
        ("pgas.upcxx_copy_get", 8, 2): {"mean": 1.25},
        ("pgas.upcxx_alltoall", 4, 4): {"osu_mean": 2.5},
    }


def test_atomic_operations_of_openshmem_are_read_and_written_with_their_names(tmp_path: Path) -> None:
    path = tmp_path / "atomics.txt"
    path.write_text(ATOMICS)
    campaign = importing.bring([path], into=tmp_path / "c", ranks=2).campaign
    table = records.table(campaign.samples()).set_index(["option_call", "message_size_B"])
    assert set(table["benchmark"]) == {"shmem.atomic"}
    assert table.loc[("compare_swap", 8), "operation_rate_per_s_mean"] == 2.5e6
    assert table.loc[("fetch_add", 4), "latency_us_mean"] == 0.8
    again = omb.parse(equivalents.text(list(campaign.samples()), "omb"))
    rows = {(row.size, row.values) for table in again for row in table.rows}
    assert rows == {(row.size, row.values) for row in omb.parse(ATOMICS)[0].rows}


@pytest.mark.parametrize("line", ["shmem_int_fadd  1.25  0.80", "shmem_int_nothing  1.25  0.80", "shmem_int_add 1.25"])
def test_an_operation_twice_or_unknown_is_refused(line: str) -> None:
    with pytest.raises(DataError, match=r"line 6: found 'shmem_int_.*operation"):
        omb.parse(f"{ATOMICS}{line}\n")


UNTOLD = {"osu_bw_fan_in": "osu_bw", "osu_bw_fan_out": "osu_bw", "osu_oshm_get_nb": "osu_oshm_get"}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["omb", pytest.param("imb", marks=pytest.mark.slow)])
def test_every_equivalent_of_every_benchmark_can_be_written_and_read(form: str) -> None:
    for name, benchmark in benchmarks.find().items():
        for test in equivalents.tests(benchmark, form):
            ranks = max(benchmark.ranks[0], 2)
            spec = Spec(benchmark=name, size=8 if benchmark.sized else 0, ranks=ranks)
            spec = benchmarks.resolve(spec)
            one = made.samples(spec, np.full((ranks, 3), 2000), meta={"library": "Open MPI 4.1.4", "test": test})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LabkitWarning)
                printed = equivalents.text([one], form)
            (table,) = (omb if form == "omb" else imb).parse(printed)
            assert table.test == UNTOLD.get(test, test)
            assert len(table.rows) == 1


def test_what_was_imported_is_written_again_alike(tmp_path: Path) -> None:
    campaign = importing.bring([LATENCY], into=tmp_path / "c").campaign
    again = omb.parse(equivalents.text(list(campaign.samples()), "omb"))[0]
    assert (again.rows, again.columns) == (omb.parse(LATENCY.read_text())[0].rows, ("Avg Latency(us)",))
    copy = tmp_path / "imb.txt"
    copy.write_text(equivalents.text(list(importing.bring([MPI1], into=tmp_path / "d").campaign.samples()), "imb"))
    copied = {(t.test, r.size): r.values for t in imb.parse(copy.read_text()) for r in t.rows}
    whole = {(t.test, r.size): r.values for t in imb.parse(MPI1.read_text()) for r in t.rows}
    assert copied.items() <= whole.items()
    assert importing.bring([copy], into=tmp_path / "d").added == len(copied)


def test_what_labkit_measured_comes_back_as_labkit_s(tmp_path: Path) -> None:
    for form in ("omb", "imb"):
        path = tmp_path / form
        path.write_text(equivalents.text([measured("mpi.latency", 8, [[2.0, 4.0]])], form))
        (one,) = importing.bring([path], into=tmp_path / "c" / form).campaign.samples()
        assert one.meta["library"].startswith("labkit ")
        assert {(v.name, v.statistic, v.value) for v in one.reported} >= {("latency_us", "mean", 1.5)}


def test_other_options_than_the_equivalent_s_are_told() -> None:
    with pytest.warns(LabkitWarning, match=r"is shown as osu_allreduce, but differs: cadence=streaming \(there isol"):
        equivalents.text([measured("mpi.allreduce", 8, [[1.0]], cadence="streaming")], "omb")


def test_a_benchmark_without_an_equivalent_is_refused_before_anything_starts() -> None:
    with pytest.raises(SpecError, match=r"format=imb, but micro.clock is not a test of IMB. Its tests: .*mpi.latency"):
        equivalents.check("micro.clock", "imb")


def test_what_holds_for_many_files_is_said_once(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"run-{number}.txt").write_text(ALLREDUCE.read_text() + "\n" * number)
    (tmp_path / "refused.json").write_text('{\n\t"start": {"version": "iperf 3.12"},\n\t"error": "refused"\n}\n')
    outcome = importing.bring([tmp_path], into=tmp_path / "c")
    (said,) = outcome.warnings
    assert said == (
        "3 files of osu_allreduce: the log does not state the number of ranks: 2 assumed. Set it with --ranks. "
        f"The first is {tmp_path / 'run-0.txt'}, line 1."
    )
    (left_out,) = outcome.left_out
    assert left_out[1] == "line 2 names iperf3, but no line begins its output"


@pytest.mark.parametrize("title", ["OSU MPI {} Test v7.4", "OSU MPI Latency Test v{}\ufffd"])
def test_a_title_without_end_is_cut_in_the_message(tmp_path: Path, title: str) -> None:
    (tmp_path / "old.txt").write_text(f"# {title.format('9' * 5000)}\n# Size          Latency (us)\n8     1.00\n")
    with pytest.raises(DataError, match="no benchmark") as caught:
        importing.bring([tmp_path / "old.txt"], into=tmp_path / "c")
    assert len(str(caught.value)) < 1000


def test_what_a_user_sets_and_the_text_does_not_state_has_no_value(tmp_path: Path) -> None:
    """osu_bw prints no window; labkit's own default is not what was measured."""
    path = tmp_path / "bw.txt"
    path.write_text("# OSU MPI Bandwidth Test v5.6\n# Size      Bandwidth (MB/s)\n8                      12.50\n")
    outcome = importing.bring([path], into=tmp_path / "c")
    (one,) = outcome.campaign.samples()
    assert one.spec.values["window"] is None


def test_help_lists_every_program_whose_output_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["import", "--help"])
    said = " ".join(capsys.readouterr().out.replace("-\n", "-").split()).replace("- ", "-")
    for name in {*FORMATS, *logs()} - {"OMB excerpt"}:
        assert re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", said), name
