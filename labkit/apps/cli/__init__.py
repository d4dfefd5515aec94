"""The command line: parse, call, print. Everything it can do, the library can do too."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn, Self

from labkit import __version__
from labkit.apps.cli import pages, stopping, streams
from labkit.apps.cli.console import ERROR, OK, formats, say, tell_brought, warn
from labkit.errors import LabkitError, alike, unknown_name
from labkit.io import extras, project, safe_read, sanitize

_NUMBERS = {"int": "a whole number", "float": "a number"}
_CHOICE = re.compile(r"argument (\S+): invalid choice: '?(.*?)'? \(choose from (.*)\)", re.DOTALL)
_STOPPED = "stopped. All measured points are kept."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 for success, 1 for an error, 2 if a gate failed, 3 if an interval was not reached or a gate had too few launches.
    """
    warnings.showwarning = warn
    streams.settle(restart=arguments is None)
    top = parser()
    options, rest = top.parse_known_args(arguments)
    if rest and not options.verb.passes_on:
        options.verb.unknown(rest)
    options.rest = rest
    with sanitize.plainly():
        return _exit_status(options)


def _exit_status(options: argparse.Namespace) -> int:
    """Run the verb and return its exit code; 128 + the number of the signal that stopped it."""
    with stopping.Heard() as heard:
        try:
            status = _outcome(options)
        except Exception:
            if not heard.number:
                raise
            say(_STOPPED)  # libraries raise various errors if they are interrupted while they load
            status = ERROR
        return 128 + heard.number if heard.number and status else status


def _outcome(options: argparse.Namespace) -> int:
    """Run the verb and return its exit code; print errors."""
    try:
        tell_brought(options)
        status = int(options.run(options))
        streams.flush()
        return status
    except LabkitError as error:
        say(str(error))
        return ERROR
    except ModuleNotFoundError as error:
        if (missing := extras.explained(error)) is None:
            raise
        say(str(missing))
        return ERROR
    except KeyboardInterrupt:
        say(_STOPPED)
        return ERROR
    except BrokenPipeError:
        streams.silence()
        return OK
    except safe_read.REFUSED as error:
        cause = safe_read.explained(error)
        streams.silence()
        say(str(cause))
        return ERROR


