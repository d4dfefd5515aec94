"""HPL, by itself and inside HPC Challenge: its input, the choice of its values, its check, real runs."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

import labkit
from labkit import benchmarks, host
from labkit.errors import DataError, LaunchError, SpecError
from labkit.formats import hpl as layout
from labkit.host import peak
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.run import programs
from labkit.store.samples import Samples
from labkit.store.samples.facts import BLAS, PEAK_GFLOPS, RESIDUAL, VERIFIED
from labkit.tools import _hpl, _linked, _run, hpcc, xhpl

OUTPUT = Path(__file__).parent / "golden" / "logs" / "hpcc" / "two_ranks.txt"
GOLDEN = {"n": 500, "nb": 64, "p": 1, "q": 2}


def spec(ranks: int = 2, **options: object) -> Spec:
    return benchmarks.resolve(Spec(benchmark="compute.hpl", ranks=ranks, options=GOLDEN | options))  # type: ignore[arg-type]


# ---- the choice of N, NB and P × Q


@pytest.mark.parametrize(
    ("ranks", "shape"), [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (7, (1, 7)), (48, (6, 8))]
)
def test_the_grid_is_as_square_as_it_can_be(ranks: int, shape: tuple[int, int]) -> None:
    assert _hpl.grid(ranks) == shape
    assert _hpl.grid(ranks, p=ranks) == (ranks, 1)
    assert _hpl.grid(ranks, q=ranks) == (1, ranks)


def test_a_grid_that_does_not_hold_the_ranks_is_refused() -> None:
    with pytest.raises(SpecError, match=r"p=2 and q=1, but the grid must hold exactly 3 ranks. Set p=1 and q=3"):
        spec(3, p=2, q=0)


def test_the_order_follows_from_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_hpl, "_memory", lambda: 10 * 1000**3)
    chosen = benchmarks.resolve(Spec(benchmark="compute.hpl", ranks=4)).values
    assert (chosen["p"], chosen["q"], chosen["nb"]) == (2, 2, 192)
    assert chosen["n"] % 192 == 0
    assert 0.79 < chosen["n"] ** 2 * 8 / 10e9 <= 0.8
    two_hosts = benchmarks.resolve(Spec(benchmark="compute.hpl", ranks=4, hosts=("a:2", "b:2"))).values
    assert 1.99 < two_hosts["n"] ** 2 / chosen["n"] ** 2 < 2.01


def test_a_small_matrix_has_small_blocks() -> None:
    small = benchmarks.resolve(Spec(benchmark="compute.hpl", ranks=4, options={"n": 128})).values
    assert (small["n"], small["nb"]) == (128, 16)
    assert benchmarks.resolve(Spec(benchmark="compute.hpl", ranks=1, options={"n": 10})).values["nb"] == 8


def test_wrong_options_are_one_clear_error() -> None:
    with pytest.raises(SpecError, match=r"variant='WX', but it must be like WR11C2R4"):
        spec(variant="WX")
    with pytest.raises(SpecError, match=r"n=-5 and nb=64, but both must be 1 or more"):
        spec(n=-5)


def test_a_matrix_beyond_the_free_memory_is_refused(tmp_path: Path) -> None:
    free = host.describe()["memory_available_B"]
    large = spec(n=int((2 * free / 8) ** 0.5))
    with pytest.raises(SpecError, match=r"a matrix of .* GB on each host, but .* GB are free. Set n=\d+ or less"):
        hpcc.solve(large, Effort()).prepare(tmp_path)


# ---- input


def test_the_input_says_what_the_output_then_holds(tmp_path: Path) -> None:
    """HPCC's own summary of the golden run names each value of the input."""
    job = hpcc.solve(spec(), Effort())
    job.prepare(tmp_path)
    lines = (tmp_path / "hpccinf.txt").read_text().splitlines()
    values = {line.split(maxsplit=1)[1].split(" (")[0]: line.split()[0] for line in lines[2:31]}
    assert {"Ns": "500", "NBs": "64", "Ps": "1", "Qs": "2"}.items() <= values.items()
    assert {
        "PFACTs": "2",
        "NBMINs": "4",
        "NDIVs": "2",
        "RFACTs": "1",
        "BCASTs": "1",
        "DEPTHs": "1",
    }.items() <= values.items()
    assert len(lines) == 36
    assert (job.client, job.programs) == (("hpcc",), ("hpcc",))
    text = _hpl.input_text(spec(variant="WC03L5R8"))
    for line in (
        "1            PMAP",
        "0            DEPTHs",
        "3            BCASTs",
        "0            RFACTs",
        "5            NDIVs",
    ):
        assert line in text
    assert "2            PFACTs" in text
    assert "8            NBMINs" in text


