"""Latency of a reduction to all PEs: shmem_float_sum_to_all and its relatives.

A barrier (shmem_barrier_all) follows each iteration outside the timed part; the slowest PE counts.

OSU's mean over PEs is also given, as in osu_oshm_reduce (OMB 7.4, openshmem/osu_oshm_reduce.c), which adds floats.
"""

from typing import Literal, get_args

import numpy as np

from labkit.benchmarks import shmem
from labkit.benchmarks.mpi import combined
from labkit.options import frozen, ranks
from labkit.point.spec import Spec

Type = Literal["float32", "float64", "int32", "int64"]
Operation = Literal["sum", "prod", "max", "min"]


@frozen
class Options(ranks.Operation, shmem.Timed):
    """Options of shmem.reduce.

    Parameters
    ----------
    datatype : datatype of the elements.
    operation : operation of the reduction.
    """

    datatype: Type = "float32"
    operation: Operation = "sum"


def _work_array(spec: Spec[Options]) -> int:
    """B of the work array: half the elements and one, as OpenSHMEM requires, in whole cache lines."""
    item: int = np.dtype(spec.options.datatype).itemsize
    return -(-(spec.size // item // 2 + 1) * item // 64) * 64


BENCHMARK = shmem.collective(
    title="reduction of OpenSHMEM",
    kernel="shmem_reduce",
    options=Options,
    dtype=lambda spec: spec.options.datatype,
    check=lambda spec: "",
    expected=lambda spec, rank, send: combined(spec.options.operation, send, 0, spec.ranks),
    work_array=_work_array,
    work=lambda spec: {
        "mode": 4 * get_args(Type).index(spec.options.datatype) + get_args(Operation).index(spec.options.operation)
    },
    equivalents={"osu_oshm_reduce": {}},
)
