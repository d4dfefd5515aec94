"""A campaign as columns: records, the distinct metadata behind them, and the times of iterations.

Whatever judges, draws or compares a whole campaign reads it through `of`. Records of large benchmarks are kept beside
the samples (`labkit.read.kept`), because they take long to compute; times are read from the samples when they are
requested, and only some of them are in memory.
"""

from __future__ import annotations

import fnmatch
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from labkit.point.spec import Spec
from labkit.read import kept, metadata, records, rows
from labkit.read.metadata import Kinds
from labkit.read.records.aggregate import GIVEN, order
from labkit.read.records.factors import distinct, plain
from labkit.stats.lists import Lists
from labkit.store.campaign import Campaign, find
from labkit.store.files import Files
from labkit.store.samples import Samples, described
from labkit.store.samples.batch import Batch
from labkit.store.samples.facts import FINGERPRINT, LIBRARY, Fact
from labkit.store.samples.start import MISSING

__all__ = ["Launches", "Times", "load", "name_of", "of_samples", "read_campaigns"]

_KIND, _PLACE = "kind", "place"  # marks of records
Columns = Callable[[str], bool]


@dataclass(frozen=True, eq=False)
class Times:
    """Times of launches of one kind.

    Parameters
    ----------
    rows : (launches,), of the records.
    batch : the launches.
    """

    rows: NDArray[np.intp]
    batch: Batch

    @cached_property
    def seconds(self) -> Lists:
        """Time of each iteration of each launch as its benchmark defines it, s."""
        return records.seconds_of(self.batch)


@dataclass(frozen=True, eq=False)
class _Part:
    """The launches of one benchmark of a campaign.

    Parameters
    ----------
    campaign, benchmark : whose.
    files : files that the records are of; what a run adds meanwhile is not read.
    fingerprints, sizes, launches : (launches,), in the order of the records.
    kinds : distinct metadata.
    kind : (launches,), place of the metadata of each row.
    place : (launches,), place of each row among the launches in the order of the files.
    marks : columns that are kept beside the records: of deciles, if they are wanted.
    """

    campaign: Campaign
    benchmark: str
    files: Files
    fingerprints: NDArray[Any]
    sizes: NDArray[np.int64]
    launches: NDArray[np.int64]
    kinds: Sequence[Samples]
    kind: NDArray[np.intp]
    place: NDArray[np.intp]
    marks: Mapping[str, NDArray[np.float64]] | None = None

    @cached_property
    def row(self) -> NDArray[np.intp]:
        """Row of the records of each launch in the order of the files, (launches,)."""
        row = np.empty(len(self.place), np.intp)
        row[self.place] = np.arange(len(self.place))
        return row

    def deciles(self, kind: str) -> NDArray[np.float64]:
        """Return the times behind the deciles of each launch, in the order of the rows."""
        if self.marks is None:
            raise ValueError("These launches were read without their deciles, but with deciles=True they have them.")
        nothing = np.full(len(self.kind), math.nan)  # where tools reported values only
        return np.stack([self.marks.get(name, nothing) for name in records.decile_names(kind)], axis=1)

    def times(self) -> Iterator[Times]:
        """Yield the launches as batches, with their rows."""
        begin = 0
        for chunk in rows.chunks(self.files, described=False):
            here = self.row[begin : begin + len(chunk)]

            def make(places: NDArray[np.intp], here: NDArray[np.intp] = here, **parts: Any) -> Batch:
                return Batch(
                    sizes=self.sizes[here[places]], launches=self.launches[here[places]], checked=True, **parts
                )

            for places, batch in rows.batches(
                chunk, [(kind,) for kind in self.kind[here].tolist()], self.kinds, self.campaign.starts, make
            ):
                yield Times(here[places], batch)
            begin += len(chunk)

    def samples(self, rows: Sequence[int]) -> dict[int, Samples]:
        """Return some launches with their times."""
        wanted = {(str(self.fingerprints[row]), int(self.launches[row])): row for row in rows}
        some = ((name_of(one)[1:], one) for one in self.campaign.samples(self.benchmark, wanted.keys()))
        return {wanted[name]: one for name, one in some if name in wanted}

    def fact(self, fact: Fact[Any]) -> list[Any]:
        """Return a fact of each launch, in the order of the rows."""
        if fact not in (*metadata.OWN, *metadata.LATER) or not any(fact.given(one.meta) for one in self.kinds):
            values = [fact.of(one.meta) for one in self.kinds]
            return [values[kind] for kind in self.kind.tolist()]
        found: list[Any] = []
        for chunk in rows.chunks(self.files):
            found += metadata.later(fact, chunk.group.header, chunk.where, self.campaign.starts)
        return [fact.empty if found[place] is None else found[place] for place in self.place.tolist()]


