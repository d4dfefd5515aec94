"""Damaged and foreign outputs of every kind: one clear error or points that can be read, never a traceback or half a campaign."""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from labkit.apps.cli import main
from labkit.errors import DataError, LabkitError
from labkit.formats.reading.log import Log
from labkit.formats.reading.wrapped import documents
from labkit.read import records
from labkit.run import importing
from labkit.run.importing.text import UnknownError
from labkit.store.campaign import Campaign
from tests.test_logs import identify

GOLDEN = Path(__file__).parent / "golden"
LARGEST = 60_000  # B of a file that is damaged
HOSTILE = (
    *("nan", "inf", "-inf", "-1", "0", "1e999", "9" * 400, "9" * 5000, "1e400", "-0.0", "0x10", "1_0", "٣", "½", "²"),
    *(
        "",
        "x",
        "\0",
        "\x1b[31m",
        "%s",
        "'",
        '"',
        "{",
        "[",
        "]" * 50,
        "\u2028",
        "\ud800",
        "NaN",
        "null",
        "true",
        "1" * 30,
    ),
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
PYTHON = re.compile(r"Error\b|zip\(\)|NoneType|argument|subscriptable")  # words of Python itself
_WORD = re.compile(r"[A-Za-z_]+|[-+]?\d[\d.]*")
GONE = object()
WRONG: tuple[object, ...] = (None, True, -1, 1.5, 1e300, 10**400, "x", "", [], {}, [1], {"x": 1}, GONE)


@cache
def originals() -> list[tuple[str, bytes]]:
    """Outputs of every tool, also such as no format reads."""
    folders = ("logs", "tools", "omb", "imb", "gpcnet")
    paths = [path for folder in folders for path in sorted((GOLDEN / folder).rglob("*")) if path.is_file()]
    return [(str(path.relative_to(GOLDEN)), path.read_bytes()) for path in paths if path.stat().st_size <= LARGEST]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Return a text with some damage."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        kind, lines = chance.randrange(9), content.split(b"\n")
        place = chance.randrange(len(lines))
        if kind == 0:
            content = content[: chance.randrange(len(content) + 1)]
        elif kind == 1:
            changed = bytearray(content)
            for _ in range(chance.choice((1, 3, 30)) if changed else 0):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            content = bytes(changed)
        elif kind == 2:
            del lines[place]
            content = b"\n".join(lines)
        elif kind == 3:
            other = chance.choice(originals())[1].split(b"\n")
            lines[place:place] = other[: chance.choice((1, 5, len(other)))]
            content = b"\n".join(lines)
        elif kind == 4:
            lines[place : place + 1] = [lines[place]] * chance.choice((2, 3, 40))
            content = b"\n".join(lines)
        elif kind == 5:
            chance.shuffle(lines)
            content = b"\n".join(lines)
        elif kind == 6:
            content = b"\xff\xfe" + content.decode(errors="replace").encode("utf-16-le", errors="replace")
        else:
            text = content.decode(errors="replace")
            if numbers := list(_NUMBER.finditer(text)):
                one = chance.choice(numbers)
                hostile = chance.choice(HOSTILE).encode(errors="surrogatepass").decode(errors="replace")
                content = (text[: one.start()] + hostile + text[one.end() :]).encode(errors="replace")
    return content


def tried(content: bytes, folder: Path, *, of_a_folder: bool, looked_at: bool) -> bool:
    """Import one text; return whether any of it was imported.

    Parameters
    ----------
    of_a_folder : import the folder that the text is in.
    looked_at : also print what was imported, verify it, and import it again.
    """
    file, into = folder / "old" / "file.txt", folder / "c"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    before = time.process_time()  # a busy machine is not slow code
    try:
        outcome = importing.bring([file.parent if of_a_folder else file], into=into)
    except LabkitError as error:
        text = str(error)
        assert text
        assert len(text.splitlines()) == 1, text
        assert len(text) < 3000, len(text)
        assert not into.exists(), "half a campaign"
        assert not [path for path in folder.rglob(".labkit-*") if path.is_dir()], "left behind"
        return False
    finally:
        assert time.process_time() - before < 20, "slow"
    assert outcome.added
    frame = records.table(Campaign(into).samples())
    assert len(frame) == outcome.added
    assert set(frame["origin"]) == {"imported"}
    if not looked_at:
        return True
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        assert main(["show", str(into)]) == 0, out.getvalue()
        assert main(["verify", str(into)]) == 0, out.getvalue()
    assert importing.bring([file.parent if of_a_folder else file], into=into).added == 0, "twice"
    return True


def fuzzed(count: int, folder: Path, offset: int = 0) -> int:
    """Try so many damaged texts; return how many could be imported."""
    imported = 0
    for number in range(offset, offset + count):
        chance = random.Random(number)
        name, content = originals()[number % len(originals())]
        place = folder / str(number)
        try:
            text = damaged(content, chance)
            imported += tried(text, place, of_a_folder=chance.random() < 0.3, looked_at=number % 3 == 0)
        except BaseException as error:
            error.add_note(f"the input: {name}, seed {number}")
            raise
        shutil.rmtree(place)
    return imported


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where values stand in a JSON document; of a list, only the first two."""
    keys = list(value) if isinstance(value, dict) else range(min(len(value), 2)) if isinstance(value, list) else []
    return [path, *(place for key in keys for place in places(value[key], (*path, key)))]


def changed(document: Any, path: tuple[str | int, ...], wrong: object) -> Any:
    """Return a document with another value at a place, or without that place if the value is `GONE`."""
    if not path:
        return None if wrong is GONE else wrong
    key, *rest = path
    copied: Any = dict(document) if isinstance(document, dict) else list(document)
    if wrong is GONE and not rest:
        del copied[key]
    else:
        copied[key] = changed(copied[key], tuple(rest), wrong)
    return copied


def known() -> Iterator[tuple[str, Log, str]]:
    """Yield the logs that can be imported: name, kind and text."""
    for name, content in originals():
        with suppress(UnknownError):
            if name.startswith("logs/") and (log := identify(GOLDEN / name).log):
                yield name, log, content.decode(errors="replace")


def refusals(most: int) -> list[str]:
    """Read each log with JSON with a wrong value in at most so many places; return the errors."""
    errors = []
    for name, log, text in known():
        start, end = next(iter(documents(text)[0]), (0, 0))
        if not re.match(r'[\[{]\s*["{\[]', text[start:end]):
            continue  # no JSON, or that of perftest 4.5, without quotes
        document = json.loads(text[start:end])
        chance = random.Random(name)
        everywhere = places(document)
        for path in chance.sample(everywhere, min(most, len(everywhere))):
            for value in WRONG:
                try:
                    log.runs(text[:start] + json.dumps(changed(document, path, value)) + text[end:], name)
                except DataError as error:
                    errors.append(str(error))
                except BaseException as error:
                    error.add_note(f"the input: {name}, {value!r} at {path}")
                    raise
    return errors


def test_a_wrong_entry_of_json_is_one_clear_error() -> None:
    """Anything but a DataError is an error of labkit: a key, a list or a number is used that was not checked."""
    errors = refusals(6)
    assert len(errors) > 100
    assert not [text for text in errors if PYTHON.search(text)]


@pytest.mark.slow
def test_any_wrong_entry_of_json_is_one_clear_error() -> None:
    errors = refusals(10**6)
    assert len(errors) > 2000
    assert not [text for text in errors if PYTHON.search(text)]


def spoiled_words(most: int) -> int:
    """Read each log with another word or number in at most so many places; return how many were refused."""
    refused = 0
    for name, log, text in known():
        chance, words = random.Random(name), list(_WORD.finditer(text))
        for one in chance.sample(words, min(most, len(words))):
            for other in ("9" * 5000, "-1", "x", ""):
                try:
                    log.runs(text[: one.start()] + other + text[one.end() :], name)
                except DataError:
                    refused += 1
                except BaseException as error:
                    error.add_note(f"the input: {name}, {other[:9]!r} in the place of {one[0]!r} at {one.start()}")
                    raise
    return refused


def test_another_word_in_a_log_is_one_clear_error() -> None:
    assert spoiled_words(3) > 200


@pytest.mark.slow
def test_other_words_in_a_log_are_one_clear_error() -> None:
    assert spoiled_words(60) > 5000


def test_some_damaged_outputs(tmp_path: Path) -> None:
    assert fuzzed(50, tmp_path) > 5


def test_a_count_with_thousands_of_digits_is_refused_or_left_out(tmp_path: Path) -> None:
    """Python does not convert it; a window or a number of ranks may stand in any comment."""
    for number, (name, content) in enumerate(originals()):
        text, chance = content.decode(errors="replace"), random.Random(name)
        found = list(re.finditer(r"\d+", text[:4000]))
        for place in chance.sample(found, min(2, len(found))):
            longer = f"{text[: place.start()]}{'9' * 5000}{text[place.end() :]}"
            folder = tmp_path / f"{number} {place.start()}"
            try:
                tried(longer.encode(), folder, of_a_folder=False, looked_at=False)
            except BaseException as error:
                error.add_note(f"the input: {name}, character {place.start()}")
                raise
    window = "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 1 ] [ window size: %s ]\n"
    window += "# Size                  MB/s        Messages/s\n1 1.00 1000000.00\n"
    assert tried((window % ("9" * 5000)).encode(), tmp_path / "window", of_a_folder=False, looked_at=True)


@pytest.mark.slow
def test_10_000_damaged_outputs(tmp_path: Path) -> None:
    assert fuzzed(10_000, tmp_path, offset=1000) > 1000
