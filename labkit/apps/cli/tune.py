"""The command that finds the fastest setting of an MPI library."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.apps.cli import fields, measure
from labkit.apps.cli.console import INTERVAL, OK, Bar, formats
from labkit.apps.cli.fields import Flag, number, whole
from labkit.errors import SpecError
from labkit.point import ranges
from labkit.point.spec import Effort, Spec, sweep
from labkit.point.units import parse_count
from labkit.stats.racing import ERROR, ROUNDS

if TYPE_CHECKING:
    from labkit.tuning import Outcome, Plan

_LISTS = {"transport": Flag(), "launcher": Flag()}  # one of each here; --factor races several
PLACE = {name: flag for name, flag in measure.PLACE.items() if name != "ranks"} | _LISTS
EFFORT = {name: measure.EFFORT[name] for name in ("iterations", "warmup", "time_limit", "seed")} | {"ci": Flag()}
_CAP = 0.5  # s of timed iterations in a launch; a race needs many launches rather than long ones
_NUMBERS = ("rounds", "error", "confirm", "relevant", "budget")


def options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit tune`."""
    add = verb.add_argument
    add("benchmark", help="name of a benchmark; 'labkit list' prints them all")
    add(
        "-m", "--sizes", metavar="MIN:MAX", help="message sizes to tune: powers of two from MIN to MAX, or a list A,B,C"
    )
    add("--ranks", metavar="N,M", default="2", help="numbers of ranks to tune (default: %(default)s)")
    add(
        "--factor",
        action="append",
        default=[],
        metavar="NAME=A,B",
        help="race the values A, B of NAME: algorithm (names, numbers or all), segment or fanout of a collective; "
        "env.NAME for a variable of the library; bind, transport, ppn, device, launcher. Several factors race in all "
        "combinations. Separate values with ; if they contain commas",
    )
    measure.option(verb)
    fields.add(verb, Spec, PLACE)
    fields.add(verb, Effort, EFFORT)
    add(
        "--time-cap",
        dest="time_cap",
        metavar="S",
        type=number,
        default=_CAP,
        help="time each point for at most S seconds per launch (default: %(default)s)",
    )
    add(
        "--budget",
        metavar="MINUTES",
        type=number,
        help="end after about MINUTES, confirmation included (default: no limit)",
    )
    add(
        "--rounds",
        metavar="N",
        type=whole,
        default=ROUNDS,
        help="race for at most N rounds, each a launch of every setting that still races (default: %(default)s)",
    )
    add(
        "--error",
        metavar="P",
        type=number,
        default=ERROR,
        help="chance that the race of a point stops its best setting (default: %(default)s)",
    )
    add(
        "--confirm",
        metavar="N",
        type=whole,
        default=8,
        help="confirm each winner with N launches of it and of the default, interleaved (default: %(default)s)",
    )
    add(
        "--relevant",
        metavar="PART",
        type=number,
        default=0.02,
        help="smallest relevant difference, as a fraction of the value (default: %(default)s, which is 2 percent)",
    )
    add("--no-proof", action="store_true", help="do not measure ranks with and without the files that were written")
    measure.into(verb)
    add("--output", metavar="FOLDER", help="folder for the files that the library reads (default: CAMPAIGN/tune)")
    add("--dry-run", action="store_true", help="print the settings and the longest time; start nothing")
    formats(verb, "table", "json")


def run(options: argparse.Namespace) -> int:
    """Tune; the error for a wrong setting names the flag that the user typed."""
    try:
        return _tune(options)
    except SpecError as error:
        raise SpecError(fields.as_typed(str(error), measure.FLAGS)) from error


def _tune(options: argparse.Namespace) -> int:
    """Race, confirm, write, and print."""
    from labkit import tuning
    from labkit.apps.show import tuned
    from labkit.run import measuring
    from labkit.store.campaign import Campaign, fresh

    plan = _plan(options)
    measuring.expand([one.of(base) for base in plan.bases for one in plan.settings], plan.effort, [0])  # refuse early
    for name, value in tuning.inherited(plan.settings).items():
        print(
            f"warning: {name}={value} is set here, so the default has it too. Run `unset {name}` first", file=sys.stderr
        )
    if options.dry_run:
        print(tuned.plan(plan))
        return OK
    campaign = Campaign(options.into or fresh("tune"))
    with Bar() as bar:
        outcome = tuning.tune(
            plan,
            campaign,
            output=Path(options.output) if options.output else None,
            proof=not options.no_proof,
            progress=bar,
            say=bar.say,
        )
    print(tuned.text(outcome, options.format))
    print(f"samples: {campaign.path}", file=sys.stderr)
    return INTERVAL if _undecided(outcome) else OK


def _undecided(outcome: Outcome) -> bool:
    """Whether launches were too few to decide about a winner, or the budget for all that was to be measured."""
    from labkit.judge.comparison.judging import UNDECIDED

    open_ = (one.confirmed is None or one.confirmed.verdict == UNDECIDED for one in outcome.points if one.winner)
    return bool(outcome.ended) or any(open_)


def _plan(options: argparse.Namespace) -> Plan:
    """Return what to tune, checked."""
    from labkit import benchmarks
    from labkit.run import launch
    from labkit.tuning import Plan, settings

    for name in _NUMBERS:
        if (value := getattr(options, name)) is not None:
            ranges.check(name, value, word=f"--{name} ")
    benchmark = benchmarks.get(options.benchmark)
    factors = measure.factors(options.factor, ("ranks",))
    if benchmark.sized and not options.sizes:
        raise SpecError(f"{benchmark.name} needs sizes to tune. Add them, such as --sizes 1Ki,64Ki.")
    if options.sizes and not benchmark.sized:
        raise SpecError(f"-m {options.sizes}, but {benchmark.name} sends no messages. Leave -m out.")
    values = measure.given_options(options.option, benchmark)
    if several := [name for name, value in values.items() if isinstance(value, list)]:
        raise SpecError(f"-o {several[0]} has several values, but a setting must not change the work. Give one value.")
    place = fields.given(options, PLACE)
    hosts = launch.listed(place.pop("hosts", ""))
    sizes = options.sizes or 0
    bases = sweep(options.benchmark, sizes=sizes, ranks=_ranks(options.ranks), hosts=hosts, **place | values)
    effort = Effort(time_cap=options.time_cap, **fields.given(options, EFFORT))
    return Plan(
        bases=tuple(sorted(set(bases), key=lambda one: (one.ranks, one.size))),
        settings=tuple(settings(options.benchmark, factors, place.get("launcher", "auto"))),
        effort=effort,
        rounds=options.rounds,
        error=options.error,
        relevant=options.relevant,
        confirm=options.confirm,
        budget=60 * options.budget if options.budget is not None else math.inf,
    )


def _ranks(text: str) -> list[int]:
    """Return the numbers of ranks of a list."""
    counts = [parse_count(word) for word in text.split(",")]
    if not all(counts):
        raise SpecError(
            f"--ranks {ranges.shown(text)}, but it must be whole numbers, 1 or more. Write for example --ranks 2,4."
        )
    return [count for count in counts if count]
