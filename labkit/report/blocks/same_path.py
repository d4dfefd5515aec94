"""Points of one path whose values differ between settings that chose this path in different ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.judge import effects
from labkit.models.inside import INSIDE
from labkit.point.columns import METRICS
from labkit.point.units import format_number, format_share, format_size
from labkit.read.records import by_benchmark, headline_metric, headline_statistic, value_of
from labkit.read.records.factors import OPEN, differing, level, setting
from labkit.report import markdown
from labkit.report.campaigns import Member, all_members
from labkit.report.choosing import hard, interval
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.variables import title

_FAR, _NEAR = 1.1, 1.05  # times from which values are told, and up to which best launches agree
_SHOWN = 3  # points of a campaign
Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Pair:
    """Two points that differ only in the requested transport, on one path inside a host.

    Parameters
    ----------
    path : in words.
    rows : with an open transport, and with a named one.
    metric, statistic : that are compared.
    names : columns of their other settings.
    """

    path: str
    rows: tuple[Row, Row]
    metric: str
    statistic: str
    names: tuple[str, ...]

    @property
    def effect(self) -> effects.Effect:
        """The named transport against the open one."""
        return effects.between(self.rows[1], self.rows[0], self.metric, self.statistic)

    @property
    def apart(self) -> float:
        """The greater value over the lesser; 1 if one is unknown."""
        ratio = self.effect.ratio
        return max(ratio, 1 / ratio) if ratio > 0 else 1.0


def same_path(content: Content) -> str:
    """Return which points took one path and differ although only the requested transport does, and what is known."""
    parts, several = [], len(all_members(content)) > 1
    for member in all_members(content):
        every = list(_pairs(member))
        far = sorted((one for one in every if one.apart >= _FAR), key=lambda one: -one.apart)
        if not far:
            continue
        name = f"**{escape(member.name)}**: " if several else ""
        parts.append(
            f"{name}Points that took the same path should agree, whether `--transport` named it or left it open. In "
            f"{len(far)} of {len(every)} such pairs, the values are more than {format_share(_FAR - 1)} apart:"
        )
        rest = [f"{len(far) - _SHOWN} more"] * (len(far) > _SHOWN)
        parts.append(markdown.bullets([*map(_sentence, far[:_SHOWN]), *rest]))
    return "\n\n".join(parts)


def _pairs(member: Member) -> Iterator[_Pair]:
    """Yield the pairs of a campaign, one benchmark after the other."""
    for rows in by_benchmark(member.summary).values() if len(member.summary) else ():
        metric = headline_metric(rows)
        statistic = headline_statistic(rows, metric) if metric else ""
        names = tuple(name for name in differing(rows, skip=["fingerprint"]) if name != "transport")
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows.to_dict("records") if metric else ():
            if path := next((note.text for note in row["badges"] if note.code in INSIDE), ""):
                groups.setdefault((path, row["message_size_B"], *(level(row[name]) for name in names)), []).append(row)
        for (path, *_), some in groups.items():
            for row in (one for one in some if one["transport"] in OPEN):
                named = (one for one in some if one["transport"] not in OPEN)
                yield from (_Pair(path, (row, one), metric, statistic, names) for one in named)


def _sentence(one: _Pair) -> str:
    """Return both values, when their launches ran, whether the best ones agree, and whether a difference is claimed."""
    open_, _ = one.rows
    own = setting(open_, [name for name in one.names if name != "message_size_B"])
    place = ", ".join(filter(None, [title(str(open_["benchmark"])), own, format_size(int(open_["message_size_B"]))]))
    values = [
        f"{hard(escape(value.text))} {METRICS[one.metric].unit}{interval(value)} with transport {row['transport']}"
        for row in one.rows
        for value in (value_of(row, one.metric, one.statistic),)
    ]
    return f"{escape(place)} ({escape(one.path)}): {' and '.join(values)}. {_times(one)} {_best(one)} {_known(one)}"


def _times(one: _Pair) -> str:
    """Return when the launches of both points ran."""
    named, open_ = sorted(one.effect.value.starts), sorted(one.effect.base.starts)
    if not named or not open_:
        return "It is not known when their launches ran."
    if named[-1] < open_[0] or open_[-1] < named[0]:
        both = zip(one.rows, (open_, named), strict=True)
        (_, end, first), (start, _, second) = sorted((some[0], some[-1], row["transport"]) for row, some in both)
        return f"All launches with {first} started by {end[11:19]}, those with {second} from {start[11:19]} on."
    return "Their launches ran in the same minutes."


def _best(one: _Pair) -> str:
    """Return whether the best launches of both agree."""
    effect, metric = one.effect, METRICS[one.metric]
    if not effect.value.launches or not effect.base.launches:
        return ""
    choose = max if metric.kind == "rate" else min
    named, open_ = (choose(side.launches) for side in (effect.value, effect.base))
    both = f"{format_number(open_)} and {format_number(named)} {metric.unit}"
    if max(named, open_) <= _NEAR * min(named, open_):
        return f"Their best launches agree ({both}): the others make the difference."
    return f"Their best launches differ, too ({both})."


def _known(one: _Pair) -> str:
    """Return whether a difference is claimed, and that nothing recorded explains it."""
    effect = one.effect
    if effect.apart:
        return "The machine may have changed in between; labkit recorded no other reason."
    if effect.doubt:
        return f"{effect.why[0].upper()}{effect.why[1:]}."
    return "The difference is unexplained."


BLOCKS = {"same-path": same_path}
