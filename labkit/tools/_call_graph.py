"""Graphs of services that call one another: applications of DeathStarBench with published calls, and random graphs.

A graph is written for ``labkit/kernels/programs/call_graph.h``. Every service comes before the services that it calls;
users call the first one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from labkit.tools import _media_service, _social_network

LEAST, MOST = 12, 48
_SMALL = 64  # B of a short answer
# services, calls and operations of each
_PUBLISHED = {"social_network": _social_network, "media": _media_service}


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Services and their calls.

    Parameters
    ----------
    names : names of the services.
    answers : B with which each answers.
    reads : words of 8 B that each reads for a request.
    operations : name → share of the requests.
    calls : (caller, operation, stage, callee), all by number.
    """

    names: tuple[str, ...]
    answers: tuple[int, ...]
    reads: tuple[int, ...]
    operations: Mapping[str, float]
    calls: tuple[tuple[int, int, int, int], ...]

    def asks(self, number: int) -> tuple[int, ...]:
        """Numbers of the services that a service calls in any operation; sorted."""
        return tuple(sorted({callee for caller, _, _, callee in self.calls if caller == number}))

    def text(self) -> str:
        """The graph as the program reads it."""
        lines = [f"operations {len(self.operations)} {' '.join(map(repr, self.operations.values()))}"]
        lines += [f"service {k} {b} {n}" for k, (b, n) in enumerate(zip(self.answers, self.reads, strict=True))]
        lines += [f"call {' '.join(map(str, call))}" for call in self.calls]
        return "\n".join(lines) + "\n"


def published(application: str, post: int) -> Graph:
    """The services and calls of an application of DeathStarBench.

    Parameters
    ----------
    application : ``social_network`` or ``media``.
    post : B of a post, or of a review.
    """
    tables = _PUBLISHED[application]
    names = tuple(tables.SERVICES)
    number = {name: k for k, name in enumerate(names)}
    calls = [
        (number[caller], k, stage, number[callee])
        for k, by_caller in enumerate(tables.CALLS.values())
        for caller, stages in by_caller.items()
        for stage, callees in enumerate(stages)
        for callee in callees
    ]
    answers = tuple(8 + (size if size > 0 else -size * post) for size, _ in tables.SERVICES.values())
    reads = tuple(reads for _, reads in tables.SERVICES.values())
    return Graph(names=names, answers=answers, reads=reads, operations=tables.OPERATIONS, calls=tuple(calls))


def generated(services: int, post: int, seed: int) -> Graph:
    """A random graph: every service but the first has a caller before it, and calls at most three others.

    Parameters
    ----------
    services : how many.
    post : B of the largest answer.
    seed : seed of the graph.
    """
    chance = random.Random(seed)
    called: list[list[int]] = [[] for _ in range(services)]
    for number in range(1, services):
        callers = [k for k in range(number) if len(called[k]) < 3]
        called[chance.choice(callers[-6:])].append(number)
    calls = []
    for caller, callees in enumerate(called):
        stage = 0
        for k, callee in enumerate(callees):
            stage += int(k > 0 and chance.random() < 0.5)
            calls.append((caller, 0, stage, callee))
    sizes = [_SMALL, _SMALL, max(_SMALL, post // 2), post]
    return Graph(
        names=tuple(f"service-{k}" for k in range(services)),
        answers=tuple(8 + chance.choice(sizes) // 8 * 8 for _ in range(services)),
        reads=tuple(chance.randrange(1000, 40000) for _ in range(services)),
        operations={"request": 1.0},
        calls=tuple(calls),
    )
