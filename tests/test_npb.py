"""The original NAS Parallel Benchmarks as a tool: which program runs, on how many ranks, and what counts as a result.

The stand-in prints a result in NPB's form. The programs themselves need a source that the user has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import labkit
from labkit import benchmarks, tools
from labkit.errors import DataError, LaunchError, SpecError
from labkit.formats import npb as layout
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.run import launch, programs
from labkit.testbeds import outline
from labkit.tools import npb

TITLES = {"mpi": "3.4 -- {}", "openmp": "(NPB3.4-OMP) - {}", "zones": "(NPB3.4-MZ MPI+OpenMP) - {}"}
BUILD = Path(__file__).resolve().parent.parent / "templates" / "setup" / "originals" / "build.sh"


def result(
    name: str = "CG",
    letter: str = "S",
    *,
    processes: int = 2,
    threads: int = 0,
    check: str = "SUCCESSFUL",
    time: float = 2.5,
    closing: str = "RAND",
) -> str:
    """What a program prints at its end."""
    pairs = {
        "Class": letter,
        "Size": 1400,
        "Iterations": 15,
        "Time in seconds": f"{time:.2f}",
        **({"Total processes": processes} if processes else {}),
        **({"Total threads": threads} if threads else {}),
        "Mop/s total": 1234.56,
        "Operation type": "floating point",
        "Verification": check,
        "Version": "3.4.2",
    }
    lines = [f" {name} Benchmark Completed.", *(f" {key:<15} = {value!s:>24}" for key, value in pairs.items())]
    return "\n".join([*lines, "", " Compile options:", "    MPICC        = cc", f"    {closing:<12} = none", ""])


def spec(ranks: int = 2, **options: object) -> Spec:
    return benchmarks.resolve(Spec(benchmark="compute.npb", ranks=ranks, options=options))  # type: ignore[arg-type]


def stand_in(folder: Path, name: str, title: str, text: str) -> Path:
    """A program of one kernel and class: its first rank prints the text, with the number of ranks in place of RANKS."""
    path = folder / name
    path.write_text(
        f"#!{sys.executable}\n# NAS Parallel Benchmarks {title} Benchmark\nimport os\nrank = 0\nranks = 1\n"
        "for one, all in (('OMPI_COMM_WORLD_RANK', 'OMPI_COMM_WORLD_SIZE'), ('PMI_RANK', 'PMI_SIZE')):\n"
        "    if one in os.environ:\n        rank, ranks = int(os.environ[one]), os.environ[all]\n"
        f"if rank == 0:\n    print({text!r}.replace('RANKS', str(ranks)))\n"
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is first on the PATH, with no other programs of NPB there, and none that `make npb` built."""
    folder = tmp_path / "bin"
    folder.mkdir()
    others = [one for one in os.get_exec_path() if not any(Path(one).glob("cg.*.x"))]
    monkeypatch.setenv("PATH", ":".join([str(folder), *others]))
    monkeypatch.setattr(npb, "FOLDER", tmp_path / "built")
    return folder


# ---- ranks, classes, versions


@pytest.mark.parametrize(
    ("kernel", "letter", "right", "wrong"),
    [
        ("BT", "S", (1, 4, 9, 16), (2, 3, 8)),
        ("SP", "A", (1, 4, 25), (5,)),
        ("CG", "S", (1, 2, 4, 64), (3, 6)),
        ("MG", "S", (1, 8), (12,)),
        ("FT", "W", (1, 16), (24,)),
        ("IS", "S", (1, 128), (3, 256)),
        ("IS", "D", (4, 1024), (1, 2)),
        ("LU", "S", (1, 2, 4, 6, 8, 12), (3, 5, 7, 10)),
        ("EP", "S", (1, 3, 5), ()),
        ("DT", "S", (5,), (4, 6)),
        ("BT-MZ", "S", (1, 3, 4), (5,)),
        ("LU-MZ", "S", (1, 16, 20), ()),
    ],
)
def test_the_numbers_of_ranks_that_a_program_takes(
    kernel: str, letter: str, right: tuple[int, ...], wrong: tuple[int, ...]
) -> None:
    for ranks in right:
        assert spec(ranks, kernel=kernel, npb_class=letter).values["model"] == "mpi"
    for ranks in wrong:
        with pytest.raises(SpecError, match=rf"ranks={ranks}, but .* Set ranks=\d+"):
            spec(ranks, kernel=kernel, npb_class=letter)


