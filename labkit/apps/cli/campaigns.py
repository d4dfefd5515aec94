"""The commands that fill and read campaigns without measuring."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.apps import show
from labkit.apps.cli.console import ERROR, OK, Bar, ReadBar, output, say, warn
from labkit.apps.cli.fields import number, whole
from labkit.errors import SpecError
from labkit.io import atomic, extras, safe_read
from labkit.point import ranges
from labkit.point.units import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labkit.report import Built
    from labkit.store import archive
    from labkit.store.campaign import Campaign


def show_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit show`."""
    verb.add_argument("campaign", help="folder of a campaign, or its name in data/campaigns")
    verb.add_argument(
        "--benchmark", default="*", help="print only this benchmark, or those that match a pattern such as 'sockets.*'"
    )
    verb.add_argument(
        "--follow",
        action="store_true",
        help="print each result as soon as it is measured until the run ends, then the whole table",
    )
    verb.add_argument(
        "--published",
        action="store_true",
        help="print the published numbers of the same benchmarks after the results, with --format table or json",
    )
    output(verb)


def show_(options: argparse.Namespace) -> int:
    """Print the results of a campaign."""
    from labkit.store.campaign import Campaign, find

    if options.published and options.format not in ("table", "json"):
        raise SpecError(
            f"--published with --format {options.format}, which holds measured values only. Take table or json."
        )
    if options.output:
        atomic.check(options.output)
    campaign = Campaign(find(options.campaign))
    if options.follow:
        _follow(campaign)
    if options.format == "table" and options.benchmark == "*" and (text := show.listing(campaign)):
        print(text)
        return OK
    show.campaign(
        campaign, options.benchmark, options.format, options.output, full=options.full, beside=options.published
    )
    return OK


def _follow(campaign: Campaign) -> None:
    """Print lines on standard error, with a progress bar below them, until the run ends."""
    from labkit.suites.following import news

    with Bar() as bar:
        for event in news(campaign):
            if isinstance(event, str):
                bar.say(event)
            else:
                bar(event)


def compact_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit compact`."""
    verb.add_argument("campaign", help="folder of a campaign, or its name in data/campaigns")


def compact(options: argparse.Namespace) -> int:
    """Put the finished points of every benchmark into one file each."""
    from labkit.store.campaign import Campaign, find

    campaign = Campaign(find(options.campaign))
    compacted = campaign.compact()
    for name, count in compacted.items():
        print(f"{name}: {plural(count, 'point × launch')} in one file")
    print(f"{campaign.path}: {len(compacted)} of {plural(len(campaign.benchmarks()), 'benchmark')} compacted")
    return OK


def export_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit export`."""
    verb.add_argument("campaign", help="folder of a campaign, or its name in data/campaigns")
    verb.add_argument("--output", metavar="FILE", help="archive to write (default: name of the campaign with .zip)")
    verb.add_argument(
        "--redact",
        action="store_true",
        help="replace names of hosts and users, paths and addresses by pseudonyms, also in the reports",
    )
    verb.add_argument(
        "--hide",
        metavar="WORD",
        action="append",
        default=[],
        help="with --redact: also replace WORD, such as the name of the cluster; repeat it for more words",
    )
    verb.add_argument(
        "--metrics",
        metavar="FILE",
        default="",
        help="write results and verdicts for monitoring instead of an archive: .om (OpenMetrics), .prom "
        "(node_exporter's textfile) or .lp (InfluxDB)",
    )
    verb.add_argument(
        "--ro-crate",
        action="store_true",
        help="describe the archive as an RO-Crate, with the reports that were made; needs --license and --author",
    )
    verb.add_argument("--license", metavar="ID", default="", help="licence of the data, such as CC-BY-4.0")
    verb.add_argument(
        "--author", metavar="NAME[, ORCID]", action="append", default=[], help="who measured; repeat it for more people"
    )


def export(options: argparse.Namespace) -> int:
    """Write a campaign as one archive, or its results for monitoring."""
    from labkit.store import campaign

    if not options.ro_crate and (options.license or options.author):
        raise SpecError("--license and --author without --ro-crate, but only a crate names them. Add --ro-crate.")
    if options.hide and not options.redact:
        raise SpecError("--hide without --redact, but only a redacted archive hides words. Add --redact.")
    if options.metrics and (options.redact or options.ro_crate or options.output):
        raise SpecError(
            "--metrics with --redact, --ro-crate or --output, but it writes no archive. Export twice, once for each."
        )
    place = campaign.find(options.campaign)
    if options.metrics:
        return _metrics(place, options.metrics)
    if options.redact:
        from labkit.apps import redacting

        options.output = options.output or f"{place.resolve().name}-redacted.zip"
        with redacting.copied(campaign.Campaign.existing(place), options.hide, say) as made:
            target = _archive(made.path, options)
    else:
        target = _archive(place, options)
    if atomic.is_file(target):
        print(f"archive: {target}, {target.stat().st_size:,} B; check it with: labkit verify {target}")
    return OK


def _archive(place: Path, options: argparse.Namespace) -> Path:
    from labkit.store import archive

    return _crate(place, options) if options.ro_crate else archive.export(place, options.output)


def _metrics(place: Path, file: str) -> int:
    """Write a campaign as metrics."""
    from labkit.apps.show import metrics
    from labkit.report import sources

    metrics.format_of(file)
    metrics.write(file, sources.read(place))
    print(f"metrics: {file}")
    return OK


def _crate(place: Path, options: argparse.Namespace) -> Path:
    """Write a campaign with its report as an RO-Crate."""
    from labkit.report import crate, sources
    from labkit.store import archive, derived
    from labkit.store.campaign import Campaign

    if not (options.license and options.author):
        missing = "--license" if not options.license else "--author"
        raise SpecError(
            f"--ro-crate without {missing}, but who uses the data must know it. Add for example "
            "--license CC-BY-4.0 --author 'Ada Lovelace'."
        )
    authors, license = [crate.person(text) for text in options.author], crate.licence(options.license)
    source = sources.read(place)
    home = Campaign(place).derived
    reports = [folder for folder in sorted(home.glob(f"{derived.REPORT}*")) if derived.is_report(folder.name)]
    reports = [folder for folder in reports if not derived.is_shared(folder.name)]  # those publish others' data too
    added = {path.relative_to(home).as_posix(): path for folder in reports for path in crate.rendered(folder)}

    def describe(packed: Sequence[archive.Packed]) -> dict[str, str]:
        whole = [*packed, archive.Packed(archive.MANIFEST, 0, "")]
        return {crate.FILE: crate.written(source=source, packed=whole, authors=authors, license=license)}

    return archive.export(place, options.output, added=added, describe=describe)


def verify_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit verify`."""
    verb.add_argument("campaign", help="an archive, or a campaign by folder or name")
    _max_size(verb)


