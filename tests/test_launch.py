"""Exact command lines and variables of every launcher."""

from __future__ import annotations

import errno
import os
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import benchmarks, testbeds
from labkit.errors import LaunchError, SpecError
from labkit.io import supervise
from labkit.point import host_list
from labkit.point.host_list import allocated
from labkit.point.spec import Spec
from labkit.run import fingerprints, launch, launchers, paths
from labkit.run.launch import Launcher, Placement
from labkit.run.launchers import _files, intelmpi, mpich, openmpi, srun
from labkit.run.launchers._files import file as launcher_file
from labkit.run.launchers._placement import cores
from labkit.worker import adapters, links

OPENMPI = Launcher("openmpi", "mpirun", "Open MPI 4.1.4", (4, 1, 4), launcher_file("openmpi"))
MPICH = Launcher("mpich", "/opt/none/bin/mpiexec", "MPICH 5.0.2", (5, 0, 2), launcher_file("mpich"))
INTEL = Launcher("intelmpi", "/opt/none/bin/mpiexec", "Intel MPI 2021.11.0", (2021, 11, 0), launcher_file("intelmpi"))
SRUN = Launcher("srun", "srun", "Open MPI 5.0.11", (5, 0, 11), launcher_file("srun"), of=OPENMPI, kind="openmpi")

FIVE = {"version": (5, 0, 11)}
PMIX = {"library": "openmpi", "pmi": ("none", "pmi2", "pmix", "pmix_v4"), **FIVE}
PMI2 = {"library": "mpich", "pmi": ("none", "pmi2", "pmix", "pmix_v4")}
TWO = {"hosts": ("a", "b")}


@pytest.mark.parametrize(
    ("launcher", "placement", "command"),
    [
        (OPENMPI, Placement(ranks=2, cores=2), "mpirun -np 2 --bind-to core rank"),
        (OPENMPI, Placement(ranks=2, cores=2, bind="socket"), "mpirun -np 2 --bind-to socket rank"),
        (OPENMPI, Placement(ranks=2, cores=2, bind="socket", **FIVE), "mpirun -np 2 --bind-to package rank"),
        (OPENMPI, Placement(ranks=2, cores=2, bind="none"), "mpirun -np 2 --bind-to none rank"),
        (
            OPENMPI,
            Placement(ranks=2, cores=2, transport="shm", version=(4, 1, 4)),
            "mpirun -np 2 --bind-to core --mca pml ob1 --mca btl vader,self rank",
        ),
        (
            OPENMPI,
            Placement(ranks=2, cores=2, transport="shm", **FIVE),
            "mpirun -np 2 --bind-to core --mca pml ob1 --mca btl sm,self rank",
        ),
        (
            OPENMPI,
            Placement(ranks=2, cores=2, transport="tcp"),
            "mpirun -np 2 --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo rank",
        ),
        (
            OPENMPI,
            Placement(ranks=2, cores=2, transport="tcp", version=(4, 1, 4), settings=(("OMPI_MCA_btl", "self,tcp"),)),
            "mpirun -np 2 --bind-to core --mca pml ob1 --mca btl_tcp_if_include lo --mca osc pt2pt rank",
        ),
        (
            OPENMPI,
            Placement(ranks=2, cores=2, hosts=("vc0", "vc1"), remote_shell="/rsh", version=(4, 1, 4)),
            "mpirun -np 2 --host vc0:1,vc1:1 --bind-to none --mca mpi_yield_when_idle 1 --mca osc pt2pt -x MPI4PY_MPIABI rank",
        ),
        (
            OPENMPI,
            Placement(ranks=2, cores=2, hosts=("vc0", "vc1"), remote_shell="/rsh", **FIVE),
            "mpirun -np 2 --host vc0:1,vc1:1 --bind-to none --mca mpi_yield_when_idle 1 -x MPI4PY_MPIABI rank",
        ),
        (OPENMPI, Placement(ranks=2, cores=2, transport="rc"), "mpirun -np 2 --bind-to core --mca pml ucx rank"),
        (
            OPENMPI,
            Placement(ranks=4, cores=2),
            "mpirun -np 4 --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 rank",
        ),
        (
            OPENMPI,
            Placement(ranks=4, cores=2, bind="core"),
            "mpirun -np 4 --oversubscribe --bind-to core:overload-allowed --mca mpi_yield_when_idle 1 rank",
        ),
        (
            OPENMPI,
            Placement(ranks=4, ppn=2, **TWO, transport="tcp", device="ib0"),
            "mpirun -np 4 --host a:2,b:2 --map-by ppr:2:node --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include ib0 -x MPI4PY_MPIABI rank",
        ),
        (
            OPENMPI,
            Placement(ranks=5, hosts=("a:4", "b:2"), settings=(("OMPI_MCA_x", "1"), ("UCX_TLS", "tcp"))),
            "mpirun -np 5 --host a:3,b:2 --bind-to core -x MPI4PY_MPIABI -x UCX_TLS rank",
        ),
        (
            OPENMPI,
            Placement(ranks=4, nodes=2, ppn=2, cores=2),
            "mpirun -np 4 --map-by ppr:2:node --bind-to core -x MPI4PY_MPIABI rank",
        ),
        (MPICH, Placement(ranks=2, cores=2), "/opt/none/bin/mpiexec -n 2 -bind-to core rank"),
        (MPICH, Placement(ranks=2, cores=2, bind="none"), "/opt/none/bin/mpiexec -n 2 rank"),
        (MPICH, Placement(ranks=4, cores=2), "/opt/none/bin/mpiexec -n 4 rank"),
        (
            MPICH,
            Placement(ranks=4, ppn=2, **TWO),
            "/opt/none/bin/mpiexec -n 4 -hosts a:2,b:2 -bind-to core -genv MPI4PY_MPIABI mpich rank",
        ),
        (
            MPICH,
            Placement(ranks=4, ppn=2, nodes=2, cores=2, bind="socket"),
            "/opt/none/bin/mpiexec -n 4 -ppn 2 -bind-to socket -genv MPI4PY_MPIABI mpich rank",
        ),
        (INTEL, Placement(ranks=2, cores=2), "/opt/none/bin/mpiexec -n 2 rank"),
        (
            INTEL,
            Placement(ranks=3, **TWO),
            "/opt/none/bin/mpiexec -n 3 -ppn 2 -hosts a,b -genv I_MPI_JOB_RESPECT_PROCESS_PLACEMENT off -genv I_MPI_PIN 1 -genv I_MPI_PIN_DOMAIN core -genv MPI4PY_MPIABI mpich rank",
        ),
        (
            SRUN,
            Placement(ranks=2, cores=2, **PMIX),
            "srun --ntasks 2 --mpi=pmix --cpu-bind=cores --kill-on-bad-exit=1 --export=ALL rank",
        ),
        (
            SRUN,
            Placement(ranks=2, cores=2, nodes=1, bind="socket", library="openmpi", pmi=("pmi2", "pmix_v3", "pmix_v4")),
            "srun --ntasks 2 --mpi=pmix_v4 --cpu-bind=sockets --overlap --kill-on-bad-exit=1 --export=ALL rank",
        ),
        (
            SRUN,
            Placement(ranks=4, **TWO, nodes=2, **PMI2),
            "srun --ntasks 4 --nodes 2 --nodelist a,b --distribution block --ntasks-per-node 2 --mpi=pmi2 --cpu-bind=cores --overlap --kill-on-bad-exit=1 --export=ALL rank",
        ),
        (
            SRUN,
            Placement(ranks=8, ppn=4, nodes=2, cores=2, **PMI2),
            "srun --ntasks 8 --ntasks-per-node 4 --mpi=pmi2 --cpu-bind=none --overcommit --overlap --kill-on-bad-exit=1 --export=ALL rank",
        ),
    ],
)
def test_command_lines(launcher: Launcher, placement: Placement, command: str) -> None:
    assert " ".join(launcher.command(placement, ["rank"])) == command


