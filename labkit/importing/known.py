"""What a campaign has of texts that were imported before, so that nothing comes twice."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections.abc import Collection

from labkit.campaign import Campaign


class Slot:
    """Points of one fingerprint.

    Parameters
    ----------
    benchmark, fingerprint : of their samples files.
    launch : of the next of them.
    """

    __slots__ = ("benchmark", "fingerprint", "launch")

    def __init__(self, benchmark: str, fingerprint: str, launch: int) -> None:
        self.benchmark, self.fingerprint, self.launch = benchmark, fingerprint, launch


class Known:
    """Points that texts brought before: their launches, and the lines they came from.

    Parameters
    ----------
    digests : first 16 digits of those of the texts that are to be imported now.
    """

    def __init__(self, digests: Collection[str]) -> None:
        self._digests = digests
        self._lines: dict[tuple[str, str], array[int]] = {}
        self._slots: dict[str, Slot] = {}
        self._next: dict[str, int] = {}  # fingerprint → launch of its next point

    def read(self, held: Campaign) -> None:
        """Take in what a campaign holds."""
        for benchmark in held.benchmarks():
            for name, _, raw in held.files(benchmark).named():
                if b'"imported"' in raw.header or b'"published"' in raw.header:
                    self._take(name[0], json.loads(raw.header))
        for lines in self._lines.values():
            lines[:] = array("Q", sorted(lines))

    def _take(self, fingerprint: str, header: dict[str, object]) -> None:
        launch, meta = header["launch"], header["meta"]
        if header["origin"] in ("imported", "published") and isinstance(launch, int) and isinstance(meta, dict):
            self._next[fingerprint] = max(self._next.get(fingerprint, 0), launch + 1)
            digest, _, place = str(meta.get("place", "")).partition(":")
            line = place.partition(":")[0]
            if digest in self._digests and line.isdigit():
                self._lines.setdefault((fingerprint, digest), array("Q")).append(int(line))

    def slot(self, benchmark: str, fingerprint: str) -> Slot:
        """Where points of a fingerprint belong."""
        if fingerprint not in self._slots:
            self._slots[fingerprint] = Slot(benchmark, fingerprint, self._next.get(fingerprint, 0))
        return self._slots[fingerprint]

    def __bool__(self) -> bool:
        """Whether anything of the texts is there."""
        return bool(self._lines)

    def __contains__(self, place: tuple[str, str, int]) -> bool:
        """Whether a fingerprint, the first digits of a digest and a line were brought before."""
        lines = self._lines.get(place[:2])
        if lines is None:
            return False
        at = bisect_left(lines, place[2])
        return at < len(lines) and lines[at] == place[2]
