"""Texts inside a document: strings of JSON, block scalars of YAML, lines of a container's log or of ranks."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

LARGEST = 16 << 20  # characters of a document
MOST = 1000  # texts of a document
_AFTER = re.compile(r"=> (?=\{$)", re.MULTILINE)  # before the document that Ansible prints for a host
_DEEPEST = 100  # levels of objects and lists
_LINES = 3  # of a list of strings that is a text
_KEYS = ("log", "message", "msg", "line")  # of an object for each line, as Docker writes it
_OBJECT = re.compile(rf'\{{"(?:{"|".join(_KEYS)})": ?"')  # begins the first line of such a log
_SEVERAL, _FEWEST = 2, 3  # ranks; lines of each: NetPIPE numbers its lines
RANK = "rank-"  # begins the place of a rank's text
# srun -l and mpiexec -l, mpirun --tag-output of Open MPI 3, 4 and 5
_RANK = re.compile(r" *(?:\[?(?:rank )?(\d{1,7})(?::|\] )|\[\d+,(\d{1,7})\](?:<std\w+>)?:?) ?")
TABLES = "tables"  # the place of a text with its Markdown tables
_RULE = re.compile(r":?-+:?")  # a cell below the head of a table
_ODD = re.compile(r"[^\w-]")  # characters of a key that a place does not have
_BLOCK = re.compile(
    r"^(?P<indent> *)(?:- +)?(?P<key>[\w.-]+): *\|[+-]? *\n(?P<text>(?:(?P=indent) +\S.*\n?|[ \t]*\n)+)", re.MULTILINE
)


@lru_cache(2)
def texts(document: str) -> dict[str, str]:
    r"""Return the texts of several lines inside a document, by their places; each text once.

    Examples
    --------
    >>> texts('{"jobs": [{"stdout": "one\\ntwo"}], "n": 2}')
    {'jobs[0].stdout': 'one\ntwo'}
    """
    found: dict[str, str] = {}
    if len(document) <= LARGEST:
        for place, text in _of_json(document) or _of_lines(document) or _of_yaml(document):
            if text.strip() not in map(str.strip, found.values()):
                found[place] = text
            if len(found) == MOST:
                break
    return found


@lru_cache(2)
def of_ranks(document: str) -> dict[str, str]:
    r"""Return the lines of each rank without its label, and lines without a label, if several ranks have some lines.

    Examples
    --------
    >>> of_ranks("0: a\n1: d\n0: b\nnone\n1: e\n0: c\n1: f\n")
    {'rank-0': 'a\nb\nc\n', 'rank-1': 'd\ne\nf\n', 'rank-none': 'none\n'}
    """
    parts: dict[str, list[str]] = {}
    for line in document.splitlines(keepends=True):
        label = _RANK.match(line)
        place = f"{RANK}{int(label[1] or label[2])}" if label else f"{RANK}none"
        parts.setdefault(place, []).append(line[label.end() :] if label else line)
    ranks = [lines for place, lines in parts.items() if place != f"{RANK}none" and len(lines) >= _FEWEST]
    return {place: "".join(lines) for place, lines in parts.items()} if _SEVERAL <= len(ranks) <= MOST else {}


@lru_cache(2)
def of_tables(document: str) -> str:
    r"""Return a text whose Markdown tables have blanks between their cells, line by line; empty if it has no table.

    Examples
    --------
    >>> of_tables("| Size | Latency (us) |\n|:--|--:|\n| 8 | 1.25 |\n")
    'Size  Latency (us)\n\n8  1.25\n'
    """
    lines, found = document.split("\n"), False
    rules = [n for n, line in enumerate(lines) if "|" in line and all(map(_RULE.fullmatch, _cells(line)))]
    for rule in rules:
        first = last = rule
        while first and "|" in lines[first - 1]:
            first -= 1
        while last + 1 < len(lines) and "|" in lines[last + 1]:
            last += 1
        for number in range(first, last + 1):
            lines[number] = "" if number == rule else "  ".join(cell.strip(" `*") for cell in _cells(lines[number]))
            found = True
    return "\n".join(lines) if found else ""


def holds_lines(document: str) -> bool:
    """Return whether a document holds the lines of a text: the log of a container, or what Ansible prints."""
    return bool(_OBJECT.match(document) or _AFTER.search(document))


def _cells(line: str) -> list[str]:
    """Return the cells of a row of a Markdown table."""
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _of_json(document: str) -> list[tuple[str, str]]:
    """Return the strings of several lines, and lists of strings as one text each, of a JSON document."""
    decoder = json.JSONDecoder()
    try:
        if hosts := [one.end() for one in _AFTER.finditer(document)]:
            value: Any = [decoder.raw_decode(document, start)[0] for start in hosts]
        else:
            value = json.loads(document)
    except (ValueError, RecursionError):
        return []
    return list(_walked(value, "", 0))


def _walked(value: Any, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if "\n" in value.strip():
            yield place or "text", value
    elif depth > _DEEPEST or not isinstance(value, list | dict):
        return
    elif isinstance(value, list) and len(value) >= _LINES and all(isinstance(one, str) for one in value):
        yield place or "text", "".join(f"{one}\n" for one in value)
    else:
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            step = f"[{key}]" if isinstance(key, int) else "." + _ODD.sub("_", key)[:60]
            yield from _walked(one, f"{place}{step}".removeprefix("."), depth + 1)


def _of_lines(document: str) -> list[tuple[str, str]]:
    """Return the text with one line for each JSON object: a value of it."""
    try:
        objects = [json.loads(line) for line in document.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return []
    for key in _KEYS:
        if objects and all(isinstance(one, dict) and isinstance(one.get(key), str) for one in objects):
            return [(key, "".join(one[key] if one[key].endswith("\n") else f"{one[key]}\n" for one in objects))]
    return []


def _of_yaml(document: str) -> list[tuple[str, str]]:
    """Return the block scalars of a YAML document, each with the line of its key."""
    return [
        (f"{block['key']}-{document.count(chr(10), 0, block.start()) + 1}", textwrap.dedent(block["text"]))
        for block in _BLOCK.finditer(document)
    ]