class Parser(argparse.ArgumentParser):
    """A parser that exits with `ERROR` for a wrong command line; argparse's own 2 means a failed gate here.

    Attributes
    ----------
    fill : adds the options of a verb, when they are first needed: they load what defines them.
    passes_on : whether further arguments are passed on.
    """

    fill: Callable[[], object] | None = None
    passes_on = False

    def filled(self) -> Self:
        """Return the parser with the options of its verb."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill()
        return self

    def format_help(self) -> str:
        """Return the help of the verb."""
        self.filled()
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse ``--word=--`` first, which argparse takes for a list."""
        self.filled()
        for word in sys.argv[1:] if args is None else args:
            if word == "--":
                break
            if word.startswith("-") and word.partition("=")[2] == "--":
                self.error(f"{word}: -- is not a value. Write a value after {word[:-2]}")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where the help is."""
        message = re.sub(
            r"invalid (int|float) value: (.*)", lambda part: f"{part[2]} is not {_NUMBERS[part[1]]}", message
        )
        if choice := _CHOICE.fullmatch(message):
            names = re.findall(r"[^\s,']+", choice[3])
            see = f"{self.prog} --help" if choice[1] == "COMMAND" else ""
            what = "command" if see else f"choice for {choice[1]}"
            self.exit(ERROR, f"{self.prog}: {sanitize.plain(str(unknown_name(what, choice[2], names, see=see)))}\n")
        message = sanitize.plain(message if len(message) < 300 else f"{message[:300]}…")
        self.exit(ERROR, f"{self.prog}: {message}. See {self.prog} --help.\n")

    def unknown(self, words: Sequence[str]) -> NoReturn:
        """Say which arguments are unknown, and which options have similar names."""
        names = [*dict.fromkeys(re.findall(r"--[a-z][\w-]+", self.format_help()))]
        near = "".join(alike(word.partition("=")[0], names) for word in words if word.startswith("--"))
        self.error(f"{near}unrecognized arguments: {' '.join(words)}")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = Parser(
        prog="labkit", description="Measure how fast a cluster communicates, explain the numbers, and publish them."
    )
    top.add_argument("--version", action="version", version=f"labkit {__version__}")
    verbs = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for word, run, fill, text, example in VERBS:
        verb = verbs.add_parser(
            word,
            help=text,
            description=text,
            epilog=f"example:\n{textwrap.indent(example, '  ')}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.fill = partial(_fill, verb, run, fill)
        verb.passes_on = word in ("lab", "testbed")
    return top


def _fill(verb: Parser, run: str, fill: str) -> None:
    """Add to the parser of a verb its options, if it has any, and the function that runs it."""
    if fill:
        _function(fill)(verb)
    verb.set_defaults(run=_function(run), verb=verb)


def _function(name: str) -> Callable[..., Any]:
    """Return a function of this package by its name: ``module.function``, or ``function`` for one of this file."""
    module, _, function = f"{__name__}.{name}".rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


# ---- verbs -----------------------------------------------------------------------------------------------------


def _text_or_json(verb: argparse.ArgumentParser) -> None:
    formats(verb, "table", "json")


def _list(options: argparse.Namespace) -> int:
    from labkit.apps import show

    print(show.benchmarks_text(options.format))
    return OK


def _describe_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("benchmark", help="name of a benchmark; 'labkit list' prints them all")


def _describe(options: argparse.Namespace) -> int:
    from labkit.apps import show

    print(show.description(options.benchmark))
    return OK


def _doctor(options: argparse.Namespace) -> int:
    from labkit.apps import show

    text, sound = show.doctor(options.format)
    print(text)
    return OK if sound else ERROR


def _init_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("folder", help="new folder, or project to add missing files to")


def _init(options: argparse.Namespace) -> int:
    print(project.init(options.folder).text())
    return OK


# Name, functions that run it and add its options, description, example. `labkit --help` loads none of the functions.
VERBS: tuple[tuple[str, str, str, str, str], ...] = (
    ("list", "_list", "_text_or_json", "List the benchmarks.", "labkit list"),
    (
        "describe",
        "_describe",
        "_describe_options",
        "Print the definition and the options of a benchmark.",
        "labkit describe mpi.latency",
    ),
    (
        "doctor",
        "_doctor",
        "_text_or_json",
        "Check this machine for conditions that distort measurements; print remedies.",
        "labkit doctor",
    ),
    (
        "init",
        "_init",
        "_init_options",
        "Create a project folder with notebooks, suites, report settings and data. Overwrite nothing.",
        "labkit init my-cluster",
    ),
    (
        "measure",
        "measure.run",
        "measure.options",
        "Measure one benchmark and print its results.",
        "labkit measure mpi.latency -m 1:4Ki --transport shm,tcp --launches 6\n"
        "labkit measure mpi.bandwidth -m 64Ki -o window=32 --format json",
    ),
    (
        "plan",
        "suite.plan",
        "suite.options",
        "Print what a suite would measure, where, and for how long. Start nothing.",
        "labkit plan quick",
    ),
    (
        "run",
        "suite.run",
        "suite.options",
        "Run the notebooks of a suite. Skip points that are already measured.",
        "labkit run quick --into data/campaigns/today -p launches=6\nlabkit run quick --testbed virtual-cluster:8",
    ),
    (
        "submit",
        "jobs.submit",
        "jobs.submit_options",
        "Submit a suite as a batch job on a cluster and follow it.",
        "labkit submit quick --nodes 4 --ppn 2 --time 30 --partition short --dry-run\n"
        "labkit submit quick --nodes 4 --site mysite.toml --array 6",
    ),
    (
        "status",
        "jobs.status",
        "jobs.status_options",
        "Print the state of batch jobs and their campaigns.",
        "labkit status\nlabkit status quick",
    ),
    (
        "attach",
        "jobs.attach",
        "jobs.campaign_options",
        "Follow the batch job of a campaign again.",
        "labkit attach quick",
    ),
    (
        "cancel",
        "jobs.cancel",
        "jobs.campaign_options",
        "Cancel the batch job of a campaign. Keep the measured points.",
        "labkit cancel quick",
    ),
    (
        "import",
        "campaigns.import_",
        "campaigns.import_options",
        "Import the output of other benchmarks (OSU, IMB, perftest, netperf, fio, …) into a campaign.",
        "labkit import osu_latency.txt imb_mpi1.txt --into data/campaigns/imported\n"
        "labkit import osu_allreduce.txt --ranks 64\n"
        'labkit import table2.txt --testbed "RoCE, 100 Gb/s" --published "Kenny et al. 2020, Fig. 2"',
    ),
    (
        "record",
        "campaigns.record",
        "campaigns.record_options",
        "Run any command several times, keep its output, and import the results.",
        "labkit record -- mpirun -n 2 osu_latency\nlabkit record --launches 12 --into tcp -- iperf3 -c node2 --json",
    ),
    (
        "fieldkit",
        "fieldkit.run",
        "fieldkit.options",
        "Measure a cluster for some minutes, beside the site's own benchmarks; leave one archive and nothing else.",
        "labkit fieldkit --dry-run\nlabkit fieldkit --minutes 20 --redact",
    ),
    (
        "show",
        "campaigns.show_",
        "campaigns.show_options",
        "Print the results of a campaign.",
        "labkit show quick --benchmark mpi.latency --format csv",
    ),
    (
        "reference",
        "published.run",
        "published.options",
        "Search the numbers that papers published; print value, conditions and place.",
        "labkit reference\nlabkit reference roce latency\nlabkit reference mpi.bandwidth --format json\n"
        "labkit reference --paper cluster-interconnects-2003",
    ),
    (
        "peers",
        "peers.run",
        "peers.options",
        "Print what is usual on other systems with the same link; add redacted archives to it.",
        "labkit peers\nlabkit peers fieldkit.zip --source their-cluster",
    ),
    (
        "compare",
        "compare.run",
        "compare.options",
        "Compare campaigns, or levels of a factor, point by point.",
        "labkit compare before after\n"
        "labkit compare openmpi mpich --allow library --benchmark mpi.latency\n"
        "labkit compare quick --by transport=shm,tcp --format json",
    ),
    (
        "explain",
        "checks.explain",
        "checks.explain_options",
        "Compare bandwidths and latencies with the bounds of their paths; print what to check next.",
        "labkit explain data/campaigns/examples/virtual-cluster\n"
        "labkit explain quick --link 100gbit --mtu 9000 --pcie 3x16\n"
        "labkit explain roce --link '100 Gb/sec (4X EDR)' --mtu 4096 --format json",
    ),
    (
        "tune",
        "tune.run",
        "tune.options",
        "Find the fastest setting of the MPI library for each size; write the files that the library reads.",
        "labkit tune mpi.allreduce --sizes 1Ki,64Ki --factor algorithm=all --budget 10\n"
        "labkit tune mpi.bcast --sizes 64Ki:1Mi --ranks 4,8 --factor algorithm=all --factor segment=0,8192\n"
        "labkit tune mpi.latency --sizes 4Ki,64Ki --factor env.OMPI_MCA_btl_vader_eager_limit=4096,65536 --dry-run",
    ),
    (
        "lint",
        "checks.lint",
        "checks.lint_options",
        "Check a campaign against the twelve rules of Hoefler and Belli and labkit's own; name remedies.",
        "labkit lint quick\nlabkit lint data/campaigns/examples/two-cores --format json",
    ),
    (
        "gate",
        "checks.gate",
        "checks.gate_options",
        "Judge a campaign by earlier ones or by a contract; exit with 2 if a point is worse or a clause not fulfilled.",
        "labkit gate today --against data/campaigns/nightly\n"
        "labkit gate today --against monday tuesday --false-alarms 0.001 --format junit\n"
        "labkit gate today --contract acceptance.toml",
    ),
    (
        "nightly",
        "nightly.run",
        "nightly.options",
        "Measure a suite, judge it by the nights before, and add it to them: one command for cron, Slurm and CI.",
        "labkit nightly --suite quick --against history/\n"
        "labkit nightly --suite quick --against history/ --metrics /var/lib/node_exporter/labkit.prom --format github",
    ),
    (
        "compact",
        "campaigns.compact",
        "campaigns.compact_options",
        "Pack the finished points of each benchmark into one file, without loss.",
        "labkit compact quick",
    ),
    (
        "export",
        "campaigns.export",
        "campaigns.export_options",
        "Write a campaign to an archive with checksums, or its results as metrics.",
        "labkit export quick --output quick.zip\nlabkit export quick --redact --hide my-cluster\n"
        "labkit export quick --metrics quick.om",
    ),
    (
        "verify",
        "campaigns.verify",
        "campaigns.verify_options",
        "Check an archive or a campaign; list files that are changed, truncated or missing.",
        "labkit verify quick.zip",
    ),
    (
        "merge",
        "campaigns.merge",
        "campaigns.merge_options",
        "Merge campaigns or archives into one campaign. Each point keeps its origin.",
        "labkit merge monday.zip tuesday --into data/campaigns/week",
    ),
    (
        "report",
        "campaigns.report_",
        "campaigns.report_options",
        "Build an HTML and a PDF report of one or more campaigns.",
        "labkit report quick",
    ),
    (
        "testbed",
        "testbed.run",
        "testbed.options",
        "Start a testbed (an emulated network) that several commands can use.",
        "labkit testbed up soft-roce\n"
        "labkit testbed up virtual-cluster --nodes 8 --per-leaf 4 --uplink 267mbit\n"
        "labkit testbed up soft-roce --delay 1ms --loss 0.1\n"
        "labkit testbed list\n"
        "labkit testbed down soft-roce",
    ),
    (
        "lab",
        "pages.jupyter",
        "",
        "Open JupyterLab on the notebooks and, in labs/, the lessons. Pass further arguments on to JupyterLab.",
        f"labkit lab --no-browser\n\n{pages.REACH}",
    ),
    (
        "explore",
        "pages.explore",
        "pages.explore_options",
        "Open the Explorer, a page to measure, compare and inspect points.",
        f"labkit explore quick\nlabkit explore --no-browser --port 8888\n\n{pages.REACH}",
    ),
)
