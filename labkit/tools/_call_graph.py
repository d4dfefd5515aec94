"""Graphs of services that call one another: the social network of DeathStarBench, and random ones.

A graph is written for ``labkit/kernels/programs/call_graph.h``. Services stand in an order in which every service comes
before those that it calls; the first is the one that users ask.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Operation → share of the requests (mixed-workload.lua of DeathStarBench's socialNetwork)
OPERATIONS: Mapping[str, float] = {"compose_post": 0.1, "read_user_timeline": 0.3, "read_home_timeline": 0.6}
LEAST, MOST = 12, 48
_SMALL, _TIMELINE = 64, 10  # B of an answer without posts; posts of a page of a timeline
# service → what it answers with (in B, or posts of a record as -1 and a page of them as -10), words of memory it reads
_SERVICES: Mapping[str, tuple[int, int]] = {
    "front-end": (_SMALL, 4000),
    "compose-post": (_SMALL, 8000),
    "text": (-1, 20000),
    "media": (_SMALL, 2000),
    "user": (_SMALL, 4000),
    "unique-id": (_SMALL, 1000),
    "url-shorten": (_SMALL, 6000),
    "user-mention": (_SMALL, 6000),
    "home-timeline": (-_TIMELINE, 12000),
    "user-timeline": (-_TIMELINE, 12000),
    "post-storage": (-_TIMELINE, 16000),
    "social-graph": (_SMALL, 8000),
    "post-cache": (-_TIMELINE, 40000),
    "home-timeline-store": (_SMALL, 10000),
    "user-timeline-store": (_SMALL, 10000),
    "social-graph-store": (_SMALL, 10000),
    "url-store": (_SMALL, 10000),
    "user-store": (_SMALL, 10000),
}
# operation → caller → stages; the calls of a stage are under way at once
_CALLS: Mapping[str, Mapping[str, Sequence[Sequence[str]]]] = {
    "compose_post": {
        "front-end": [["compose-post"]],
        "compose-post": [
            ["text", "media", "user", "unique-id"],
            ["post-storage", "user-timeline", "home-timeline"],
        ],
        "text": [["url-shorten", "user-mention"]],
        "url-shorten": [["url-store"]],
        "user-mention": [["user-store"]],
        "post-storage": [["post-cache"]],
        "user-timeline": [["user-timeline-store"]],
        "home-timeline": [["social-graph"], ["home-timeline-store"]],
        "social-graph": [["social-graph-store"]],
    },
    "read_user_timeline": {
        "front-end": [["user-timeline"]],
        "user-timeline": [["user-timeline-store"], ["post-storage"]],
        "post-storage": [["post-cache"]],
    },
    "read_home_timeline": {
        "front-end": [["home-timeline"]],
        "home-timeline": [["home-timeline-store"], ["post-storage"]],
        "post-storage": [["post-cache"]],
    },
}


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Services and their calls.

    Parameters
    ----------
    names : of the services.
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


def social_network(post: int) -> Graph:
    """The services of DeathStarBench's social network, their stores one service each.

    Parameters
    ----------
    post : B of a post.
    """
    names = tuple(_SERVICES)
    number = {name: k for k, name in enumerate(names)}
    calls = [
        (number[caller], k, stage, number[callee])
        for k, by_caller in enumerate(_CALLS.values())
        for caller, stages in by_caller.items()
        for stage, callees in enumerate(stages)
        for callee in callees
    ]
    answers = tuple(8 + (size if size > 0 else -size * post) for size, _ in _SERVICES.values())
    reads = tuple(reads for _, reads in _SERVICES.values())
    return Graph(names=names, answers=answers, reads=reads, operations=OPERATIONS, calls=tuple(calls))


def generated(services: int, post: int, seed: int) -> Graph:
    """A random graph: every service but the first has a caller before it, and calls at most three others.

    Parameters
    ----------
    services : how many.
    post : B of the largest answer.
    seed : of the graph.
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
