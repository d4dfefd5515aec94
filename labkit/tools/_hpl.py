"""What runs of HPL share, by itself or inside HPCC: the input file, the choice of its values, the check of the result.

N is the order of the matrix, NB that of its blocks, P × Q the grid of processes. The threads of the BLAS are one for
each rank, unless the environment of the spec says otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from labkit import host
from labkit.errors import DataError, SpecError
from labkit.formats import metric
from labkit.formats.reading.log import Run
from labkit.host import allocation, peak
from labkit.options.compute import Hpl
from labkit.point.notes import Note, note
from labkit.point.spec import Reported, Scalar, Spec
from labkit.point.units import format_number, plural
from labkit.tools import Invocation, Parsed, Tool
from labkit.tools._linked import blas, mpi

MEMORY = 0.8  # share of the memory for a matrix of labkit's order
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")
VARIANT = re.compile(r"W([RC])(\d)([0-5])([LCR])(\d)([LCR])(\d+)")
_DOUBLE_B = 8
_BLOCK, _SMALLEST, _STEP = 192, 8, 8  # the largest and the smallest block that labkit chooses, and what divides it
_BLOCKS = 4  # of a process along each side, so that its share is even
_FACTORS = {"L": 0, "C": 1, "R": 2}
_SLOW, _FAST = 0.01, 0.5  # shares of the peak to reckon with; a reference BLAS is slow
_SOME_GFLOPS = 10.0  # of a core whose peak is unknown
_RESIDUAL = re.compile(r"\|\|Ax-b\|\|_oo[^=\n]*= *(\S+) \.+ (PASSED|FAILED)")


def chosen(spec: Spec[Hpl]) -> dict[str, Scalar]:
    """Return the grid, the order and the block that are left to labkit (0).

    The grid is the most square one with P ≤ Q. The matrix takes `MEMORY` of the memory of the hosts, and N is a whole
    number of blocks. A block has 192 rows, or fewer where a process would have less than four of them.

    Raises
    ------
    SpecError
        If the grid does not hold exactly the ranks.
    """
    p, q = grid(spec.ranks, spec.options.p, spec.options.q)
    n, nb = spec.options.n, spec.options.nb
    most = math.isqrt(int(MEMORY * _memory() * _hosts(spec) / _DOUBLE_B))
    nb = nb or max(_SMALLEST, min(_BLOCK, (n or most) // (_BLOCKS * q) // _STEP * _STEP))
    return {"n": n or most // nb * nb, "nb": nb, "p": p, "q": q}


def grid(ranks: int, p: int = 0, q: int = 0) -> tuple[int, int]:
    """Return rows and columns of a grid of processes; 0 is left to labkit.

    Raises
    ------
    SpecError
        If it does not hold exactly the ranks.

    Examples
    --------
    >>> grid(12), grid(7), grid(8, p=1)
    ((3, 4), (1, 7), (1, 8))
    """
    if not p and not q:
        p = next(rows for rows in range(math.isqrt(ranks), 0, -1) if ranks % rows == 0)
    p, q = p or ranks // max(q, 1), q or ranks // max(p, 1)
    if p < 1 or q < 1 or p * q != ranks:
        rows, columns = grid(ranks)
        raise SpecError(
            f"p={p} and q={q}, but the grid must hold exactly {ranks} ranks. "
            f"Set p={rows} and q={columns}, or both to 0."
        )
    return p, q


def wrong(spec: Spec[Hpl]) -> str:
    """Say what is wrong with the options; empty if nothing is."""
    n, nb = spec.options.n, spec.options.nb
    if n < 1 or nb < 1:
        return f"n={n} and nb={nb}, but both must be 1 or more. Set n=1000, or 0 to leave it to labkit."
    if not VARIANT.fullmatch(spec.options.variant):
        return f"variant={spec.options.variant!r}, but it must be like WR11C2R4, as HPL prints it."
    return ""


def input_text(spec: Spec[Hpl]) -> str:
    """Return HPL.dat, which is also the beginning of hpccinf.txt.

    The variant in HPL's own words (``HPL_pdtest.c``): W, mapping, depth, broadcast, recursive factorisation, its parts,
    panel factorisation, its smallest part.
    """
    options = spec.options
    found = VARIANT.fullmatch(options.variant)
    assert found is not None  # `wrong` has refused others
    mapping, depth, broadcast, recursive, parts, panel, least = found.groups()
    lines: Sequence[tuple[object, str]] = (
        ("HPL.out", "output file name (if any)"),
        (6, "device out (6=stdout,7=stderr,file)"),
        (1, "# of problems sizes (N)"),
        (options.n, "Ns"),
        (1, "# of NBs"),
        (options.nb, "NBs"),
        (int(mapping == "C"), "PMAP process mapping (0=Row-,1=Column-major)"),
        (1, "# of process grids (P x Q)"),
        (options.p, "Ps"),
        (options.q, "Qs"),
        ("16.0", "threshold"),
        (1, "# of panel fact"),
        (_FACTORS[panel], "PFACTs (0=left, 1=Crout, 2=Right)"),
        (1, "# of recursive stopping criterium"),
        (least, "NBMINs (>= 1)"),
        (1, "# of panels in recursion"),
        (parts, "NDIVs"),
        (1, "# of recursive panel fact."),
        (_FACTORS[recursive], "RFACTs (0=left, 1=Crout, 2=Right)"),
        (1, "# of broadcast"),
        (broadcast, "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)"),
        (1, "# of lookahead depth"),
        (depth, "DEPTHs (>=0)"),
        (2, "SWAP (0=bin-exch,1=long,2=mix)"),
        (64, "swapping threshold"),
        (0, "L1 in (0=transposed,1=no-transposed) form"),
        (0, "U  in (0=transposed,1=no-transposed) form"),
        (1, "Equilibration (0=no,1=yes)"),
        (8, "memory alignment in double (> 0)"),
    )
    head = "HPLinpack benchmark input file\nInnovative Computing Laboratory, University of Tennessee\n"
    return head + "".join(f"{value!s:<12} {meaning}\n" for value, meaning in lines)


def invocation(
    tool: Tool,
    spec: Spec[Hpl],
    *,
    program: str,
    file: str,
    tail: str,
    parse: Callable[[str, Path], Parsed],
    definition: str,
    more: float,
    limit: float,
) -> Invocation:
    """Make the run of one rank's program.

    Parameters
    ----------
    program : command or path of it.
    file, tail : name of the input file, and what it holds behind HPL's part.
    parse : as of `Invocation`.
    more : s that it takes beside HPL, at most.
    limit : s to add to the expected time, as of `Effort.time_limit`.
    """
    kind, folder = mpi(program)
    library = blas(program)
    variables = dict.fromkeys(THREADS, "1") | dict(spec.environment)
    best = peak_of(spec)[0] or _SOME_GFLOPS
    work = operations(spec.options.n) / 1e9

    def prepare(where: Path) -> Mapping[str, Scalar]:
        _refuse_too_large(spec)
        (where / file).write_text(input_text(spec) + tail)
        return {}

    reference = library.startswith("reference")
    text = f"{program} loads the {library}, much slower than an optimised one such as Debian's libopenblas0-pthread"
    return Invocation(
        tool=tool,
        needs=(program,),
        client=(program,),
        parse=parse,
        environment=variables,
        threads=_threads(spec),
        mpi=kind,
        mpi_folder=folder,
        libraries=(library,) if library else (),
        directory=spec.options.directory,
        prepare=prepare,
        definition=definition,
        duration=work / (best * _FAST) + more / 10,
        time_limit=work / (best * _SLOW) + more + limit,
        warnings=(note("reference-blas", text, blas=library),) if reference else (),
        facts={"blas": library},
    )


def operations(n: int) -> float:
    """Return the floating-point operations of a solution, as HPL counts them (``HPL_pdtest.c``)."""
    return 2 / 3 * float(n) ** 3 + 3 / 2 * float(n) ** 2


def _threads(spec: Spec) -> int:
    """Threads of the BLAS of each rank."""
    return next((int(value) for name, value in spec.environment if name in THREADS and value.isdecimal()), 1)


def peak_of(spec: Spec) -> tuple[float, str]:
    """Return the theoretical peak of the cores that the ranks use, Gflop/s, and how it was worked out; 0 if unknown."""
    one = peak.of_core()
    if one is None:
        return 0.0, "labkit does not know the clock or the vector units of this processor"
    cores = min(spec.ranks * _threads(spec), _cores() * _hosts(spec))
    return cores * one.gflops, f"{plural(cores, 'core')} × {one.method}"


def result(run: Run, spec: Spec[Hpl], text: str, seconds: float | None = None) -> Parsed:
    """Make a result of a row of HPL, if its residual passed.

    Parameters
    ----------
    run : from `labkit.formats.hpl`.
    text : text that it stands in.
    seconds : run time with more digits than the row has; else that follows from the rate, which has four digits.

    Raises
    ------
    DataError
        If HPL's own check failed or is missing, or it solved another system than it was told.
    """
    told = {name: spec.values[name] for name in ("n", "nb", "p", "q")}
    if {name: run.options[name] for name in told} != told:
        raise DataError(f"HPL solved {dict(run.options)}, but was told {told}. Report this with its output.")
    check = _RESIDUAL.search(text)
    if not run.verified or check is None:
        raise DataError(
            f"HPL's check of its residual did not pass: {check[0] if check else 'there is none'}. The residual must be "
            "below 16. This machine, its BLAS or its MPI computes wrongly. Run it again, with another BLAS, on fewer "
            "ranks."
        )
    (rate,) = (value.value for value in run.values if value.name == "performance_GFLOPS")
    values: list[Reported] = [
        metric("performance_GFLOPS", "value", rate),
        metric("run_time_s", "value", seconds or operations(run.options["n"]) / (rate * 1e9)),  # type: ignore[arg-type]
    ]
    best, method = peak_of(spec)
    doubts: list[Note] = []
    if best:
        values.append(metric("peak_percent", "value", rate / best * 100))
    else:
        doubts.append(note("no-peak", f"there is no fraction of the peak: {method}"))
    facts: dict[str, Scalar] = {
        "verified": True,
        "residual": float(check[1]),
        "peak_method": method,
        "peak_GFLOPS": best,
    }
    return Parsed(reported=tuple(values), facts=facts, warnings=tuple(doubts))


def _refuse_too_large(spec: Spec[Hpl]) -> None:
    """Refuse a matrix that does not fit the free memory of this machine."""
    free, hosts = host.describe()["memory_available_B"] or 0, _hosts(spec)
    needs = spec.options.n**2 * _DOUBLE_B / hosts
    if free and needs > free:
        most = math.isqrt(int(MEMORY * free * hosts / _DOUBLE_B))
        raise SpecError(
            f"n={spec.options.n}: a matrix of {format_number(needs / 1e9, 'GB')} on each host, but "
            f"{format_number(free / 1e9, 'GB')} are free. Set n={most} or less, or end other programs."
        )


def _memory() -> int:
    return int(host.lasting()["memory_total_B"] or 0)


def _cores() -> int:
    machine = host.describe()
    return min(int(machine["cpu_cores"]), int(machine["cpus_usable"]))


def _hosts(spec: Spec) -> int:
    """Number of machines; the hosts of a virtual cluster are one."""
    if spec.testbed not in ("", "local"):
        return 1
    job = allocation.current()
    return max(1, len({name.partition(":")[0] for name in spec.hosts}) or (len(job.hosts) if job else 1))
