"""Options of benchmarks of storage that tools read."""

from dataclasses import fields
from typing import Literal

from labkit.options import frozen
from labkit.point.units import parse_size


@frozen
class Ior:
    """Options of storage.ior.

    Parameters
    ----------
    operation : timed operation.
    api : MPI-IO or system calls.
    file : all ranks `shared` one, or each has its own (`file per process`, -F).
    block_size : contiguous data of a rank in a segment (-b), such as 1Mi; a whole number of transfers.
    segments : number of segments, each with a block of every rank (-s).
    collective : all ranks make each transfer together (-c).
    sync : never (`none`), after the last transfer (`end`, -e) or after each one (`each`, -Y).
    reorder : each rank reads the data of a rank on the next host, or on one host of the next rank (-C).
    directory : folder on the file system to be measured, which all ranks see; empty for the folder of temporary files.
    """

    operation: Literal["write", "read"] = "write"
    api: Literal["MPIIO", "POSIX"] = "MPIIO"
    file: Literal["shared", "file per process"] = "shared"
    block_size: int | str = "1Mi"
    segments: int = 1
    collective: bool = False
    sync: Literal["none", "end", "each"] = "none"
    reorder: bool = True
    directory: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "block_size", parse_size(self.block_size))


@frozen
class Encoding:
    """Options of storage.encode.

    Parameters
    ----------
    code : library and code: Reed-Solomon over Vandermonde (`vand`) or Cauchy matrices (`cauchy`).
    k : fragments of data.
    m : fragments of parity; up to m fragments may be lost.
    """

    code: Literal[
        "isa_l_rs_vand", "isa_l_rs_cauchy", "jerasure_rs_vand", "jerasure_rs_cauchy", "liberasurecode_rs_vand"
    ] = "isa_l_rs_vand"
    k: int = 4
    m: int = 2


@frozen
class Decoding(Encoding):
    """Options of storage.decode.

    Parameters
    ----------
    erasures : fragments of data that are lost.
    """

    erasures: int = 1


@frozen
class Mdtest:
    """Options of storage.mdtest.

    Parameters
    ----------
    operation : operation whose rate is the result; mdtest runs all operations on files, or on directories.
    items : number of items of each rank (-n).
    unique : each rank works in its own directory (-u), else all in one.
    write_size : size written to and read from each file, B (-w and -e).
    shift : rank offset between the items of one phase and those of the phase before (-N).
    directory : folder on the file system to be measured, which all ranks see; empty for the folder of temporary files.
    """

    operation: Literal[
        "file creation",
        "file stat",
        "file read",
        "file removal",
        "directory creation",
        "directory stat",
        "directory rename",
        "directory removal",
        "tree creation",
        "tree removal",
    ] = "file creation"
    items: int = 1000
    unique: bool = False
    write_size: int = 0
    shift: int = 0
    directory: str = ""


@frozen
class Access:
    """Options of reading and writing.

    Parameters
    ----------
    file_size : size of the file, such as 16Mi.
    depth : reads or writes in flight; more than 1 must bypass the page cache (`direct`), except with io_uring.
    engine : fio's I/O engine: `psync` (pread, pwrite) one at a time, `libaio`, `io_uring`; `auto` is psync for one
        at a time, else libaio.
    offered : I/Os per second, started by a Poisson process; 0 starts each as soon as possible.
    directory : folder on the file system to be measured; empty for the system's place for temporary files.
    """

    file_size: int | str = "16Mi"
    depth: int = 1
    engine: Literal["auto", "psync", "libaio", "io_uring"] = "auto"
    offered: int = 0
    directory: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_size", parse_size(self.file_size))


@frozen
class Read(Access):
    """Options of storage.read.

    Parameters
    ----------
    pattern : order of the blocks; random visits each block once before it repeats any.
    cache : `drop` empties the page cache of the file first and reads each block once, `direct` bypasses it,
        `warm` fills it first, so that memory answers.
    """

    pattern: Literal["sequential", "random"] = "sequential"
    cache: Literal["drop", "direct", "warm"] = "drop"


