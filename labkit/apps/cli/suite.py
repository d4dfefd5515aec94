"""The commands that plan and run a suite."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from labkit.apps.cli.console import ERROR, OK, Bar, say
from labkit.errors import SpecError
from labkit.point import ranges

if TYPE_CHECKING:
    from pathlib import Path

    from labkit.suites import Outcome, Suite


def options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit plan` and `labkit run`."""
    verb.add_argument("suite", help="name of a suite, or a TOML file")
    verb.add_argument("--into", metavar="CAMPAIGN", help="campaign folder (default: data/campaigns/<suite>)")
    settings(verb)


def settings(verb: argparse.ArgumentParser) -> None:
    """Add the options for measuring a suite."""
    from labkit.apps.cli import fields
    from labkit.point.spec import Effort

    fields.add(verb, Effort, fields.SCHEDULE)
    verb.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter in each notebook that has it",
    )
    verb.add_argument(
        "--testbed",
        metavar="T",
        default="",
        help="run the whole suite on an emulated network: NAME[:ARG][,key=value…] (default: this machine)",
    )
    verb.add_argument(
        "--site",
        metavar="S",
        default="",
        help="site file with the settings of the cluster; read inside a batch job (default: $LABKIT_SITE)",
    )
    verb.add_argument(
        "--repeats",
        type=fields.whole,
        metavar="N",
        default=1,
        help="multiply the number of launches by N (default: 1)",
    )


def plan(options: argparse.Namespace) -> int:
    """Print what a suite would measure; return 1 if a part cannot be measured."""
    from labkit.apps import show
    from labkit.suites import plan as plans

    suite = loaded(options)
    planned = plans.plan(suite, options.into)
    print(show.suite(planned, suite))
    return ERROR if any(one.problem for one in planned) else OK


def run(options: argparse.Namespace) -> int:
    """Run the notebooks of a suite; return 1 if one failed."""
    from labkit.store.campaign import root

    suite = loaded(options)
    outcome = measured(suite, options.into or root() / suite.name, options.testbed)
    print(outcome.text())
    return OK if outcome.sound else ERROR


def measured(suite: Suite, into: str | Path, testbed: str) -> Outcome:
    """Measure a suite into a campaign, on a testbed that stays up for the whole run; show the progress."""
    from labkit import suites, testbeds
    from labkit.apps.jobs import inside
    from labkit.store.campaign import Campaign

    suites.raise_open_file_limit()
    campaign = Campaign(into)
    with inside.noted(campaign, suite, say) as note_end, testbeds.kept_up(testbed or "local", say), Bar() as bar:
        outcome = suites.run(suite, into=campaign.path, progress=bar, session=inside.session())
        note_end(OK if outcome.sound else ERROR)
    return outcome


def loaded(options: argparse.Namespace) -> Suite:
    """Return the suite with the settings of the command line, of the testbed, and of the batch job with its site."""
    from labkit import suites, testbeds
    from labkit.apps.cli import fields
    from labkit.apps.jobs import inside
    from labkit.apps.jobs import site as sites
    from labkit.host import allocation

    ranges.check("repeats", options.repeats, word="--repeats ")
    parameters, defaults = [], {}
    if options.testbed:
        parameters = [f"testbed={testbeds.resolved(options.testbed)}"]
        defaults = {"transports": "tcp"} if testbeds.outline(options.testbed).hosts else {}  # they share no memory
    job, site_file = allocation.current(), sites.find(options.site)
    if job is not None and not options.testbed:
        defaults = inside.default_parameters(sites.load(site_file) if site_file else sites.Site(), job)
    given = fields.given(options, fields.SCHEDULE)
    try:
        suite = suites.load(options.suite, [*options.parameter, *parameters], defaults, **given)
    except SpecError as error:
        raise SpecError(fields.as_typed(str(error), {name: f"--{name} " for name in given})) from error
    return inside.repeated(suite, options.repeats)
