"""Launches whose metadata and numbers of iterations are equal, as arrays: what statistics of a whole campaign read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from labkit.point.spec import Reported, Spec
from labkit.stats.across_ranks import OverRanks
from labkit.store.samples import Samples
from labkit.store.samples.facts import Fact

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Batch:
    """Launches with equal metadata, as many ranks, and as many iterations.

    Parameters
    ----------
    kind : the metadata; its size, its launch and its facts in `own` are those of one of the launches.
    sizes : (launches,), B.
    launches : (launches,), number of each.
    time_ns : (launches, ranks, iterations), ns.
    own : name of a fact → its value in each launch; None where a launch does not have it.
    reported : what a tool reported; the values are those of one of the launches.
    values : (launches,) lists of the values of each launch, in the order of `reported`; empty if a tool reported none.
    extras : further columns, each (launches, ranks, iterations).
    over : statistics over all ranks, where `time_ns` has only some; such a launch is alone in its batch.
    marks : name → a value of each launch, for whoever made the batch.
    checked : whether their records were computed before, which checks times and metadata.
    """

    kind: Samples
    sizes: NDArray[np.int64]
    launches: NDArray[np.int64]
    time_ns: NDArray[np.int64]
    own: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    reported: Sequence[Reported] = ()
    values: Sequence[Sequence[float]] = ()
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    over: OverRanks | None = None
    marks: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    checked: bool = False

    @classmethod
    def of(cls, samples: Samples) -> Batch:
        """Return one launch as a batch."""
        return cls(
            kind=samples,
            sizes=np.array([samples.spec.size]),
            launches=np.array([samples.launch]),
            time_ns=samples.time_ns[None],
            reported=samples.reported,
            values=[[one.value for one in samples.reported]] if samples.reported else (),
            extras={name: values[None] for name, values in samples.extras.items()},
            over=samples.over,
        )

    @classmethod
    def together(cls, batches: Sequence[Batch]) -> Batch:
        """Return launches that differ in their numbers of iterations as one batch, without their times."""
        first = batches[0]
        if len(batches) == 1:
            return first
        return replace(
            first,
            sizes=np.concatenate([one.sizes for one in batches]),
            launches=np.concatenate([one.launches for one in batches]),
            time_ns=first.time_ns[:0],
            own={name: [value for one in batches for value in one.own[name]] for name in first.own},
            values=[value for one in batches for value in one.values],
            extras={},
            marks={name: np.concatenate([one.marks[name] for one in batches]) for name in first.marks},
        )

    def __len__(self) -> int:
        """Number of launches."""
        return len(self.launches)

    @property
    def n(self) -> int:
        """Number of iterations of one rank of a launch."""
        return int(self.time_ns.shape[2])

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time of every iteration, (launches, ranks, iterations), s, as `Samples.seconds`."""
        seconds: NDArray[np.float64] = self.time_ns * 1e-9 / self.extras.get("iterations", 1)
        return seconds

    def given(self, fact: Fact[Any]) -> Sequence[Any]:
        """Return the value of a fact in each launch; None where it is not there, or null."""
        return self.own[fact.name] if fact.name in self.own else [self.kind.meta.get(fact.name)] * len(self)

    def fact(self, fact: Fact[T]) -> list[T]:
        """Return the value of a fact in each launch, or its `empty`."""
        return [fact.empty if value is None else value for value in self.given(fact)]

    def spec(self, row: int) -> Spec:
        """Return the spec of a launch."""
        return self.kind.spec.sized(int(self.sizes[row]))

    def reported_in(self, row: int) -> tuple[Reported, ...]:
        """Return what a tool reported in a launch."""
        if not self.reported:
            return ()
        return tuple(replace(one, value=value) for one, value in zip(self.reported, self.values[row], strict=True))

    def value(self, place: int) -> NDArray[np.float64]:
        """Return a value of `reported` in each launch, (launches,)."""
        return np.array([values[place] for values in self.values], np.float64)

    def each(self) -> Iterator[Samples]:
        """Yield every launch as an object of its own, for what cannot be computed for many at once."""
        for row, launch in enumerate(self.launches.tolist()):
            own = {name: values[row] for name, values in self.own.items() if values[row] is not None}
            yield replace(
                self.kind,
                spec=self.spec(row),
                launch=launch,
                meta={**self.kind.meta, **own} if own else self.kind.meta,
                time_ns=self.time_ns[row],
                reported=self.reported_in(row),
                extras={name: values[row] for name, values in self.extras.items()},
                over=self.over,
            )
