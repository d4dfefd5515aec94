"""Describe the campaigns of a report: one, several, or a merged one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.judge.view import View
from labkit.point.units import format_duration, plural
from labkit.read.columnar import of_samples
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import BROUGHT, CAMPAIGN
from labkit.suites.rereading import differing

if TYPE_CHECKING:
    import pandas as pd

    from labkit.store.samples import Samples

_NAMED = 3  # campaigns that a title names


@dataclass(frozen=True, eq=False)  # a member is the same as itself alone: tables know no equality
class Member:
    """A campaign whose points a report shows.

    Parameters
    ----------
    name : what tables and figures call it.
    facts : content of its campaign.json.
    records, summary : its rows.
    points : its samples, without their values.
    path : folder of the campaign that holds it.
    source : campaign folder with its data; None if only the rows are known.
    """

    name: str
    facts: Mapping[str, Any]
    records: pd.DataFrame
    summary: pd.DataFrame
    points: Sequence[Samples] = ()
    path: Path = Path()
    source: Source | None = None

    @cached_property
    def doubted(self) -> frozenset[str]:
        """Fingerprints of points with odd results, which give no headline."""
        return self.source.doubted if self.source else frozenset()

    @cached_property
    def view(self) -> View:
        """What rules see of it."""
        if self.source is not None and self.source.summary is self.summary:
            return self.source.view
        return View(
            self.name, self.records, self.summary, of_samples(self.points, self.records) if self.points else None
        )

    @property
    def host(self) -> Mapping[str, Any]:
        """Its recorded host."""
        host = self.facts.get("host")
        return host if isinstance(host, Mapping) else {}

    @property
    def title(self) -> str:
        """Its title, else its name."""
        return str(self.facts.get("title") or self.name)

    @property
    def date(self) -> str:
        """Day of its beginning; empty if unknown."""
        day = re.match(r"\d{4}-\d\d-\d\d", str(self.facts.get("created", "")), re.ASCII)
        return day[0] if day else ""

    def of(self, benchmark: str) -> pd.DataFrame:
        """Its summary rows of a benchmark, without empty columns."""
        return self.view.rows_of_benchmarks.get(benchmark, self.summary[:0])


@lru_cache(8)  # each part of a report asks for them
def members(source: Source) -> tuple[Member, ...]:
    """Return the campaign of a source, or the campaigns that were merged into it, each with its facts."""
    origins = source.facts.get("origins")
    if not isinstance(origins, Mapping) or not origins or not len(source.records):
        return (
            Member(
                source.name,
                {"host": source.host, **source.facts},
                source.records,
                source.summary,
                source.points,
                source.path,
                source,
            ),
        )
    merged = []
    for name in dict.fromkeys(source.records["campaign"]):
        facts = origins.get(name, source.facts if name == source.path.name else {})
        rows, summary = (table[table["campaign"] == name] for table in (source.records, source.summary))
        points = [one for one in source.points if CAMPAIGN.of(one.meta) in (name, "")]
        own = facts if isinstance(facts, Mapping) else {}
        merged.append(Member(str(name), own, rows, summary, points, source.path, source))
    return tuple(merged)


def all_members(content: Content) -> list[Member]:
    """Return all campaigns of a report."""
    return [member for source in content.sources for member in members(source)]


def heading(content: Content, fallback: str) -> dict[str, str | list[str]]:
    """Return title, subtitle, date and authors of the book."""
    members = all_members(content)
    facts = content.sources[0].facts
    titles: list[str] = []
    if len(content.sources) == 1 and facts.get("title"):
        titles = [str(facts["title"])]
    elif any(one.facts.get("title") for one in members):
        titles = list(dict.fromkeys(one.title for one in members))
    names = list(dict.fromkeys(one.name for one in members))
    days = sorted({one.date for one in members if one.date})
    authors = dict.fromkeys(str(one.facts["author"]) for one in members if one.facts.get("author"))
    fields: dict[str, str | list[str]] = {
        "title": " · ".join(titles) if 0 < len(titles) <= _NAMED else fallback,
        "subtitle": f"Campaign {names[0]}" if len(names) == 1 else f"Campaigns {', '.join(names)}",
        "date": " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        "author": list(authors),
    }
    return {key: text for key, text in fields.items() if text or key == "date"}


def campaigns(content: Content) -> str:
    """Return a sentence on each campaign, a table of several, and a note on parts that are not shown together."""
    members = all_members(content)
    lines = [_sentence(source, len(members) > 1) for source in content.sources]
    if len(members) > 1:
        lines.append(_table(members))
        lines.append(
            "labkit never averages points of different campaigns. A figure shows all campaigns if each series can name "
            "its campaign; otherwise it shows one and names it below. Each sentence and table is about one campaign."
        )
    for source in content.sources:
        if notes := [escape(text) for text in differing(Campaign(source.path))]:
            lines.append(markdown.callout("note", "Parameters differ", markdown.bullets(notes)))
    return "\n\n".join(lines)


def _sentence(source: Source, several: bool) -> str:
    """Say when and how a campaign was made, and how much it holds."""
    name, facts = escape(source.name), source.facts
    elapsed = float(source.records["elapsed_s"].sum()) if len(source.records) else 0.0
    holds = (
        f"It holds {source.times.raw:,} raw samples of {plural(len(source.summary), 'point')} in "
        f"{plural(len(source.records), 'launch')}; measuring took {format_duration(elapsed)}."
    )
    if source.whole is not None:
        every, judged = source.whole, plural(len(source.summary), "point")
        holds = (
            f"It holds {plural(len(every.summary), 'point')} in {plural(len(every.records), 'launch')}. This report is "
            f"about the {judged} that the contract selects: {plural(len(source.records), 'launch')} with "
            f"{source.times.raw:,} raw samples, measured in {format_duration(elapsed)}."
        )
    date, made = escape(str(facts.get("created", ""))[:10]), escape(str(facts.get("labkit", "")))
    if isinstance(facts.get("origins"), Mapping) and several:
        merged = ", ".join(f"**{escape(member.name)}**" for member in members(source))
        return f"Campaign **{name}** was merged on {date} from {merged}. {holds}"
    if len(source.records) and set(source.records["origin"]) <= {*BROUGHT}:
        count = plural(len(source.summary), "point")
        return f"Campaign **{name}** was imported on {date} with labkit {made}, which did not measure its {count}."
    suite = escape(str(facts.get("suite") or "none"))
    return f"Campaign **{name}** (suite {suite}) was measured on {date} with labkit {made}. {holds}"


def _table(members: list[Member]) -> str:
    """Return a table of where, when and what each campaign measured."""
    rows = []
    for member in members:
        testbeds = member.records["testbed"].unique() if len(member.records) else ()
        kinds = dict.fromkeys(str(testbed).partition(":")[0].partition(",")[0] for testbed in testbeds)
        hosts = dict.fromkeys(
            [str(member.host.get("hostname") or member.host.get("name") or ""), *member.records.get("host", ())]
        )
        rows.append(
            [
                escape(member.name),
                escape(member.title),
                escape(member.date),
                escape(", ".join(kinds)),
                escape(", ".join(host for host in hosts if host)),
                escape(str(member.host.get("cpu_model", ""))),
                str(len(member.summary)),
                str(len(member.records)),
            ]
        )
    return markdown.differing(
        ["campaign", "title", "date", "testbeds", "hosts", "processor", "points", "launches"],
        rows,
        align="llllllrr",
        caption="The campaigns of this report. {#tbl-campaigns}",
    )


BLOCKS = {"campaigns": campaigns}
