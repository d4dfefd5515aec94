"""The verb that measures."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from labkit import show, writing
from labkit.cli.speaking import INTERVAL, OK, Bar, output
from labkit.errors import SpecError
from labkit.spec import Effort, Spec, sweep

if TYPE_CHECKING:
    from labkit.benchmarks import Benchmark


WORDS = {
    "benchmark": "it as the first word", "size": "-m SIZE", "sizes": "-m SIZES", "hosts": "--hosts A,B",
    "environment": "--factor env.NAME=VALUE", "options": "-o NAME=VALUE", "fields": "-o NAME=VALUE",
} | {name: f"--{name} VALUE" for name in ("ranks", "ppn", "launcher", "transport", "device", "testbed", "bind")}  # fmt: skip


def options(verb: argparse.ArgumentParser) -> None:
    """Words of the verb."""
    add = verb.add_argument
    add("benchmark", help="family.name, as 'labkit list' prints it")
    add("-m", "--sizes", metavar="MIN:MAX", help="message sizes in powers of two, or a list (default: the benchmark's)")
    add(
        "-i",
        "--iterations",
        type=int,
        metavar="N",
        help="exact number of timed iterations (default: the stop rule decides)",
    )
    add("-x", "--warmup", type=int, metavar="N", help="iterations before each timed chunk (default: OSU's)")
    add("-W", "--window", metavar="N", help="short for -o window=N")
    add(
        "-o",
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="option of the benchmark; 'labkit describe' lists them",
    )
    add("--ranks", type=int, help="number of ranks (default: 2)")
    add("--ppn", type=int, default=0, help="ranks on each host (default: the launcher's choice)")
    add("--hosts", metavar="A,B|FILE", default="", help="hosts to run on, each with :SLOTS if you like, or a hostfile")
    add(
        "--bind",
        default="auto",
        help="bind a rank to its core, its socket or none (default: core, where there are enough)",
    )
    add("--device", default="", help="network device")
    add("--transport", default="auto", help="path of the messages: auto, shm or tcp; a list makes a comparison")
    add(
        "--launcher",
        default="auto",
        help="auto, openmpi, mpich, intelmpi, srun, or the path of an MPI (default: %(default)s)",
    )
    add(
        "--factor",
        action="append",
        default=[],
        metavar="KEY=A,B",
        help="compare: launcher, transport, bind, ppn, an option, or a variable as env.NAME, measured in turn; levels that hold commas are parted by semicolons",
    )
    add("--testbed", default="local", help="where to run: NAME[:ARG][,key=value…] (default: %(default)s)")
    add("--launches", type=int, default=3, help="fresh starts; 6 give a 95 %% interval (default: %(default)s)")
    add(
        "--ci",
        type=float,
        help="stop when the interval is narrower than this part of the median (default: 0.02); exit code 3 when it was asked for and not reached",
    )
    add(
        "--time-cap",
        type=float,
        default=2.0,
        metavar="S",
        help="s of timed iterations for a point and launch (default: %(default)s)",
    )
    add(
        "--time-limit",
        type=float,
        default=60.0,
        metavar="S",
        help="s without a sign of life after which a start or a point is ended (default: %(default)s)",
    )
    add("--seed", type=int, default=1, help="of the random order of points (default: %(default)s)")
    add("--into", metavar="CAMPAIGN", help="campaign to keep the samples in (default: a new one, named after the time)")
    add("--dry-run", action="store_true", help="print the points and the command, start nothing")
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
            raise SpecError(f"{key} is no factor. Factors are launcher, transport, bind, ppn, options and env.NAME.")
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
        raise SpecError(f"-m {options.sizes}, but {benchmark.name} has no message. Leave -m out.")
    sizes = options.sizes or (benchmark.sizes if benchmark.sized else 0)
    usual_ranks = 1 if benchmark.single else 2
    ranks = usual_ranks if options.ranks is None else options.ranks
    if usual_ranks == 1 and ranks != 1:
        raise SpecError(f"--ranks {ranks}, but {benchmark.name} has no ranks to choose. Leave --ranks out.")
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
                f"-o {name}=…, but {name} is no option of {benchmark.name}. Write {WORDS[name]}; its options are: "
                f"{', '.join(own) or 'none'}."
            )


def run(options: argparse.Namespace) -> int:
    """Measure what is missing, print what was asked for."""
    from labkit import campaign, classic, measuring
    from labkit.analysis import gpcnet
    from labkit.campaign import Campaign

    if options.format in classic.FORMS:
        classic.check(options.benchmark, options.format)
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