@pytest.mark.parametrize(
    ("ranks", "options", "text"),
    [
        (2, {"kernel": "BT"}, r"ranks=2, but BT needs a square\. Set ranks=1 or 4\."),
        (3, {"kernel": "FT"}, r"ranks=3, but FT needs a power of two\. Set ranks=2 or 4\."),
        (5, {"kernel": "DT", "graph": "SH"}, r"class S of DT with graph=SH runs on exactly 12\. Set ranks=12\."),
        (2, {"kernel": "UA"}, r"ranks=2, but model=openmp is one process\. Set ranks=1\."),
        (1, {"kernel": "DC", "model": "mpi"}, r"DC has no version for MPI"),
        (1, {"kernel": "DC", "npb_class": "C"}, r"DC has results to compare with for S, W, A, B"),
        (1, {"kernel": "DT", "model": "openmp"}, r"DT has a version for MPI alone"),
        (1, {"graph": "WH"}, r"only DT has a graph"),
        (2, {"threads": 2}, r"threads=2, but CG for mpi has none"),
        (1, {"threads": 0}, r"threads=0, but a rank has 1 or more"),
        (1, {"kernel": "XX"}, r"kernel"),
    ],
)
def test_what_a_program_cannot_do_is_one_clear_error(ranks: int, options: dict[str, object], text: str) -> None:
    with pytest.raises(SpecError, match=text):
        spec(ranks, **options)


# ---- programs


def test_an_absent_program_names_what_is_here_and_what_builds_it(on_path: Path) -> None:
    ways = r"\), which is not installed\. Install with 'make .*npb SOURCE=~/NPB3\.4\.3"
    with pytest.raises(
        LaunchError,
        match=r"needs npb \(cg\.S\.x, built with CLASSES=S MODELS=mpi; found no cg\.\*\.x on the PATH.*" + ways,
    ):
        tools.available((npb.solve,), spec(), Effort())
    stand_in(on_path, "cg.S.x", TITLES["openmp"].format("CG"), "")
    stand_in(on_path, "cg.W.x", TITLES["mpi"].format("CG"), "")
    stand_in(on_path, "is.S.x", TITLES["mpi"].format("IS"), "")
    found = r"built with CLASSES=S MODELS=mpi; found cg\.S\.x for openmp, cg\.W\.x for mpi"
    with pytest.raises(LaunchError, match=found + ways):
        tools.available((npb.solve,), spec(), Effort())


def test_the_version_of_a_program_is_read_from_its_title(on_path: Path) -> None:
    stand_in(on_path, "cg.S.x", TITLES["openmp"].format("CG"), "")
    asked = spec()
    assert npb.solve(asked, Effort()).missing
    old = stand_in(on_path, "cg.S.2", TITLES["mpi"].format("CG"), "")
    assert npb.solve(asked, Effort()).client == (str(old),)
    assert npb.solve(spec(4), Effort()).missing
    assert npb.solve(spec(1, model="serial"), Effort()).missing
    (on_path / "cg.W.x").write_text("#!/bin/sh\necho another program\n")
    (on_path / "cg.W.x").chmod(0o755)
    assert npb.solve(spec(npb_class="W"), Effort()).missing


def test_the_folder_that_set_up_builds_serves_where_the_path_has_none(on_path: Path) -> None:
    (npb.FOLDER / "mpi").mkdir(parents=True)
    built = stand_in(npb.FOLDER / "mpi", "dt.S.x", TITLES["mpi"].format("DT"), "")
    assert npb.solve(spec(5, kernel="DT", graph="WH"), Effort()).client == (str(built), "WH")
    assert npb.TOOL.read_version is not None
    assert npb.TOOL.read_version() == "3.4"
    first = stand_in(on_path, "dt.S.x", TITLES["mpi"].format("DT"), "")
    assert npb.solve(spec(5, kernel="DT"), Effort()).client == (str(first), "BH")
    fixed = stand_in(npb.FOLDER / "mpi", "cg.S.2", TITLES["mpi"].format("CG"), "")  # of NPB 3.3
    assert npb.solve(spec(2), Effort()).client == (str(fixed),)
    assert "found cg.S.2 for mpi" in npb.solve(spec(4), Effort()).missing[0]


