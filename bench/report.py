"""What a report takes: time, processor time, memory and size, cold and again, and how they grow with the figures.

    python bench/report.py [CAMPAIGN] [--times 1,2]

Cold: nothing is executed or drawn yet. Again: nothing has changed. Changed: the facts of the campaign have changed, so
the report is made anew from executed notebooks and drawn figures. With ``--times 2`` the report is of two copies of
the campaign, which has twice the figures. Of two numbers of copies, the last lines give what a report of 100 figures
takes, on the line between them, beside the limits that a report shall keep on two idle cores. Memory is the sum over all processes, with pages that several share counted
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

from labkit.io import project

EXAMPLE = project.CAMPAIGNS / "examples" / "two-cores"
FIGURES = 100  # of a report that shall keep these limits on two idle cores
LIMITS = {
    "cold": {"wall_s": 60.0, "peak_MB": 800.0, "html_MB": 20.0},
    "again": {"wall_s": 8.0, "peak_MB": 800.0, "html_MB": 20.0},
}
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
    command = [sys.executable, "-m", "labkit", "report", "--engine", "plain", *map(str, campaigns)]
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


def _judged(points: list[dict[str, float]], limits: dict[str, float]) -> str:
    """Return what a report of `FIGURES` takes, on the line through two points, beside its limits."""
    one, other = points[0], points[-1]
    share = (FIGURES - one["figures"]) / (other["figures"] - one["figures"])
    texts = []
    for name, limit in limits.items():
        value = one[name] + share * (other[name] - one[name])
        texts.append(f"{name} {value:.1f} {'of' if value <= limit else 'ABOVE'} {limit:g}")
    return ", ".join(texts)


def main() -> None:
    """Print a line for each number of copies, cold and again, and 100 figures beside the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", nargs="?", type=Path, default=EXAMPLE)
    parser.add_argument("--times", default="1,2", help="numbers of copies, separated by commas")
    options = parser.parse_args()
    points: dict[str, list[dict[str, float]]] = {}
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
                points.setdefault(run, []).append({**took, "figures": figures, "html_MB": size})
                print(
                    f"{copies:6} {figures:7} {run:7} {took['wall_s']:6.1f} {took['processor_s']:11.1f} "
                    f"{took['peak_MB']:7.0f} {size:7.1f}",
                    flush=True,
                )
    for run, limits in LIMITS.items():
        if len({point["figures"] for point in points[run]}) > 1:
            print(f"{FIGURES} figures, {run}: {_judged(points[run], limits)}")


if __name__ == "__main__":
    main()