@dataclass(frozen=True, eq=False)
class _Given:
    """The launches of one benchmark that are there as samples.

    Parameters
    ----------
    benchmark : name.
    whole : samples in the order of the records.
    """

    benchmark: str
    whole: Sequence[Samples]

    def deciles(self, kind: str) -> NDArray[np.float64]:
        """Return the times behind the deciles of each launch."""
        return np.concatenate([records.deciles_of(Batch.of(one), kind) for one in self.whole])

    @property
    def kinds(self) -> Sequence[Samples]:
        """The metadata of each launch."""
        return self.whole

    @property
    def kind(self) -> NDArray[np.intp]:
        """Place of the metadata of each row."""
        return np.arange(len(self.whole))

    def times(self) -> Iterator[Times]:
        """Yield each launch."""
        for row, one in enumerate(self.whole):
            yield Times(np.array([row], np.intp), Batch.of(one))

    def fact(self, fact: Fact[Any]) -> list[Any]:
        """Return a fact of each launch."""
        return [fact.of(one.meta) for one in self.whole]

    def samples(self, rows: Sequence[int]) -> dict[int, Samples]:
        """Return some launches."""
        return {row: self.whole[row] for row in rows}


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Some launches of one benchmark.

    Parameters
    ----------
    whole : all of them.
    rows : (launches,), those of the whole that are chosen, in its order.
    """

    whole: _Part | _Given | _Chosen
    rows: NDArray[np.intp]

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return self.whole.benchmark

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Indices of the metadata in the whole, and the index of each row among them."""
        places, kind = np.unique(self.whole.kind[self.rows], return_inverse=True)
        return places, np.asarray(kind, np.intp)

    @cached_property
    def kinds(self) -> Sequence[Samples]:
        """Distinct metadata."""
        return [self.whole.kinds[place] for place in self._kinds[0].tolist()]

    @property
    def kind(self) -> NDArray[np.intp]:
        """Place of the metadata of each row."""
        return self._kinds[1]

    def deciles(self, kind: str) -> NDArray[np.float64]:
        """Return the times behind the deciles of each launch."""
        return self.whole.deciles(kind)[self.rows]

    def times(self) -> Iterator[Times]:
        """Yield the launches as batches, with their rows."""
        for times in self.whole.times():
            places = np.flatnonzero(np.isin(times.rows, self.rows))
            if len(places):
                yield Times(np.searchsorted(self.rows, times.rows[places]), times.batch.chosen(places))

    def samples(self, rows: Sequence[int]) -> dict[int, Samples]:
        """Return some launches with their times."""
        wanted = {int(self.rows[row]): row for row in rows}
        return {wanted[row]: one for row, one in self.whole.samples([*wanted]).items()}

    def fact(self, fact: Fact[Any]) -> list[Any]:
        """Return a fact of each launch."""
        values = self.whole.fact(fact)
        return [values[row] for row in self.rows.tolist()]


