"""The command line: parse, call, print. Everything it can do, the library can do too."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from labkit import __version__, show
from labkit.errors import LabkitError, SpecError
from labkit.spec import Effort, Spec, sweep

OK, ERROR, GATE, INTERVAL = 0, 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 fine, 1 error, 2 a gate failed, 3 an interval was asked for and not reached."""
    warnings.showwarning = _warn
    top = parser()
    options, rest = top.parse_known_args(arguments)
    if rest and options.run is not _lab:
        top.error(f"unrecognized arguments: {' '.join(rest)}")
    options.rest = rest
    try:
        return int(options.run(options))
    except LabkitError as error:
        _say(str(error))
        return ERROR
    except KeyboardInterrupt:
        _say("stopped; what was measured is kept.")
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return OK


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {message}")


def _say(text: str) -> None:
    print(f"labkit: {text}", file=sys.stderr)


class Parser(argparse.ArgumentParser):
    """Ends with `ERROR` for a wrong command line; argparse's own 2 means a failed gate here."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and how to go on."""
        self.exit(ERROR, f"{self.prog}: {message}. See {self.prog} --help.\n")


def parser() -> argparse.ArgumentParser:
    """The words of the command line."""
    top = Parser(prog="labkit", description="Measure, understand and publish how fast a cluster communicates.")
    top.add_argument("--version", action="version", version=f"labkit {__version__}")
    verbs = top.add_subparsers(title="verbs", metavar="VERB", required=True)
    for word, run, fill, text, example in VERBS:
        verb = verbs.add_parser(
            word, help=text, description=text, epilog=f"example:\n{textwrap.indent(example, '  ')}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        fill(verb)
        verb.set_defaults(run=run)
    return top


# ---- verbs -----------------------------------------------------------------------------------------------------


def _format(verb: argparse.ArgumentParser, *names: str) -> None:
    verb.add_argument("--format", choices=names, default=names[0], help="how to print (default: %(default)s)")


def _text_or_json(verb: argparse.ArgumentParser) -> None:
    _format(verb, "table", "json")


def _list(options: argparse.Namespace) -> int:
    print(show.benchmarks_text(options.format))
    return OK


def _describe_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("benchmark", help="family.name, as 'labkit list' prints it")


def _describe(options: argparse.Namespace) -> int:
    print(show.description(options.benchmark))
    return OK


def _doctor(options: argparse.Namespace) -> int:
    text, sound = show.doctor(options.format)
    print(text)
    return OK if sound else ERROR


def _measure_options(verb: argparse.ArgumentParser) -> None:
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
    add("--ranks", type=int, default=2, help="number of ranks (default: %(default)s)")
    add("--ppn", type=int, default=0, help="ranks on each host (default: the launcher's choice)")
    add("--hosts", metavar="A,B|FILE", default="", help="hosts to run on, or a file that names one a line")
    add("--device", default="", help="network device")
    add("--transport", default="auto", help="path of the messages: auto, shm or tcp; a list makes a comparison")
    add("--launcher", default="auto", help="openmpi, mpich or auto (default: %(default)s)")
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
        help="s without a sign of life after which a point is ended (default: %(default)s)",
    )
    add("--seed", type=int, default=1, help="of the random order of points (default: %(default)s)")
    add("--into", metavar="CAMPAIGN", help="campaign to keep the samples in (default: a new one, named after the time)")
    add("--dry-run", action="store_true", help="print the points and the command, start nothing")
    _format(verb, "table", "json", "csv", "parquet")
    add("--output", metavar="FILE", help="write there instead of standard output")


def _hosts(text: str) -> tuple[str, ...]:
    path = Path(text)
    names = path.read_text().split() if text and path.is_file() else text.split(",")
    return tuple(name for name in names if name)


def _specs(options: argparse.Namespace) -> list[Spec]:
    """Specs of a measure command."""
    from labkit import benchmarks

    benchmark = benchmarks.get(options.benchmark)
    pairs = [*options.option, *([f"window={options.window}"] if options.window else [])]
    broken = [pair for pair in pairs if "=" not in pair]
    if broken:
        raise SpecError(f"-o {broken[0]!r} is not of the form key=value. See 'labkit describe {options.benchmark}'.")
    own = {key: value.split(",") if "," in value else value for key, _, value in (p.partition("=") for p in pairs)}
    sizes = options.sizes or (benchmark.sizes if benchmark.sized else 0)
    ranks = options.ranks if benchmark.ranks[1] != 1 else 1
    return sweep(
        options.benchmark, sizes=sizes, ranks=ranks, ppn=options.ppn, hosts=_hosts(options.hosts),
        device=options.device, transport=options.transport.split(","), launcher=options.launcher,
        testbed=options.testbed, **own,
    )  # fmt: skip


