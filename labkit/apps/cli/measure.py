"""The command that measures."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labkit.apps import show
from labkit.apps.cli import fields
from labkit.apps.cli.console import INTERVAL, OK, OWN_FORMATS, Bar, output, warn
from labkit.apps.cli.fields import Flag
from labkit.errors import SpecError
from labkit.io import atomic
from labkit.point.spec import Effort, Spec, sweep
from labkit.point.units import parse_count

if TYPE_CHECKING:
    from labkit.benchmarks import Benchmark


WORDS = {
    "benchmark": "BENCHMARK as the first argument",
    "size": "-m SIZE",
    "sizes": "-m SIZES",
    "hosts": "--hosts A,B",
    "environment": "--factor env.NAME=VALUE",
    "options": "-o NAME=VALUE",
    "fields": "-o NAME=VALUE",
} | {name: f"--{name} VALUE" for name in ("ranks", "ppn", "launcher", "transport", "device", "testbed", "bind")}
LIST = "A list A,B compares"
BLAS_THREADS = "OPENBLAS_NUM_THREADS"  # by default as many as cores: each spins for 0.03 s when numpy is loaded
PLACE = {
    "ranks": Flag(metavar="N"),
    "ppn": Flag(metavar="N"),
    "hosts": Flag(metavar="A,B|FILE", more="A range is node[01-16]; FILE is a hostfile"),
    "bind": Flag(),
    "device": Flag(),
    "transport": Flag(more=LIST),
    "launcher": Flag(more=LIST),
    "testbed": Flag(),
}
EFFORT = {
    "iterations": Flag("i", "N"),
    "warmup": Flag("x", "N"),
    "launches": Flag(metavar="N"),
    **fields.SCHEDULE,
    "ci": Flag(more="With --ci, labkit exits with code 3 if a point does not reach it"),
    "time_cap": Flag(metavar="S"),
    "time_limit": Flag(metavar="S"),
    "seed": Flag(),
    "keep": Flag(metavar="SAMPLES"),
}


def options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit measure`."""
    add = verb.add_argument
    add("benchmark", help="name of a benchmark; 'labkit list' prints them all")
    add(
        "-m",
        "--sizes",
        metavar="MIN:MAX",
        help="message sizes: powers of two from MIN to MAX, a list A,B,C, or deepbench (default: the benchmark's)",
    )
    add("-W", "--window", metavar="N", help="same as -o window=N")
    option(verb)
    add(
        "--factor",
        action="append",
        default=[],
        metavar="KEY=A,B",
        help="compare the values A, B of KEY: launcher, transport, bind, ppn, an option, or env.NAME for an "
        "environment variable. Separate values with ; if they contain commas",
    )
    fields.add(verb, Spec, PLACE)
    fields.add(verb, Effort, EFFORT)
    into(verb)
    add(
        "--add-launches",
        action="store_true",
        help="add launches, with the effort given here, to points that the campaign already has",
    )
    add("--dry-run", action="store_true", help="print the points and the commands; start nothing")
    output(verb)


def option(verb: argparse.ArgumentParser) -> None:
    """Add the flag that sets options of a benchmark."""
    verb.add_argument(
        "-o",
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set an option of the benchmark; 'labkit describe BENCHMARK' lists them",
    )


def into(verb: argparse.ArgumentParser) -> None:
    """Add the flag that names the campaign."""
    verb.add_argument(
        "--into",
        metavar="CAMPAIGN",
        help="campaign folder for the samples (default: a new one, named after the date and time)",
    )


