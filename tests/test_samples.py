"""The samples file: same in, same out; never half of one; readable for ever."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from labkit.errors import DataError
from labkit.point.spec import Effort, Reported, Spec
from labkit.store import samples
from labkit.store.samples import Samples, compacted

from . import made

GOLDEN = Path(__file__).parent / "golden" / "samples"


def small_samples(time_ns: np.ndarray | None = None, **changes: object) -> Samples:
    values = {
        "spec": Spec(benchmark="mpi.allreduce", size=4, options={"datatype": "float32"}),
        "effort": Effort(launches=2),
        "host": {"hostname": "here", "cpu_model": "x"},
        "launch": 1,
        "meta": {"engine": "c", "badges": ["loopback"]},
    } | changes
    return made.samples(time_ns=np.arange(6).reshape(2, 3) if time_ns is None else time_ns, **values)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(time_ns=arrays(np.int64, array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.integers(0, 2**62)))
def test_saved_and_loaded_is_the_same(tmp_path: Path, time_ns: np.ndarray) -> None:
    one = small_samples(time_ns)
    samples.save(one, tmp_path / "a.parquet")
    two = samples.load(tmp_path / "a.parquet")
    assert (two.time_ns == one.time_ns).all()
    assert (two.spec, two.effort, two.host, two.launch, two.ranks, two.meta) == (
        one.spec,
        one.effort,
        one.host,
        one.launch,
        one.ranks,
        one.meta,
    )


def test_reported_values_and_source_text_are_kept_without_rows(tmp_path: Path) -> None:
    values = (
        Reported("bandwidth_MBps", "MB/s", "mean", 12.5),
        Reported("kBps", "kB/s", "value", 1.0, labels={"file_size_B": 64}),
    )
    one = small_samples(
        np.empty((0, 0), np.int64), ranks=(), origin="reported", reported=values, source="Throughput=12.5\n"
    )
    samples.save(one, tmp_path / "a.parquet")
    two = samples.load(tmp_path / "a.parquet")
    assert (two.reported, two.source, two.n, two.origin) == (values, "Throughput=12.5\n", 0, "reported")
    assert pq.read_metadata(tmp_path / "a.parquet").num_rows == 0


def test_total_times_are_divided_by_their_iterations() -> None:
    one = small_samples(np.array([[1000, 3000]]), extras={"iterations": np.array([[10, 20]])})
    assert one.seconds == pytest.approx(np.array([[1e-7, 1.5e-7]]))


def test_extras_come_back_in_shape(tmp_path: Path) -> None:
    one = small_samples(extras={"direction": np.array([[0, 1, 0], [1, 1, 0]])})
    samples.save(one, tmp_path / "a.parquet")
    assert (samples.load(tmp_path / "a.parquet").extras["direction"] == one.extras["direction"]).all()


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        samples.save(small_samples(meta={"bad": float("nan")}), tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(p.name for p in GOLDEN.glob("*.parquet")))
def test_golden_files_load_for_ever(name: str) -> None:
    wanted = json.loads((GOLDEN / name).with_suffix(".json").read_text())
    one = samples.load(GOLDEN / name)
    assert one.time_ns.tolist() == wanted["time_ns"]
    assert one.spec.as_dict() == wanted["spec"]
    assert [value.as_dict() for value in one.reported] == wanted["reported"]
    assert dict(one.meta) == wanted["meta"]
    over = wanted.get("over")
    assert (one.over is None) == (over is None)
    if one.over is not None:
        assert list(one.over.ranks) == over["ranks"]
        assert {name: values.tolist() for name, values in one.over.of_iteration.items()} == over["of_iteration"]
        assert {name: values.tolist() for name, values in one.over.of_rank.items()} == over["of_rank"]
        assert [values.tolist() for values in one.over.histogram] == over["histogram"]


def test_what_is_no_samples_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"not parquet")
    with pytest.raises(DataError, match=r"a\.parquet cannot be read as Parquet"):
        samples.load(path)
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(DataError, match="no 'labkit' metadata"):
        samples.load(path)
    later = pa.table({"rank": [0]}).replace_schema_metadata({b"labkit": json.dumps({"format": 3}).encode()})
    pq.write_table(later, path)
    with pytest.raises(DataError, match=r"has format 3, but this version of labkit reads 1 and 2"):
        samples.load(path)


def test_truncated_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    samples.save(small_samples(), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="measures its point again"):
        samples.load(path)


def test_unknown_origin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be one of measured"):
        samples.save(small_samples(origin="guessed"), tmp_path / "a.parquet")


def test_a_pipe_in_the_place_of_samples_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (samples.load, compacted.opened):
        with pytest.raises(DataError, match="pipe is a named pipe, but it must be a file"):
            read(tmp_path / "pipe")


def test_the_tests_make_samples_with_one_builder() -> None:
    tests = Path(__file__).parent
    assert [p.name for p in tests.rglob("*.py") if re.search(r"\bSamples\(\n?\s*(spec=|\*\*)", p.read_text())] == [
        "made.py"
    ]
