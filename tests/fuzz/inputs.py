"""Inputs of the fuzzer: wrong command lines of every verb, made from its words and its example; seeded."""

from __future__ import annotations

import argparse
import random
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from labkit.apps import cli

LONG, DIGITS = "a" * 300, "9" * 500
NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1",
    "-3",
    "0",
    "1.5",
    "",
    " ",
    "x",
    DIGITS,
    "9" * 5000,
    "1e" + "9" * 20,
    "0x10",
    "1_0",
    "--",
    "1,2",
    "99999999999999999999",
    "٣",
)
PATHS = (
    "folder",
    "fifo",
    "loop",
    "dangling",
    "empty",
    "socket",
    "binary.toml",
    "deep.toml",
    "binary.zip",
    "osu_latency.txt",
    "missing/x",
    "osu_latency.txt/x",
    LONG,
    "b/" * 3000,
    ".",
    "..",
    "/",
    "/proc/1/mem",
    "/dev/full",
    "",
    "\udcff\udcfe",
    "a\nb",
    "π",
    "folder/../folder",
    "own/samples",
    "../../etc/passwd",
    "-",
    "loop/x",
)
PAIRS = (
    "x",
    "=",
    "a=",
    "=b",
    "a=b",
    "size=3",
    "sizes=3",
    "hosts=a",
    "benchmark=x",
    "environment=x",
    "options=x",
    "window=nan",
    f"window={DIGITS}",
    "window=-1",
    "transport=x",
    "launches=nan",
    f"seed={DIGITS}",
    "ci=inf",
    "time_cap=-1",
    "ranks=0",
    "sizes=1e999",
    "launchers=x",
    "env.=x",
    "env.A\n=x",
    "fields=1",
    "measure=maybe",
)
TEXTS = (
    "<script>",
    "\x1b[2J",
    "'; rm -rf x",
    "$(false)",
    "a b",
    ",",
    ";",
    ":",
    "*",
    "[",
    "mpi.*",
    "mpi",
    ".",
    "mpi.",
    "auto",
    "none",
    "local:x,y=z",
    "soft-roce,x",
    "virtual-cluster:x",
)
VALUES = tuple(dict.fromkeys((*NUMBERS, *PATHS, *PAIRS, *TEXTS)))
KEEP = ("--dry-run", "--no-execute", "--detach")  # words that make a verb start less
SURE = ("nan", "inf", "1e999", DIGITS, "--")  # no number, size or count is one of these


@dataclass(frozen=True)
class Input:
    """A command line.

    Parameters
    ----------
    wrong : whether it must be refused.
    """

    words: tuple[str, ...]
    wrong: bool = False

    def __str__(self) -> str:
        return shlex.join(ascii(word)[1:-1] for word in self.words)[:2000]


@dataclass(frozen=True)
class Verb:
    """A verb as `cli.VERBS` has it, with the words of its example that are right in a scene.

    Parameters
    ----------
    lines : its examples, without the verb.
    actions : its options and positional words.
    """

    word: str
    lines: tuple[tuple[str, ...], ...]
    actions: tuple[argparse.Action, ...]

    @property
    def flags(self) -> list[argparse.Action]:
        """Its options that take a value."""
        return [one for one in self.actions if one.option_strings and one.nargs != 0]


def verbs() -> list[Verb]:
    """Every verb of the command line."""
    all_verbs = []
    verbs = next(iter(cli.parser()._subparsers._group_actions)).choices  # type: ignore[union-attr]
    for word, *_, example in cli.VERBS:
        actions = tuple(one for one in verbs[word].filled()._actions if one.dest != "help")
        keep = [flag for one in actions for flag in one.option_strings if flag in KEEP]
        suite = any(one.dest == "suite" for one in actions)
        lines = [shlex.split(line)[2:] for line in example.splitlines() if line.startswith(f"labkit {word}")]
        fitted = [_fitting(line, suite) + keep for line in lines]
        all_verbs.append(Verb(word, tuple(map(tuple, fitted)), actions))
    return all_verbs


def _fitting(line: Sequence[str], suite: bool) -> list[str]:
    """An example's words with names that a scene has."""
    names = (
        {"quick": "tiny.toml"}
        if suite
        else {"monday.zip": "quick.zip", "tuesday": "own", "table2.txt": "osu_latency.txt"}
    )
    names |= {"mysite.toml": "site.toml", "imb_mpi1.txt": "osu_latency.txt", "osu_allreduce.txt": "osu_latency.txt"}
    return [names.get(word, word) for word in line]


def every(verb: Verb) -> Iterator[Input]:
    """Each option with each value, each word replaced by each value, words left out, twice, unknown."""
    for line in verb.lines:
        yield Input((verb.word, *line))
        for place in range(len(line)):
            yield Input((verb.word, *line[:place], *line[place + 1 :]))
            yield Input((verb.word, *line[:place], line[place], *line[place:]))
    yield Input((verb.word, *verb.lines[0], "--no-such-word"), wrong=verb.word not in ("lab", "testbed"))
    for flag in verb.flags:
        number = flag.type in (int, float)
        for value in VALUES:
            wrong = number and value in SURE
            yield Input((verb.word, *verb.lines[0], f"{flag.option_strings[-1]}={value}"), wrong)
        yield Input((verb.word, *verb.lines[0], flag.option_strings[-1]), wrong=True)
    line = verb.lines[0]
    for place in (i for i, word in enumerate(line) if not word.startswith("-")):
        for value in VALUES:
            yield Input((verb.word, *line[:place], value, *line[place + 1 :]))


def mixed(verb: Verb, count: int) -> Iterator[Input]:
    """Several things wrong at once."""
    chance = random.Random(f"labkit {verb.word}")
    for _ in range(count):
        words = list(chance.choice(verb.lines))
        for _ in range(chance.randint(1, 4)):
            kind, place = chance.randrange(5), chance.randrange(len(words) + 1)
            if kind == 0 and verb.flags:
                words += [chance.choice(chance.choice(verb.flags).option_strings), chance.choice(VALUES)]
            elif kind == 1 and words:
                words.pop(chance.randrange(len(words)))
            elif kind == 2:
                words.insert(place, chance.choice(VALUES))
            elif kind == 3 and words:
                place = chance.randrange(len(words))
                words[place] = _changed(chance, words[place])
            else:
                words.insert(place, chance.choice(("--", "--help=", "-", "--=", "-=", "-o", "-p")))
        yield Input((verb.word, *words, *(word for word in verb.lines[0] if word in KEEP)))


def _changed(chance: random.Random, word: str) -> str:
    """A word with a sign more, less or other."""
    place, sign = chance.randrange(len(word) + 1), chance.choice("\udcff\x1b\n=,:;.-0é<\t ")
    return word[:place] + chance.choice((sign, "", sign + word[place : place + 1])) + word[place + 1 :]


@cache
def inputs() -> list[Input]:
    """All of them, the same ones each time."""
    every_input = [one for verb in verbs() for one in (*every(verb), *mixed(verb, 150))]
    return list(dict.fromkeys(one for one in every_input if not any("\0" in word for word in one.words)))
