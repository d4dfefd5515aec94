"""Options of benchmarks of computations that tools read."""

from typing import Literal

from labkit.options import frozen


@frozen
class Hpl:
    """Options of compute.hpl.

    Parameters
    ----------
    n : order of the matrix; 0 for the largest whose matrix takes 80 % of the hosts' memory.
    nb : rows of a block; 0 for 192, or fewer for a small matrix.
    p, q : rows and columns of the grid of processes; 0 for the most square one with p ≤ q.
    variant : mapping, depth, broadcast, factorisations and their parts, as HPL prints it (default: as in HPCC's
        example).
    tool : `xhpl`, `hpcc`, or the first of them that is installed.
    directory : directory of the input and output files; all hosts must see it.
    """

    n: int = 0
    nb: int = 0
    p: int = 0
    q: int = 0
    variant: str = "WR11C2R4"
    tool: Literal["auto", "xhpl", "hpcc"] = "auto"
    directory: str = ""


@frozen
class Npb:
    """Options of compute.npb.

    Parameters
    ----------
    kernel : program; the three with MZ are the multi-zone versions of BT, SP and LU.
    npb_class : size of the problem: S for tests, W for a workstation, A to F each about four to sixteen times the one
        before.
    model : version of the program; `auto` takes MPI, for UA and DC OpenMP.
    threads : OpenMP threads of each rank.
    graph : graph of DT: many sources and one sink (BH), one source and many sinks (WH), or a shuffle (SH).
    directory : directory in which the program runs; all hosts must see it.
    """

    kernel: Literal["EP", "IS", "CG", "MG", "FT", "BT", "SP", "LU", "DT", "UA", "DC", "BT-MZ", "SP-MZ", "LU-MZ"] = "CG"
    npb_class: Literal["S", "W", "A", "B", "C", "D", "E", "F"] = "S"
    model: Literal["auto", "mpi", "openmp", "serial"] = "auto"
    threads: int = 1
    graph: Literal["BH", "WH", "SH"] = "BH"
    directory: str = ""
