"""Exact command lines and variables of every launcher."""

from __future__ import annotations

import pytest

from labkit import launch
from labkit.errors import LaunchError, SpecError
from labkit.launch import Launcher, Placement, mpich, openmpi

OPENMPI = Launcher("openmpi", "mpirun", "Open MPI 4.1.4", (4, 1, 4), openmpi)
MPICH = Launcher("mpich", "/opt/none/bin/mpiexec", "MPICH 5.0.2", (5, 0, 2), mpich)


@pytest.mark.parametrize(
    ("launcher", "placement", "command"),
    [
        (OPENMPI, Placement(ranks=2, cores=2), "mpirun -np 2 rank"),
        (OPENMPI, Placement(ranks=2, cores=2, transport="shm", version=(4, 1, 4)), "mpirun -np 2 --mca pml ob1 --mca btl vader,self rank"),
        (OPENMPI, Placement(ranks=2, cores=2, transport="shm", version=(5, 0, 1)), "mpirun -np 2 --mca pml ob1 --mca btl sm,self rank"),
        (OPENMPI, Placement(ranks=2, cores=2, transport="tcp"), "mpirun -np 2 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo rank"),
        (OPENMPI, Placement(ranks=4, cores=2), "mpirun -np 4 --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 rank"),
        (OPENMPI, Placement(ranks=4, ppn=2, hosts=("a", "b"), transport="tcp", device="ib0"),
         "mpirun -np 4 --host a:2,b:2 --map-by ppr:2:node --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include ib0 rank"),
        (MPICH, Placement(ranks=2, cores=2), "/opt/none/bin/mpiexec -n 2 -bind-to core rank"),
        (MPICH, Placement(ranks=4, cores=2), "/opt/none/bin/mpiexec -n 4 rank"),
        (MPICH, Placement(ranks=4, ppn=2, hosts=("a", "b")), "/opt/none/bin/mpiexec -n 4 -hosts a,b -ppn 2 rank"),
    ],
)  # fmt: skip
def test_command_lines(launcher: Launcher, placement: Placement, command: str) -> None:
    assert " ".join(launcher.command(placement, ["rank"])) == command


def test_environments() -> None:
    assert OPENMPI.environment(Placement(ranks=2)) == {"MPI4PY_MPIABI": "openmpi"}
    assert OPENMPI.environment(Placement(ranks=2, root=True))["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
    assert MPICH.environment(Placement(ranks=2, transport="tcp")) == {
        "MPI4PY_MPIABI": "mpich", "MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo",
    }  # fmt: skip


def test_launchers_know_each_other_apart() -> None:
    says = {
        "openmpi": "mpirun (Open MPI) 4.1.4",
        "mpich": "HYDRA build details:\n    Version: 4.0.2",
        "impi": "Intel(R) MPI Library, HYDRA",
    }
    assert [openmpi.recognise(text) for text in says.values()] == [True, False, False]
    assert [mpich.recognise(text) for text in says.values()] == [False, True, False]


def test_a_transport_nobody_knows_is_refused() -> None:
    with pytest.raises(SpecError, match=r"transport='pigeon', but openmpi knows auto, shm, tcp"):
        OPENMPI.command(Placement(ranks=2, transport="pigeon"), [])


def test_missing_launchers_name_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "installed", dict)
    with pytest.raises(LaunchError, match="openmpi-bin"):
        launch.get("auto")
    with pytest.raises(SpecError, match="There is no launcher 'mpi'"):
        launch.get("mpi")


def test_more_ranks_than_cores_are_oversubscribed_on_this_machine_only() -> None:
    assert Placement(ranks=3, cores=2).oversubscribed
    assert not Placement(ranks=2, cores=2).oversubscribed
    assert not Placement(ranks=64, hosts=("a", "b"), cores=2).oversubscribed
