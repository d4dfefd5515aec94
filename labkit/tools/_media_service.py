"""The media service of DeathStarBench: composing a review, the one operation of its published load.

Calls as in the source (mediaMicroservices: the scripts of nginx, and the handlers of the services), their stores one
service each. In the original, five services upload their part of a review to compose-review, and whichever comes last
makes it send the review on. Here ``review-parts`` takes the parts, and the front end asks compose-review when all are
there. What a service answers with and reads is labkit's choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

OPERATIONS: Mapping[str, float] = {"compose_review": 1.0}  # wrk2/scripts/media-microservices/compose-review.lua
_SMALL = 64  # B of an answer without a review
# service → what it answers with (in B, or reviews as -1), words of memory it reads
SERVICES: Mapping[str, tuple[int, int]] = {
    "front-end": (_SMALL, 4000),
    "user": (_SMALL, 4000),
    "movie-id": (_SMALL, 6000),
    "text": (-1, 20000),
    "unique-id": (_SMALL, 1000),
    "rating": (_SMALL, 2000),
    "compose-review": (_SMALL, 8000),
    "review-storage": (_SMALL, 16000),
    "user-review": (_SMALL, 12000),
    "movie-review": (_SMALL, 12000),
    "review-parts": (-1, 10000),
    "user-store": (_SMALL, 10000),
    "movie-id-store": (_SMALL, 10000),
    "rating-store": (_SMALL, 10000),
    "review-store": (_SMALL, 10000),
    "user-review-store": (_SMALL, 10000),
    "movie-review-store": (_SMALL, 10000),
}
# operation → caller → stages; the calls of a stage are under way at once
CALLS: Mapping[str, Mapping[str, Sequence[Sequence[str]]]] = {
    "compose_review": {
        "front-end": [["user", "movie-id", "text", "unique-id"], ["compose-review"]],
        "user": [["user-store"], ["review-parts"]],
        "movie-id": [["movie-id-store"], ["rating", "review-parts"]],
        "text": [["review-parts"]],
        "unique-id": [["review-parts"]],
        "rating": [["review-parts", "rating-store"]],
        "compose-review": [["review-parts"], ["review-storage", "user-review", "movie-review"]],
        "review-storage": [["review-store"]],
        "user-review": [["user-review-store"]],
        "movie-review": [["movie-review-store"]],
    },
}