TCP = {
    "MPIR_CVAR_NOLOCAL": "1",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": "lo",
    "UCX_TLS": "tcp,self",
    "UCX_NET_DEVICES": "lo",
}
INHERITED = {
    "OMPI_MCA_btl": "self",
    "OMPI_MCA_coll": "^han",
    "MPIR_CVAR_CH4_NETMOD": "ucx",
    "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring",
    "FI_PROVIDER": "psm3",
    "FI_PROVIDER_PATH": "/opt",
    "PATH": "/bin",
    "UCX_LOG_FILE": "a\nb",
}


@pytest.mark.parametrize(
    ("launcher", "transport", "left_out"),
    [
        (OPENMPI, "auto", set()),
        (OPENMPI, "tcp", {"OMPI_MCA_btl"}),
        (MPICH, "tcp", {"MPIR_CVAR_CH4_NETMOD", "FI_PROVIDER"}),
    ],
)
def test_ranks_inherit_settings_that_the_launcher_does_not_choose(
    launcher: Launcher, transport: str, left_out: set[str]
) -> None:
    placement = Placement(ranks=2, cores=2, transport=transport, library=launcher.kind)
    found = launch.inherited(launcher, placement, INHERITED)
    assert found.keys() == INHERITED.keys() - {"FI_PROVIDER_PATH", "PATH", "UCX_LOG_FILE"} - left_out
    assert launch.inherited(launcher, placement, INHERITED | {"PMI_RANK": "0"}) == {}, "labkit is itself a rank"


