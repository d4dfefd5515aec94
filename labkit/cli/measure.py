"""The verb that measures."""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labkit import show, writing
from labkit.cli.console import INTERVAL, OK, Bar, output
from labkit.errors import SpecError
from labkit.spec import Effort, Spec, sweep

if TYPE_CHECKING:
    from labkit.benchmarks import Benchmark


WORDS = {
    "benchmark": "BENCHMARK as the first argument", "size": "-m SIZE", "sizes": "-m SIZES", "hosts": "--hosts A,B",
    "environment": "--factor env.NAME=VALUE", "options": "-o NAME=VALUE", "fields": "-o NAME=VALUE",
} | {name: f"--{name} VALUE" for name in ("ranks", "ppn", "launcher", "transport", "device", "testbed", "bind")}  # fmt: skip


def options(verb: argparse.ArgumentParser) -> None:
    """Words of the verb."""
    add = verb.add_argument
    add("benchmark", help="name of a benchmark; 'labkit list' prints them all")
    add(
        "-m",
        "--sizes",
        metavar="MIN:MAX",
        help="message sizes: powers of two from MIN to MAX, or a list A,B,C (default: the benchmark's)",
    )
    add(
        "-i",
        "--iterations",
        type=int,
        metavar="N",
        help="time exactly N iterations (default: the stop rule decides)",
    )
    add(
        "-x",
        "--warmup",
        type=int,
        metavar="N",
        help="run N untimed iterations before each timed chunk (default: as OSU does)",
    )
    add("-W", "--window", metavar="N", help="same as -o window=N")
    add(
        "-o",
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set an option of the benchmark; 'labkit describe BENCHMARK' lists them",
    )
    add("--ranks", type=int, metavar="N", help="number of ranks (default: 2)")
    add("--ppn", type=int, default=0, metavar="N", help="ranks per host (default: the launcher decides)")
    add("--hosts", metavar="A,B|FILE", default="", help="hosts to run on, each as HOST or HOST:SLOTS, or a hostfile")
    add(
        "--bind",
        default="auto",
        help="bind each rank to a core, a socket or none (default: core if there are enough cores)",
    )
    add("--device", default="", help="network device to use (default: the library decides)")
    add("--transport", default="auto", help="transport: auto, shm or tcp; a list compares them (default: auto)")
    add(
        "--launcher",
        default="auto",
        help="auto, openmpi, mpich, intelmpi, srun, or the folder of an MPI installation (default: %(default)s)",
    )
    add(
        "--factor",
        action="append",
        default=[],
        metavar="KEY=A,B",
        help="compare the values A, B of KEY: launcher, transport, bind, ppn, an option, or env.NAME for an environment "
        "variable. Separate values with ; if they contain commas",
    )
    add(
        "--testbed",
        default="local",
        help="emulated network to run on: NAME[:ARG][,key=value…] (default: %(default)s, no emulation)",
    )
    add(
        "--launches",
        type=int,
        default=3,
        metavar="N",
        help="repeat each point in N launches (fresh starts of MPI); 6 give a 95 %% interval (default: %(default)s)",
    )
    add(
        "--ci",
        type=float,
        help="stop a launch when its interval is narrower than this fraction of the median (default: 0.02). With --ci, labkit "
        "exits with code 3 if a point does not reach it",
    )
    add(
        "--time-cap",
        type=float,
        default=2.0,
        metavar="S",
        help="time each point for at most S seconds per launch (default: %(default)s)",
    )
    add(
        "--time-limit",
        type=float,
        default=60.0,
        metavar="S",
        help="stop a start or a point that makes no progress for S seconds (default: %(default)s)",
    )
    add("--seed", type=int, default=1, help="seed of the random order of points (default: %(default)s)")
    add(
        "--into",
        metavar="CAMPAIGN",
        help="campaign folder for the samples (default: a new one, named after the date and time)",
    )
    add("--dry-run", action="store_true", help="print the points and the commands; start nothing")
    output(verb)


def _factors(words: Sequence[str]) -> dict[str, list[Any]]:
    """Factor → levels."""
    found: dict[str, list[Any]] = {}
    for word in words:
        key, _, text = word.partition("=")
        levels = [level for level in text.split(";" if ";" in text else ",") if level]
        if not key or not levels or key in found:
            twice = (
                f"--factor {key} is given twice" if key in found else f"--factor {word!r} is not of the form key=a,b"
            )
            raise SpecError(f"{twice}. Write it like --factor transport=shm,tcp.")
        if key in ("benchmark", "hosts", "size", "sizes", "options", "environment", "fields"):
            raise SpecError(
                f"{key} cannot be a factor. Factors are launcher, transport, bind, ppn, options and env.NAME."
            )
        found[key] = [int(v) if key in ("ranks", "ppn") and v.isdigit() else v for v in levels]
    return found


