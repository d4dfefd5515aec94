"""What is usual: values of other systems with the same link, path, adapter and library, where these are known.

A bound is what a path allows; a peer is what somebody measured there. ``data/peers/`` of labkit and of the user's
project holds a file for each source, which ``labkit peers`` writes from a redacted archive. ``published.toml`` names
published numbers; their values stay in ``data/reference/``.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit import benchmarks
from labkit.errors import DataError, SpecError
from labkit.io import project, safe_read
from labkit.models import bounds
from labkit.models.bounds import Stated
from labkit.point.adapters import interfaces, ports
from labkit.point.columns import METRICS
from labkit.point.spec import validated
from labkit.point.units import format_number
from labkit.read import reference
from labkit.store.samples import Samples
from labkit.store.samples.facts import LIBRARY, TESTBED

FOLDER, PUBLISHED = project.SHIPPED / "data" / "peers", "published"
FEWEST = 3  # sources of a band
SMALL = 64  # B of a message whose latency is compared
METRICS_OF = {"bandwidth-of-path": ("bandwidth_MBps",), "latency-of-path": ("round_trip_us", "latency_us")}  # of rules
_MODELS = {  # device number of NVIDIA (15b3) → adapter
    4115: "ConnectX-4",
    4117: "ConnectX-4 Lx",
    4119: "ConnectX-5",
    4121: "ConnectX-5 Ex",
    4123: "ConnectX-6",
    4125: "ConnectX-6 Dx",
    4127: "ConnectX-6 Lx",
    4129: "ConnectX-7",
}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What values must have in common to be compared.

    Parameters
    ----------
    benchmark, metric : benchmark and metric of the value.
    path : ``RDMA`` or ``TCP``.
    link : rate and kind of the link: ``100 Gbit/s Ethernet``.
    nic : model of the adapter.
    library : MPI library or tool with the first two numbers of its version.
    """

    benchmark: str
    metric: str
    path: str
    link: str
    nic: str = ""
    library: str = ""

    @property
    def wide(self) -> Kind:
        """The same with any adapter and library."""
        return dataclasses.replace(self, nic="", library="")


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A value of a source.

    Parameters
    ----------
    kind : kind of the value.
    source : who measured it; the same for all values of one system.
    value : lowest and highest, in the unit of the metric; the same number twice if there is one.
    """

    kind: Kind
    source: str
    value: tuple[float, float]


@dataclass(frozen=True)
class Band:
    """Values of several sources.

    Parameters
    ----------
    kind : kind that they have in common.
    low, high : ends of all values, in the unit of the metric.
    sources : how many.
    """

    kind: Kind
    low: float
    high: float
    sources: int


def kind_of(samples: Samples, metric: str) -> Kind | None:
    """Return what a point must have in common with its peers; None if no known adapter of a real link carried it."""
    size = samples.spec.size or 0
    if TESTBED.of(samples.meta) or (METRICS[metric].kind == "cost" and size > SMALL):
        return None
    with suppress(SpecError):  # a text of the metadata, which may come from anyone
        wire = bounds.path(samples, Stated())
        if wire is None or not 0 < wire.rate < float("inf"):
            return None
        name = wire.name.rpartition(" ")[2]
        rdma = wire.name.startswith("port")
        adapter = (ports if rdma else interfaces)(samples.host).get(name)
        model = _model(samples.host, name)
        if adapter is not None and model:
            kind = "InfiniBand" if adapter.kind.lower() == "infiniband" else "Ethernet"
            return Kind(
                benchmark=samples.spec.benchmark,
                metric=metric,
                path="RDMA" if rdma else "TCP",
                link=f"{format_number(wire.rate / 1e9)} Gbit/s {kind}",
                nic=model,
                library=short(LIBRARY.of(samples.meta)),
            )
    return None


def _model(host: Mapping[str, Any], name: str) -> str:
    """Return the model of an adapter; its driver and PCI numbers where the model has no name here."""
    listed = [one for key in ("rdma_devices", "nics") for one in host.get(key, ()) if isinstance(one, Mapping)]
    found = next((one for one in listed if one.get("name") == name), {})
    numbers = str(found.get("type") or found.get("model") or "")
    if match := re.fullmatch(r"MT(\d+)|15b3:(\w+)", numbers):
        return _MODELS.get(int(match[1]) if match[1] else int(match[2], 16), numbers)
    return " ".join(filter(None, [str(found.get("driver") or ""), numbers]))


def short(library: str) -> str:
    """Return a library with the first two numbers of its version.

    Examples
    --------
    >>> short("Open MPI 4.0.4"), short("iperf3 3.12, libc")
    ('Open MPI 4.0', 'iperf3 3.12')
    """
    match = re.match(r".*?\s\d+(?:\.\d+)?(?![\w])", library)
    return match[0] if match else library


def usual(samples: Samples, metric: str, limit: float) -> str:
    """Return the end of a sentence on what is usual, beside a limit; empty for a point that has no peers by its kind.

    Parameters
    ----------
    limit : bound of the point, in the unit of the metric.
    """
    kind = kind_of(samples, metric)
    if kind is None or not limit > 0:
        return ""
    for wanted in (kind, kind.wide):
        band = _band(every(), wanted)
        if band.sources >= FEWEST:
            over = "" if wanted is kind else " over such a link"
            return f"; usual{over} is {_words(band, limit)} ({band.sources} sources)"
    return f"; too few sources to say what is usual ({band.sources})"


def _words(band: Band, limit: float) -> str:
    """Return a band as parts of a limit, or as times of it."""
    if METRICS[band.kind.metric].kind == "rate":
        low, high = (format_number(100 * end / limit, digits=2) for end in (band.low, band.high))
        return f"{low} to {high} %" if low != high else f"{low} %"
    low, high = (format_number(end / limit, digits=2) for end in (band.low, band.high))
    return f"{low} to {high} times" if low != high else f"{low} times"


def bands() -> list[Band]:
    """Return the bands of all kinds, those with few sources too."""
    kinds = {one.kind: None for one in every()}
    return [_band(every(), kind) for kind in kinds]


def _band(peers: Iterable[Peer], kind: Kind) -> Band:
    """Return the band of the values of a kind; of a wide kind, with any adapter and library."""
    some = [one for one in peers if kind in (one.kind, one.kind.wide)]
    lows, highs = [one.value[0] for one in some], [one.value[1] for one in some]
    return Band(kind, min(lows, default=0.0), max(highs, default=0.0), len({one.source for one in some}))


def own() -> Path:
    """Return the folder for values that the user adds: of the project, the checkout, or the working folder."""
    return project.home() / "data" / "peers"


def every() -> tuple[Peer, ...]:
    """Return the values of all files of labkit and of the user; these replace labkit's of the same name."""
    files = {path.stem: path for folder in (FOLDER, own()) for path in sorted(folder.glob("*.toml"))}
    return tuple(one for path in files.values() for one in read(path))


