"""What the files of tools and launchers say of their programs holds in doctor, `make setup` and environment.yml."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from labkit import host, launch, tools

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = launch.programs() | tools.programs() | host.PROGRAMS
SETUP = "\n".join(path.read_text() for path in sorted((ROOT / "templates" / "setup").glob("*.sh")))
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


def test_a_tool_names_the_format_that_reads_it() -> None:
    for name, tool in tools.programs().items():
        assert tool.name == name
        if tool.commands:
            assert isinstance(tool.format, ModuleType)
            assert tool.format.__name__.startswith("labkit.formats.")
