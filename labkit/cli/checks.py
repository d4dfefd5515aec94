"""The commands that judge a campaign: by rules."""

from __future__ import annotations

import argparse

from labkit.cli.console import ERROR, OK, formats


def lint_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit lint`."""
    verb.add_argument("campaign", help="folder of a campaign, or its name in data/campaigns")
    formats(verb, "table", "json")


def lint(options: argparse.Namespace) -> int:
    """Check a campaign against the rules; 1 if it breaks one of level error, as labkit doctor and labkit verify do."""
    from labkit.analysis.lint import Evidence
    from labkit.analysis.lint import lint as check
    from labkit.campaign import find
    from labkit.report import sources
    from labkit.show import linted

    source = sources.read(find(options.campaign))
    result = check(Evidence(source.name, source.points, source.records, source.summary, source.failed))
    print(linted.as_json(result) if options.format == "json" else linted.text(result))
    return OK if result.sound else ERROR