def read(file: Path) -> tuple[Peer, ...]:
    """Read a file of ``data/peers``.

    Raises
    ------
    DataError
        If it cannot be read, or does not hold values of a source.
    """
    with safe_read.about(file):
        changed = safe_read.regular(file).stat().st_mtime_ns
    return _read(file, changed)


@cache
def _read(file: Path, changed: int) -> tuple[Peer, ...]:
    """Read a file as it is since it was changed, ns."""
    try:
        table = safe_read.toml_of(safe_read.text(file))
        return tuple((_published if file.stem == PUBLISHED else _contributed)(table))
    except (tomllib.TOMLDecodeError, SpecError) as error:
        raise DataError(
            f"{file} holds no values of other systems: {error}. Restore it, or write it again: labkit peers ARCHIVE."
        ) from error


@dataclass(frozen=True, kw_only=True)
class _Value(Kind):
    """A value of a contributed file; in the unit of its metric."""

    value: float


@dataclass(frozen=True, kw_only=True)
class _Contributed:
    """A file that `written` wrote."""

    source: str
    value: tuple[_Value, ...]


@dataclass(frozen=True, kw_only=True)
class _Number:
    """A published number, with the adapter and the link that its paper states."""

    paper: str
    name: str
    benchmark: str
    path: str
    link: str
    nic: str


@dataclass(frozen=True, kw_only=True)
class _Published:
    """The file of published numbers."""

    number: tuple[_Number, ...]


def _kind(**fields: str) -> Kind:
    kind = Kind(**fields)
    if kind.metric not in benchmarks.get(kind.benchmark).metrics:
        raise SpecError(f"{kind.benchmark} has no metric {kind.metric}")
    return kind


def _contributed(table: Mapping[str, Any]) -> Iterator[Peer]:
    """Yield the values of a source."""
    file = validated(_Contributed, table, what="the file")
    for row in file.value:
        fields = dataclasses.asdict(row)
        value = fields.pop("value")
        if not 0 < value < 1e18:
            raise SpecError(f"value={value}, but it must be above 0")
        yield Peer(kind=_kind(**fields), source=file.source, value=(value, value))


def _published(table: Mapping[str, Any]) -> Iterator[Peer]:
    """Yield published numbers with the values of their papers."""
    for row in validated(_Published, table, what="the file").number:
        paper = reference.load(row.paper)
        number = paper[row.name]
        kind = _kind(
            benchmark=row.benchmark,
            metric=number.metric,
            path=row.path,
            link=row.link,
            nic=row.nic,
            library=short(number.library),
        )
        unit = METRICS[number.metric].unit
        low, high = (number.in_unit(unit, end) for end in number.ends)
        yield Peer(kind=kind, source=paper.short, value=(low, high))


def written(source: str, peers: Sequence[Peer]) -> str:
    """Return the text of a file with the values of a source."""
    lines = ["# Values of one system, written by labkit peers from a redacted archive.", f"source = {_quoted(source)}"]
    for one in peers:
        lines += ["", "[[value]]"]
        lines += [f"{name} = {_quoted(text)}" for name, text in dataclasses.asdict(one.kind).items()]
        lines.append(f"value = {one.value[0]:.6g}")
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    """Return a text as TOML has it."""
    return json.dumps(text, ensure_ascii=False)