def test_the_blas_has_one_thread_unless_told_otherwise() -> None:
    alone = xhpl.solve(spec(), Effort())
    assert {alone.environment[name] for name in _hpl.THREADS} == {"1"}
    several = xhpl.solve(spec().replace(environment={"OMP_NUM_THREADS": "2"}), Effort())
    assert several.environment["OMP_NUM_THREADS"] == "2"


# ---- the peak


@pytest.mark.parametrize(
    ("cpu", "base", "gflops"),
    [
        ({"vendor_id": "GenuineIntel", "flags": "avx avx2 fma avx512f", "model name": "Gold @ 2.10GHz"}, 0.0, 67.2),
        ({"vendor_id": "GenuineIntel", "flags": "avx avx2 fma", "model name": "E5 @ 2.00GHz"}, 0.0, 32.0),
        ({"vendor_id": "GenuineIntel", "flags": "avx", "model name": "E5 @ 2.00GHz"}, 0.0, 16.0),
        ({"vendor_id": "AuthenticAMD", "cpu family": "25", "flags": "avx avx2 fma avx512f"}, 2.45, 39.2),  # Zen 4
        ({"vendor_id": "AuthenticAMD", "cpu family": "26", "flags": "avx avx2 fma avx512f"}, 2.6, 83.2),  # Zen 5
        ({"vendor_id": "AuthenticAMD", "cpu family": "23", "model": "1", "flags": "avx avx2 fma"}, 2.0, 16.0),  # Zen
        ({"vendor_id": "AuthenticAMD", "cpu family": "23", "model": "49", "flags": "avx avx2 fma"}, 2.0, 32.0),  # Zen 2
        ({"vendor_id": "AuthenticAMD", "flags": "sse2 constant_tsc", "bogomips": "4000.00"}, 0.0, 8.0),
    ],
)
def test_the_peak_of_a_core(cpu: dict[str, str], base: float, gflops: float) -> None:
    found = peak.worked_out(cpu, base)
    assert found is not None
    assert found.gflops == pytest.approx(gflops)
    assert " GHz (" in found.method
    assert "flop in a cycle (" in found.method


def test_an_unknown_processor_has_no_peak() -> None:
    assert peak.worked_out({"flags": "sse2"}) is None
    assert peak.worked_out({"Features": "asimd"}, 2.0) is None


# ---- output


def test_a_result_has_rate_time_share_of_peak_and_every_other_test() -> None:
    result = hpcc.parse(OUTPUT.read_text(), spec())
    own = {value.name: value.value for value in result.reported if not value.labels}
    assert own["performance_GFLOPS"] == 3.55
    assert own["run_time_s"] == 0.0235768  # of the summary: the table has two digits
    best, method = _hpl.peak_of(spec())
    assert best == 0 or own["peak_percent"] == pytest.approx(100 * 3.55 / best)
    assert result.facts["peak_method"] == method
    assert (result.facts["verified"], result.facts["residual"]) == (True, 0.0049729)
    tests = {str(value.labels["hpcc_test"]) for value in result.reported if value.labels}
    assert {"PTRANS", "MPIFFT", "MPIRandomAccess", "StarSTREAM_Triad", "SingleDGEMM", "RandomlyOrderedRing"} <= tests
    assert result.output == OUTPUT.read_text()


def test_the_time_of_xhpl_follows_from_its_rate(tmp_path: Path) -> None:
    text = (OUTPUT.parent.parent / "hpl" / "of_hpcc.txt").read_text()
    result = xhpl.solve(spec(), Effort()).parse(text, tmp_path)
    times = {value.name: value.value for value in result.reported}
    assert times["run_time_s"] == pytest.approx((2 / 3 * 500**3 + 1.5 * 500**2) / 3.55e9)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            "0.0049729 ...... PASSED",
            "4900.0049 ...... FAILED",
            r"check of its residual did not pass: .*= *4900.0049 .*FAILED",
        ),
        ("Success=1", "Success=0", r"did not find all its results right \(Success=0\)"),
        ("CommWorldProcs=2", "CommWorldProcs=1", r"HPCC ran on 1 ranks instead of 2"),
        ("End of Summary section", "End of", r"HPCC ended early: the log ends before HPCC's summary.* Run it again"),
        ("WR11C2R4         500", "WR11C2R4         400", r"HPL solved .*'n': 400.*, but was told"),
    ],
)
def test_a_wrong_result_is_an_error_with_evidence(before: str, after: str, words: str) -> None:
    text = OUTPUT.read_text()
    assert before in text
    with pytest.raises(DataError, match=words):
        hpcc.parse(text.replace(before, after), spec())


# ---- libraries


