"""Wrappings of logs: a time or label before every line, quotes, lists, colours, fences."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

_WHOLE = 0.95  # fraction of lines that must have a prefix
_SAMPLE = 400  # lines examined
_DEEPEST = 4  # nested prefixes
_QUOTED = 2  # lines of a quotation
_INDENT = 2  # leading blanks that are stripped
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,? "
_PREFIXES = tuple(
    re.compile(form)
    for form in (
        r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?",  # ISO 8601
        rf"\[?{_DAY}[A-Z][a-z]{{2}} +\d{{1,2}} \d\d:\d\d:\d\d (?:[A-Z]{{2,5}} )?\d{{4}}\]?:?",  # date
        r"\[?\d\d:\d\d:\d\d(?:\.\d+)?\]?:?",  # clock
        r"\[(?:INFO|DEBUG|OUTPUT|STDOUT|STDERR|WARN(?:ING)?|ERROR)\](?= |$)",  # levels of a log
        r"\[pod/[\w./-]+\]|\[[a-z][\w.]*[- ][\w.-]+\]",  # kubectl logs --prefix, names of hosts, ranks
        r" *\d{1,7}:|\[\d+,\d+\]<std\w+>:?",  # srun -l, mpirun --tag-output
        r"[A-Za-z][\w.-]{1,100} \d{1,7}:",  # mpiexec -l of Cray PALS: host and rank
        r">+",  # quoted in a mail or an issue
        r" *[-*](?= )",  # a list
    )
)
# colours, cursor moves and links of a terminal
COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_QUOTE = re.compile(r"\A(?:> ?)+(?=.)")  # of some lines, between answers in an issue
_BOLD = re.compile(r"\*\*([\d.,]{1,40})\*\*")  # a number that somebody stressed in Markdown
_NO_BREAK = re.compile("(?<![0-9])\u00a0|\u00a0(?![0-9])")  # the blanks of web pages, if not between digits
_CHATTER = re.compile(r"\[[A-Za-z][\w.-]*:\d{1,8}\] ")  # a message of Open MPI, with host and process
_COMMAND = re.compile(r"\bib_[a-z]+_(?:bw|lat)\b")  # of perftest, whose table does not name the test
# a line that somebody wrote in place of others: dots in one or in all columns, or a word in brackets
_DOTS = r"(?:\.{2,}|\u2026|\u22ee)"
_LEFT_OUT = re.compile(
    rf"[ \t]*(?:#[ \t]*)?(?:{_DOTS}(?:[ \t]+{_DOTS})*|[\[(<] ?(?:{_DOTS}|snip(?:ped)?|cut|truncated) ?[\])>])[ \t]*"
)
_BESIDE = re.compile(
    r"[ \t]*[ \t][|<>]?[ \t]+"
)  # between two outputs that stand side by side, as `diff -y` prints them
_SAME = 2  # lines that must have the same text twice, and different words in such a text
_NEAR = 2000  # lines that are examined
_WIDEST = 500  # characters of such a line
_OF_A_TOOL = ": (g="  # fio prints a line of dots below a job of several processes
_RETURN = re.compile(r"\r(?!\n)")
FENCE = re.compile(r"\s*(?:```|~~~)\w*\s*")
_DOCUMENT = re.compile(r"^(?=\{\s*(?:\"|$)|\[\s*(?:\{|$))", re.MULTILINE)
Unwrap = Callable[[str], str]


def unwrapper(text: str) -> Unwrap | None:
    """Return a function that strips colours, stress and prefixes from a line; None if the text has neither.

    Parameters
    ----------
    text : its begin.
    """
    begin = _undressed(text)
    changed = begin != text
    lines = [line for line in begin.removeprefix("\ufeff").splitlines() if line.strip()][:_SAMPLE]
    forms: list[re.Pattern[str]] = []
    while lines and len(forms) < _DEEPEST and (form := _prefix(lines)):
        forms.append(form)
        lines = [rest for line in lines if (rest := form.sub("", line, count=1)).strip()]
    if sum(map(bool, map(_QUOTE.match, lines))) >= _QUOTED:
        forms.append(_QUOTE)
    if not forms and not changed:
        return None

    def unwrapped(line: str) -> str:
        line = _undressed(line)
        for form in forms:
            line = form.sub("", line, count=1)
        return line

    return unwrapped


def _undressed(text: str) -> str:
    """Return a text without colours, with ordinary blanks, and without stress on numbers."""
    return _BOLD.sub(r"\1", _NO_BREAK.sub(" ", COLOUR.sub("", text)))


def _prefix(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of the prefix that almost every line has, with the blanks that follow it in all lines."""
    for prefix in _PREFIXES:
        found = [match for line in lines if (match := prefix.match(line))]
        if len(found) < _WHOLE * len(lines):
            continue
        rests = [match.string[match.end() :] for match in found]
        blanks = min((len(rest) - len(rest.lstrip(" ")) for rest in rests if rest.strip()), default=0)
        return re.compile(rf"\A(?:{prefix.pattern}) {{0,{blanks}}}")
    indent = min(len(line) - len(line.lstrip(" ")) for line in lines)
    return re.compile(rf"\A {{{indent}}}") if indent >= _INDENT else None


