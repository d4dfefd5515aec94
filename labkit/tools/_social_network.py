"""The social network of DeathStarBench: its services and calls, their stores one service each.

Gan et al., ASPLOS 2019, and the source (socialNetwork). What a service answers with and reads is labkit's choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_SMALL, _TIMELINE = 64, 10  # B of an answer without posts; posts of a page of a timeline
# Operation → share of the requests (mixed-workload.lua of DeathStarBench's socialNetwork)
OPERATIONS: Mapping[str, float] = {"compose_post": 0.1, "read_user_timeline": 0.3, "read_home_timeline": 0.6}
# service → what it answers with (in B, or posts of a record as -1 and a page of them as -10), words of memory it reads
SERVICES: Mapping[str, tuple[int, int]] = {
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
CALLS: Mapping[str, Mapping[str, Sequence[Sequence[str]]]] = {
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
