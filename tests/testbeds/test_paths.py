"""Bytes of real ranks that took another path than the one named, and where a reader sees it."""

from pathlib import Path
from typing import Any

import pytest

from labkit import Spec, figures
from labkit.apps import show
from labkit.point.spec import Effort
from labkit.read import records
from labkit.report import caveats, sources
from labkit.report.content import Content
from labkit.run import launch, measuring
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.studies import bandwidth
from labkit.testbeds import virtual_cluster

pytestmark = [pytest.mark.netns, pytest.mark.mpi]
BADGE = "path mismatch"


def measured(into: Path, **fields: Any) -> Samples:
    """A few iterations of MPICH that is said to send over TCP."""
    if "mpich" not in launch.installed():
        pytest.skip("mpich is not installed")
    spec = Spec(benchmark="mpi.bandwidth", size=65536, launcher="mpich", transport="tcp", **fields)
    (one,) = measuring.measure(spec, Effort(iterations=3, launches=1), into=into).samples()
    assert "tcp" in one.spec.transport
    return one


@pytest.mark.slow
def test_mpich_between_hosts_that_share_ipc_is_found_out_wherever_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # UCX takes ranks with one IPC namespace for ranks on one machine, whatever their host names and networks
    shell = tmp_path / "shell.sh"
    text = Path(virtual_cluster.SHELL).read_text()
    assert " --ipc " in text
    shell.write_text(text.replace(" --ipc ", " "))
    shell.chmod(0o755)
    monkeypatch.setattr(virtual_cluster, "SHELL", str(shell))
    variables = {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "sysv,posix,cma,self,tcp"}
    one = measured(tmp_path / "held", testbed="virtual-cluster:2,rate=200mbit", environment=variables)
    assert one.meta["rank_hosts"] == ["vc0", "vc1"]
    assert one.meta["evidence"]["vc0.eth0.tx_bytes"] < 0.1 * 3 * 64 * 65536
    assert BADGE in one.meta["badges"]

    campaign = Campaign(tmp_path / "held")
    show.campaign(campaign, "*", "table", None)
    assert BADGE in capsys.readouterr().out
    rows = records.summary(records.table([one]))
    figure = figures.versus_size(rows, "bandwidth_MBps")
    assert BADGE in figure.data[0].hovertemplate  # what all points of a line share
    study = bandwidth.Study(campaign=str(campaign.path), measure=False, testbed=one.spec.testbed)
    assert BADGE in str(study.warnings())
    text = caveats.caveats(Content((sources.read(campaign.path),), {}))
    assert BADGE in text or "shared memory" in text, text


@pytest.mark.parametrize(
    ("benchmark", "testbed", "environment"),
    [
        ("mpi.put_latency", "virtual-cluster:2", {}),
        pytest.param("mpi.put_latency", "virtual-cluster:2", {"OMPI_MCA_osc": "ucx"}, marks=pytest.mark.slow),
        pytest.param("mpi.put_latency", "local", {}, marks=pytest.mark.slow),
        pytest.param("mpi.get_accumulate_latency", "virtual-cluster:2", {}, marks=pytest.mark.slow),
        pytest.param("mpi.passive_put", "virtual-cluster:2", {}, marks=pytest.mark.slow),
        pytest.param("congestion.gpcnet_loaded", "virtual-cluster:10", {}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("launcher", ["openmpi", pytest.param("mpich", marks=pytest.mark.slow)])
def test_one_sided_messages_go_over_tcp(
    launcher: str, benchmark: str, testbed: str, environment: dict[str, str], tmp_path: Path
) -> None:
    if launcher not in launch.installed():
        pytest.skip(f"{launcher} is not installed")
    where = {"testbed": testbed, "transport": "tcp" if testbed == "local" else "auto", "environment": environment}
    ranks = 10 if testbed.endswith("10") else 2
    spec = Spec(benchmark=benchmark, size=1024, launcher=launcher, ranks=ranks, **where)
    (one,) = measuring.measure(spec, Effort(iterations=200, launches=1), into=tmp_path / "held").samples()
    assert one.meta["verified"]
    assert not {BADGE, "shared memory"} & set(one.meta["badges"])


@pytest.mark.slow
def test_mpich_on_one_host_is_found_out(tmp_path: Path) -> None:
    through = {"MPIR_CVAR_NOLOCAL": "0", "UCX_TLS": "sysv,posix,cma,self"}
    assert BADGE in measured(tmp_path / "memory", environment=through).meta["badges"]
    assert BADGE not in measured(tmp_path / "tcp").meta["badges"]
