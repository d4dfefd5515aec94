"""Launches whose metadata are equal, as arrays: what statistics of a whole campaign read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
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
    """Launches with equal metadata and the same number of ranks. All have iterations, or none has.

    Parameters
    ----------
    kind : the metadata; its size, its launch and its facts in `own` are those of one of the launches.
    sizes : (launches,), B.
    launches : (launches,), number of each.
    time_ns : (ranks, iterations), ns; those of a launch lie behind those of the launch before it.
    starts : (launches + 1,), where the iterations of each launch begin; the last entry is the end.
    own : name of a fact → its value in each launch; None if a launch does not have it.
    reported : what a tool reported; the values are those of one of the launches.
    values : (launches,) lists of the values of each launch, in the order of `reported`; empty if a tool reported none.
    extras : further columns, each (ranks, iterations).
    over : statistics over all ranks, where `time_ns` has only some; such a launch is alone in its batch.
    marks : name → a value of each launch, for the code that made the batch.
    checked : whether their records were computed before, which checks times and metadata.
    """

    kind: Samples
    sizes: NDArray[np.int64]
    launches: NDArray[np.int64]
    time_ns: NDArray[np.int64]
    starts: NDArray[np.int64]
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
            time_ns=samples.time_ns,
            starts=np.array([0, samples.time_ns.shape[-1]]),
            reported=samples.reported,
            values=[[one.value for one in samples.reported]] if samples.reported else (),
            extras=samples.extras,
            over=samples.over,
        )

    def __len__(self) -> int:
        """Number of launches."""
        return len(self.launches)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of iterations of one rank of each launch, (launches,)."""
        return np.diff(self.starts)

    @property
    def timed(self) -> bool:
        """Whether the launches have iterations, and not only values that a tool reported."""
        return bool(self.starts[-1])

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time of every iteration, (ranks, iterations), s, as `Samples.seconds`."""
        seconds: NDArray[np.float64] = self.time_ns * 1e-9 / self.extras.get("iterations", 1)
        return seconds

    def given(self, fact: Fact[Any]) -> Sequence[Any]:
        """Return the value of a fact in each launch; None if it is not there, or null."""
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

    def chosen(self, places: NDArray[np.intp]) -> Batch:
        """Return the launches at some places, in the order of the batch."""
        which = np.zeros(len(self), bool)
        which[places] = True
        if which.all():
            return self
        kept, times = np.flatnonzero(which).tolist(), np.repeat(which, self.counts)
        return replace(
            self,
            sizes=self.sizes[which],
            launches=self.launches[which],
            time_ns=self.time_ns[:, times],
            starts=np.concatenate([[0], np.cumsum(self.counts[which])]),
            own={name: [values[place] for place in kept] for name, values in self.own.items()},
            values=[self.values[place] for place in kept] if self.values else (),
            extras={name: values[:, times] for name, values in self.extras.items()},
            marks={name: values[which] for name, values in self.marks.items()},
        )

    def each(self) -> Iterator[Samples]:
        """Yield every launch as an object, for what cannot be computed for many at once."""
        for row, (begin, end) in enumerate(pairwise(self.starts.tolist())):
            own = {name: values[row] for name, values in self.own.items() if values[row] is not None}
            yield replace(
                self.kind,
                spec=self.spec(row),
                launch=int(self.launches[row]),
                meta={**self.kind.meta, **own} if own else self.kind.meta,
                time_ns=np.ascontiguousarray(self.time_ns[:, begin:end]),
                reported=self.reported_in(row),
                extras={name: np.ascontiguousarray(values[:, begin:end]) for name, values in self.extras.items()},
                over=self.over,
            )