RDMA = {"UCX_TLS": "rc,self", "UCX_NET_DEVICES": "mlx5_0:1"}
ADAPTERS = tuple(testbeds.outline("soft-roce").rdma.items())
PINNED = {"MPI4PY_MPIABI": "mpich", "I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "core"}
YIELD = {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}


@pytest.mark.parametrize(
    ("launcher", "placement", "variables"),
    [
        (OPENMPI, Placement(ranks=2, cores=2), {"MPI4PY_MPIABI": "openmpi"}),
        (
            OPENMPI,
            Placement(ranks=2, cores=2, settings=(("OMPI_MCA_btl_tcp_eager_limit", "1024"),)),
            {"MPI4PY_MPIABI": "openmpi", "OMPI_MCA_btl_tcp_eager_limit": "1024"},
        ),
        (MPICH, Placement(ranks=2, cores=2, transport="shm"), {"MPI4PY_MPIABI": "mpich", "MPIR_CVAR_NOLOCAL": "0"}),
        (MPICH, Placement(ranks=2, cores=2, transport="tcp"), {"MPI4PY_MPIABI": "mpich", **TCP}),
        (OPENMPI, Placement(ranks=2, cores=2, transport="rc", device="mlx5_0"), {"MPI4PY_MPIABI": "openmpi", **RDMA}),
        (
            MPICH,
            Placement(ranks=2, cores=2, transport="rc", device="mlx5_0:1"),
            {"MPI4PY_MPIABI": "mpich", "MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ucx", **RDMA},
        ),
        (
            OPENMPI,
            Placement(ranks=2, cores=2, transport="ud", rdma=ADAPTERS, settings=(("UCX_IB_GID_INDEX", "3"),)),
            {
                "MPI4PY_MPIABI": "openmpi",
                "UCX_TLS": "ud,self",
                **dict(ADAPTERS),
                "UCX_IB_GID_INDEX": "3",  # what the user sets wins
            },
        ),
        (MPICH, Placement(ranks=4, cores=2), {"MPI4PY_MPIABI": "mpich", **YIELD}),
        (
            MPICH,
            Placement(ranks=4, cores=2, settings=(("MPIR_CVAR_POLLS_BEFORE_YIELD", "0"),)),
            {"MPI4PY_MPIABI": "mpich", **YIELD, "MPIR_CVAR_POLLS_BEFORE_YIELD": "0"},
        ),
        (INTEL, Placement(ranks=2, cores=2, transport="shm"), {**PINNED, "I_MPI_FABRICS": "shm"}),
        (
            INTEL,
            Placement(ranks=2, cores=2, transport="tcp", bind="none"),
            {
                "MPI4PY_MPIABI": "mpich",
                "I_MPI_PIN": "0",
                "I_MPI_FABRICS": "ofi",
                "FI_PROVIDER": "tcp",
                "FI_TCP_IFACE": "lo",
            },
        ),
        (
            INTEL,
            Placement(ranks=4, cores=2),
            {"MPI4PY_MPIABI": "mpich", "I_MPI_PIN": "0", "I_MPI_WAIT_MODE": "1", "I_MPI_THREAD_YIELD": "2"},
        ),
        (
            SRUN,
            Placement(ranks=4, cores=2, transport="tcp", root=True, **PMIX),
            {
                "MPI4PY_MPIABI": "openmpi",
                "OMPI_MCA_mpi_yield_when_idle": "1",
                "OMPI_MCA_pml": "ob1",
                "OMPI_MCA_btl": "tcp,self",
                "OMPI_MCA_btl_tcp_if_include": "lo",
            },
        ),
        (SRUN, Placement(ranks=2, cores=2, transport="tcp", **PMI2), {"MPI4PY_MPIABI": "mpich", **TCP}),
    ],
)
def test_variables(launcher: Launcher, placement: Placement, variables: dict[str, str]) -> None:
    assert launcher.environment(placement) == variables


def test_root_is_allowed_to_start_ranks_with_mpirun() -> None:
    assert OPENMPI.environment(Placement(ranks=2, root=True))["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"


def test_intel_mpi_is_loaded_with_its_libfabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.delenv("FI_PROVIDER_PATH", raising=False)
    for place in ("bin", "lib", "opt/mpi/libfabric/lib/prov"):
        (tmp_path / place).mkdir(parents=True)
    for file in ("bin/mpiexec", "lib/libmpi.so.12", "opt/mpi/libfabric/lib/libfabric.so.1"):
        (tmp_path / file).touch()
    variables = intelmpi.environment(Placement(ranks=2), str(tmp_path / "bin" / "mpiexec"))
    fabric = tmp_path / "opt" / "mpi" / "libfabric" / "lib"
    assert variables["LD_LIBRARY_PATH"] == f"{tmp_path / 'lib'}:{fabric}"
    assert variables["FI_PROVIDER_PATH"] == str(fabric / "prov")


def test_launchers_know_each_other_apart() -> None:
    says = {
        "openmpi": "mpirun (Open MPI) 4.1.4",
        "mpich": "HYDRA build details:\n    Version: 4.0.2",
        "intelmpi": "Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 20231005 (id: 74c4a23)\nCopyright 2003-2023, Intel Corporation.",
        "srun": "slurm 22.05.8",
    }
    for module in (openmpi, mpich, intelmpi, srun):
        program = module.PROGRAM
        assert [name for name, text in says.items() if re.search(program.pattern, text, re.DOTALL)] == [program.name]


def test_libraries_tell_what_they_are() -> None:
    assert launch.library("Intel(R) MPI Library 2021.11 for Linux* OS") == "Intel MPI 2021.11.0"
    assert launch.library("Open MPI v5.0.11, package: Open MPI user@localhost") == "Open MPI 5.0.11"
    assert launch.library("MVAPICH2 Version      :\t2.3.7") == ""


def test_srun_refuses_a_library_it_cannot_start() -> None:
    with pytest.raises(LaunchError, match=r"srun --mpi=list offers none, pmi2, but openmpi needs pmix"):
        SRUN.command(Placement(ranks=2, library="openmpi", version=(5, 0, 0), pmi=("none", "pmi2")), [])


def test_srun_gives_a_rank_a_core_for_each_thread() -> None:
    command = SRUN.command(Placement(ranks=2, threads=3, cores=8, **PMIX), [])
    assert command[command.index("--cpus-per-task") + 1] == "3"
    assert "--cpu-bind=none" in command
    assert "--cpus-per-task" not in SRUN.command(Placement(ranks=2, cores=8, **PMIX), [])


def test_srun_gives_a_plan_that_comes_by_standard_input_to_rank_0_alone() -> None:
    assert "--input=0" not in SRUN.command(Placement(ranks=2, **PMIX), [])
    assert "--input=0" in SRUN.command(Placement(ranks=2, by_input=True, **PMIX), [])


@pytest.mark.parametrize("launcher", [INTEL, SRUN])
def test_uneven_hosts_need_a_launcher_that_can(launcher: Launcher) -> None:
    with pytest.raises(
        SpecError, match=r"hosts give 1 on a, 3 on b, but \w+ starts the same number on each host. Set ppn"
    ):
        launcher.command(Placement(ranks=4, hosts=("a:1", "b:3"), **PMIX), [])


def program(folder: Path, name: str, says: str) -> Path:
    """An executable that answers with a text, whatever it is asked."""
    path = folder / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    path.chmod(0o755)
    return path


def test_a_launcher_is_found_by_its_place(tmp_path: Path) -> None:
    mpirun = program(tmp_path / "ompi", "mpirun", "mpirun (Open MPI) 5.0.7")
    hydra = program(tmp_path / "intel", "mpiexec.hydra", "Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 1")
    for name in (f"openmpi@{tmp_path}/ompi", f"openmpi@{mpirun}", f"{tmp_path}/ompi/bin", str(mpirun)):
        launcher = launch.get(name)
        assert (launcher.name, launcher.library, launcher.kind) == (f"openmpi@{mpirun}", "Open MPI 5.0.7", "openmpi")
    assert launch.get(str(tmp_path / "intel")).name == f"intelmpi@{hydra}"
    with pytest.raises(LaunchError, match=f"no launcher of the kind mpich at {tmp_path}/ompi. Name the mpirun"):
        launch.get(f"mpich@{tmp_path}/ompi")
    silent = program(tmp_path / "else", "mpirun", "")
    with pytest.raises(LaunchError, match=r"its --version prints '(\\n|nothing, and ended with status 0)'"):
        launch.get(str(silent))
    silent.chmod(0o644)
    _files._printed.cache_clear()
    with pytest.raises(LaunchError, match=r"its --version prints 'nothing: Permission denied'"):
        launch.get(str(silent))


def test_a_folder_with_two_names_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpirun = program(tmp_path / "usr", "mpirun", "mpirun (Open MPI) 5.0.7")
    mpirun.write_text(mpirun.read_text().replace("\n", f"\necho asked >>{tmp_path}/asked\n", 1))
    (tmp_path / "bin").symlink_to(tmp_path / "usr" / "bin")
    monkeypatch.setattr(launch.sys, "executable", str(tmp_path / "python" / "bin" / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{tmp_path}/usr/bin:/usr/bin:/bin")
    found = launch.installed.__wrapped__()
    assert found["openmpi"].program == f"{tmp_path}/bin/mpirun"
    assert (tmp_path / "asked").read_text() == "asked\n"


def test_the_launcher_that_comes_first_on_the_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "site", "mpiexec", "HYDRA build details:\n    Version:  4.2.1")
    program(tmp_path / "system", "mpirun", "mpirun (Open MPI) 5.0.7")
    monkeypatch.setattr(launch.sys, "executable", str(tmp_path / "python" / "bin" / "python"))
    site, system = f"{tmp_path}/site/bin/", f"{tmp_path}/system/bin"
    for path, order in {f"{site}:{system}": ["mpich", "openmpi"], f"{system}:{site}": ["openmpi", "mpich"]}.items():
        monkeypatch.setenv("PATH", f"{path}:/usr/bin")
        assert list(launch.installed.__wrapped__())[:2] == order


def test_only_the_launcher_that_is_taken_is_asked_for_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = {
        "mpirun.openmpi": "mpirun (Open MPI) 5.0.7",
        "mpiexec.mpich": "HYDRA build details:\n    Version:  4.2.1",
        "mpiexec": "none of these",
    }
    for name, text in says.items():
        path = program(tmp_path, name, text)
        path.write_text(path.read_text().replace("\n", f"\necho {name} >>{tmp_path}/asked\n", 1))
    monkeypatch.setattr(launch.sys, "executable", str(tmp_path / "python" / "bin" / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    fresh = launch.installed.__wrapped__()
    monkeypatch.setattr(launch, "installed", lambda: fresh)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert launch.get("auto").library == "Open MPI 5.0.7"
    assert (tmp_path / "asked").read_text() == "mpirun.openmpi\n"
    assert launch.get("mpich").library == "MPICH 4.2.1"
    assert (tmp_path / "asked").read_text() == "mpirun.openmpi\nmpiexec.mpich\n"
    assert list(fresh)[:2] == ["openmpi", "mpich"]
    assert (len(fresh), "mpi" in fresh) == (len([*fresh]), False)
    assert sorted((tmp_path / "asked").read_text().split()) == sorted(says), "each once"


def test_srun_counts_inside_a_job_or_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says = "slurm 22.05.8\nMPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4"
    program(tmp_path, "srun", says)
    mpirun = program(tmp_path / "ompi", "mpirun", "mpirun (Open MPI) 5.0.7")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setattr(srun, "mpi4py_library", lambda: "MPICH Version:      4.2.1")
    for inside in (False, True):
        monkeypatch.setenv("SLURM_JOB_ID", "7") if inside else monkeypatch.delenv("SLURM_JOB_ID", raising=False)
        launchers = launch.installed.__wrapped__()
        assert ("srun" in launchers) is inside
        assert list(launchers)[-1] != "srun" or inside
    alone, other = launch.get("srun"), launch.get(f"srun@{mpirun}")
    assert (alone.library, alone.kind, alone.pmi) == ("MPICH 4.2.1", "mpich", ("none", "pmi2", "pmix", "pmix_v4"))
    assert (other.name, other.library, other.module) == (
        f"srun@openmpi@{mpirun}",
        "Open MPI 5.0.7",
        launcher_file("srun"),
    )
    assert alone.environment(Placement.of(Spec(benchmark="mpi.latency"), alone)) == {}
    assert "--mpi=pmix" in other.command(Placement.of(Spec(benchmark="mpi.latency"), other), [])


@pytest.mark.parametrize(
    ("environment", "adapter"),
    [
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "0"}, "rxe0:1"),
        ({"MPI_LOCALRANKID": "3"}, "rxe1:1"),
        ({"MPI_LOCALRANKID": "1", "UCX_NET_DEVICES": "mlx5_1:1"}, "mlx5_1:1"),
        ({}, None),
    ],
)
def test_each_rank_of_a_host_takes_the_next_adapter(environment: dict[str, str], adapter: str | None) -> None:
    own = dict(ADAPTERS) | environment
    adapters.choose(own)
    assert own.get("UCX_NET_DEVICES") == adapter
    without = dict(environment)
    adapters.choose(without)
    assert without == environment


@pytest.mark.parametrize(
    ("testbed", "carried", "expected"),
    [
        ("soft-roce", 100 * 65536, []),
        ("soft-roce", 3000, ["path mismatch"]),  # shared memory, or one adapter by itself
        ("local", 0, ["loopback"]),
    ],
)
def test_messages_over_rdma_inside_a_host_are_looked_for_on_the_cable(
    testbed: str, carried: int, expected: list[str]
) -> None:
    spec = benchmarks.resolve(Spec(benchmark="mpi.latency", size=65536, transport="rc", testbed=testbed))
    facts = {"rank_hosts": ["guest", "guest"], "interface_B": {"lo": 0, "v1": carried}, "stopped_by": "count"}
    assert [str(one) for one in paths.badges(spec, facts, 100, None)] == expected


def test_a_transport_nobody_knows_is_refused() -> None:
    with pytest.raises(SpecError, match=r"transport='pigeon', but openmpi supports auto, shm, tcp"):
        OPENMPI.command(Placement(ranks=2, transport="pigeon"), [])


def test_missing_launchers_name_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "installed", dict)
    with pytest.raises(LaunchError, match="openmpi-bin"):
        launch.get("auto")
    with pytest.raises(SpecError, match="There is no launcher 'mpi'"):
        launch.get("mpi")


def test_more_ranks_than_cores_are_oversubscribed_on_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Placement(ranks=3, cores=2).oversubscribed
    assert not Placement(ranks=2, cores=2).oversubscribed
    assert not Placement(ranks=64, hosts=("a", "b"), cores=2).oversubscribed
    monkeypatch.setenv("LABKIT_EMULATED", "slurm:16")  # whose hosts share this machine
    assert Placement(ranks=16, ppn=1, nodes=16, cores=2).oversubscribed
    assert not Placement(ranks=2, ppn=1, nodes=2, cores=2).oversubscribed


def test_one_sided_messages_between_emulated_hosts_of_a_job_have_a_component(monkeypatch: pytest.MonkeyPatch) -> None:
    placement = Placement(ranks=2, ppn=1, nodes=2, cores=2, version=(4, 1, 4))
    assert "osc" not in openmpi.parameters(placement), "a real cluster may have RDMA"
    monkeypatch.setenv("LABKIT_EMULATED", "slurm:2")
    assert openmpi.parameters(placement)["osc"] == "pt2pt"
    assert "osc" not in openmpi.parameters(replace(placement, transport="shm"))


NEW = """
from labkit.host import Program
PROGRAM = Program(name="{name}", commands=("mpiexec",), pattern=r"{name} (.*)", purpose="starting ranks", mpi=True)
LIBRARY, BANNER, ORDER, TRANSPORTS = "{name}", "{name}", {order}, ("auto",)
def arguments(placement, variables): return ["-n", str(placement.ranks)]
def environment(placement, home): return {{}}
"""


@pytest.mark.parametrize(("order", "wanted"), [(15, ["openmpi", "newmpi"]), (5, ["newmpi", "openmpi"])])
def test_a_launcher_of_a_new_file_has_the_place_that_its_order_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, order: int, wanted: list[str]
) -> None:
    program(tmp_path, "mpirun", "mpirun (Open MPI) 5.0.7")
    program(tmp_path, "mpiexec", "newmpi 1.2")
    (tmp_path / "newmpi.py").write_text(NEW.format(name="newmpi", order=order))
    monkeypatch.setattr(launchers, "__path__", [*launchers.__path__, str(tmp_path)])
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(launch.sys, "executable", str(tmp_path / "python" / "bin" / "python"))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    try:
        found = launch.installed.__wrapped__()
        assert list(found)[:2] == wanted
        assert found["newmpi"].library == "newmpi 1.2.0"
        assert found["newmpi"].command(Placement(ranks=2, cores=2), ["rank"])[1:] == ["-n", "2", "rank"]
        assert launch.library("newmpi 1.2") == "newmpi 1.2.0"
    finally:
        launch.sys.modules.pop("labkit.run.launchers.newmpi", None)


def test_a_launcher_file_that_lacks_a_name_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "halfmpi.py").write_text("PROGRAM, LIBRARY, BANNER = None, '', ''\n")
    monkeypatch.setattr(launchers, "__path__", [*launchers.__path__, str(tmp_path)])
    try:
        with pytest.raises(
            LaunchError, match=r"halfmpi\.py does not define ORDER, TRANSPORTS, arguments, environment\."
        ):
            launch.installed.__wrapped__()
    finally:
        launch.sys.modules.pop("labkit.run.launchers.halfmpi", None)