def _specs(options: argparse.Namespace) -> list[Spec]:
    """Specs of a measure command."""
    from labkit import benchmarks, launch

    benchmark = benchmarks.get(options.benchmark)
    pairs = [*options.option, *([f"window={options.window}"] if options.window else [])]
    broken = [pair for pair in pairs if "=" not in pair]
    if broken:
        raise SpecError(f"-o {broken[0]!r} is not of the form key=value. See 'labkit describe {options.benchmark}'.")
    own = {key: value.split(",") if "," in value else value for key, _, value in (p.partition("=") for p in pairs)}
    _no_options(own, benchmark)
    if options.sizes and not benchmark.sized:
        raise SpecError(f"-m {options.sizes}, but {benchmark.name} sends no messages. Leave -m out.")
    sizes = options.sizes or (benchmark.sizes if benchmark.sized else 0)
    usual_ranks = 1 if benchmark.single else 2
    ranks = usual_ranks if options.ranks is None else options.ranks
    if usual_ranks == 1 and ranks != 1:
        raise SpecError(f"--ranks {ranks}, but {benchmark.name} runs without MPI ranks. Leave --ranks out.")
    usual = {
        "ranks": ranks, "ppn": options.ppn, "device": options.device, "transport": options.transport.split(","),
        "launcher": options.launcher.split(","), "bind": options.bind, "testbed": options.testbed,
    }  # fmt: skip
    fields = usual | own | _factors(options.factor)
    return sweep(options.benchmark, sizes=sizes, hosts=launch.listed(options.hosts), **fields)


def _no_options(given: Iterable[str], benchmark: Benchmark) -> None:
    """Refuse -o for what has a word of its own, and would be overwritten by it."""
    own = [field.name for field in dataclasses.fields(benchmark.options)]
    for name in given:
        if name not in own and name in WORDS:
            raise SpecError(
                f"-o {name}=…, but {name} is not an option of {benchmark.name}. Write {WORDS[name]}; its options are: "
                f"{', '.join(own) or 'none'}."
            )


FLAGS: Mapping[str, str] = {
    "size": "-m ", "sizes": "-m ", "iterations": "-i ", "warmup": "-x ", **{name: f"--{name.replace('_', '-')} " for name in (
        "ranks", "ppn", "hosts", "bind", "device", "transport", "launcher", "testbed", "launches", "ci", "time_cap", "time_limit", "seed", "format")},
}  # fmt: skip


def as_typed(text: str, flags: Mapping[str, str]) -> str:
    """A message about ``name=value`` in the flags of the command line.

    Parameters
    ----------
    flags : name → what takes the place of ``name=``.

    Examples
    --------
    >>> as_typed("ranks=3, but mpi.latency needs exactly 2. Set ranks=2.", {"ranks": "--ranks "})
    '--ranks 3, but mpi.latency needs exactly 2. Set --ranks 2.'
    """
    names = "|".join(map(re.escape, flags))
    return re.sub(rf"(?<![\w.\-=,:/])(?<!-o )(?<!--factor )({names})=(?=[^\s.])", lambda hit: flags[hit[1]], text)


def _flags(options: argparse.Namespace) -> dict[str, str]:
    """The flag in which the user gave each name: a factor, an option of the benchmark, or a flag of its own."""
    flags = {pair.partition("=")[0]: f"-o {pair.partition('=')[0]}=" for pair in options.option}
    flags |= {**FLAGS, **({"window": "-W "} if options.window else {})}
    return flags | {pair.partition("=")[0]: f"--factor {pair.partition('=')[0]}=" for pair in options.factor}


def run(options: argparse.Namespace) -> int:
    """Measure one benchmark; the error for a wrong setting names the flag that the user typed."""
    try:
        return _measure(options)
    except SpecError as error:
        raise SpecError(as_typed(str(error), _flags(options))) from error


def _measure(options: argparse.Namespace) -> int:
    """Measure what is missing, print what was asked for."""
    from labkit import campaign, equivalents, measuring
    from labkit.analysis import gpcnet
    from labkit.campaign import Campaign

    if options.format in equivalents.FORMS:
        equivalents.check(options.benchmark, options.format)
    elif options.format == "gpcnet":
        gpcnet.check(options.benchmark)
    names = ("iterations", "warmup", "launches", "time_cap", "time_limit", "seed")
    asked = {} if options.ci is None else {"ci": options.ci}
    effort = Effort(**{name: getattr(options, name) for name in names}, **asked)
    if options.output:
        writing.check(options.output)
    points = measuring.expand(_specs(options), effort)
    if options.dry_run:
        print(show.plan(points, effort))
        return OK
    held = Campaign(options.into or campaign.fresh("measure"))
    with Bar() as bar:
        measuring.measure([p.spec for p in points if p.launch == 0], effort, into=held, progress=bar)
    wanted = {(p.fingerprint, p.launch) for p in points}
    found = list(held.samples(options.benchmark, wanted))
    show.write(found, options.format, options.output, campaign=held.name, full=options.full)
    print(f"samples: {held.path}", file=sys.stderr)
    missed = options.ci is not None and any(s.meta.get("stopped_by") not in ("ci", "tool") for s in found)
    return INTERVAL if missed else OK
