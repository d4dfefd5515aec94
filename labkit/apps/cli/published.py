"""The command that searches published numbers."""

from __future__ import annotations

import argparse

from labkit.apps.cli.console import OK, formats
from labkit.errors import SpecError, unknown_name


def options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit reference`."""
    verb.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="print the numbers that have all these words, or their beginnings, in their text, network, library, "
        "benchmark, place or paper (default: list the papers)",
    )
    verb.add_argument(
        "--paper", default="", metavar="NAME", help="search this paper only; without a WORD print all of it"
    )
    formats(verb, "table", "json", "csv")


def run(options: argparse.Namespace) -> int:
    """Print published numbers, or the papers that have some."""
    from labkit.apps.show import published
    from labkit.read import reference

    if not options.words and not options.paper:
        print(published.papers(options.format))
        return OK
    if options.paper and options.paper not in reference.names():
        raise unknown_name("paper", options.paper, reference.names())
    entries = reference.search(" ".join(options.words).split(), file=options.paper)
    if not entries:
        raise SpecError(
            f"No published number has {' and '.join(map(repr, options.words))}. Give fewer words, or their beginnings "
            "only. `labkit reference` lists the papers."
        )
    print(published.text(entries, options.format))
    return OK
