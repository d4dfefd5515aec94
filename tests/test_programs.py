"""What the files of tools and launchers say of their programs holds in doctor, `make setup` and environment.yml."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from labkit import host, tools
from labkit.figures import static
from labkit.io import project
from labkit.kernels import programs
from labkit.run import launch
from labkit.testbeds import soft_roce, virtual_cluster

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = launch.programs() | tools.programs() | host.PROGRAMS
SETUP = "\n".join(path.read_text() for path in sorted((ROOT / "templates" / "setup").glob("*.sh")))
COMMANDED = {name for name, program in PROGRAMS.items() if program.install.startswith("make")}  # made on import
ENVIRONMENT = (ROOT / "environment.yml").read_text()
CONDA = {re.split(r"[ <>=]", one)[0] for one in yaml.safe_load(ENVIRONMENT)["dependencies"] if isinstance(one, str)}
NOT_THERE = ENVIRONMENT.partition("# Not in this environment")[2]


def holds(text: str, word: str) -> bool:
    """Whether a text has a word, apart from longer ones such as `iperf3` and `python3-pip`."""
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", text) is not None


@pytest.mark.parametrize("name", PROGRAMS)
def test_make_setup_installs_what_brings_a_program(name: str) -> None:
    program = PROGRAMS[name]
    assert program.package or program.install
    for package in program.package.split():
        assert holds(SETUP, package), f"no script of templates/setup installs {package}, which brings {name}"


def test_make_setup_all_installs_what_the_testbeds_need() -> None:
    needed = {*soft_roce.PURPOSES, *virtual_cluster.NEEDS.values()}
    assert [package for package in sorted(needed) if not holds(SETUP, package)] == []


@pytest.mark.parametrize("name", tools.programs())
def test_make_setup_looks_for_the_command_of_a_tool(name: str) -> None:
    tool = tools.programs()[name]
    assert tool.programs or tool.read_version
    assert tool.install or not tool.programs or any(holds(SETUP, command) for command in tool.programs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_environment_yml_brings_a_program_or_says_what_does(name: str) -> None:
    program = PROGRAMS[name]
    if program.conda:
        assert program.conda in CONDA
    elif name in tools.programs():
        assert holds(NOT_THERE, program.package)


def test_doctor_finds_the_browser_that_draws_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = host.PROGRAMS["chromium"]
    for name in ("mine", "chromium-headless-shell"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'Chromium 1.2.3'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "mine"))
    assert host.find(program) == {"path": str(tmp_path / "mine"), "version": "1.2.3"}
    assert static.browser_identity().startswith(f"{tmp_path / 'mine'} ")
    monkeypatch.setenv("BROWSER_PATH", "/nowhere")
    assert host.find(program) is None
    monkeypatch.delenv("BROWSER_PATH")
    from choreographer.browsers.chromium import Chromium

    monkeypatch.setattr(Chromium, "find_browser", lambda **_: str(tmp_path / "mine"))  # as choreo_get_chrome leaves it
    assert host.find(program) == {"path": str(tmp_path / "mine"), "version": "1.2.3"}
    monkeypatch.setattr(Chromium, "find_browser", lambda **_: None)
    assert host.find(program) == {"path": str(tmp_path / "chromium-headless-shell"), "version": "1.2.3"}


def test_the_browser_has_a_command_that_needs_no_root(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = host.PROGRAMS["chromium"]
    assert host.ways([browser]) == (
        "'make setup', or 'sudo apt-get install chromium-headless-shell', or without root 'choreo_get_chrome'"
    )
    assert browser.remedy.endswith(": sudo apt-get install chromium-headless-shell, or without root: choreo_get_chrome")
    monkeypatch.setattr(project, "make", lambda target: "")
    assert host.ways([browser]).startswith("'sudo apt-get install chromium-headless-shell', or without root ")
    assert browser.remedy == "sudo apt-get install chromium-headless-shell   # or without root: choreo_get_chrome"


@pytest.mark.parametrize("name", PROGRAMS)
def test_doctor_tells_of_every_program_and_how_to_install_it(name: str) -> None:
    machine = host.describe() | {"rdma_devices": ["mlx5_0"]}
    installed = {"programs": {}, "kernels": [], "fonts": False, "pyverbs": "", "pyverbs_explained": "none"}
    there = installed | {"programs": {name: {"path": "/opt/it", "version": "7.8.9"}}}
    checks = {check.name: check for check in host.checks(machine, there, PROGRAMS)}
    program = PROGRAMS[name]
    if program.mpi:
        assert checks["MPI"].state == "ok"
        assert f"{name} 7.8.9" in checks["MPI"].found
    elif program.commands:
        assert checks[name].found == "7.8.9 (/opt/it)"
    without = {check.name: check for check in host.checks(machine, installed, PROGRAMS)}
    if not program.mpi and program.needs != "slurm":
        assert program.package.split()[:1] == [] or program.package.split()[0] in without[name].remedy


def test_doctor_tells_what_is_not_built_from_what_is_not_installed() -> None:
    machine = host.describe()
    installed = {"programs": {}, "kernels": [], "fonts": False, "pyverbs": "", "pyverbs_explained": "none"}
    unbuilt = host.checks(machine, installed | {"unbuilt": ["rpc_thrift", "kv_client"]}, PROGRAMS)
    checks = {check.name: check for check in unbuilt}
    assert checks["thrift"].found.startswith("not built, although what builds it is installed")
    assert checks["thrift"].remedy.startswith("make setup ")
    assert checks["kv_client"].found == "not built"
    assert checks["grpc"].found.startswith("not installed")
    assert "libgrpc++-dev" in checks["grpc"].remedy


def test_a_program_can_be_built_where_its_compiler_headers_and_libraries_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = {path.stem for path in programs.path("x").parent.iterdir() if path.suffix in (".c", ".cc", ".f90")}
    assert set(programs.RECIPES) == sources
    monkeypatch.setattr(programs, "path", lambda name: tmp_path / name)
    monkeypatch.setitem(programs.RECIPES, "no_header", programs.Recipe(header="no/such.h"))
    monkeypatch.setitem(programs.RECIPES, "no_library", programs.Recipe(library="libnosuch.so"))
    if shutil.which("cc"):
        assert {"kv_client", "delayed_link", "microservices"} <= set(programs.unbuilt())
    assert not {"no_header", "no_library"} & set(programs.unbuilt())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert programs.unbuilt() == []


def test_advice_names_make_in_a_checkout_only(monkeypatch: pytest.MonkeyPatch) -> None:
    hpcc, netperf = PROGRAMS["hpcc"], PROGRAMS["netperf"]
    assert hpcc.remedy == "make setup-all   # or only this: sudo apt-get install hpcc libopenblas0-pthread"
    assert netperf.remedy.startswith("NONFREE=yes make setup-all   # or only this, from the component non-free")
    monkeypatch.setattr(project, "CHECKOUT", None)
    assert hpcc.remedy == "sudo apt-get install hpcc libopenblas0-pthread"
    machine = host.describe() | {"rdma_devices": ["mlx5_0"]}
    installed = {"programs": {}, "kernels": [], "fonts": False, "pyverbs": "", "pyverbs_explained": "none"}
    told = [check.remedy for check in host.checks(machine, installed, PROGRAMS) if check.name not in COMMANDED]
    assert not [remedy for remedy in told if re.search(r"\bmake\b", remedy)]
    assert "make" not in programs.how("rpc_grpc", "libgrpc++-dev")


def test_a_tool_names_the_format_that_reads_it() -> None:
    for name, tool in tools.programs().items():
        assert tool.name == name
        if tool.commands:
            assert isinstance(tool.format, ModuleType)
            assert tool.format.__name__.startswith("labkit.formats.")
