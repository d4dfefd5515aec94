"""Finds points that were imported before, so that no point is imported twice."""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from labkit.store.campaign import Campaign
from labkit.store.samples.facts import PLACE

Numbers = NDArray[np.uint64]
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so different lines stay different


class Known:
    """Points from earlier imports: their launches, and the lines of the texts that they came from.

    Parameters
    ----------
    digests : first 16 digits of the checksums of the texts to be imported now.
    """

    def __init__(self, digests: Collection[str]) -> None:
        self._digests = digests
        self._places: dict[str, Numbers] = {}  # digest → fingerprints and lines, mixed and sorted
        self._names = np.empty(0, np.uint64)  # fingerprints, sorted
        self._next = np.empty(0, np.int32)  # launch of the next point of each

    def read(self, campaign: Campaign) -> None:
        """Read the imported points of a campaign."""
        next_launches: dict[int, int] = {}
        places = {digest: (array("Q"), array("Q")) for digest in self._digests}
        for benchmark in campaign.benchmarks():
            for (fingerprint, launch), _, raw in campaign.files(benchmark).named():
                if b'"imported"' in raw.header or b'"published"' in raw.header:
                    header = json.loads(raw.header)
                    if header["origin"] in ("imported", "published") and isinstance(header["meta"], dict):
                        name = int(fingerprint, 16)
                        next_launches[name] = max(next_launches.get(name, 0), launch + 1)
                        digest, _, place = str(PLACE.of(header["meta"])).partition(":")
                        line = place.partition(":")[0]
                        if digest in places and line.isdecimal() and len(line) < 19:
                            places[digest][0].append(name)
                            places[digest][1].append(int(line))
        self._names = np.array(sorted(next_launches), np.uint64)
        self._next = np.array([next_launches[name] for name in sorted(next_launches)], np.int32)
        for digest, (names, lines) in places.items():
            if names:
                self._places[digest] = np.sort(_mixed(np.array(names, np.uint64), np.array(lines, np.uint64)))

    def numbered(self, names: Numbers) -> NDArray[np.int32]:
        """Return the launches of new points with these sorted fingerprints, and remember the points."""
        distinct, start, count = np.unique(names, return_index=True, return_counts=True)
        indices = np.searchsorted(self._names, distinct)
        known = np.zeros(len(distinct), bool)
        within = indices < len(self._names)
        known[within] = self._names[indices[within]] == distinct[within]
        launches = np.zeros(len(distinct), np.int64)
        launches[known] = self._next[indices[known]]
        self._next[indices[known]] += count[known].astype(np.int32)
        self._names = np.insert(self._names, indices[~known], distinct[~known])
        self._next = np.insert(self._next, indices[~known], count[~known].astype(np.int32))
        return (np.arange(len(names)) + np.repeat(launches - start, count)).astype(np.int32)

    def __contains__(self, digest: str) -> bool:
        """Return whether points of a text were imported before."""
        return digest in self._places

    def present(self, digest: str, names: list[bytes], lines: list[int]) -> list[bool]:
        """Return for each point of a text, by fingerprint and line, whether it was imported before."""
        imported = self._places[digest]
        pairs = _mixed(np.frombuffer(b"".join(names), ">u8").astype(np.uint64), np.array(lines, np.uint64))
        indices = np.minimum(np.searchsorted(imported, pairs), len(imported) - 1)
        present: list[bool] = (imported[indices] == pairs).tolist()
        return present


def _mixed(names: Numbers, lines: Numbers) -> Numbers:
    """Return a number for each pair of fingerprint and line; two agree as rarely as two fingerprints do."""
    with np.errstate(over="ignore"):
        mixed: Numbers = names ^ (lines * _MIX)
    return mixed