def test_ranks_with_threads_are_bound_to_no_core(on_path: Path) -> None:
    stand_in(on_path, "bt-mz.S.x", TITLES["zones"].format("BT-MZ"), "")
    bare = Spec(benchmark="compute.npb", ranks=1)
    for threads, target in ((1, "core"), (2, "none")):
        job = npb.solve(spec(1, kernel="BT-MZ", threads=threads), Effort())
        assert job.environment == {"OMP_NUM_THREADS": str(threads)}
        assert job.threads == threads
        placement = programs._placement(job, bare, launch.get("auto"), outline("local"))
        assert (placement.binding, placement.threads) == (target, threads)
    crowd = launch.Placement(ranks=2, threads=3, cores=4)
    assert (crowd.oversubscribed, crowd.binding) == (True, "none")
    assert not launch.Placement(ranks=2, threads=2, cores=4).oversubscribed
    assert launch.Placement(ranks=2, threads=2, cores=4, bind="socket").binding == "socket"


# ---- output


def test_threads_are_those_of_each_process() -> None:
    (run,) = layout.runs(result("BT-MZ", threads=4), "it")
    assert (run.ranks, run.options["threads"], run.options["model"]) == (2, 2, "mpi")
    (run,) = layout.runs(result("BT-MZ", threads=5), "it")  # NPB balances zones of different size
    assert run.options["threads"] is None
    (run,) = layout.runs(result("UA", processes=0, threads=4), "it")
    assert (run.ranks, run.options["threads"], run.options["model"]) == (1, 4, "openmp")
    (run,) = layout.runs(result(processes=0), "it")
    assert "model" not in run.options


def test_the_graph_of_dt_and_the_end_of_a_program_in_c() -> None:
    (run,) = layout.runs(result("DT_WH.S", processes=5, closing="CLINKFLAGS"), "it")
    assert (run.test, run.options["kernel"], run.options["graph"]) == ("NPB DT", "DT", "WH")
    assert [doubt.code for doubt in run.doubts] == []
    assert run.stated["mpicc"] == "cc"
    (cut,) = layout.runs(result(closing="FFLAGS"), "it")
    assert [doubt.code for doubt in cut.doubts] == ["cut"]


def test_only_a_verified_result_of_what_was_told_is_one() -> None:
    parsed = npb.parse(result(), spec())
    assert {one.name: one.value for one in parsed.reported} == {"run_time_s": 2.5, "operations_Mops": 1234.56}
    assert parsed.facts == {"verified": True}
    for check in ("UNSUCCESSFUL", "NOT PERFORMED"):
        with pytest.raises(DataError, match="check of CG did not pass"):
            npb.parse(result(check=check), spec())
    with pytest.raises(DataError, match="printed 2 results of 1 ranks instead of one of 2"):
        npb.parse(result(processes=1) * 2, spec())
    with pytest.raises(DataError, match="of 1 ranks instead of one of 2"):
        npb.parse(result(processes=1), spec())
    with pytest.raises(DataError, match=r"NPB solved .*'npb_class': 'W'.* but was told"):
        npb.parse(result(letter="W"), spec())
    with pytest.raises(DataError, match=r"ran with 2 threads, but threads=1"):
        npb.parse(result("UA", processes=0, threads=2), spec(1, kernel="UA"))
    with pytest.raises(DataError, match="a result of NPB"):
        npb.parse("nothing", spec())


def test_a_time_of_few_clock_steps_is_marked() -> None:
    parsed = npb.parse(result(time=0.02), spec())
    assert [one.code for one in parsed.warnings] == ["coarse-time"]
    nothing = npb.parse(result(time=0.0), spec())
    assert [one.name for one in nothing.reported] == ["operations_Mops"]
    assert "took less than 0.01 s" in nothing.warnings[0].text


# ---- runs


@pytest.mark.mpi
def test_a_program_on_the_path_is_measured(on_path: Path, tmp_path: Path) -> None:
    stand_in(on_path, "cg.S.x", TITLES["mpi"].format("CG"), result().replace("        2\n", "    RANKS\n", 1))
    specs = [Spec(benchmark="compute.npb", ranks=ranks, options={"kernel": "CG"}) for ranks in (1, 2, 4)]
    campaign = labkit.measure(specs, Effort(launches=2), into=tmp_path / "c")
    rows = records.table(campaign.samples())
    assert sorted(rows["ranks"]) == [1, 1, 2, 2, 4, 4]
    assert set(rows["operations_Mops_value"]) == {1234.56}
    assert set(rows["option_model"]) == {"mpi"}
    assert rows["verified"].all()
    assert all("npb 3.4" in name for name in rows["library"])


