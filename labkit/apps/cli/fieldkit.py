"""The command for a cluster that somebody lends: it measures for some minutes and leaves one archive."""

from __future__ import annotations

import argparse
from pathlib import Path

from labkit.apps.cli import fields
from labkit.apps.cli.console import ERROR, OK, say
from labkit.apps.cli.fields import Flag
from labkit.errors import SpecError
from labkit.point import ranges
from labkit.point.spec import Spec

PLACE = {
    "hosts": Flag(metavar="A,B|FILE", more="A range is node[01-16]; FILE is a hostfile"),
    "ppn": Flag(metavar="N"),
    "bind": Flag(),
    "device": Flag(),
    "transport": Flag(),
    "launcher": Flag(),
}


def options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit fieldkit`."""
    add = verb.add_argument
    add(
        "--minutes",
        type=fields.number,
        default=20.0,
        metavar="MIN",
        help="measure for at most MIN minutes (default: %(default)g); judging and packing follow",
    )
    add("--output", metavar="DIR", type=Path, default=Path(), help="folder of the archive (default: working folder)")
    add("--redact", action="store_true", help="replace names of hosts and users, paths and addresses by pseudonyms")
    add(
        "--hide",
        metavar="WORD",
        action="append",
        default=[],
        help="with --redact: also replace WORD, such as the name of the cluster; repeat it for more words",
    )
    add("--dry-run", action="store_true", help="print what would run, and what is left out; start nothing")
    fields.add(verb, Spec, PLACE)


def run(options: argparse.Namespace) -> int:
    """Measure, judge and pack; 1 if somebody ended it early."""
    from labkit.apps import fieldkit
    from labkit.run import launch

    ranges.check("minutes", options.minutes, word="--minutes ")
    if options.hide and not options.redact:
        raise SpecError(f"--hide {options.hide[0]}, but without --redact nothing is replaced. Add --redact.")
    given = fields.given(options, PLACE)
    try:
        place = fieldkit.Place(given, launch.listed(given.pop("hosts", "")))
        if options.dry_run:
            print(fieldkit.planned(place))
            return OK
        kit = fieldkit.run(
            place,
            minutes=options.minutes,
            output=options.output,
            redact=options.redact,
            hide=options.hide,
            say=say,
        )
    except SpecError as error:
        raise SpecError(fields.as_typed(str(error), {name: f"--{name} " for name in PLACE})) from error
    print(kit.text())
    return ERROR if kit.stopped else OK
