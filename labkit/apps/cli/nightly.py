"""The command that a timer starts: measure a suite, judge it by the nights before, and add it to them."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from typing import TYPE_CHECKING

from labkit.apps.cli import checks, suite
from labkit.apps.cli.console import ERROR, FAILED, say, warn
from labkit.errors import LabkitError
from labkit.io import extras

if TYPE_CHECKING:
    from labkit.judge.gate import Result
    from labkit.store.campaign import Campaign


def options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit nightly`."""
    verb.add_argument("--suite", default="quick", help="name of a suite, or a TOML file (default: %(default)s)")
    verb.add_argument(
        "--against",
        nargs=1,
        metavar="HISTORY",
        required=True,
        help="folder of earlier nights; labkit adds this night, and makes the folder if it is missing",
    )
    verb.add_argument(
        "--metrics",
        metavar="FILE",
        default="",
        help="also write results and verdicts for monitoring: .om (OpenMetrics), .prom (node_exporter's textfile) or "
        ".lp (InfluxDB)",
    )
    verb.add_argument("--no-report", action="store_true", help="make no HTML report of the night")
    suite.settings(verb)
    checks.judging(verb)


def run(options: argparse.Namespace) -> int:
    """Measure, judge and keep a night; 2 if a point is worse, 1 after an error, 3 with too little history."""
    from labkit import benchmarks
    from labkit.apps import nightly
    from labkit.apps.show import metrics

    checks.check_judging(options)
    if not fnmatch.filter(benchmarks.every(), options.benchmark):
        benchmarks.get(options.benchmark)  # refuses it, and names similar ones
    if options.metrics:
        metrics.format_of(options.metrics)
    chosen = suite.loaded(options)
    with nightly.opened(options.against[0]) as history:
        night, resumed = nightly.begin(history, chosen.name)
        for one in nightly.unfinished(history):
            if one.path != night.path:
                say(f"{one.path} was never finished. Read it with: labkit show {one.path}")
        say(f"{'resuming' if resumed else 'measuring'} {night.path}")
        outcome = suite.measured(nightly.with_page(chosen, history), night.path, options.testbed)
        print(outcome.text(), file=sys.stderr)
        result = checks.judged(night, nightly.finished(history), options)
        status = checks.told(night, result, options, str(history / night.name))
        written = _written(nightly.keep(history, night), result, options)
    return status if status == FAILED or (outcome.sound and written) else ERROR


def _written(night: Campaign, result: Result, options: argparse.Namespace) -> bool:
    """Write metrics and report of a night; return whether that succeeded. An error must not hide the verdict."""
    from labkit import report
    from labkit.apps.show import metrics
    from labkit.report import sources

    try:
        if options.metrics:
            metrics.write(options.metrics, sources.read(night.path), result)
        if options.no_report:
            return True
        if extras.absent(*extras.NOTEBOOKS):
            say(f"no report, because the extra labkit[report] is not installed: {extras.command('report')}")
            return True
        built = report.build([night.path], gate=result, progress=say)
    except LabkitError as error:
        say(str(error))
        return False
    for text in built.warnings:
        warn(text)
    say(f"HTML report: {built.html}")
    return True
