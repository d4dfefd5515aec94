"""The commands that judge a campaign: by rules, and by earlier campaigns."""

from __future__ import annotations

import argparse
import re
import shlex
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.apps.cli.console import ERROR, FAILED, INTERVAL, OK, formats, say, warn
from labkit.apps.cli.fields import number, whole
from labkit.errors import DataError, SpecError
from labkit.io.collector import uncollected
from labkit.point import ranges
from labkit.store import places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labkit.judge.answer import Answer
    from labkit.judge.finding import Finding
    from labkit.judge.gate import Result
    from labkit.judge.view import View
    from labkit.store.campaign import Campaign


def lint_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit lint`."""
    verb.add_argument("campaign", help="folder of a campaign, or its name in data/campaigns")
    formats(verb, "table", "json")


def lint(options: argparse.Namespace) -> int:
    """Check a campaign against the rules; 1 if a finding is bad, as labkit doctor and labkit verify return."""
    from labkit.apps.show import findings
    from labkit.judge import checking
    from labkit.report import sources
    from labkit.store.campaign import find

    view = sources.read(find(options.campaign)).view
    found = checking.check(view)
    print((findings.linted_json if options.format == "json" else findings.linted)(view, found))
    return ERROR if any(one.level == "bad" for one in found) else OK


def explain_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit explain`."""
    verb.add_argument("campaign", help="folder of a campaign, or its name in data/campaigns")
    verb.add_argument(
        "--benchmark", default="*", help="explain only this benchmark, or those that match a pattern such as 'mpi.*'"
    )
    verb.add_argument(
        "--link",
        metavar="RATE",
        default="",
        help="rate of the link in each direction: 25gbit, or '100 Gb/sec (4X EDR)' as ibstat and /sys print it",
    )
    verb.add_argument("--mtu", type=whole, metavar="B", default=0, help="MTU of the interface, or of the RDMA port")
    verb.add_argument("--pcie", metavar="GENxLANES", default="", help="slot of the adapter: 3x16")
    verb.add_argument("--delay", metavar="TIME", default="", help="one-way delay of cables and switches: 300ns")
    verb.add_argument("--all", action="store_true", help="print every finding, not only the answer to each topic")
    verb.add_argument(
        "--decide",
        action="store_true",
        help="measure missing references and points that separate the likely causes, then answer again",
    )
    verb.add_argument(
        "--budget", metavar="TIME", default="60s", help="with --decide: measure for about TIME (default: %(default)s)"
    )
    formats(verb, "table", "json", "csv")


def explain(options: argparse.Namespace) -> int:
    """Print whether the numbers of a campaign are good, why not, and what to do next. A bad one is not an error."""
    from labkit.apps import deciding
    from labkit.apps.show import answered
    from labkit.judge import answer
    from labkit.models import bounds
    from labkit.point import units
    from labkit.store.campaign import Campaign, find

    stated = bounds.Stated(link=options.link, mtu=options.mtu, pcie=options.pcie, delay=options.delay)
    stated.check()
    budget = units.parse_duration(options.budget)
    campaign = Campaign.existing(find(options.campaign))

    def asked() -> Answer:
        view = _view(campaign, options.benchmark)
        if not len(view.records) and options.benchmark == "*":
            raise DataError(
                f"{campaign.path} has no points. Measure into it; what failed before is told by: labkit show "
                f"{shlex.quote(options.campaign)}"
            )
        if not len(view.records):
            raise DataError(
                f"{campaign.path} has no points of benchmark {options.benchmark!r}. It has: "
                f"{', '.join(sorted({point[0] for point in campaign.done()})) or 'no points'}."
            )
        return answer.answer(replace(view, stated=stated, place=options.campaign, here=deciding.here(campaign)))

    result = deciding.decide(campaign, asked, budget, say) if options.decide else asked()
    print(answered.FORMATS[options.format](result, options.all))
    return OK


def _view(campaign: Campaign, benchmark: str) -> View:
    """Return what rules see of some benchmarks of a campaign."""
    from labkit.models import costs
    from labkit.report import sources

    view = sources.read(campaign.path, benchmark=benchmark).view
    return view if benchmark == "*" else replace(view, machine=costs.read(campaign))


def gate_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit gate`."""
    verb.add_argument("campaign", help="folder of a campaign, or its name in data/campaigns")
    by = verb.add_mutually_exclusive_group(required=True)
    by.add_argument(
        "--against",
        nargs="+",
        metavar="HISTORY",
        help="earlier campaigns, or folders that contain campaigns; the campaign itself is left out",
    )
    by.add_argument("--contract", metavar="FILE", help="TOML file with clauses that the campaign must fulfil")
    verb.add_argument(
        "--plan",
        action="store_true",
        help="with --contract: print the commands that measure what the campaign lacks of the clauses; start nothing",
    )
    verb.add_argument(
        "--log",
        metavar="FILE",
        help="with --contract: append this test to FILE and print all tests in it",
    )
    verb.add_argument(
        "--accept",
        action="store_true",
        help="with --against: print the verdicts, make the campaign part of the reference of later gates, and exit "
        "with 0",
    )
    judging(verb)


def judging(verb: argparse.ArgumentParser) -> None:
    """Add the options for judging a campaign by earlier ones."""
    verb.add_argument(
        "--false-alarms",
        type=number,
        default=0.01,
        metavar="P",
        help="chance that the gate fails although nothing has changed (default: %(default)s)",
    )
    verb.add_argument(
        "--worse",
        metavar="PERCENT",
        default="",
        help="with --against: also fail a point if the median of its launches is at least PERCENT worse than usual, "
        "such as 25%%",
    )
    verb.add_argument(
        "--reference",
        metavar="PATTERN",
        help="with --against: estimate what all points of a transport have in common from benchmarks that match "
        "PATTERN, such as 'mpi.*' (default: from all points of the transport)",
    )
    verb.add_argument(
        "--allow-blind",
        action="store_true",
        help="with --against: exit with 0 even if some comparisons would pass a point that is 50%% worse",
    )
    verb.add_argument(
        "--benchmark", default="*", help="judge only this benchmark, or those that match a pattern such as 'mpi.*'"
    )
    formats(verb, "table", "json", "junit", "markdown", "github")


