"""Give each series a colour and a marker that depend on its name, the same in every session, figure and report.

Paths through memory and TCP have their own look everywhere. For any other series, the search for a look begins at a
place that follows from its name: a digest of its words, shifted by its numbers. Only a series that has this colour in
the same figure moves it further. For the session it then stays, whatever else is drawn; its points remember it, so that
a line keeps its look when its name changes because others came.

Where several campaigns are drawn, their lines of the same settings have one colour. Each campaign has its own marker
and dashes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

# Okabe and Ito (2008), then four of Tol (2021) and black
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#555555",
    "#882255",
    "#332288",
    "#999933",
    "#661100",
    "#000000",
)
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "hexagon")  # their number is prime
_BEGINS = 7  # colours where the search for a look begins; the dark ones follow where these are taken
_DOUBLED = (1, 2, 4, 3, 5, 6, 0)  # steps of 1, 2, 4, 8 …
SLOTS = len(COLOURS) * len(SHAPES)
FIXED: Mapping[str, int] = {"shm": 0, "tcp": 1}
DASHES = ("solid", "dash", "dot", "dashdot")  # of the measured lines of campaigns
_POINT = ("campaign", "fingerprint", "quantity", "metric")  # what a point of a line is


class Part(NamedTuple):
    """Rows of one series.

    Parameters
    ----------
    name : name of its line in the legend.
    origin : origin of its numbers.
    rows : rows of a summary.
    series : its settings in words, without campaign and origin: lines of the same series have one colour.
    campaign : its campaign, if several campaigns have lines of the same series; else empty.
    """

    name: str
    origin: str
    rows: pd.DataFrame
    series: str = ""
    campaign: str = ""


@dataclass(frozen=True)
class Look:
    """Colour and marker of a series.

    Parameters
    ----------
    series : what it is called, without its campaign and origin.
    slot : number of the combination.
    variant : number of its campaign, which moves the marker on; 0 where one campaign is drawn.
    """

    series: str
    slot: int
    variant: int = 0

    @property
    def colour(self) -> str:
        """Of lines, markers and bars."""
        return COLOURS[self.slot % len(COLOURS)]

    @property
    def shape(self) -> str:
        """Of markers, filled."""
        return SHAPES[(self.slot + self.variant) % len(SHAPES)]

    @property
    def dash(self) -> str:
        """Of a measured line."""
        return DASHES[self.variant % len(DASHES)]

    @property
    def meta(self) -> dict[str, Any]:
        """What a trace records about its series, so that several figures can use the same look."""
        return {"series": self.series, "look": self.slot} | ({"variant": self.variant} if self.variant else {})


@dataclass
class Palette:
    """The looks that series and their points have in a session.

    Parameters
    ----------
    names : series → slot of its look.
    points : point of a line → slot of the line that it was drawn in first.
    campaigns : campaign → number, in the order in which they were first drawn beside others.
    """

    names: dict[str, int] = field(default_factory=dict)
    points: dict[Hashable, int] = field(default_factory=dict)
    campaigns: dict[str, int] = field(default_factory=dict)

    def variant(self, campaign: str) -> int:
        """Return the number of a campaign; 0 for none."""
        return self.campaigns.setdefault(campaign, len(self.campaigns)) if campaign else 0

    def looks(self, points_of: Mapping[str, Collection[Hashable]], names: Iterable[str]) -> list[Look]:
        """Give each series of a figure the look of its points, of its name or of a path in its name, else a new one."""
        given: dict[str, int] = {}
        ways: tuple[Callable[[str, Collection[Hashable]], int | None], ...] = (self._by_points, self._by_name, _by_path)
        for find in ways:
            for name, points in sorted(points_of.items(), key=_turn):
                slot = None if name in given else find(name, points)
                if slot is not None and slot not in given.values():
                    given[name] = slot
        for name, _ in sorted(points_of.items(), key=_turn):
            if name not in given:
                given[name] = free(name, given.values(), self.names.values())
        for name, points in points_of.items():
            self.names.setdefault(name, given[name])
            for point in points:
                self.points.setdefault(point, given[name])
        return [Look(name, given[name]) for name in names]

    def _by_points(self, name: str, points: Collection[Hashable]) -> int | None:
        """Return the look that most of the points drawn before had; new points do not count."""
        slots = [self.points[point] for point in points if point in self.points]
        return max(sorted(set(slots)), key=slots.count) if slots else None

    def _by_name(self, name: str, points: Collection[Hashable]) -> int | None:
        return FIXED.get(name, self.names.get(name))


_opened: ContextVar[Palette | None] = ContextVar("palette", default=None)


@cache
def _of_process() -> Palette:
    """Return the palette of whatever opened no session, in all threads and tasks: a kernel, the Explorer."""
    return Palette()


def _palette() -> Palette:
    return _opened.get() or _of_process()


@contextmanager
def session() -> Iterator[None]:
    """Give series looks as a new session does, until the context ends."""
    before = _opened.set(Palette())
    try:
        yield
    finally:
        _opened.reset(before)


def forget() -> None:
    """Begin again in this process, for a kernel that runs another notebook."""
    _of_process.cache_clear()


def keep(looks: Mapping[str, int], campaigns: Sequence[str] = ()) -> None:
    """Give series the looks that they had in another session; series that have one already keep that.

    Parameters
    ----------
    looks : series → look.
    campaigns : in the order in which that session drew them.
    """
    for series, slot in looks.items():
        _palette().names.setdefault(series, slot % SLOTS)
    for campaign in campaigns:
        _palette().variant(campaign)


def named(names: Sequence[str]) -> list[Look]:
    """Looks of the series of one figure by their names alone; equal names share one."""
    return _palette().looks(dict.fromkeys(names, ()), names)


def make_looks(parts: Sequence[Part]) -> list[Look]:
    """Looks of the series of one figure.

    Parameters
    ----------
    parts : from `labkit.figures.style.split`. The same series of two origins shares its look: fill and dashes tell
        those apart.
    """
    names = [_series(part) for part in parts]
    points: dict[str, list[Hashable]] = {name: [] for name in names}
    for name, part in zip(names, parts, strict=True):
        known = [column for column in _POINT if column in part.rows]
        if "fingerprint" in known:
            points[name] += zip(*(part.rows[column].tolist() for column in known), strict=True)
    palette = _palette()
    variants = [palette.variant(part.campaign) for part in parts]
    return [replace(look, variant=n) for look, n in zip(palette.looks(points, names), variants, strict=True)]


def campaigns() -> list[str]:
    """Campaigns that were drawn beside others in this session, in the order of their numbers."""
    return list(_palette().campaigns)


def _series(part: Part) -> str:
    """Name of a series; the path of its messages if it has no other name."""
    if not part.series and "transport" in part.rows:
        paths = list(part.rows["transport"].unique())
        if len(paths) == 1 and paths[0] in FIXED:
            return str(paths[0])
    return part.series


def _turn(series: tuple[str, object]) -> tuple[int, str]:
    """When a series of a figure gets its look: in any order of drawing the same, 2 before 16."""
    return len(series[0]), series[0]


def _by_path(name: str, points: Collection[Hashable]) -> int | None:
    slots = [FIXED[word] for word in re.findall(r"\w+", name) if word in FIXED]
    return slots[0] if slots else None


def free(series: str, beside: Iterable[int], given: Iterable[int] = ()) -> int:
    """Return the look of a series that was not drawn before: if possible, with a new colour.

    Parameters
    ----------
    series : its name.
    beside : looks in the same figure.
    given : looks that other series have: of two with one colour, the later one gets another marker.
    """
    colours, taken, near = {slot % len(COLOURS) for slot in beside}, {*given, *FIXED.values()}, {*beside}
    fixed = {slot % len(COLOURS) for slot in FIXED.values()}
    own = [colour for colour in range(len(COLOURS)) if colour not in fixed]
    place = _place(series)
    begin = own[place % _BEGINS]

    def cost(slot: int) -> tuple[bool, bool, bool, int, bool, int]:
        colour, away = slot % len(COLOURS), (slot - place) % len(SHAPES)
        return slot in near, colour in colours, colour in fixed, (colour - begin) % len(COLOURS), slot in taken, away

    return min(range(SLOTS), key=cost)


def _place(series: str) -> int:
    """Where the search for a look begins: at the digest of the name's words, moved on by its numbers.

    Neither counts up to 6 nor powers of two up to 64 meet: series such as ``ranks 4`` and ``ranks 16`` begin apart.
    """
    numbers = [int(digits) for digits in re.findall(r"\d{1,18}", series)]
    steps = sum(number if number < 8 else _DOUBLED[(number.bit_length() - 1) % _BEGINS] for number in numbers)
    words = re.sub(r"\d+", "0", series).encode(errors="replace")
    return int.from_bytes(hashlib.blake2b(words, digest_size=6).digest(), "big") + steps


def repaint(spec: dict[str, Any], looks: Mapping[str, int]) -> bool:
    """Give the traces of a figure, as plotly writes it, other looks; return whether any changed.

    Parameters
    ----------
    spec : ``data`` and ``layout``; changed in place.
    looks : series → look.
    """
    changed: dict[str, tuple[Look, Look]] = {}
    for trace in spec.get("data", []):
        old = drawn(trace)
        if old and looks.get(old.series, old.slot) != old.slot:
            new = replace(old, slot=looks[old.series])
            changed[old.series] = (old, new)
            trace.update(_painted(trace, old, new) | {"meta": {**trace["meta"], **new.meta}})
    for shape in spec.get("layout", {}).get("shapes", []):
        if shape.get("name") in changed:
            shape.update(_painted(shape, *changed[shape["name"]]))
    return bool(changed)


def drawn(trace: Mapping[str, Any]) -> Look | None:
    """Return the look that the metadata of a trace, as plotly writes it, names; None if it names none."""
    meta = trace.get("meta")
    if isinstance(meta, dict) and isinstance(meta.get("series"), str) and isinstance(meta.get("look"), int):
        return Look(meta["series"], meta["look"], meta.get("variant", 0))
    return None


def _painted(value: Any, old: Look, new: Look) -> Any:
    """Return a part of a trace with colour and marker exchanged."""
    if isinstance(value, dict):
        return {key: part if key == "customdata" else _painted(part, old, new) for key, part in value.items()}
    if isinstance(value, list):
        return [_painted(part, old, new) for part in value] if value and isinstance(value[0], str) else value
    if value == old.colour:
        return new.colour
    if isinstance(value, str) and re.fullmatch(rf"{old.shape}(-open|-dot)*", value):
        return new.shape + value.removeprefix(old.shape)
    return value