def _returned(texts: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a text, in which a single carriage return also ends a line, such as a line of progress."""
    held = ""
    for count, piece in texts:
        whole = held + piece
        held = "\r" if piece.endswith("\r") else ""  # a line feed may follow
        if whole and not piece:  # the end of the text, which an empty piece tells
            yield 0, "\n"
        yield count, _RETURN.sub("\n", whole.removesuffix(held)) if piece else ""


def pieces(texts: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a text without the wrapping of its lines, each with its original length in bytes."""
    unwrap, rest = None, ""
    for number, (count, piece) in enumerate(_returned(texts)):
        if not number:
            unwrap = unwrapper(piece)
        if unwrap is None:
            yield count, piece
            continue
        whole, end, rest = (rest + piece).rpartition("\n")
        if not piece:  # the end of the text
            whole, end, rest = rest, "", ""
        yield count, "\n".join(map(unwrap, whole.split("\n"))) + end
    if rest and unwrap:
        yield 0, unwrap(rest)


def bare(text: str) -> tuple[str, Callable[[int], int]]:
    r"""Return a log without MPI's messages, the prose around its fences, except commands, and the indent of a fence.

    The parts of a command that ``\`` continues are joined. Lines of dots that replace other lines are left out too:
    `shortened` finds them.

    Returns
    -------
    The text, and a function that maps a line number in it to that in the file; both count from 1.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    for place, line in reversed(list(enumerate(lines[:-1]))):
        begun = line.rstrip()
        if begun.endswith((" \\", "\t\\")) and any(map(str.isalpha, begun)):  # a command over several lines
            lines[place : place + 2] = [f"{begun[:-1]} {lines[place + 1].strip()}", ""]
    fences = [place for place, line in enumerate(lines) if FENCE.fullmatch(line)]
    pairs = fences if len(fences) % 2 == 0 else []  # an odd one began above the text, or ends below it
    for first, last in zip([-1, *pairs[1::2]], [*pairs[::2], len(lines)], strict=False) if pairs else ():
        prose = slice(max(first, 0), last + 1)
        lines[prose] = [" ".join(_COMMAND.findall(line)) for line in lines[prose]]
    for first, last in zip(pairs[::2], pairs[1::2], strict=True):
        told = [line for line in lines[first:last] if line.strip()]
        indent = min((len(line) - len(line.lstrip(" ")) for line in told), default=0)
        lines[first:last] = [line[indent:] for line in lines[first:last]]
    numbers = [
        number for number, line in enumerate(lines, 1) if not (_CHATTER.match(line) or _LEFT_OUT.fullmatch(line))
    ]
    return "\n".join(
        lines[number - 1] for number in numbers
    ), lambda line: numbers[min(line, len(numbers)) - 1] if line > 0 and numbers else line


def shortened(text: str) -> int:
    r"""Return the number of the first line that replaces omitted lines; 0 if there is none.

    Examples
    --------
    >>> shortened("8 1.25\n...\n1024 3.75\n")
    2
    """
    lines = text.split("\n")
    return next(
        (
            number
            for number, line in enumerate(lines, 1)
            if _LEFT_OUT.fullmatch(line) and not any(_OF_A_TOOL in near for near in lines[max(0, number - 2) : number])
        ),
        0,
    )


def beside(text: str) -> int:
    r"""Return the number of the first line that has the same text twice, if several have; else 0.

    Two outputs stand side by side in such a text, as ``diff -y`` prints them.

    Examples
    --------
    >>> beside("Size  Latency     Size  Latency\n8 1.25     8 1.50\n16 us      | 16 us\n")
    1
    """
    found = []
    for number, line in enumerate(text.split("\n", _NEAR)[:_NEAR], 1):
        plain = line.strip()
        if len(plain) > _WIDEST or not any(map(str.isalpha, plain)):
            continue
        twice = [plain[gap.end() :] for gap in _BESIDE.finditer(plain) if plain[: gap.start()] == plain[gap.end() :]]
        if any(len(set(text.split())) >= _SAME for text in twice):  # heads of tables repeat single words
            found.append(number)
            if len(found) == _SAME:
                return found[0]
    return 0


def documents(text: str, begins: re.Pattern[str] | None = None) -> tuple[list[tuple[int, int]], str]:
    """Find the JSON documents of a text.

    Parameters
    ----------
    begins : matches a line that a document must have to count; by default every document counts.

    Returns
    -------
    Start and end of each document, as in a slice, and the text outside all documents.
    """
    decoder, found, end = json.JSONDecoder(), list[tuple[int, int]](), 0
    for place in _DOCUMENT.finditer(text):
        if place.start() < end:
            continue
        start = place.start()
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # not JSON, or a part of it: its reader refuses it with a reason
            end = len(text)
        if begins is None or begins.search(text, start, end):
            found.append((start, end))
        elif end == len(text):
            end = start + 1
    edges = [0, *itertools.chain.from_iterable(found), len(text)]
    return found, "".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