@pytest.mark.parametrize(
    ("placement", "crowded"),
    [
        (Placement(ranks=4, hosts=("localhost",), cores=2), True),
        (Placement(ranks=4, hosts=("localhost:4",), cores=2), True),
        (Placement(ranks=4, hosts=("a:2", "b:2"), cores=1), False),
        (Placement(ranks=6, ppn=3, hosts=("a:2", "b:4"), cores=1), True),
        (Placement(ranks=8, nodes=4, cores=2), False),
        (Placement(ranks=9, nodes=4, cores=2), True),
    ],
)
def test_slots_and_cores_say_what_is_oversubscribed(placement: Placement, crowded: bool) -> None:
    assert placement.oversubscribed is crowded
    assert placement.binding == ("none" if crowded else "core")


def test_ranks_of_one_core_count_once(tmp_path: Path) -> None:
    for thread, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        folder = tmp_path / f"cpu{thread}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(siblings)
    assert [cores(cpus, tmp_path) for cpus in ([0, 1, 2, 3], [0, 2], [7])] == [2, 1, 1]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", ()),
        ("a,b", ("a", "b")),
        ("a:4,b:2", ("a:4", "b:2")),
        ("# cluster\na slots=4\nb slots=2 max_slots=8\n\n", ("a:4", "b:2")),
        ("a:4\nb:2  # old\n", ("a:4", "b:2")),
        ("a\na\nb\nb\n", ("a:2", "b:2")),
        ("a\nb\n", ("a", "b")),
        ("[fe80::1]:2\nb.example.org\n", ("[fe80::1]:2", "b.example.org")),
        ("node[1-3]", ("node1", "node2", "node3")),
        ("r[1-2]n[08-09,11]:4,login", (*(f"r{r}n{n}:4" for r in "12" for n in ("08", "09", "11")), "login")),
        ("[fe80::1]:2, [::1]", ("[fe80::1]:2", "[::1]")),
    ],
)
def test_hosts_in_every_form(text: str, hosts: tuple[str, ...], tmp_path: Path) -> None:
    if "\n" in text:
        (tmp_path / "hosts").write_text(text)
        text = str(tmp_path / "hosts")
    assert launch.listed(text) == hosts


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a,b,a", "hosts=a,b,a, but a is given twice. Give it once"),
        ("n[1-2],n2", "hosts=n1,n2,n2, but n2 is given twice"),
        ("n[3-1]", "hosts=n[3-1], but a range must run upwards"),
        ("n[1-999999999]", "hosts=n[1-999999999] has 999,999,999 hosts, but 100,000 are the most"),
        ("n[1-,2]", "'n[1-,2]' is not of the form host or host:slots"),
        ("n[1-2", "'n[1-2' is not of the form host or host:slots"),
        ("a:0", "'a:0' is not of the form host or host:slots"),
        ("/nosuch/hosts", "hosts=/nosuch/hosts cannot be read: No such file or directory"),
        ("/usr", "hosts=/usr cannot be read: it is not a file"),
        ("a slots=2\na slots=3\n", "a is given twice"),
        ("a\nb 4\n", "line 2: found 'b 4', but it must be 'host', 'host slots=4' or 'host:4'"),
        ("# none\n\n", "names no host"),
        ("\x80\n", "cannot be read: it is not text"),
    ],
)
def test_wrong_hosts_are_one_clear_error(text: str, error: str, tmp_path: Path) -> None:
    if "\n" in text:
        (tmp_path / "hosts").write_bytes(text.encode("latin-1"))
        text = str(tmp_path / "hosts")
    with pytest.raises(SpecError, match=re.escape(error)):
        launch.listed(text)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"ranks": 8, "hosts": ("a:4", "b:2")}, "ranks=8, but the slots of hosts=a:4,b:2 hold 6. Set ranks=6"),
        (
            {"ranks": 8, "hosts": ("a", "b"), "ppn": 3},
            "ranks=8, but ppn=3 on 2 hosts hold 6. Set ranks=6, give more slots, or set ppn=4",
        ),
        ({"ranks": 2, "hosts": ("a", "b"), "transport": "shm"}, "transport='shm', but the ranks are on 2 hosts"),
        ({"ranks": 2, "hosts": ("a", "a:2")}, "a is given twice"),
    ],
)
def test_hosts_that_cannot_hold_the_ranks_are_refused(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(SpecError, match=re.escape(error)):
        OPENMPI.command(Placement(**fields), [])


def test_hosts_of_a_job_are_counted(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("a\na\nb\n")
    assert allocated({"SLURM_JOB_NUM_NODES": "4"}) == 4
    assert allocated({"PBS_NODEFILE": str(tmp_path / "nodes")}) == 2
    assert allocated({}) == 0


@pytest.mark.parametrize(
    ("hosts", "ranks", "ppn", "shares"),
    [
        (("a:4", "b:4"), 2, 0, "a1 b1"),
        (("a:4", "b:4"), 3, 0, "a2 b1"),
        (("a:4", "b:4"), 8, 0, "a4 b4"),
        (("a:1", "b:4"), 4, 0, "a1 b3"),
        (("a:4", "b:4"), 2, 2, "a2"),
        (("a", "b", "c"), 4, 0, "a2 b2"),
        (("a:2", "b"), 2, 0, "a1 b1"),
    ],
)
def test_ranks_are_spread_over_the_hosts(hosts: tuple[str, ...], ranks: int, ppn: int, shares: str) -> None:
    placement = Placement(ranks=ranks, hosts=hosts, ppn=ppn)
    assert " ".join(f"{host}{n}" for host, n in placement.shares) == shares


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(1, 30))
def test_every_host_gets_its_part(slots: list[int], ranks: int) -> None:
    placement = Placement(ranks=min(ranks, sum(slots)), hosts=tuple(f"h{i}:{n}" for i, n in enumerate(slots)))
    shares = dict(placement.shares)
    assert sum(shares.values()) == placement.ranks
    assert all(shares.get(f"h{i}", 0) <= n for i, n in enumerate(slots))
    if placement.ranks > 1 and len(slots) > 1:
        assert len(shares) > 1


def test_a_placement_that_is_spread_has_a_fingerprint_of_its_own_and_an_explicit_one_keeps_it() -> None:
    assert launch.spread(("a:4", "b:4"), 2, 0) == "a:1,b:1"
    for hosts, ranks, ppn in (
        (("a:4", "b:4"), 2, 2),
        (("a", "b"), 2, 0),
        (("a:4", "b:4"), 8, 0),
        (("a:1", "b:1"), 2, 0),
    ):
        assert launch.spread(hosts, ranks, ppn) == ""
    named = {"benchmark": "mpi.latency", "launcher": "openmpi", "hosts": ("a:4", "b:4")}
    assert fingerprints.facts(Spec(**named), "x")["spread"] == "a:1,b:1"
    assert "spread" not in fingerprints.facts(Spec(**named, ppn=2), "x")
    assert "spread" not in fingerprints.facts(Spec(benchmark="mpi.latency"), "x")


def test_ssh_is_not_waited_for_longer_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = Placement(ranks=2, **TWO, patience=5)
    options = "-o ConnectTimeout=5"
    assert OPENMPI.environment(apart)["OMPI_MCA_plm_rsh_args"] == options
    assert OPENMPI.environment(replace(apart, **FIVE))["PRTE_MCA_plm_ssh_args"] == options
    assert MPICH.environment(apart)["HYDRA_LAUNCHER_EXTRA_ARGS"] == options
    assert not any("args" in name for name in OPENMPI.environment(Placement(ranks=2, patience=5)))
    placement = replace(apart, settings=(("OMPI_MCA_plm_rsh_args", "-p 2222"),))
    assert OPENMPI.environment(placement)["OMPI_MCA_plm_rsh_args"] == "-p 2222"
    for name, value in (("HYDRA_LAUNCHER", "rsh"), ("SLURM_JOB_ID", "7")):  # in a job Hydra gives them to srun
        with monkeypatch.context() as patched:
            patched.setenv(name, value)
            assert "HYDRA_LAUNCHER_EXTRA_ARGS" not in MPICH.environment(apart)


def test_a_launcher_without_descriptors_is_not_called_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mpirun"
    path.write_text("#!/bin/sh\necho 'mpirun: cannot open libopen-rte.so.40: Too many open files' >&2\nexit 1\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(launch, "installed", dict)
    for name in ("auto", "openmpi"):
        with pytest.raises(
            LaunchError, match=rf"{path} is installed, but does not run: .*Too many open files\n.*ulimit"
        ):
            launch.get(name)


def test_no_descriptor_left_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left() -> tuple[int, int]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pipe", none_left)
    with pytest.raises(LaunchError, match=r"cannot start a program: Too many open files\. .*ulimit -n"):
        supervise.start(["true"])


@pytest.mark.parametrize("name", ["/dev/full", "/dev/zero", "/"])
def test_hosts_that_are_no_file_are_refused_at_once(name: str) -> None:
    with pytest.raises(SpecError, match=f"hosts={name} cannot be read: .*List hosts with commas"):
        launch.listed(name)


def test_very_many_hosts_are_read_and_shared_out(tmp_path: Path) -> None:
    names = [f"node{k:04d}" for k in range(1, 5001)]
    file = tmp_path / "hosts"
    file.write_text("".join(f"{name} slots=64\n" for name in names))
    hosts = launch.listed(str(file))
    assert hosts == tuple(f"{name}:64" for name in names)
    assert launch.listed(",".join(hosts)) == hosts, "a list that is too long for the name of a file"
    assert host_list.expanded("node[0001-5000]") == names
    uneven = host_list.shares(["big:200000", *(f"{name}:1" for name in names)], 200_000, 0)
    assert uneven[0] == ("big", 195_000)
    assert len(uneven) == 5001
    with pytest.raises(SpecError) as caught:
        launch.listed(",".join([*names, names[0]]))
    assert len(str(caught.value)) < 300


def test_shares_are_worked_out_a_few_times_for_any_number_of_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    shares = host_list.shares
    monkeypatch.setattr(host_list, "shares", lambda *given: calls.append(given) or shares(*given))
    placement = Placement(ranks=400, hosts=tuple(f"node{k}" for k in range(200)))
    for name in ("openmpi", "mpich", "intelmpi"):
        calls.clear()
        launcher_file(name).arguments(placement, {})
        assert len(calls) < 20, name


_TCP = {"lo": 900_000}
_NOTHING = {"lo": 2000, "eth0": 500}
_BYTES = {"rank_hosts": ["a", "a"], "stopped_by": "count"}


def _path(benchmark: str, transport: str, counted: dict[str, int], **how: Any) -> list[str]:
    size = 1024 if benchmarks.get(benchmark).sized else 0
    environment = how.pop("environment", {})
    options = how.pop("options", {})
    spec = Spec(benchmark=benchmark, size=size, ranks=2, transport=transport, environment=environment, options=options)
    facts = _BYTES | {"interface_B": counted} | how.pop("facts", {})
    return [str(one) for one in paths.badges(benchmarks.resolve(spec), facts, 400, None, **how)]


def test_a_path_is_named_only_where_bytes_prove_it() -> None:
    assert _path("mpi.latency", "auto", _TCP) == ["loopback"]
    assert _path("mpi.latency", "auto", _NOTHING) == ["shared memory"]
    assert _path("mpi.latency", "auto", {}) == ["path unknown"]  # no interface was counted
    assert _path("mpi.latency", "auto", _NOTHING, adapters=True) == ["path unknown"]  # it may have crossed an adapter
    assert _path("mpi.latency", "auto", _TCP, adapters=True) == ["loopback"]


@pytest.mark.parametrize("size_of_others", [0, 900_000, 90_000_000])
def test_traffic_of_other_programs_on_the_loopback_interface_changes_no_path(size_of_others: int) -> None:
    """Sockets of a rank count its own bytes; 400 iterations of 1 KiB are 409,600 B each way."""
    quiet, busy = {"socket_B": 0}, {"socket_B": 840_000}
    others, own = {"lo": size_of_others}, {"lo": 900_000 + size_of_others}
    assert _path("mpi.latency", "auto", others, facts=quiet) == ["shared memory"]
    assert _path("mpi.latency", "shm", others, facts=quiet) == ["shared memory"]
    assert _path("mpi.latency", "auto", own, facts=busy) == ["loopback"]
    assert _path("mpi.latency", "shm", own, facts=busy) == ["loopback", "path mismatch"]


def test_a_path_that_only_interfaces_show_may_be_one_of_other_sockets() -> None:
    """Such as UDP; or the bytes are those of other programs."""
    assert _path("mpi.latency", "tcp", _TCP, facts={"socket_B": 0}) == ["loopback"]
    assert _path("mpi.latency", "auto", _TCP, facts={"socket_B": 0}, variables=["FI_PROVIDER"]) == ["path unknown"]
    assert _path("mpi.latency", "tcp", _NOTHING, facts={"socket_B": 0}) == ["shared memory", "path mismatch"]


def test_sockets_count_the_payload_of_their_own_process() -> None:
    before, held = links.own_sockets(), len([*Path("/proc/self/fd").iterdir()])
    assert before is not None
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as one,
        server.accept()[0] as other,
    ):
        one.sendall(bytes(100_000))
        left = 100_000
        while left:
            left -= len(other.recv(left))
        carried = links.own_sockets()
    assert len([*Path("/proc/self/fd").iterdir()]) == held
    assert carried is not None
    assert 100_000 <= carried - before <= 200_002, "all received by one end, acknowledged at the other in part"


@pytest.mark.parametrize("benchmark", ["mpi.init", "mpi.finalize", "mpi.hello", "mpi.file_write", "mpi.window_create"])
def test_what_sends_no_known_messages_proves_no_path(benchmark: str) -> None:
    for counted in ({}, _NOTHING, _TCP):
        assert _path(benchmark, "auto", counted) == ["path unknown"], counted
    assert _path(benchmark, "shm", {}) == ["shared memory"]
    assert _path(benchmark, "tcp", {}) == ["loopback"]


def test_a_program_proves_its_path_by_the_messages_that_it_counted() -> None:
    """Its memory is not a message: 612 kB of it that crossed no interface show nothing."""
    problem = {"npb_class": "S"}
    counted = {"communication": {"pairs": [[0, 1, 10, 5000], [1, 0, 10, 5000]]}}
    assert _path("compute.nas_is", "auto", _NOTHING, options=problem) == ["path unknown"]
    assert _path("compute.nas_is", "auto", _NOTHING, options=problem, facts=counted) == ["shared memory"]
    assert _path("compute.nas_is", "auto", {"lo": 4_100_000}, options=problem, facts=counted) == ["loopback"]


@pytest.mark.parametrize(
    "variables",
    [
        {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1"},
        {"UCX_TLS": "tcp"},
        {"MPIR_CVAR_NOLOCAL": "1"},
        {"FI_PROVIDER": "tcp"},
        {"I_MPI_FABRICS": "ofi"},
    ],
)
def test_variables_that_choose_a_path_need_proof(variables: dict[str, str]) -> None:
    """With transport=shm they may have won; what the bytes prove counts."""
    for how in ({"environment": variables}, {"variables": list(variables)}):
        assert _path("mpi.init", "shm", {}, **how) == ["path unknown"]
        assert _path("mpi.latency", "shm", _NOTHING, **how) == ["shared memory"]
        assert _path("mpi.latency", "shm", _TCP, **how) == ["loopback", "path mismatch"]
        assert _path("mpi.init", "tcp", {}, **how) == ["path unknown"]
    assert _path("mpi.init", "shm", {}, variables=["OMPI_MCA_rmaps_base_oversubscribe", "HOME"]) == ["shared memory"]


def test_whose_programs_a_library_loads_stands_in_the_file_of_its_launcher() -> None:
    assert {name: launch.abi(name) for name in ("openmpi", "mpich", "intelmpi", "other")} == {
        "openmpi": "openmpi",
        "mpich": "mpich",
        "intelmpi": "mpich",
        "other": "other",
    }
