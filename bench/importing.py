"""Print how fast labkit imports texts of other benchmarks: MB/s of processor time, memory, size. Asserts nothing.

``python bench/importing.py [MB…]``; the texts are tables as IMB and OMB print them: repeated outputs, tables of 24 sizes
with random values, and one table with ever larger sizes. The folder is deleted at the end.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
OMB = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
END = "# All processes entering MPI_Finalize\n\n"
SIZES = [0, *(1 << power for power in range(23))]
TEXTS = (
    "IMB, 24 rows",
    "OMB, 24 rows",
    "OMB, one table",
    "imb/MPI1.txt",
    "omb/pt2pt_latency.txt",
    "omb/opt_allreduce_f.txt",
)
ASK = """
import json, sys, time
from labkit.run import importing
began, outcome = time.monotonic(), importing.bring([sys.argv[1]], into=sys.argv[2])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([time.process_time(), time.monotonic() - began, int(peak.split()[1]) / 1024, outcome.added]))
"""


def tables(name: str) -> Iterator[str]:
    """Yield the parts of an endless text."""
    draw = random.Random(1)
    if name == "OMB, one table":
        yield OMB
        for size in itertools.count(8, 8):
            yield f"{size:<10}{size / 1000 + 0.2:18.2f}\n"
    elif name == "OMB, 24 rows":
        while True:
            rows = [f"{size:<10}{draw.uniform(0.2, 900):18.2f}\n" for size in SIZES]
            yield "".join([OMB, *rows, "\n"])
    elif name == "IMB, 24 rows":
        above, rule, rest = (GOLDEN / "imb" / "MPI1.txt").read_text().partition(f"#{'-' * 51}\n# Benchmarking PingPong")
        yield above
        while True:
            rows = [f"{size:13}{1000:13}{draw.uniform(0.2, 900):13.2f}{draw.uniform(0, 9e3):13.2f}\n" for size in SIZES]
            yield "".join([rule, rest.partition("            0")[0], *rows, "\n"])
    else:
        whole = (GOLDEN / name).read_text()
        while True:
            yield whole


def write(path: Path, name: str, most: float) -> int:
    """Write a text of about `most` bytes with the end that it must have; return its size."""
    size = 0
    with path.open("w") as file:
        for text in tables(name):
            size += file.write(text)
            if size > most:
                return size + file.write(END if name == "IMB, 24 rows" else "")
    raise AssertionError(name)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "megabytes", nargs="*", type=float, default=[1.0, 10.0, 100.0], metavar="MB", help="sizes of the texts"
    )
    sizes = parser.parse_args().megabytes
    print(f"{'text':28}{'MB':>8}{'points':>10}{'CPU s':>8}{'MB/s':>8}{'wall s':>8}{'peak MiB':>10}{'MB kept':>9}")
    for megabytes in sizes:
        for name in TEXTS:
            with tempfile.TemporaryDirectory(prefix="labkit-bench-") as folder:
                path, into = Path(folder) / "text.txt", Path(folder) / "campaign"
                size = write(path, name, megabytes * 1e6)
                done = subprocess.run(
                    [sys.executable, "-c", ASK, path, into], capture_output=True, text=True, check=True
                )
                cpu, wall, peak, points = json.loads(done.stdout)
                stored = sum(one.stat().st_size for one in into.rglob("*.parquet")) / 1e6
                line = f"{name:28}{size / 1e6:8.1f}{points:10}{cpu:8.1f}{size / 1e6 / cpu:8.1f}{wall:8.1f}"
                print(f"{line}{peak:10.0f}{stored:9.1f}", flush=True)


if __name__ == "__main__":
    main()