def _measure(options: argparse.Namespace) -> int:
    from labkit import measuring
    from labkit.campaign import Campaign

    names = ("iterations", "warmup", "launches", "time_cap", "time_limit", "seed")
    effort = Effort(**{name: getattr(options, name) for name in names}, **({"ci": options.ci} if options.ci else {}))
    points = measuring.expand(_specs(options), effort)
    if options.dry_run:
        print(show.plan(points, effort))
        return OK
    held = Campaign(options.into or measuring.fresh())
    with show.Bar() as bar:
        measuring.measure([p.spec for p in points if p.launch == 0], effort, into=held, progress=bar)
    wanted = {(p.fingerprint, p.launch) for p in points}
    found = [s for s in held.samples(options.benchmark) if (s.meta.get("fingerprint"), s.launch) in wanted]
    show.write(found, options.format, options.output, campaign=held.name)
    print(f"samples: {held.path}", file=sys.stderr)
    missed = options.ci and any(s.meta.get("stopped_by") not in ("ci", "tool") for s in found)
    return INTERVAL if missed else OK


def _suite_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("suite", help="a suite in templates/suites, or a TOML file")


def _plan(options: argparse.Namespace) -> int:
    from labkit import batch

    print(show.suite(batch.load(options.suite)))
    return OK


def _run_options(verb: argparse.ArgumentParser) -> None:
    _suite_options(verb)
    verb.add_argument("--into", metavar="CAMPAIGN", help="campaign folder (default: data/campaigns/<suite>)")
    verb.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter in every notebook that has it",
    )


def _run(options: argparse.Namespace) -> int:
    from labkit import batch

    with show.Bar() as bar:
        outcome = batch.run(batch.load(options.suite, options.parameter), into=options.into, progress=bar)
    print(outcome.text())
    return OK if outcome.sound else ERROR


def _show_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("campaign", help="its folder, or its name in data/campaigns")
    verb.add_argument("--benchmark", default="*", help="only this one")
    _format(verb, "table", "json", "csv", "parquet")
    verb.add_argument("--output", metavar="FILE", help="write there instead of standard output")


def _show(options: argparse.Namespace) -> int:
    from labkit import campaign

    held = campaign.Campaign(campaign.find(options.campaign))
    show.write(list(held.samples(options.benchmark)), options.format, options.output, campaign=held.name)
    return OK


def _report_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("campaign", nargs="+", help="folder or name of a campaign")
    verb.add_argument("--style", default="report", help="look of the report: report or letter (default: %(default)s)")
    engines, what = ("auto", "quarto", "plain"), "what renders it (default: Quarto when it is installed)"
    verb.add_argument("--engine", choices=engines, default="auto", help=what)


def _report(options: argparse.Namespace) -> int:
    from labkit import campaign, report

    folders = [campaign.find(name) for name in options.campaign]
    built = report.build(folders, style=options.style, engine=options.engine, progress=_say)
    for text in built.warnings:
        _warn(text)
    print(f"HTML report: {built.html}")
    if built.pdf:
        print(f"PDF report:  {built.pdf}")
    return OK


def _lab(options: argparse.Namespace) -> int:
    import subprocess

    from labkit.batch import NOTEBOOKS

    words = [str(NOTEBOOKS), *(["--allow-root"] if os.geteuid() == 0 else []), *options.rest]
    return subprocess.call([sys.executable, "-m", "jupyterlab", *words])


Fill = Callable[[argparse.ArgumentParser], None]
VERBS: tuple[tuple[str, Callable[[argparse.Namespace], int], Fill, str, str], ...] = (
    ("list", _list, _text_or_json, "List the benchmarks.", "labkit list"),
    ("describe", _describe, _describe_options, "Tell what a benchmark measures, and its options.", "labkit describe mpi.latency"),
    ("doctor", _doctor, _text_or_json, "Check this machine, with remedies.", "labkit doctor"),
    ("measure", _measure, _measure_options, "Measure one benchmark.",
     "labkit measure mpi.latency -m 1:4Ki --transport shm,tcp --launches 6\nlabkit measure mpi.bandwidth -m 64Ki -o window=32 --format json"),
    ("plan", _plan, _suite_options, "Print what a suite would measure; starts nothing.", "labkit plan quick"),
    ("run", _run, _run_options, "Execute the notebooks of a suite into a campaign; measures only what is missing.",
     "labkit run quick --into data/campaigns/today -p launches=6"),
    ("show", _show, _show_options, "Print the results of a campaign.", "labkit show quick --benchmark mpi.latency --format csv"),
    ("report", _report, _report_options, "Make the HTML and PDF report of a campaign.", "labkit report quick"),
    ("lab", _lab, lambda verb: None, "Open JupyterLab on the notebooks; further words are passed on to it.", "labkit lab --no-browser"),
)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
