"""Values of other systems from redacted archives, for ``data/peers``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from labkit import benchmarks
from labkit.apps.show.texttable import text_table
from labkit.errors import DataError, SpecError
from labkit.io import atomic
from labkit.judge import answer
from labkit.judge.finding import DEFECT, Value
from labkit.models import peers
from labkit.models.peers import Peer
from labkit.point.columns import METRICS
from labkit.point.units import format_number, format_range
from labkit.report import sources
from labkit.store import archive, redaction
from labkit.store.campaign import Campaign
from labkit.store.packing import Limits


def add(archives: Sequence[str | Path], into: Path, source: str = "") -> list[tuple[Path, int]]:
    """Write a file of values for each archive.

    Parameters
    ----------
    archives : redacted; of `labkit fieldkit` or `labkit export`.
    into : folder for the files.
    source : name of the system; archives with the same name count as one source. By default each is a source.

    Returns
    -------
    Each file with the number of its values.

    Raises
    ------
    SpecError
        If an archive is not redacted.
    DataError
        If one is damaged, or has no value that another system can be compared with.
    """
    made = []
    for place in (archive.place(str(one)) for one in archives):
        with archive.opened(place, Limits.usual("")) as folder:
            campaign = Campaign.existing(folder)
            if not redaction.redacted(campaign):
                raise SpecError(
                    f"{place} has the names of its system in it. Ask for an archive of labkit export --redact, or of "
                    "labkit fieldkit --redact."
                )
            name = hashlib.sha256(campaign.identity.encode()).hexdigest()[:12]
            found = _best(_values(folder, source or name))
        if not found:
            raise DataError(
                f"{place} has no bandwidth and no small latency over a real link whose rate and adapter are known. "
                "Measure between two hosts: labkit fieldkit --redact --hosts HOST,HOST."
            )
        into.mkdir(parents=True, exist_ok=True)
        target = into / f"{name}.toml"
        atomic.replace(target, peers.written(source or name, found))
        made.append((target, len(found)))
    return made


def _values(folder: Path, source: str) -> Iterator[Peer]:
    """Yield what the rules on paths judge in a campaign and other systems may also have."""
    view = sources.read(folder).view
    for one in answer.answer(view, tuple(peers.METRICS_OF)).findings:
        measured = one.values.get("measured")
        if one.form in (DEFECT, "functional") or not isinstance(measured, Value) or not one.subject.points:
            continue
        samples = view.first_launches(one.subject.points)[one.subject.points[0]]
        known = benchmarks.get(samples.spec.benchmark).metrics
        metric = next((name for name in peers.METRICS_OF[one.code] if name in known), "")
        if metric and (kind := peers.kind_of(samples, metric)):
            yield Peer(kind=kind, source=source, value=(measured.value, measured.value))


def _best(found: Iterator[Peer]) -> list[Peer]:
    """Return the best value of each kind: a setting can be chosen."""
    best: dict[peers.Kind, Peer] = {}
    for one in found:
        rate = METRICS[one.kind.metric].kind == "rate"
        now = best.get(one.kind)
        if now is None or (one.value > now.value if rate else one.value < now.value):
            best[one.kind] = one
    return list(best.values())


def table() -> str:
    """Return the bands that are known, a line each."""
    rows = [(*_words(one.kind), _values_of(one), str(one.sources)) for one in peers.bands()]
    head = ("benchmark", "path", "link", "adapter", "library", "values", "sources")
    return text_table(head, rows, right=(5, 6))


def _words(kind: peers.Kind) -> tuple[str, ...]:
    return kind.benchmark, kind.path, kind.link, kind.nic, kind.library


def _values_of(band: peers.Band) -> str:
    """Return the values of a band with their unit."""
    unit = METRICS[band.kind.metric].unit
    if band.low == band.high:
        return format_number(band.low, unit)
    return f"{format_range(band.low, band.high)} {unit}"