def gate(options: argparse.Namespace) -> int:
    """Compare a campaign with earlier ones; return 2 if a point is worse, 3 if a comparison is blind."""
    from labkit.store.campaign import Campaign, collected, find

    if options.contract and (options.worse or options.allow_blind or options.reference or options.accept):
        raise SpecError(
            "--worse, --allow-blind, --reference and --accept go with --against, not with --contract. Leave them out."
        )
    if options.plan:
        return _planned(options)
    campaign = Campaign.existing(find(options.campaign))
    if options.log == "":
        raise SpecError("--log is empty, but it must name a file. Write for example --log tests.log.")
    if options.log and not options.contract:
        raise SpecError("--log without --contract, but only tests of a contract are logged. Add --contract FILE.")
    if options.contract:
        return _by_contract(campaign, options)
    check_judging(options)
    earlier = [one for one in collected(options.against) if one.identity != campaign.identity]
    if not earlier:
        raise DataError(
            f"--against {' '.join(options.against)} names no campaign but {campaign.path} itself. Name others."
        )
    status = told(campaign, judged(campaign, earlier, options), options)
    if options.accept:
        campaign.update({"accepted": datetime.now(UTC).isoformat(timespec="seconds")})
        say(f"{campaign.name} is part of the reference of later gates.")
        return OK
    return status


def check_judging(options: argparse.Namespace) -> None:
    """Check the options of `judging`.

    Raises
    ------
    SpecError
        If a value is out of its range.
    """
    ranges.check("false_alarms", options.false_alarms, word="--false-alarms ")
    if options.worse:
        _percent(options.worse)


def judged(campaign: Campaign, earlier: Sequence[Campaign], options: argparse.Namespace) -> Result:
    """Judge a campaign by earlier ones with the options of `judging`."""
    from labkit.apps import judging as judges

    return judges.by_past(
        campaign,
        earlier,
        benchmark=options.benchmark,
        chance=options.false_alarms,
        worse=_percent(options.worse) if options.worse else 0.0,
        reference=options.reference or "*",
        blind_allowed=options.allow_blind,
    )


def told(campaign: Campaign, result: Result, options: argparse.Namespace, place: str = "") -> int:
    """Print verdicts; return 2 if a point is worse, 3 if there was too little data.

    Parameters
    ----------
    place : how commands name the campaign; where it is, if left out.
    """
    from labkit.apps.show import answered, gated
    from labkit.judge import answer

    with uncollected():  # there may be very many verdicts
        print(gated.FORMATS[options.format](result), flush=True)  # before what goes to standard error
    if options.format in answered.BRIEF:
        view = _view(campaign, options.benchmark)
        view = replace(view, place=place or places.word(campaign.path))
        print("\n" + answered.BRIEF[options.format](answer.verdicts(view)), flush=True)
    for words in gated.warnings(result):
        warn(words)
    return FAILED if result.failed else INTERVAL if result.inconclusive else OK


def _percent(text: str) -> float:
    """Return a percentage such as ``25%`` as a fraction."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?%", text)
    if not match:
        raise SpecError(f"--worse {text!r}, but it must be a percentage. Write for example --worse 25%.")
    ranges.check("worse", float(match[1]), word="--worse ")
    return float(match[1]) / 100


def _planned(options: argparse.Namespace) -> int:
    """Print what to measure for a contract; return 1 if a part of it cannot be measured here."""
    from labkit.apps import contract_plan
    from labkit.apps.show import contracted
    from labkit.judge import contract
    from labkit.store.campaign import Campaign, find

    if not options.contract or options.log is not None:
        raise SpecError(
            "--plan goes with --contract FILE and without --log. It prints what to measure; run it, then judge."
        )
    folder, present = options.campaign, frozenset[tuple[str, str, int]]()
    with suppress(DataError):  # the campaign that the commands will make
        folder = str(find(options.campaign))
        present = frozenset(Campaign(folder).done())
    parts = contract_plan.plan(contract.load(Path(options.contract)), folder, present)
    print(contracted.script(parts))
    return ERROR if any(one.problem for one in parts) else OK


def _by_contract(campaign: Campaign, options: argparse.Namespace) -> int:
    """Judge a campaign by the clauses of a contract."""
    from labkit.apps.show import contracted
    from labkit.judge import contract
    from labkit.read import columnar, records

    clauses = contract.load(Path(options.contract))
    table = columnar.read_campaigns(campaign, benchmark=options.benchmark).records
    verdicts = contract.judge(clauses, records.summary(table) if len(table) else table, campaign.samples)
    logged = _logged(campaign, options, verdicts) if options.log else ""
    print(contracted.FORMATS[options.format](verdicts))
    if logged:
        say(f"tests of the contract in {options.log}:\n{logged}")
    return OK if all(one.level == "good" for one in verdicts) else FAILED


def _logged(campaign: Campaign, options: argparse.Namespace, verdicts: list[Finding]) -> str:
    """Append a test to the log of the contract; return all tests as lines."""
    from labkit.judge import retests

    log = Path(options.log)
    one = retests.test(
        Path(options.contract),
        verdicts,
        campaign=campaign.name,
        identity=campaign.identity,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return retests.told(retests.append(log, one))