@frozen
class Write(Access):
    """Options of storage.write.

    Parameters
    ----------
    pattern : order of the blocks; random visits each block once before it repeats any.
    sync : when a write is complete: `none`, to the page cache; `fsync`, to the disk by a call of its
        own; `osync`, to the disk in the same call (O_SYNC); `direct`, past the page cache (O_DIRECT).
    """

    pattern: Literal["sequential", "random"] = "sequential"
    sync: Literal["none", "fsync", "osync", "direct"] = "none"


@frozen
class Mixed(Access):
    """Options of storage.mixed.

    Parameters
    ----------
    pattern : order of the blocks; random visits each block once before it repeats any.
    read_percent : share of the reads among all.
    sync : when a write is complete: `none`, to the page cache; `osync`, to the disk in the same call
        (O_SYNC); `direct`, past the page cache, as the reads then (O_DIRECT).
    """

    pattern: Literal["sequential", "random"] = "random"
    read_percent: int = 70
    sync: Literal["none", "osync", "direct"] = "none"


@frozen
class Network:
    """Options of storage.network_read and storage.network_write.

    Parameters
    ----------
    pattern : order of the blocks; random visits each block once before it repeats any.
    file_size : size of the device.
    backing : where the server keeps the blocks: in its own `memory`, or in a `file`.
    depth : requests in flight.
    offered : requests per second, started by a Poisson process; 0 starts each as soon as possible.
    directory : directory of the server's file; empty for the system's place for temporary files.
    ip : version of the internet protocol.
    """

    pattern: Literal["sequential", "random"] = "random"
    file_size: int | str = "16Mi"
    backing: Literal["memory", "file"] = "memory"
    depth: int = 1
    offered: int = 0
    directory: str = ""
    ip: Literal["ipv4", "ipv6"] = "ipv4"

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_size", parse_size(self.file_size))


@frozen
class Nvme:
    """Options of storage.nvme_read and storage.nvme_write.

    Parameters
    ----------
    fabric : the disk itself (`local`), or NVMe over `tcp` or `rdma`.
    pattern : order of the blocks.
    file_size : size of the disk.
    depth : requests in flight.
    offered : requests per second, started by a Poisson process; 0 starts each as soon as possible.
    """

    fabric: Literal["local", "tcp", "rdma"] = "rdma"
    pattern: Literal["sequential", "random"] = "random"
    file_size: int | str = "16Mi"
    depth: int = 1
    offered: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_size", parse_size(self.file_size))


@frozen
class Iozone:
    """Options of storage.iozone.

    Parameters
    ----------
    tests : what is measured, a list: write (and rewrite), read (and reread), random (reads and writes), backward
        (reads), stride (reads of every 17th record), record (one record again and again). Files are written first.
    sync : open the files with O_SYNC.
    direct : open the files with O_DIRECT.
    min_file_size, max_file_size : smallest and largest size of the files, which double from one to the next.
    min_record_size, max_record_size : smallest and largest size of the records, which double too.
    directory : folder on the file system to be measured; empty for the system's place for temporary files.
    """

    tests: str = "write,read"
    sync: bool = False
    direct: bool = False
    min_file_size: int | str = "64Ki"
    max_file_size: int | str = "1Mi"
    min_record_size: int | str = "4Ki"
    max_record_size: int | str = "256Ki"
    directory: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name.endswith("_size"):
                object.__setattr__(self, field.name, parse_size(getattr(self, field.name)))


@frozen
class IozoneThroughput:
    """Options of storage.iozone_throughput.

    Parameters
    ----------
    test : what the processes do, as iozone names it.
    processes : processes that run at once.
    file_size : size of each process's own file.
    sync : open the files with O_SYNC.
    direct : open the files with O_DIRECT.
    directory : folder on the file system to be measured; empty for the system's place for temporary files.
    """

    test: Literal[
        "initial writers",
        "rewriters",
        "readers",
        "re-readers",
        "random readers",
        "random writers",
        "reverse readers",
        "stride readers",
        "mixed workload",
    ] = "initial writers"
    processes: int = 2
    file_size: int | str = "1Mi"
    sync: bool = False
    direct: bool = False
    directory: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_size", parse_size(self.file_size))
