"""NVMe over Fabrics in the guest of soft-RoCE: what is refused, what is read, a real run over each fabric."""

from __future__ import annotations

from pathlib import Path

import pytest

import labkit
from labkit import benchmarks
from labkit.errors import DataError, SpecError
from labkit.point.spec import Effort, Spec
from labkit.studies import storage_over_the_network
from labkit.testbeds import soft_roce
from labkit.tools import fio

SOFT_ROCE = "soft-roce"


def spec(testbed: str = SOFT_ROCE, size: int = 4096, **options: object) -> Spec:
    return benchmarks.resolve(
        Spec(benchmark="storage.nvme_read", size=size, testbed=testbed, options=options)  # type: ignore[arg-type]
    )


def test_the_command_sets_the_fabric_up_and_runs_fio() -> None:
    job = fio.nvme_read(spec(fabric="tcp", file_size="1Mi", depth=4), Effort())
    assert job.client[0] == "sh"
    assert Path(job.client[1]).is_file()
    assert job.client[2:6] == ("tcp", "1024", "fio", "--name=labkit")
    assert {"--direct=1", "--ioengine=libaio", "--iodepth=4"} <= set(job.client)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"size": 100}, "multiple of 512 B up to the disk's"),
        ({"file_size": 100_000}, "multiple of 64Ki. Set file_size=16Mi"),
        ({"depth": 0}, "depth=0, offered=0, but they must be at least 1 and 0"),
        ({"fabric": "fc"}, "fabric='fc'"),
    ],
)
def test_wrong_options_are_one_clear_error(values: dict[str, object], text: str) -> None:
    with pytest.raises(SpecError, match=text):
        spec(**values)  # type: ignore[arg-type]


def test_another_testbed_is_refused() -> None:
    with pytest.raises(SpecError, match=r"testbed=local, but NVMe over Fabrics .* Set testbed=soft-roce"):
        fio.nvme_read(spec(testbed="local"), Effort())


def test_output_without_the_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="fio's log is missing"):
        fio.nvme_read(spec(), Effort()).parse("{}", tmp_path)


def test_the_notebook_names_the_fabrics() -> None:
    study = storage_over_the_network.Study(measure=False, campaign="none", sizes="4Ki", nvme="local,rdma")
    nvme = [one for one in study.specs() if one.benchmark.startswith("storage.nvme")]
    assert [(one.benchmark, one.values["fabric"]) for one in map(benchmarks.resolve, nvme)] == [
        (name, fabric) for fabric in ("local", "rdma") for name in ("storage.nvme_read", "storage.nvme_write")
    ]
    with pytest.raises(SpecError, match="fabric"):
        storage_over_the_network.Study(measure=False, campaign="none", nvme="fc").specs()


@pytest.mark.verbs
@pytest.mark.slow
def test_a_disk_is_served_over_each_fabric(tmp_path: Path) -> None:
    if packages := soft_roce.absent():
        pytest.skip(f"no guest: Debian packages {', '.join(packages)}")
    specs = [
        Spec(benchmark=f"storage.nvme_{way}", size=4096, testbed=SOFT_ROCE, options={"fabric": fabric, "file_size": "1Mi"})
        for fabric in ("local", "tcp", "rdma")
        for way in ("read", "write")
    ]  # fmt: skip
    campaign = labkit.measure(specs, Effort(launches=1, iterations=20, time_limit=120), into=tmp_path / "c")
    points = {(one.spec.benchmark, one.spec.values["fabric"]): one for one in campaign.samples()}
    assert len(points) == len(specs)
    for (_, fabric), one in points.items():
        assert one.time_ns.shape == (1, 20)
        crossed = one.meta["evidence"]
        assert (crossed.get("rxe0.sent_pkts", 0) > 20) == (fabric == "rdma")  # what did not change is left out
        assert (crossed.get("v0.tx_bytes", 0) > 1000) == (fabric != "local")