class Launches:
    """Launches of campaigns.

    Parameters
    ----------
    parts : parts of each campaign and benchmark, with its records.
    """

    def __init__(self, parts: Sequence[tuple[_Part | _Given | _Chosen, pd.DataFrame]]) -> None:
        self._parts = [part for part, _ in parts]
        self._frames = [frame for _, frame in parts]
        self._begins = np.cumsum([0, *map(len, self._frames)])

    @cached_property
    def records(self) -> pd.DataFrame:
        """A row per point and launch, as `labkit.read.records.table`; campaign after campaign."""
        frames, self._frames = [frame for frame in self._frames if len(frame)], []
        if len(frames) < 2:
            return frames[0] if frames else records.table([])
        return _together(frames)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row per point, as `labkit.read.records.summary`."""
        return records.summary(self.records) if len(self.records) else self.records

    @cached_property
    def kinds(self) -> tuple[Samples, ...]:
        """Distinct metadata, as samples without values. Size, launch and changing facts are those of one example."""
        return tuple(chain.from_iterable(part.kinds for part in self._parts))

    @cached_property
    def kind(self) -> NDArray[np.intp]:
        """Place among the kinds of each row, (launches,)."""
        begins = np.cumsum([0, *(len(part.kinds) for part in self._parts)])
        parts: list[NDArray[np.intp]] = [
            part.kind + begin for part, begin in zip(self._parts, begins.tolist(), strict=False)
        ]
        return np.concatenate([np.empty(0, np.intp), *parts])

    def fact(self, fact: Fact[Any], benchmark: str = "*") -> list[Any]:
        """Return a fact of each launch, (launches,), or its `empty`; equal values may be one object.

        Parameters
        ----------
        benchmark : pattern of those whose launches matter; all others have `empty`. A fact of the moment is read from
            the metadata of each of their launches.
        """
        matter = [fnmatch.fnmatchcase(part.benchmark, benchmark) for part in self._parts]
        parts = zip(self._parts, matter, strict=True)
        with metadata.reading():
            return list(
                chain.from_iterable(part.fact(fact) if each else [fact.empty] * len(part.kind) for part, each in parts)
            )

    def deciles(self, kind: str) -> NDArray[np.float64]:
        """Return the times behind the deciles of metrics of a kind, of the iterations of each launch.

        They are kept beside the records, so nothing reads the times of iterations for them. The launches must have been
        read with ``deciles=True``.

        Returns
        -------
        (launches, 9), s, as `records.deciles_of`.
        """
        return np.concatenate([np.empty((0, len(records.DECILES))), *(part.deciles(kind) for part in self._parts)])

    def of_points(self, fingerprints: Collection[str]) -> Launches:
        """Return the launches of some points."""
        rows = np.flatnonzero(self.records["fingerprint"].isin([*fingerprints]))
        parts: list[tuple[_Part | _Given | _Chosen, pd.DataFrame]] = []
        for part, begin, end in zip(self._parts, self._begins.tolist(), self._begins[1:].tolist(), strict=False):
            if len(own := rows[(rows >= begin) & (rows < end)]):
                parts.append((_Chosen(part, own - begin), self.records.iloc[own].reset_index(drop=True)))
        return Launches(parts)

    def spec(self, row: int) -> Spec:
        """Return the spec of a row of the records."""
        kind: Samples = self.kinds[int(self.kind[row])]
        return kind.spec.sized(int(self._sizes[row]))

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        """Size of each row, (launches,), B."""
        return np.asarray(self.records["message_size_B"], np.int64)

    def samples(self, rows: Sequence[int]) -> dict[int, Samples]:
        """Return the launches of some rows as objects, without launches with missing files; only for few rows."""
        found: dict[int, Samples] = {}
        for part, begin, end in zip(self._parts, self._begins.tolist(), self._begins[1:].tolist(), strict=False):
            own = [row for row in rows if begin <= row < end]
            some = part.samples([row - begin for row in own]) if own else {}
            found |= {row + begin: one for row, one in some.items()}
        return found

    def times(self, benchmark: str = "*") -> Iterator[Times]:
        """Yield the times of all launches, or of benchmarks that match a pattern; read again with each call."""
        for part, begin in zip(self._parts, self._begins.tolist(), strict=False):
            if fnmatch.fnmatchcase(part.benchmark, benchmark):
                for times in part.times():
                    yield Times(times.rows + begin, times.batch)


def read_campaigns(
    *campaigns: Campaign,
    benchmark: str = "*",
    columns: Columns = kept.every,
    deciles: bool = False,
    coded: bool = False,
) -> Launches:
    """Read the launches of campaigns.

    Parameters
    ----------
    benchmark : name, or a pattern such as ``mpi.*``.
    columns : returns whether a column of the records is needed; those of `kept.ALWAYS` are there in any case.
    deciles : whether those of the iterations are needed.
    coded : whether columns of texts are categories, which take less memory and are compared faster.

    Raises
    ------
    DataError
        If a file is damaged. The message names it.
    """

    def needed(name: str) -> bool:
        return deciles if name.startswith(records.MARK) else columns(name)

    with metadata.reading():
        parts = [_part(one, name, needed, coded) for one in campaigns for name in one.benchmarks(benchmark)]
    return Launches([part for part in parts if part is not None])


def load(campaign: str | Path | Campaign) -> pd.DataFrame:
    """Records of a campaign: one row per spec and launch, columns as in docs/data-dictionary.md.

    Parameters
    ----------
    campaign : folder, name in data/campaigns, or what `labkit.measure` returned.

    Raises
    ------
    DataError
        If there is no such campaign, or a file in it is unreadable.
    """
    return read_campaigns(campaign if isinstance(campaign, Campaign) else Campaign(find(campaign))).records


def of_samples(samples: Sequence[Samples], table: pd.DataFrame | None = None) -> Launches:
    """Return launches from samples in memory, such as a study's.

    Parameters
    ----------
    table : their records, if they are known; so they are where the samples have no times.
    """
    table = records.table(samples) if table is None else table
    found = {name_of(one): one for one in samples}
    names = table[["benchmark", "fingerprint", "launch"]].itertuples(index=False, name=None)
    whole = [found[name] for name in names]
    groups = table.groupby("benchmark", sort=False).indices if len(table) else {}
    launches = Launches(
        [(_Given(str(name), [whole[row] for row in own]), table.iloc[own]) for name, own in groups.items()]
    )
    launches.records = table
    return launches


def name_of(one: Samples) -> tuple[str, str, int]:
    """Return benchmark, fingerprint and launch, as records have them."""
    brand = {"library": LIBRARY.of(one.meta), "cpu_model": str(one.host.get("cpu_model") or "")}
    return one.spec.benchmark, str(FINGERPRINT.of(one.meta) or one.spec.fingerprint(brand)), one.launch


def _part(campaign: Campaign, benchmark: str, columns: Columns, coded: bool) -> tuple[_Part, pd.DataFrame] | None:
    """Return the launches of one benchmark with their records, kept or from the samples; None if none is left."""
    place, valid = kept.path(campaign, benchmark), kept.stamp(campaign, benchmark)
    files = campaign.files(benchmark)
    found = kept.read(place, valid, columns, coded=coded)
    if found is not None and kept.stamp(campaign, benchmark) == valid:  # else a run has added files meanwhile
        frame, kind, headers = found
        kinds = [described(header, place, campaign.starts) for header in headers]
    else:
        frame, read = _read(campaign, files)
        if frame.empty:
            return None
        kind, kinds, headers = frame[f"{records.MARK}{_KIND}"].to_numpy(), read.kinds, read.headers
        lacking = {one.code == MISSING for notes in {*frame["warnings"]} for one in notes}  # may be there the next time
        home = place.parents[
            1
        ]  # of an example, derived/NAME in the folder of campaigns, which only looking must not make
        if len(frame) >= kept.WORTH and True not in lacking and home.parent.parent.exists():
            kept.keep(frame, kind, headers, place, valid)
        frame = frame[[name for name in frame if columns(str(name)) or name in kept.ALWAYS]]
        if coded:
            frame = frame.astype(dict.fromkeys(frame.select_dtypes("str"), "category"))
    order = frame[f"{records.MARK}{_PLACE}"].to_numpy()
    marked = [name for name in frame if str(name).startswith(records.MARK)]
    marks = {str(name).removeprefix(records.MARK): frame[name].to_numpy() for name in marked}
    frame = frame.drop(columns=marked)
    sizes, launches = (frame[name].to_numpy(np.int64) for name in ("message_size_B", "launch"))
    names, places = plain(frame["fingerprint"]), np.asarray(order, np.intp)
    of_kinds, told = np.asarray(kind, np.intp), marks if columns(records.MARK) else None
    part = _Part(campaign, benchmark, files, names, sizes, launches, kinds, of_kinds, places, told)
    return part, frame


def _read(campaign: Campaign, files: Files) -> tuple[pd.DataFrame, Kinds]:
    """Read the samples of a benchmark; records have marks of kind and place."""
    kinds = Kinds(campaign.starts)

    def each() -> Iterator[Batch]:
        begin = 0
        for chunk, about in _ahead(rows.chunks(files), kinds):
            marks = {_KIND: about.kind, _PLACE: np.arange(begin, begin + len(chunk))}

            def make(places: NDArray[np.intp], about: metadata.Metadata = about, **parts: Any) -> Batch:
                return about.batch(places, **parts)

            for places, batch in rows.batches(chunk, about.alike, kinds.kinds, campaign.starts, make):
                yield replace(batch, marks={name: values[places] for name, values in marks.items()})
            begin += len(chunk)

    return records.of_batches(each(), campaign=campaign.name, deciles=True), kinds


def _ahead(chunks: Iterator[rows.Chunk], kinds: Kinds) -> Iterator[tuple[rows.Chunk, metadata.Metadata]]:
    """Yield launches with their metadata, which another thread reads meanwhile: DuckDB does not hold Python's lock."""
    with ThreadPoolExecutor(1) as thread:
        waiting: tuple[rows.Chunk, Future[metadata.Metadata]] | None = None
        for chunk in chunks:
            submitted = thread.submit(kinds.read, chunk.group.header, chunk.where)
            if waiting:
                yield waiting[0], waiting[1].result()
            waiting = chunk, submitted
        if waiting:
            yield waiting[0], waiting[1].result()


