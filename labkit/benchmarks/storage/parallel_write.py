"""All ranks open, write and close files by MPI-IO (IOR).

An iteration is a test of IOR's: every rank opens a new file, writes its blocks transfer by transfer with explicit
offsets, and closes. Its time is from the first open to the last close, on a common clock; the bandwidth is the bytes of
all ranks over it. The rate of I/O operations counts the transfers over the time from the first to the last of them,
without opening and closing. The size refers to one transfer. Removing the old file is not timed. The first 8 bytes of a
transfer name its place; an untimed run first compares what each rank reads with what the previous rank wrote. IOR
prints MiB/s, labkit MB/s. The definitions of IOR 4 with `-a MPIIO -w` (`TestIoSys`, `ReduceIterResults`).
"""

from labkit.benchmarks.storage import _parallel

BENCHMARK = _parallel.benchmark("write", _parallel.Writing)
FORMS = {
    "stonewalled_write": _parallel.benchmark(
        "write",
        _parallel.StonewalledWriting,
        doc="""All ranks write files by MPI-IO until a deadline (IOR's stonewall).

As storage.parallel_write, but a rank begins no transfer after the deadline; in collective calls rank 0 decides for
all. With `wear_out` each rank then continues until it has made as many transfers as the fastest one. The bandwidth is
the mean of the bytes moved divided by the mean time. The definitions of IOR 4 with `-D` and `stoneWallingWearOut`.
""",
    )
}