def factors(words: Sequence[str], refused: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Return factor → levels of words such as ``transport=shm,tcp``.

    Parameters
    ----------
    refused : further names that cannot be factors.
    """
    named: dict[str, list[Any]] = {}
    for word in words:
        key, _, text = word.partition("=")
        levels = [level for level in text.split(";" if ";" in text else ",") if level]
        if not key or not levels or key in named:
            problem = f"{key} is given twice" if key in named else f"{word!r} is not of the form key=a,b"
            raise SpecError(f"--factor {problem}. Write it like --factor transport=shm,tcp.")
        if key in ("benchmark", "hosts", "size", "sizes", "options", "environment", "fields", *refused):
            raise SpecError(
                f"{key} cannot be a factor. Factors are launcher, transport, bind, ppn, options and env.NAME."
            )
        named[key] = [_count(level) for level in levels] if key in ("ranks", "ppn") else levels
    return named


def _count(level: str) -> int | str:
    """Return a level as a whole number if it is one; the spec refuses any other level."""
    count = parse_count(level)
    return level if count is None else count


def given_options(pairs: Sequence[str], benchmark: Benchmark) -> dict[str, Any]:
    """Return the options of a benchmark that ``-o key=value`` sets; a value with commas is a list."""
    malformed = [pair for pair in pairs if "=" not in pair]
    if malformed:
        raise SpecError(f"-o {malformed[0]!r} is not of the form key=value. See 'labkit describe {benchmark.name}'.")
    values = {key: value.split(",") if "," in value else value for key, _, value in (p.partition("=") for p in pairs)}
    _refuse_own_flags(values, benchmark)
    return values


def _specs(options: argparse.Namespace) -> list[Spec]:
    """Return the specs of a measure command."""
    from labkit import benchmarks
    from labkit.run import launch

    benchmark = benchmarks.get(options.benchmark)
    pairs = [*options.option]
    if options.window:
        pairs.append(f"window={options.window}")
    values = given_options(pairs, benchmark)
    if options.sizes and not benchmark.sized:
        raise SpecError(f"-m {options.sizes}, but {benchmark.name} sends no messages. Leave -m out.")
    sizes = options.sizes or (benchmark.sizes if benchmark.sized else 0)
    place = fields.given(options, PLACE)
    if benchmark.single and place.setdefault("ranks", 1) != 1:
        raise SpecError(f"--ranks {options.ranks}, but {benchmark.name} runs without MPI ranks. Leave --ranks out.")
    place |= {name: place[name].split(",") for name in ("transport", "launcher") if name in place}
    if "testbed" in place:
        from labkit import testbeds

        place["testbed"] = testbeds.running(place["testbed"])
    hosts = launch.listed(place.pop("hosts", ""))
    return sweep(options.benchmark, sizes=sizes, hosts=hosts, **place | values | factors(options.factor))


def _refuse_own_flags(given: Iterable[str], benchmark: Benchmark) -> None:
    """Refuse -o for a setting with its own flag, which would overwrite it."""
    names = [field.name for field in dataclasses.fields(benchmark.options)]
    for name in given:
        if name not in names and name in WORDS:
            raise SpecError(
                f"-o {name}=…, but {name} is not an option of {benchmark.name}. Write {WORDS[name]}; its options are: "
                f"{', '.join(names) or 'none'}."
            )


FLAGS: Mapping[str, str] = {
    "size": "-m ",
    "sizes": "-m ",
    "iterations": "-i ",
    "warmup": "-x ",
    **{
        name: f"--{name.replace('_', '-')} "
        for name in (
            "ranks",
            "ppn",
            "hosts",
            "bind",
            "device",
            "transport",
            "launcher",
            "testbed",
            "launches",
            "sessions",
            "spread",
            "ci",
            "time_cap",
            "time_limit",
            "seed",
            "keep",
            "format",
        )
    },
}


def _flags(options: argparse.Namespace) -> dict[str, str]:
    """Return the flag with which the user gave each name: a factor, an option of the benchmark, or its own flag."""
    flags = {pair.partition("=")[0]: f"-o {pair.partition('=')[0]}=" for pair in options.option}
    flags |= FLAGS
    if options.window:
        flags["window"] = "-W "
    return flags | {pair.partition("=")[0]: f"--factor {pair.partition('=')[0]}=" for pair in options.factor}


def run(options: argparse.Namespace) -> int:
    """Measure one benchmark; the error for a wrong setting names the flag that the user typed."""
    if BLAS_THREADS not in os.environ:
        os.putenv(BLAS_THREADS, "1")  # of this process alone: what it measures gets the variables of os.environ
    try:
        return _measure(options)
    except SpecError as error:
        raise SpecError(fields.as_typed(str(error), _flags(options))) from error


def _check_format(benchmark: str, form: str) -> None:
    """Refuse the layout of another program if it cannot hold a benchmark."""
    if form in OWN_FORMATS:
        return
    from labkit.judge import gpcnet, traces
    from labkit.read import equivalents  # these load every parser of logs: 0.03 s

    if form in equivalents.FORMS:
        equivalents.check(benchmark, form)
    elif form == "gpcnet":
        gpcnet.check(benchmark)
    elif form == "otlp":
        traces.check(benchmark)


def _measure(options: argparse.Namespace) -> int:
    """Measure the missing points, and print the requested ones."""
    from labkit.run import estimate, measuring, older
    from labkit.store.campaign import Campaign, fresh
    from labkit.store.samples.facts import FINGERPRINT, STOPPED_BY

    _check_format(options.benchmark, options.format)
    effort = Effort(**fields.given(options, EFFORT))
    if options.output:
        atomic.check(options.output)
    points = measuring.expand(_specs(options), effort)
    if options.dry_run:
        print(show.plan(points, effort))
        return OK
    campaign = Campaign(options.into or fresh("measure"))
    before = campaign.done(options.benchmark)
    launches = list(range(effort.launches))
    if options.add_launches:
        names = {point.fingerprint for point in points}
        first = 1 + max((launch for _, name, launch in before if name in names), default=-1)
        launches = [first + number for number in launches]
    missing = [one for one in points if (options.benchmark, one.fingerprint, launches[one.launch]) not in before]
    with Bar() as bar:
        if missing:
            bar.say(estimate.told(missing, effort))
        specs = [p.spec for p in points if p.launch == 0]
        measuring.measure(specs, effort, into=campaign, progress=bar, launches=launches)
    wanted = {(p.fingerprint, number) for p in points for number in (*launches, p.launch)}
    samples = list(campaign.samples(options.benchmark, wanted))
    old = [one for one in samples if (options.benchmark, str(FINGERPRINT.of(one.meta)), one.launch) in before]
    if not options.add_launches:
        advice = "Give --add-launches to add launches with this effort"
        for text in older.texts(old, effort, advice, names=fields.given(options, EFFORT), flags=FLAGS):
            warn(text)
    show.write(samples, options.format, options.output, campaign=campaign.name, full=options.full)
    print(f"samples: {campaign.path}", file=sys.stderr)
    missed = options.ci is not None and any(STOPPED_BY.of(s.meta) not in ("ci", "tool") for s in samples)
    return INTERVAL if missed else OK
