"""What a report says of its campaigns: one, several, or one that others were merged into."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.campaign import Campaign
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.report.variables import plural
from labkit.suites.rereading import differing
from labkit.units import format_duration

if TYPE_CHECKING:
    import pandas as pd

_NAMED = 3  # campaigns that a title names


@dataclass(frozen=True)
class Member:
    """A campaign whose points a report shows.

    Parameters
    ----------
    name : what tables and figures call it.
    facts : what its campaign.json held.
    records, summary : its rows.
    """

    name: str
    facts: Mapping[str, Any]
    records: pd.DataFrame
    summary: pd.DataFrame

    @property
    def host(self) -> Mapping[str, Any]:
        """Its host, as far as it was recorded."""
        held = self.facts.get("host")
        return held if isinstance(held, Mapping) else {}

    @property
    def title(self) -> str:
        """Its title, else its name."""
        return str(self.facts.get("title") or self.name)

    @property
    def date(self) -> str:
        """Day of its beginning; empty where none is recorded."""
        day = re.match(r"\d{4}-\d\d-\d\d", str(self.facts.get("created", "")), re.ASCII)
        return day[0] if day else ""


def members(source: Source) -> list[Member]:
    """The campaign of a source; those it was merged from, each with its own facts."""
    origins = source.facts.get("origins")
    if not isinstance(origins, Mapping) or not origins or not len(source.records):
        return [Member(source.name, {"host": source.host, **source.facts}, source.records, source.summary)]
    found = []
    for name in dict.fromkeys(source.records["campaign"]):
        facts = origins.get(name, source.facts if name == source.path.name else {})
        rows = (table[table["campaign"] == name] for table in (source.records, source.summary))
        found.append(Member(str(name), facts if isinstance(facts, Mapping) else {}, *rows))
    return found


def everyone(content: Content) -> list[Member]:
    """All campaigns of a report."""
    return [member for source in content.sources for member in members(source)]


def heading(content: Content, fallback: str) -> dict[str, str]:
    """Title, subtitle, date and authors of the book."""
    all_of_them = everyone(content)
    facts = content.sources[0].facts
    own = [facts["title"]] if len(content.sources) == 1 and facts.get("title") else []
    titled = own or ([one.title for one in all_of_them] if any(one.facts.get("title") for one in all_of_them) else [])
    titles = list(dict.fromkeys(map(str, titled)))
    names = list(dict.fromkeys(one.name for one in all_of_them))
    days = sorted({one.date for one in all_of_them if one.date})
    authors = dict.fromkeys(str(one.facts["author"]) for one in all_of_them if one.facts.get("author"))
    held = {
        "title": " · ".join(titles) if 0 < len(titles) <= _NAMED else fallback,
        "subtitle": f"Campaign {names[0]}" if len(names) == 1 else f"Campaigns {', '.join(names)}",
        "date": days[0] if len(set(days)) == 1 else f"{days[0]} to {days[-1]}" if days else "",
        "author": ", ".join(authors),
    }
    return {key: text for key, text in held.items() if text or key == "date"}


def campaigns(content: Content) -> str:
    """A sentence on one campaign; a table of several, and what of them is not shown together."""
    all_of_them = everyone(content)
    lines = [_sentence(source, len(all_of_them) > 1) for source in content.sources]
    if len(all_of_them) > 1:
        lines.append(_table(all_of_them))
        lines.append(
            "labkit never averages points of different campaigns. A figure shows all campaigns if each series can name "
            "its campaign; otherwise it shows one and names it below. Each sentence and table is about one campaign."
        )
    for source in content.sources:
        notes = [escape(text) for text in differing(Campaign(source.path))]
        lines += [markdown.callout("note", "Parameters differ", markdown.bullets(notes))] if notes else []
    return "\n\n".join(lines)


def _sentence(source: Source, several: bool) -> str:
    """What a campaign holds."""
    name, facts = escape(source.name), source.facts
    elapsed = float(source.records["elapsed_s"].sum()) if len(source.records) else 0.0
    holds = (
        f"It holds {source.raw:,} raw samples of {plural(len(source.summary), 'point')} in "
        f"{plural(len(source.records), 'launch', 'launches')}; measuring took {format_duration(elapsed)}."
    )
    date, made = escape(str(facts.get("created", ""))[:10]), escape(str(facts.get("labkit", "")))
    if isinstance(facts.get("origins"), Mapping) and several:
        own = ", ".join(f"**{escape(member.name)}**" for member in members(source))
        return f"Campaign **{name}** was merged on {date} from {own}. {holds}"
    suite = escape(str(facts.get("suite") or "none"))
    return f"Campaign **{name}** (suite {suite}) was measured on {date} with labkit {made}. {holds}"


def _table(all_of_them: list[Member]) -> str:
    """Where, when and what each campaign measured."""
    rows = []
    for one in all_of_them:
        found = one.records["testbed"].unique() if len(one.records) else ()
        kinds = dict.fromkeys(str(testbed).partition(":")[0].partition(",")[0] for testbed in found)
        hosts = dict.fromkeys(
            [str(one.host.get("hostname") or one.host.get("name") or ""), *one.records.get("host", ())]
        )
        rows.append(
            [
                escape(one.name),
                escape(one.title),
                escape(one.date),
                escape(", ".join(kinds)),
                escape(", ".join(host for host in hosts if host)),
                escape(str(one.host.get("cpu_model", ""))),
                str(len(one.summary)),
                str(len(one.records)),
            ]
        )
    return markdown.table(
        ["campaign", "title", "date", "testbeds", "hosts", "processor", "points", "launches"],
        rows,
        align="llllllrr",
        caption="The campaigns of this report. {#tbl-campaigns}",
    )


BLOCKS = {"campaigns": campaigns}
