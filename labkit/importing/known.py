"""What a campaign has of texts that were imported before, so that nothing comes twice."""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from labkit.campaign import Campaign
from labkit.samples.facts import PLACE

Numbers = NDArray[np.uint64]
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd: lines are told apart


class Known:
    """Points that texts brought before: their launches, and the lines they came from.

    Parameters
    ----------
    digests : first 16 digits of those of the texts that are to be imported now.
    """

    def __init__(self, digests: Collection[str]) -> None:
        self._digests = digests
        self._places: dict[str, Numbers] = {}  # digest → fingerprints and lines, mixed and sorted
        self._names = np.empty(0, np.uint64)  # fingerprints, sorted
        self._next = np.empty(0, np.int32)  # launch of the next point of each

    def read(self, held: Campaign) -> None:
        """Take in what a campaign holds."""
        after: dict[int, int] = {}
        places = {digest: (array("Q"), array("Q")) for digest in self._digests}
        for benchmark in held.benchmarks():
            for (fingerprint, launch), _, raw in held.files(benchmark).named():
                if b'"imported"' in raw.header or b'"published"' in raw.header:
                    header = json.loads(raw.header)
                    if header["origin"] in ("imported", "published") and isinstance(header["meta"], dict):
                        name = int(fingerprint, 16)
                        after[name] = max(after.get(name, 0), launch + 1)
                        digest, _, place = str(PLACE.of(header["meta"])).partition(":")
                        line = place.partition(":")[0]
                        if digest in places and line.isdigit() and len(line) < 19:
                            places[digest][0].append(name)
                            places[digest][1].append(int(line))
        self._names = np.array(sorted(after), np.uint64)
        self._next = np.array([after[name] for name in sorted(after)], np.int32)
        for digest, (names, lines) in places.items():
            if names:
                self._places[digest] = np.sort(_mixed(np.array(names, np.uint64), np.array(lines, np.uint64)))

    def numbered(self, names: Numbers) -> NDArray[np.int32]:
        """Launches of the next points of fingerprints, which are sorted; they are known from then on."""
        first, start, count = np.unique(names, return_index=True, return_counts=True)
        at = np.searchsorted(self._names, first)
        there = np.zeros(len(first), bool)
        inside = at < len(self._names)
        there[inside] = self._names[at[inside]] == first[inside]
        before = np.zeros(len(first), np.int64)
        before[there] = self._next[at[there]]
        self._next[at[there]] += count[there].astype(np.int32)
        self._names = np.insert(self._names, at[~there], first[~there])
        self._next = np.insert(self._next, at[~there], count[~there].astype(np.int32))
        return (np.arange(len(names)) + np.repeat(before - start, count)).astype(np.int32)

    def __contains__(self, digest: str) -> bool:
        """Whether anything of a text is there."""
        return digest in self._places

    def present(self, digest: str, names: list[bytes], lines: list[int]) -> list[bool]:
        """Which points of a text, by fingerprint and line, were brought before."""
        held = self._places[digest]
        wanted = _mixed(np.frombuffer(b"".join(names), ">u8").astype(np.uint64), np.array(lines, np.uint64))
        at = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
        found: list[bool] = (held[at] == wanted).tolist()
        return found


def _mixed(names: Numbers, lines: Numbers) -> Numbers:
    """A number for each pair of a fingerprint and a line; two are alike as seldom as two fingerprints."""
    with np.errstate(over="ignore"):
        mixed: Numbers = names ^ (lines * _MIX)
    return mixed