@pytest.mark.mpi
def test_a_result_that_the_program_finds_wrong_is_no_point(on_path: Path, tmp_path: Path) -> None:
    text = result("EP", check="UNSUCCESSFUL").replace("        2\n", "    RANKS\n", 1)
    stand_in(on_path, "ep.S.x", TITLES["mpi"].format("EP"), text)
    with pytest.raises(LaunchError, match="check of EP did not pass"):
        labkit.measure(
            Spec(benchmark="compute.npb", ranks=2, options={"kernel": "EP"}), Effort(launches=1), into=tmp_path / "c"
        )


# ---- set-up


def test_make_npb_builds_from_a_source_and_leaves_it_alone(tmp_path: Path) -> None:
    """A tree in NPB's layout whose makefile copies a script in place of a compiler's output."""
    if shutil.which("make") is None or shutil.which("gfortran") is None:
        pytest.skip("no make or no gfortran")
    tree = tmp_path / "NPB3.4.3" / "NPB3.4-OMP"
    for folder in ("config", "CG", "DC"):
        (tree / folder).mkdir(parents=True)
    (tree / "config" / "make.def.template").write_text("FC = gfortran\nFFLAGS = -O3 -fopenmp\nUCC\t= gcc\n")
    (tree / "Makefile").write_text(
        "include config/make.def\ncg:\n\techo '$(FC) $(FFLAGS)' >bin/cg.$(CLASS).x; chmod +x bin/cg.$(CLASS).x\n"
        "dc:\n\t@echo 'setparams: Unknown class'; exit 1\n"
    )
    before = sorted(str(path) for path in tree.rglob("*"))
    environment = {**os.environ, "CLASSES": "S W", "MODELS": "openmp serial", "FLAGS": "-g"}
    command = ["bash", str(BUILD), "npb", str(tmp_path / "NPB3.4.3"), str(tmp_path / "built")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    names = sorted(str(path.relative_to(tmp_path / "built")) for path in (tmp_path / "built").rglob("*.x"))
    assert names == ["openmp/cg.S.x", "openmp/cg.W.x", "serial/cg.S.x", "serial/cg.W.x"]
    flags = (tmp_path / "built" / "openmp" / "cg.S.x").read_text()
    assert "-O3 -fopenmp -g" in flags
    assert "-fopenmp" not in (tmp_path / "built" / "serial" / "cg.S.x").read_text()
    assert "not built: openmp/dc.S.x: setparams: Unknown class" in done.stdout
    assert sorted(str(path) for path in tree.rglob("*")) == before
    for source, text in (("", "SOURCE=(empty) is not a folder"), (str(tmp_path / "built"), "holds no config/make.def")):
        refused = subprocess.run(
            [*command[:3], source, str(tmp_path / "x")], capture_output=True, text=True, check=False
        )
        assert refused.returncode == 1
        assert text in refused.stderr


def test_make_npb_builds_a_program_for_each_number_of_ranks_from_npb_3_3(tmp_path: Path) -> None:
    """NPB 3.3 for MPI compiles the number of ranks into all programs but DT."""
    tree = tmp_path / "my source" / "NPB3.3-MPI"
    for folder in ("config", "CG", "DT"):
        (tree / folder).mkdir(parents=True)
    (tree / "config" / "make.def.template").touch()
    (tree / "Makefile").write_text(
        "NPROCS=1\ninclude config/make.def\n"
        "cg:\n\techo '$(MPIF77) $(FFLAGS)' >bin/cg.$(CLASS).$(NPROCS); chmod +x bin/cg.$(CLASS).$(NPROCS)\n"
        "dt:\n\techo '$(MPICC)' >bin/dt.$(CLASS); chmod +x bin/dt.$(CLASS)\n"
    )
    environment = {**os.environ, "CLASSES": "S", "RANKS": "2 8", "MPIFC": "true", "MPICC": "cc -g", "FLAGS": "-g"}
    command = ["bash", str(BUILD), "npb", str(tree.parent), str(tmp_path / "built")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    built = {path.name: path.read_text().strip() for path in (tmp_path / "built" / "mpi").iterdir()}
    assert sorted(built) == ["cg.S.2", "cg.S.8", "dt.S.x"]
    assert built["cg.S.8"].startswith("true -O3 -g")
    assert built["dt.S.x"] == "cc -g"


def test_the_names_of_options_are_those_of_the_reader() -> None:
    (run,) = layout.runs(result("DT_BH.S"), "it")
    assert {*run.options} <= {*spec().values}
    assert json.dumps(dict(run.options))
