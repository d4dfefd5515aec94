"""The container files, as text: nothing here builds or runs a container."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = {name: (ROOT / "templates" / "container" / name).read_text() for name in ("labkit.def", "Dockerfile")}
WHEEL = "dist/labkit-0.1.0-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"  # as tests/test_dist.py sees it


def packages(text: str) -> set[str]:
    """Debian packages that a file installs."""
    joined = text.replace("\\\n", " ")
    (words,) = re.findall(r"apt-get install -y --no-install-recommends ([^&\n]+)", joined)
    return set(words.split())


def sections(text: str) -> dict[str, str]:
    """Sections of an Apptainer definition."""
    return dict(re.findall(r"^%(\w+)\n(.*?)(?=^%|\Z)", text, re.MULTILINE | re.DOTALL))


def test_both_install_the_same_packages_which_set_up_knows() -> None:
    first, second = map(packages, FILES.values())
    assert first == second
    known = (ROOT / "templates/setup/system.sh").read_text()
    container_only = {"ca-certificates", "python3", "openssh-client"}
    assert not [name for name in first - container_only if not re.search(rf"[| \"]{re.escape(name)}[| \"]", known)]


@pytest.mark.parametrize("name", FILES)
def test_a_container_takes_the_wheel_of_make_dist_and_the_mpi_that_is_bound(name: str) -> None:
    text = FILES[name]
    (pattern,) = re.findall(r"(dist/labkit-\S+\.whl)", text)
    assert fnmatch(WHEEL, pattern)
    assert '"$wheel[report]"' in text
    assert "/opt/labkit/bin:/opt/mpi/bin:" in text
    assert "LD_LIBRARY_PATH=/opt/mpi/lib:/opt/mpi/lib64" in text
    assert not packages(text) & {"openmpi-bin", "mpich", "libopenmpi-dev"}, "MPI comes from the machine"
    assert "://" not in text
    assert f"templates/container/{name}" in (ROOT / "docs/on-a-cluster.md").read_text()


def test_the_shell_of_the_container_files_is_shell() -> None:
    parts = [sections(FILES["labkit.def"])[name] for name in ("post", "environment", "runscript", "test")]
    parts += re.findall(r"^RUN (.*)$", FILES["Dockerfile"].replace("\\\n", " "), re.MULTILINE)
    for part in parts:
        done = subprocess.run(["sh", "-n"], input=part, capture_output=True, text=True)
        assert not done.returncode, done.stderr
    assert {"files", "post", "environment", "runscript", "test"} == set(sections(FILES["labkit.def"]))
    assert re.findall(r"^(Bootstrap|From): (\S+)$", FILES["labkit.def"], re.MULTILINE)[0] == ("Bootstrap", "docker")
