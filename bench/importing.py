"""How fast texts of other benchmarks are imported: MB/s of processor time, memory, growth. Asserts nothing.

``python bench/importing.py [MB…]``; the texts are tables as IMB and OMB print them, repeated, and one table with ever
larger sizes; the folder is deleted at the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
ASK = """
import json, sys, time
from labkit import importing
began, outcome = time.monotonic(), importing.bring([sys.argv[1]], into=sys.argv[2])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([time.process_time(), time.monotonic() - began, int(peak.split()[1]) / 1024, outcome.added]))
"""


def tables(name: str) -> Iterator[str]:
    """A text without end."""
    if name == "sizes":
        yield "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
        size = 0
        while True:
            size += 8
            yield f"{size:<10}{size / 1000 + 0.2:18.2f}\n"
    else:
        whole = (GOLDEN / name).read_text()
        while True:
            yield whole


def main() -> None:
    """Print a table."""
    print(f"{'text':28}{'MB':>8}{'points':>10}{'CPU s':>8}{'MB/s':>8}{'wall s':>8}{'peak MiB':>10}{'MB kept':>9}")
    for megabytes in [float(word) for word in sys.argv[1:]] or [1.0, 10.0, 100.0]:
        for name in ("imb/MPI1.txt", "omb/pt2pt_latency.txt", "omb/opt_allreduce_f.txt", "sizes"):
            with tempfile.TemporaryDirectory(prefix="labkit-bench-") as folder:
                path, into, size = Path(folder) / "text.txt", Path(folder) / "campaign", 0
                with path.open("w") as file:
                    for text in tables(name):
                        size += file.write(text)
                        if size > megabytes * 1e6:
                            break
                done = subprocess.run(
                    [sys.executable, "-c", ASK, path, into], capture_output=True, text=True, check=True
                )
                cpu, wall, peak, points = json.loads(done.stdout)
                kept = sum(one.stat().st_size for one in into.rglob("*.parquet")) / 1e6
                line = f"{name:28}{size / 1e6:8.1f}{points:10}{cpu:8.1f}{size / 1e6 / cpu:8.1f}{wall:8.1f}"
                print(f"{line}{peak:10.0f}{kept:9.1f}", flush=True)


if __name__ == "__main__":
    main()
