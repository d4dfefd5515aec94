"""What a report takes: time, processor time, memory and size, cold and again, and how they grow with the figures.

    python bench/report.py [CAMPAIGN] [--times 1,2]

Cold: nothing is executed or drawn yet. Again: nothing has changed. Changed: the facts of the campaign have changed, so
the report is made anew from executed notebooks and drawn figures. With ``--times 2`` the report is of two copies of
the campaign, which has twice the figures. Memory is the sum over all processes, with pages that several share counted
once; speeds depend on the machine, so compare processor time and ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from labkit import project

EXAMPLE = project.CAMPAIGNS / "examples" / "two-cores"
_EVERY = 0.2  # s between two looks at the memory


def _memory(process: int) -> int:
    """Memory of a process and its descendants, B; what several share counts once."""
    total = 0
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            total += sum(_memory(int(child)) for child in listed.read_text().split())
        except OSError:  # it ended
            continue
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return total
    return total + next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def _measured(campaigns: list[Path], environment: dict[str, str]) -> dict[str, float]:
    """Make the report of campaigns; return wall-clock and processor time in s, and the highest memory in MB."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "labkit.cli", "report", "--engine", "plain", *map(str, campaigns)]
    running = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while running.poll() is None:
        peak = max(peak, _memory(running.pid))
        time.sleep(_EVERY)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if running.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {running.returncode}")
    processor = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    return {"wall_s": time.monotonic() - began, "processor_s": processor, "peak_MB": peak / 1e6}


def main() -> None:
    """Print a line for each number of copies, cold and again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", nargs="?", type=Path, default=EXAMPLE)
    parser.add_argument("--times", default="1,2", help="numbers of copies, separated by commas")
    options = parser.parse_args()
    print("copies figures run     wall_s processor_s peak_MB html_MB")
    for copies in map(int, options.times.split(",")):
        with tempfile.TemporaryDirectory(prefix="labkit-bench-report-") as folder:
            environment = os.environ | {"XDG_CACHE_HOME": f"{folder}/cache"}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            campaigns = [Path(folder) / f"copy-{number + 1}" for number in range(copies)]
            for path in campaigns:
                shutil.copytree(
                    options.campaign, path, ignore=shutil.ignore_patterns("notebooks*", "report", "records*")
                )
                facts = json.loads((path / "campaign.json").read_text())
                (path / "campaign.json").write_text(json.dumps(facts | {"name": path.name}))
            for run in ("cold", "again", "changed"):
                if run == "changed":
                    with (campaigns[0] / "campaign.json").open("a") as file:
                        file.write("\n")
                took = _measured(campaigns, environment)
                site = next(campaigns[0].glob("report*/html"))  # a report of several has a name of its own
                size = sum(path.stat().st_size for path in site.glob("**/*") if path.is_file()) / 1e6
                figures = sum(page.read_text().count('class="plot"') for page in site.glob("*.html"))
                print(
                    f"{copies:6} {figures:7} {run:7} {took['wall_s']:6.1f} {took['processor_s']:11.1f} "
                    f"{took['peak_MB']:7.0f} {size:7.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