def _together(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several tables of records as one, with the columns that any of them has; empty the list."""
    index = pd.RangeIndex(sum(map(len, frames)))
    there = dict.fromkeys(name for frame in frames for name in frame.columns)
    names = [name for name in order([there]) if name in there]
    others = {name for frame in frames for name, kind in frame.dtypes.items() if kind != np.float64}
    columns = {name: _column(frames, name) for name in names if name in others}
    numbers = [name for name in names if name not in others]
    # in one block: hundreds take many times as long to filter
    block = np.full((len(numbers), len(index)), math.nan)
    row, ends = {name: row for row, name in enumerate(numbers)}, np.cumsum([len(frame) for frame in frames]).tolist()
    for frame, end in zip(frames, ends, strict=True):
        own = [name for name in frame.columns if name in row]
        block[[row[name] for name in own], end - len(frame) : end] = frame[own].to_numpy().T
    frames.clear()  # they take as much memory again
    parts = [pd.DataFrame(columns, index=index, copy=False), pd.DataFrame(block.T, index, numbers, copy=False)]
    return pd.concat(parts, axis=1)[names]


def _column(frames: Sequence[pd.DataFrame], name: str) -> Any:
    """Return one column of several tables; NaN of those that do not have it."""
    there = [frame[name] for frame in frames if name in frame]
    kinds = {str(column.dtype) for column in there}
    if len(there) == len(frames) and len(kinds) == 1:
        return pd.Series(union_categoricals(there)) if kinds == {"category"} else pd.concat(there, ignore_index=True)
    parts = [_values(frame, name) for frame in frames]
    begins = np.cumsum([0, *(len(values) for _, values in parts)]).tolist()
    values = pd.Series(list(chain.from_iterable(values for _, values in parts)))
    places = np.concatenate([codes + begin for (codes, _), begin in zip(parts, begins, strict=False)])
    return values.take(places).reset_index(drop=True)


def _values(frame: pd.DataFrame, name: str) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the distinct values of a column (NaN if it is missing), and the index of each row's value."""
    if name not in frame:
        return np.zeros(len(frame), np.intp), [math.nan]
    option = name.removeprefix(GIVEN[0])
    if option == name:
        return distinct(frame[name])
    places, texts = distinct(frame["options"])  # a table with missing values has floats in place of whole numbers
    return places, [json.loads(text).get(option, math.nan) for text in texts]
