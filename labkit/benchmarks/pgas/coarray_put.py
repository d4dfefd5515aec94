"""Latency of a put with coarrays of Fortran: one message written into the memory of another image, and completed.

Image 1 assigns to a coarray of image 2 (`window(1:n)[2] = local(1:n)`), and `sync memory` completes it. Image 2 waits
in `sync all`. shmem.put_latency does the same with OpenSHMEM. The program is labkit's own, in Fortran; gfortran calls
OpenCoarrays, which calls MPI_Put and MPI_Win_flush.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.point.units import MiB
from labkit.tools import coarray

BENCHMARK = ProgramBenchmark(
    title="latency of a put with coarrays",
    ranks=(2, 2),
    sizes="1:1Mi",
    max_size=64 * MiB,
    check=lambda spec: "" if spec.size else "size=0 B, but a message has 1 B or more. Set size=8.",
    metrics={"latency_us": lambda spec: 1},
    tools=(coarray.put,),
    cadence="streaming",
    pgas=True,
)