def test_the_libraries_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, kind, blas in (
        ({"libmpi.so.40": "/opt/ompi/lib/libmpi.so.40", "libblas.so.3": "/x/blas/libblas.so.3.11.0"}, "openmpi", "reference BLAS of netlib 3.11.0"),
        ({"libmpich.so.12": "/u/libmpich.so.12", "libopenblas.so.0": "/u/libopenblasp-r0.3.21.so"}, "mpich", "OpenBLAS 0.3.21"),
        ({"libmkl_core.so.2": "/opt/mkl/libmkl_core.so.2"}, "", "Intel MKL"),
    ):  # fmt: skip
        monkeypatch.setattr(_linked, "loaded", lambda program, files=files: files)
        assert _linked.mpi("it")[0] == kind
        assert _linked.blas("it") == blas


def test_a_launcher_of_another_mpi_is_refused() -> None:
    job = dataclasses.replace(hpcc.solve(spec(), Effort()), mpi="mpich")
    openmpi = spec().replace(launcher="openmpi")
    if shutil.which("mpirun.openmpi") is None:
        pytest.skip("no Open MPI: Debian package openmpi-bin")
    with pytest.raises(
        LaunchError, match=r"hpcc is linked to mpich, but --launcher openmpi is Open MPI .*Set --launcher mpich"
    ):
        programs.launcher(job, openmpi)
    assert programs.launcher(dataclasses.replace(job, mpi="openmpi"), openmpi).kind == "openmpi"


# ---- real runs


def measured(folder: Path, **options: object) -> list[Samples]:
    if shutil.which("hpcc") is None:
        pytest.skip("hpcc not installed: Debian package hpcc")
    specs = [Spec(benchmark="compute.hpl", ranks=ranks, options={"n": 128, **options}) for ranks in (1, 4)]  # type: ignore[arg-type]
    campaign = labkit.measure(specs, Effort(launches=1, time_limit=600), into=folder)
    return sorted(campaign.samples(), key=lambda one: one.spec.ranks)


@pytest.mark.mpi
@pytest.mark.slow
def test_hpcc_runs_under_the_launcher_of_its_own_mpi(tmp_path: Path) -> None:
    points = measured(tmp_path / "c")
    assert [one.spec.ranks for one in points] == [1, 4]
    for one in points:
        assert one.origin == "reported"
        assert VERIFIED.of(one.meta)
        assert 0 < RESIDUAL.of(one.meta) < 16
        assert BLAS.of(one.meta)
        assert PEAK_GFLOPS.of(one.meta) >= 0
        assert {"-np", str(one.spec.ranks), "hpcc"} <= set(
            one.meta["commands"][-1] if "commands" in one.meta else one.command
        )
        assert (one.spec.values["n"], one.spec.values["p"], one.spec.values["q"]) == (128, *_hpl.grid(one.spec.ranks))
        (run,) = layout.runs(hpcc.of_hpl(one.source), "source")
        assert run.ranks == one.spec.ranks
    rows = records.table(points)
    assert (rows["performance_GFLOPS_value"] > 0).all()
    assert (rows["run_time_s_value"] > 0).all()
    labelled = records.reported(points)
    rings = labelled[(labelled["hpcc_test"] == "RandomlyOrderedRing") & (labelled["name"] == "latency_us")]
    assert list(rings["launch"]) == [0]  # one rank has no ring


def test_values_that_a_program_printed_have_no_mean_over_ranks() -> None:
    for name in ("compute.hpl", "compute.npb", "storage.ior", "storage.mdtest"):
        assert benchmarks.get(name).sampled == ("", "")
    assert benchmarks.get("compute.nas_cg").sampled[0] == "the slowest rank"


@pytest.mark.mpi
@pytest.mark.slow
def test_an_xhpl_on_the_path_is_taken_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real HPL under that name: hpcc with the file that xhpl reads, and its table on standard output."""
    if shutil.which("hpcc") is None:
        pytest.skip("hpcc not installed: Debian package hpcc")
    program = tmp_path / "bin" / "xhpl"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n[ -f hpccinf.txt ] || cp HPL.dat hpccinf.txt 2>/dev/null\nhpcc\n"
        'if [ "${OMPI_COMM_WORLD_RANK:-0}" = 0 ]; then sed -n "/Begin of HPL/,/End of HPL/p" hpccoutf.txt; fi\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{_run.os.environ['PATH']}")
    spec_ = Spec(benchmark="compute.hpl", ranks=1, options={"n": 100})
    campaign = labkit.measure(spec_, Effort(launches=1, time_limit=500), into=tmp_path / "c")
    (point,) = campaign.samples()
    assert point.meta["engine"] == "xhpl"
    assert VERIFIED.of(point.meta)
    assert {value.name for value in point.reported} >= {"performance_GFLOPS", "run_time_s"}
