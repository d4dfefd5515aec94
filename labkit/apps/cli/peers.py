"""The command that shows what is usual on other systems, and learns it from their archives."""

from __future__ import annotations

import argparse
from pathlib import Path

from labkit.apps.cli.console import OK
from labkit.errors import SpecError
from labkit.point.units import plural


def options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit peers`."""
    verb.add_argument(
        "archive",
        nargs="*",
        help="archive of labkit fieldkit --redact or labkit export --redact (default: print what is known)",
    )
    verb.add_argument(
        "--into",
        metavar="DIR",
        type=Path,
        help="folder for the values (default: data/peers of the project or the working folder)",
    )
    verb.add_argument(
        "--source",
        default="",
        metavar="NAME",
        help="name of the system; archives of one system count as one source (default: each archive is a source)",
    )


def run(options: argparse.Namespace) -> int:
    """Print the bands of values of other systems, or add archives to them."""
    from labkit.apps import peers
    from labkit.models.peers import own

    if not options.archive:
        if options.into or options.source:
            raise SpecError("--into and --source go with an archive. Name one, or leave them out.")
        print(peers.table())
        return OK
    for path, count in peers.add(options.archive, options.into or own(), options.source):
        print(f"{path}: {plural(count, 'value')}")
    return OK
