"""All ranks open, read and close files by MPI-IO (IOR).

As storage.parallel_write, but each iteration reads the files, which were written just before it, untimed. With
`reorder` a rank reads what another rank wrote, so that it cannot find the data in its own host's page cache; on one
host all ranks have one page cache. With `rewrite=false` the files are written once, and all iterations read them.
`cache=drop` asks the page cache before each iteration to forget the file, which a file system in memory cannot do. The
definitions of IOR 4 with `-a MPIIO -w -r`; IOR's `-C` shifts by the number of ranks of a host.
"""

from labkit.benchmarks.storage import _parallel

BENCHMARK = _parallel.benchmark("read", _parallel.Reading)
FORMS = {
    "stonewalled_read": _parallel.benchmark(
        "read",
        _parallel.StonewalledReading,
        doc="""All ranks read files by MPI-IO until a deadline (IOR's stonewall).

As storage.parallel_read, with the deadline of storage.stonewalled_write.
""",
    )
}
