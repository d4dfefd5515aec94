"""The commands that run suites on a cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from labkit.apps.cli.console import OK, Bar, say
from labkit.apps.cli.fields import whole


def submit_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit submit`."""
    add = verb.add_argument
    add("suite", help="name of a suite, or a TOML file")
    add("--nodes", type=whole, default=2, metavar="N", help="number of nodes (default: %(default)s)")
    add("--ppn", type=whole, default=1, metavar="N", help="ranks per node (default: %(default)s)")
    add("--time", type=whole, default=30, metavar="MIN", help="time limit of the job in minutes (default: %(default)s)")
    add("--partition", default="", metavar="P", help="partition or queue (default: the site's)")
    add("--account", default="", metavar="A", help="account or bank (default: the site's)")
    add("--constraint", default="", metavar="F", help="node features to require (default: the site's)")
    add("--side-by-side", action="store_true", help="measure independent points at the same time, on disjoint nodes")
    add(
        "--array",
        type=whole,
        default=1,
        metavar="N",
        help="run N jobs one after the other, each in a new allocation; each adds launches",
    )
    add(
        "--spread",
        default="",
        metavar="T",
        help="with --array: start the jobs evenly over T, such as 12h; each is a session (default: one job right after "
        "the other)",
    )
    add(
        "--into",
        metavar="CAMPAIGN",
        help="campaign folder on a file system that all nodes share (default: <scratch or data/campaigns>/<suite>)",
    )
    add(
        "--site",
        default="",
        metavar="S",
        help="name of a site in ~/.config/labkit/sites or of one that labkit ships, or a TOML file (default: "
        "$LABKIT_SITE)",
    )
    add(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter in each notebook that has it",
    )
    add("--detach", action="store_true", help="submit the job and return; do not follow it")
    add("--dry-run", action="store_true", help="print the job script and the estimated time; submit nothing")


def submit(options: argparse.Namespace) -> int:
    """Submit a job, and follow it."""
    from labkit import suites
    from labkit.apps import jobs
    from labkit.apps.jobs import estimate, script
    from labkit.apps.jobs import site as sites
    from labkit.apps.jobs.inside import left_out
    from labkit.errors import LaunchError
    from labkit.point.units import format_duration

    request = jobs.Request(
        suite=options.suite,
        nodes=options.nodes,
        ppn=options.ppn,
        minutes=options.time,
        partition=options.partition,
        account=options.account,
        constraint=options.constraint,
        array=options.array,
        spread=options.spread,
        beside=options.side_by_side,
        parameters=tuple(options.parameter),
    )
    site_file = sites.find(options.site)
    site = sites.load(site_file)
    into = jobs.folder(options.suite, options.into, site)
    if options.dry_run:
        try:
            suite = jobs.check(request, site, into, say)
        except LaunchError as error:  # only a warning, because nothing is submitted
            say(f"warning: {error}")
            suite = suites.load(options.suite, options.parameter)
        print(script.render(request, site, into, exclude=sorted(left_out(into))), end="")
        say(estimate.sentence(suite, repeats=options.array))
        return OK
    job = jobs.submit(request, site_file, into, say)
    say(f"job {job.number} submitted for campaign {into}")
    if request.spread:
        say(f"its {request.array} jobs start {format_duration(script.apart(request))} apart, the first one at once")
    if options.detach:
        say(f"follow it with: labkit attach {into}")
        return OK
    return _follow(job)


def _follow(job: object) -> int:
    """Show a job until it ends; Ctrl-C does not stop the job."""
    from labkit.apps import jobs

    assert isinstance(job, jobs.Job)
    try:
        with Bar() as bar:
            text = jobs.attach(job, bar, say)
    except KeyboardInterrupt:
        again = f"Follow it again: labkit attach {job.campaign}; cancel it: labkit cancel {job.campaign}"
        say(f"job {job.number} continues. {again}")
        return 130
    print(text)
    return OK


def campaign_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit attach` and `labkit cancel`."""
    verb.add_argument("campaign", help="folder of a campaign, or its name in data/campaigns")


def status_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit status`."""
    verb.add_argument(
        "campaign", nargs="?", default="", help="campaign by folder or name (default: all campaigns with jobs)"
    )


def status(options: argparse.Namespace) -> int:
    """Print the state of jobs and of their campaigns."""
    from labkit.apps import jobs
    from labkit.store.campaign import Campaign

    listed = jobs.jobs_of(options.campaign) if options.campaign else jobs.every()
    running = set()
    for job in listed:
        progress, state = jobs.Look.at(Campaign(job.campaign)), job.state()
        source = "" if job.submitted_here else " (from the campaign's records; not submitted by you here)"
        print(
            f"{job.campaign.name}: {job.system} job {job.number}{source}, {state.words}; "
            f"{progress.words(live=state.kind == 'running')}"
        )
        if state.kind == "running":
            running.add(job.number)
    if options.campaign:
        print(jobs.summary(Campaign(Path(listed[0].campaign)), running))
    if not listed:
        say("no campaign has jobs. Submit one: labkit submit SUITE")
    return OK


def attach(options: argparse.Namespace) -> int:
    """Follow the last job of a campaign."""
    from labkit.apps import jobs

    return _follow(jobs.latest(options.campaign))


def cancel(options: argparse.Namespace) -> int:
    """Cancel the last job of a campaign."""
    from labkit.apps import jobs

    job = jobs.latest(options.campaign)
    state = jobs.cancel(job)
    yet = "" if state.kind == "ended" else ", and has not ended yet"
    say(f"job {job.number}: {state.words}{yet}. All measured points are kept in {job.campaign}.")
    return OK
