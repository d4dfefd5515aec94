"""What `make dist` builds: a wheel installed in an empty environment measures with C kernels, far from any checkout."""

from __future__ import annotations

import itertools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pypdf
import pytest

from . import built

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / ".venv-dist"


def run(*words: object, cwd: Path = ROOT) -> str:
    """What a command prints; it must not fail."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LABKIT_", "PYTHON"))}
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of `make dist`."""
    if not (TOOLS / "bin" / "twine").exists():
        run("templates/setup/python.sh", "packages", TOOLS.name, "templates/setup/dist.lock")
    folder = tmp_path_factory.mktemp("dist")
    run("templates/setup/dist.sh", TOOLS / "bin" / "python", folder)
    return folder


def program(path: Path, lines: str) -> Path:
    """An executable file with these lines of shell."""
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return path


def test_a_kernel_that_must_compile_and_does_not_shows_what_the_compiler_said(tmp_path: Path) -> None:
    compiler = program(tmp_path / "cc", "echo 'latency.c:1:1: error: this compiler is broken' >&2; exit 1")
    where = ("--build-temp", tmp_path / "temp", "--build-lib", tmp_path / "lib")
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", *where],
        cwd=ROOT,
        env=os.environ | {"CC": str(compiler), "LABKIT_KERNELS": "required"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "error: this compiler is broken" in done.stderr
    assert not (tmp_path / "lib").exists()


def test_kernels_of_one_kind_are_linked_before_those_of_the_other_are_compiled(tmp_path: Path) -> None:
    """Their object files have the same names."""
    log = tmp_path / "log"
    made = 'for word; do [ "$last" != -o ] || : >"$word"; last=$word; done'
    compiler = program(tmp_path / "cc", f'echo "$*" >>{log}; {made}')
    where = ("--build-temp", tmp_path / "temp", "--build-lib", tmp_path / "lib")
    env = os.environ | {"CC": str(compiler), "LDSHARED": str(compiler), "LABKIT_KERNELS": "required"}
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", *where], cwd=ROOT, env=env, check=True)
    kinds = re.findall(r"-DHANDLE_(INT|PTR)=1|_kernels_(int|ptr)", log.read_text())
    order = [compiled or f"link {linked}" for compiled, linked in kinds]
    assert [kind for kind, _ in itertools.groupby(order)] == ["INT", "link int", "PTR", "link ptr"]


def test_a_step_of_dist_that_fails_shows_the_error_and_what_to_do(tmp_path: Path) -> None:
    noise = "; ".join(["echo 'kernel.c:7:7: error: no such function'", *["echo line"] * 40, "exit 1"])
    python = program(tmp_path / "python", noise)
    done = subprocess.run(
        ["templates/setup/dist.sh", python, tmp_path / "dist"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "kernel.c:7:7: error: no such function" in done.stderr
    assert done.stderr.rstrip().endswith("Then run it again.")
    assert not (tmp_path / "dist").exists()


@pytest.mark.slow
def test_the_wheels_hold_kernels_for_their_processor(dist: Path) -> None:
    machines = {"x86_64": 62, "aarch64": 183}  # e_machine of ELF
    for processor, number in machines.items():
        (wheel,) = dist.glob(f"labkit-*-cp311-abi3-manylinux2014_{processor}*.whl")
        with zipfile.ZipFile(wheel) as archive:
            kernels = [name for name in archive.namelist() if "_kernels_" in name]
            assert sorted(Path(name).name for name in kernels) == ["_kernels_int.abi3.so", "_kernels_ptr.abi3.so"]
            for name in kernels:
                head = archive.read(name)[:20]
                assert head[:4] == b"\x7fELF"
                assert int.from_bytes(head[18:20], "little") == number


@pytest.mark.slow
def test_the_archives_pass_the_strict_check_of_the_package_index(dist: Path) -> None:
    said = run(TOOLS / "bin" / "twine", "check", "--strict", *sorted(dist.glob("labkit-*")))
    assert said.count("PASSED") == 3


@pytest.mark.slow
@pytest.mark.mpi
def test_an_installed_wheel_measures_outside_the_checkout(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob(f"*manylinux2014_{platform.machine()}*.whl")
    run(sys.executable, "-m", "venv", "venv", cwd=tmp_path)
    began = time.monotonic()
    run(tmp_path / "venv/bin/pip", "install", "-q", wheel, cwd=tmp_path)
    print(f"\n[pip install of the core: {time.monotonic() - began:.1f} s]")
    here = tmp_path / "here"
    here.mkdir()
    labkit = tmp_path / "venv/bin/labkit"
    asked = ["mpi.latency", "-m", "8", "--transport", "shm", "-i", "100", "--launches", "1", "--format", "json"]
    (record,) = json.loads(run(labkit, "measure", *asked, cwd=here))["records"]
    assert record["engine"] == "c"
    assert record["verified"]
    assert record["n"] == 100
    said = run(labkit, "run", "quick", "-p", "launches=1", "-p", "time_cap=0.01", "-p", "sizes=64Ki", cwd=here)
    assert "5 of 5 notebooks done" in said
    assert (here / "data/campaigns/quick/samples/mpi.latency").is_dir()
    run(labkit, "init", "mine", cwd=here)
    assert "10-latency" in run(labkit, "plan", "quick", cwd=here / "mine")


# ---- the wheel alone -----------------------------------------------------------------------------------------------


def pythons() -> dict[str, Path]:
    """The oldest and the newest Python here that labkit supports: on the PATH, and beside the one that runs this."""
    beside = sorted(Path(sys.base_prefix).parent.glob("*/bin/python3"))
    named = [shutil.which(f"python3.{minor}") for minor in range(11, 15)]
    found: dict[tuple[int, int], Path] = {sys.version_info[:2]: Path(sys.executable)}
    for path in (*beside, *(Path(name) for name in named if name)):
        asked = subprocess.run(
            [path, "-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])"], capture_output=True, text=True
        )
        if asked.returncode == 0 and (3, 11) <= (version := tuple(map(int, asked.stdout.split()))) < (3, 15):
            found.setdefault(version, path)  # type: ignore[arg-type]
    ends = {max(found): "newest", min(found): "oldest"}
    return {f"{word}-{'.'.join(map(str, version))}": found[version] for version, word in ends.items()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel for this machine."""
    return built.wheel(tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist"), LABKIT_KERNELS="required")


PYTHONS = pythons()
PLAIN = ("sh", "bash", "env", "cat", "uname", "hostname", "id", "ls", "sed", "grep")  # of every Linux


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS)
def test_the_wheel_alone_measures_and_reports_in_an_empty_folder(wheel: Path, python: Path, tmp_path: Path) -> None:
    """With nothing but Python: no MPI, no tool, no compiler, no browser, no Quarto."""
    (tmp_path / "bin").mkdir()
    for name in PLAIN:
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    began, venv, here = time.monotonic(), tmp_path / "venv", tmp_path / "here"
    uv = next(filter(None, (shutil.which("uv"), shutil.which("uv", path=ROOT / ".venv-uv/bin"))), "")
    run(python, "-m", "venv", *(["--without-pip"] if uv else []), venv)
    pip = [uv, "pip", "install", "--python", venv / "bin/python"] if uv else [venv / "bin/pip", "install"]
    run(*pip, "-q", f"labkit[mpich,report] @ file://{wheel}", cwd=tmp_path)
    size = sum(file.stat().st_size for file in venv.rglob("*") if file.is_file() and not file.is_symlink())
    print(f"\n[pip install: {time.monotonic() - began:.0f} s, {size / 1e6:.0f} MB]")
    here.mkdir()
    env = {"PATH": f"{venv / 'bin'}:{tmp_path / 'bin'}", "HOME": str(tmp_path), "BROWSER_PATH": "/nowhere"}

    def labkit(*words: str) -> str:
        done = subprocess.run(["labkit", *words], cwd=here, env=env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout + done.stderr

    said = labkit("run", "quick", "-p", "launches=1", "-p", "time_cap=0.01", "-p", "sizes=64Ki")
    assert "5 of 5 notebooks done" in said
    assert "left out: storage.read needs fio" in said
    said += labkit("report")
    report = here / "data/campaigns/quick/report"
    assert '<div class="plot"' in (report / "html/10-latency.html").read_text(), "drawn live"
    pages = "".join(page.extract_text() for page in pypdf.PdfReader(report / "report.pdf").pages)
    assert "Chromium, which draws figures for the PDF, was missing" in " ".join(pages.split())
    (warning,) = [line for line in said.splitlines() if "Chromium" in line]
    assert re.search(
        r"In the PDF, \d+ figures are replaced by a note, because BROWSER_PATH=/nowhere is not a file", warning
    )
    assert not [line for line in said.splitlines() if "make " in line]