def _max_size(verb: argparse.ArgumentParser) -> None:
    """Add the option that limits the size of foreign archives."""
    verb.add_argument(
        "--max-size",
        metavar="SIZE",
        default="",
        help="refuse archives that unpack to more than SIZE, such as 64Gi (default: 16Gi)",
    )


def verify(options: argparse.Namespace) -> int:
    """Name every file of a campaign or an archive that is changed, truncated or missing."""
    from labkit.store import archive, redaction
    from labkit.store.campaign import Campaign
    from labkit.store.packing import Limits

    place = archive.place(options.campaign)
    with archive.examined(place, Limits.usual(options.max_size)) as found:
        for text in found.problems:
            print(text)
        folder = None if found.problems else found.folder
        when = redaction.redacted(Campaign.existing(folder)) if folder else ""
    count = len(found.problems)
    print(f"{place}: {plural(found.count, 'file')}, {f'{count} of them damaged or missing' if count else 'all intact'}")
    if when:
        print(f"redacted on {when[:10]}: pseudonyms stand for hosts, users, paths and addresses; numbers are unchanged")
    return ERROR if count else OK


def merge_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit merge`."""
    verb.add_argument("campaign", nargs="+", help="archives, or campaigns by folder or name")
    verb.add_argument("--into", metavar="CAMPAIGN", required=True, help="campaign folder to merge into")
    _max_size(verb)


def merge(options: argparse.Namespace) -> int:
    """Merge campaigns into one."""
    from labkit.store import archive, merging
    from labkit.store.packing import Limits

    places = [archive.place(name) for name in options.campaign]
    print(merging.merge(places, Path(options.into), Limits.usual(options.max_size)).text())
    return OK


PROGRAMS = (  # a test compares them with the formats, which take time to load
    "OSU micro-benchmarks (OMB), Intel MPI benchmarks (IMB), fi_pingpong, fio, Flent, GPCNeT, hey, HPCC, HPCG, HPL, "
    "IO500, IOR, IOzone, iperf, iperf3, JUBE, LinkTest, LINPACK, mdtest, memtier_benchmark, nccl-tests, netperf, "
    "NetPIPE, NPB, PARAM, perfSONAR, perftest, pyperf, qperf, Ramble, redis-benchmark, ReFrame, sockperf, STREAM, "
    "ucx_perftest, wrk and YCSB"
)


def import_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit import`."""
    about = f"output of a benchmark, or a folder of such files. labkit reads the output of {PROGRAMS}"
    verb.add_argument("file", nargs="+", help=about)
    verb.add_argument(
        "--into",
        metavar="CAMPAIGN",
        help="campaign folder for the results (default: a new one, named after the date and time)",
    )
    verb.add_argument("--ranks", type=whole, metavar="N", help="number of ranks, if the file does not name it")
    verb.add_argument(
        "--testbed",
        default="",
        metavar="NAME",
        help="name of the system that was measured. Files with the same name count as repeats (default: the file's "
        "name)",
    )
    verb.add_argument(
        "--published",
        default="",
        metavar="SOURCE",
        help="mark the numbers as published: name the paper, the table and the conditions",
    )


def import_(options: argparse.Namespace) -> int:
    """Import the output of other benchmarks into a campaign."""
    from labkit.run import importing

    if options.ranks is not None:
        ranges.check("ranks", options.ranks, word="--ranks ")
    with ReadBar() as bar:
        outcome = importing.bring(
            options.file,
            into=options.into,
            ranks=options.ranks or 0,
            testbed=options.testbed,
            published=options.published,
            progress=bar,
        )
    for text in outcome.warnings:
        warn(text)
    print(outcome.text())
    return OK


_LAUNCHES, _TIME_LIMIT = 6, 3600.0  # of `labkit.run.recording`, which takes time to load


def record_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit record`."""
    verb.add_argument(
        "--launches", type=whole, default=_LAUNCHES, metavar="N", help="run the command N times (default: %(default)s)"
    )
    verb.add_argument(
        "--into",
        metavar="CAMPAIGN",
        help="campaign folder, which gets further launches (default: a new one, named after the date and time)",
    )
    verb.add_argument("--ranks", type=whole, metavar="N", help="number of ranks, if the output does not name it")
    verb.add_argument("--testbed", default="", metavar="NAME", help="name of the system (default: this host's name)")
    verb.add_argument(
        "--time-limit",
        type=number,
        default=_TIME_LIMIT,
        metavar="S",
        help="end a launch after S seconds (default: %(default)g)",
    )
    verb.add_argument("command", nargs="*", metavar="-- COMMAND", help="the command, with its arguments, after --")


