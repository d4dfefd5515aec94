"""Assigns the lines of a file to programs, if several have written into it, as into the log of a job."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Mapping, Sequence

from labkit.formats.reading.lines import LONGEST
from labkit.formats.reading.wrapped import FENCE

_ABOVE = 60  # lines above the first one of a program's output that may name the program
# or a comment, or a line of JSON but its end
_COMMAND = re.compile(r"\s*(?:[#$%>\"{,]|\[\s*(?:$|[{\[\"]|-?[\d.]+\s*(?:,|$))|[+]+ )|\s+[}\]]")
Sections = Mapping[str, Sequence[tuple[int, int]]]


def sections(text: str, begins: Mapping[str, re.Pattern[str]], names: Mapping[str, re.Pattern[str]]) -> Sections | None:
    """Return the first and last line, from 0, of each program's output; None if a line begins two outputs.

    The output of a program ends where the next program's begins: at a line that names the program, or at the comments
    and commands directly above the output.

    Parameters
    ----------
    begins : what the lines match with which outputs begin, by program.
    names : what the lines match that name a program.
    """
    lines = text.split("\n")
    offsets = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    starts = {
        (bisect.bisect(offsets, found.start() + len(found[0].rstrip()) - 1) - 1, kind)
        for kind, form in begins.items()
        for found in form.finditer(text)
    }
    places = [line for line, _ in starts]
    if not places or len(set(places)) < len(places):
        return None
    made: dict[str, list[tuple[int, int]]] = {kind: [] for kind in begins}
    first, before, last = 0, "", 0
    for line, kind in sorted(starts):
        if before and kind != before:
            head = _head(lines, line, last, names[kind])
            made[before].append((first, head - 1))
            first = head
        before, last = kind, line
    made[before].append((first, len(lines) - 1))
    return {kind: some for kind, some in made.items() if some}


def _head(lines: Sequence[str], line: int, before: int, name: re.Pattern[str]) -> int:
    """Return the first of the lines above a line that names the program, and of comments and commands above that.

    Comments that directly follow other text belong to the output above.
    """
    above = range(max(before + 1, line - _ABOVE), line)
    first = next((number for number in above if name.search(lines[number][:LONGEST])), line)
    top = first
    while top - 1 > before and _COMMAND.match(lines[top - 1]):
        top -= 1
    closing = bool(lines[top - 1].strip())
    while closing and top < first and lines[top].lstrip().startswith("#"):
        top += 1
    return top


def only(text: str, some: Sequence[tuple[int, int]]) -> str:
    """Return a text with all lines emptied except some, so that line numbers stay right; fences stay as pairs."""
    kept = {number for first, last in some for number in range(first, last + 1)}
    lines = text.split("\n")
    return "\n".join(line if number in kept or FENCE.fullmatch(line) else "" for number, line in enumerate(lines))
