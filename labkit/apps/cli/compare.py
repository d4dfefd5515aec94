"""The command that compares campaigns, or levels of a factor."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from labkit.apps.cli.console import OK, formats
from labkit.apps.cli.fields import number
from labkit.errors import LabkitError, SpecError
from labkit.io import atomic
from labkit.point import ranges

if TYPE_CHECKING:
    from labkit.judge.comparison.sides import Side

_BY_CAMPAIGN = "campaign"


def options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit compare`."""
    verb.add_argument(
        "campaign", nargs="+", help="campaigns by folder or name; the first is the base of the comparison"
    )
    verb.add_argument(
        "--by",
        metavar="FACTOR[=A,B]",
        default=_BY_CAMPAIGN,
        help="compare the levels of a factor instead of the campaigns, such as transport or library=X,Y; the first "
        "level is the base",
    )
    verb.add_argument(
        "--allow",
        metavar="FACTOR",
        action="append",
        default=[],
        help="declare a factor that may differ between the sides; several with commas. Other differences stop the "
        "comparison",
    )
    verb.add_argument(
        "--where",
        metavar="FACTOR=A,B",
        action="append",
        default=[],
        help="compare only points with one of these levels of a factor",
    )
    verb.add_argument(
        "--benchmark", default="*", help="compare only this benchmark, or those that match a pattern such as 'mpi.*'"
    )
    verb.add_argument(
        "--metric", metavar="NAME", default="", help="metric to compare (default: each benchmark's first)"
    )
    verb.add_argument(
        "--relevant",
        type=number,
        metavar="PART",
        default=0.02,
        help="smallest relevant difference, as a fraction of the value (default: %(default)s, which is 2 percent)",
    )
    verb.add_argument(
        "--force",
        action="store_true",
        help="compare although undeclared factors differ; the results carry the badge 'not comparable'",
    )
    formats(verb, "table", "json", "csv")
    verb.add_argument(
        "--output", metavar="FILE", help="write to a file, a device or a pipe (default: -, standard output)"
    )


def run(options: argparse.Namespace) -> int:
    """Compare, and print the result. A difference is not an error."""
    from labkit.apps.show.comparison import text
    from labkit.errors import unknown_name
    from labkit.judge import comparison
    from labkit.point.columns import METRICS
    from labkit.store.campaign import Campaign, find

    ranges.check("relevant", options.relevant, word="--relevant ")
    if options.metric and options.metric not in METRICS:
        raise unknown_name("metric", options.metric, list(METRICS))
    if options.output:
        atomic.check(options.output)
    where = dict(_levels(word) for word in options.where)
    by, _, levels = options.by.partition("=")
    folders = [Campaign(find(name)) for name in options.campaign]
    if by == _BY_CAMPAIGN and len(folders) < 2:
        raise SpecError(
            f"There is one campaign, {options.campaign[0]}, but a comparison needs two. Name another, or compare "
            "levels of a factor with --by."
        )
    names = _names(folders, options.campaign)
    read = {
        name: comparison.read(one, options.benchmark, options.metric) for name, one in zip(names, folders, strict=True)
    }
    if not any(read.values()):
        raise SpecError(f"{', '.join(names)}: no points of benchmark {options.benchmark!r}. See 'labkit show'.")
    read = comparison.restricted(read, where)
    if by != _BY_CAMPAIGN:
        pooled = [launch for launches in read.values() for launch in launches]
        sides = [_level(pooled, by, level) for level in levels.split(",") if level]
        read = comparison.by_levels(pooled, by, sides)
    outcome = comparison.compare(
        read,
        by=by,
        allow=[name for word in options.allow for name in word.split(",") if name],
        metric=options.metric,
        relevant=options.relevant,
        force=options.force,
    )
    result = text(outcome, options.format)
    if options.output:
        atomic.text(options.output, result + "\n")
    else:
        print(result)
    return OK


def _levels(word: str) -> tuple[str, list[str]]:
    """Return factor and levels of ``FACTOR=A,B``."""
    name, equals, levels = word.partition("=")
    if not (name and equals and levels):
        raise SpecError(f"--where {word!r} is not of the form FACTOR=A,B. Write for example --where transport=shm.")
    return name, levels.split(",")


def _names(folders: Sequence[object], given: Sequence[str]) -> list[str]:
    """Return a name for each campaign: its folder's name, or its path if two names are equal."""
    short = [str(getattr(one, "name", one)) for one in folders]
    if len(set(short)) == len(short):
        return short
    return list(given) if len(set(given)) == len(given) else [f"{name} ({n})" for n, name in enumerate(given, 1)]


def _level(launches: Side, factor: str, level: str) -> str:
    """Return a level as the points record it; a launcher may be given by its folder, as for `labkit measure`."""
    present = {level for one in launches for level in one.level(factor)}
    if factor != "launcher" or level in present:
        return level
    from labkit.run import launch

    with suppress(LabkitError):  # measured elsewhere: the error lists the levels that exist
        return launch.get(level).name
    return level