def record(options: argparse.Namespace) -> int:
    """Run a command several times, and import what it prints."""
    from labkit.run import recording

    outcome = recording.record(
        options.command,
        launches=options.launches,
        into=options.into,
        ranks=options.ranks or 0,
        testbed=options.testbed,
        time_limit=options.time_limit,
        shown=lambda piece: sys.stderr.write(piece.decode(errors="replace")),
        told=lambda number, count: say(f"launch {number} of {count}"),
    )
    for text in outcome.warnings:
        warn(text)
    print(outcome.text())
    return OK


def report_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit report`."""
    verb.add_argument("campaign", nargs="*", help="campaign by folder or name (default: the newest in data/campaigns)")
    verb.add_argument(
        "--style",
        default="report",
        help="style of the report: report, letter, survey, acceptance, comparison, lab, slides, or "
        "a style of your project (default: %(default)s, in report/; others in report-STYLE/; of campaigns A and B in "
        "report+B/ of A)",
    )
    verb.add_argument(
        "--contract", metavar="FILE", type=Path, help="acceptance contract (TOML) that --style acceptance judges by"
    )
    verb.add_argument(
        "--log",
        metavar="FILE",
        type=Path,
        help="with --contract: list the tests in FILE, which labkit gate --log wrote, on the page to sign",
    )
    verb.add_argument(
        "--allow",
        metavar="FACTOR",
        action="append",
        default=[],
        help="factor that may differ between the campaigns of --style comparison; several with commas",
    )
    engines, text = ("auto", "quarto", "plain"), "engine that renders the report (default: Quarto if installed)"
    verb.add_argument("--engine", choices=engines, default="auto", help=text)
    verb.add_argument("--docx", action="store_true", help="also make a Word document; needs Quarto")
    verb.add_argument(
        "--execute",
        action=argparse.BooleanOptionalAction,
        help="run all of labkit's own notebooks on the samples, or none (default: run those without an executed copy "
        "in the campaign). labkit never runs notebooks that are stored in a campaign",
    )


def _lab_report(options: argparse.Namespace) -> Built:
    """Make the report of a learner's lab."""
    extras.import_notebooks()
    from labkit.apps.teaching import handout

    if len(options.campaign) != 1:
        raise SpecError(
            f"--style {options.style} takes one folder of a lab, not {len(options.campaign)}. Name one, such as "
            "run-collectives."
        )
    folder = Path(options.campaign[0])
    return handout.build(folder, style=options.style, engine=options.engine, docx=options.docx, progress=say)


def report_(options: argparse.Namespace) -> int:
    """Make the report of campaigns."""
    from labkit import report
    from labkit.report import styles
    from labkit.store import campaign

    if styles.load(options.style).settings.form == "lab":
        built = _lab_report(options)
    else:
        folders = [campaign.find(name) for name in options.campaign] or [campaign.newest()]
        if not options.campaign:
            say(f"the newest campaign: {folders[0]}")
        with safe_read.named(folders[0]):
            built = report.build(
                folders,
                style=options.style,
                engine=options.engine,
                docx=options.docx,
                execute=options.execute,
                contract=options.contract,
                log=options.log,
                allow=[name for word in options.allow for name in word.split(",") if name],
                progress=say,
            )
    for text in built.warnings:
        warn(text)
    print(f"HTML report: {built.html}")
    if built.pdf:
        print(f"PDF report:  {built.pdf}")
    if built.supplement:
        print(f"Supplement:  {built.supplement}")
    if built.docx:
        print(f"Word report: {built.docx}")
    return OK
