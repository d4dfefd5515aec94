"""Wrappings of logs: a time or label before every line, quotes, lists, colours, fences, cells of a spreadsheet."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from labkit.formats.reading import numbers

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
# of texts that no format knows as they stand, if one knows them without it
_RARE = (
    *_PREFIXES,
    *map(
        re.compile,
        (
            r"(?:stdout|stderr) [FP](?= |$)",  # lines of a container, as Kubernetes writes them
            r"\d\d[OE]\+?(?= |$)",  # of a job of GitLab
            r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR)\b:?(?= |$)",
            r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?= |$)",  # syslog, before host and process
            r"\[ *\d+\.\d+\](?= |$)",  # time since a start
            r" *\d{1,7}\t",  # cat -n
            r"\d+\.\d{3,9}(?= |$)",
            r"\+",  # added lines of a patch
            r"\[[\w.-]+\](?= |$)",  # a thread
        ),
    ),
)
# between the cells of a table, as a spreadsheet saves it or a terminal draws it
_CELLS = tuple(map(re.compile, (r"\t", r";", r" *[|\u2502\u2503\u2551] *", r",")))
_OF_JSON = re.compile(r"\s*[\[\]{}],?\s*|.*[{\[]")  # a line of a document
_DRAWN = re.compile(r"[\s+=|\u2500-\u257f-]+")  # a line of a drawn table
_SEPARATES = re.compile(r"[^{\"]*(?:[:|]|(?<= )-(?= |$))")  # the end of words before every line
_MOST = 0.5  # fraction of lines that are indented, as a block between prose
_FEWEST = 3  # lines that begin with the same words
_HIDDEN = re.compile("[\u200b-\u200d\u2060]")  # characters without width
_TAG = re.compile(r"</?(?:html|head|body|pre|code|samp|div|span|p|br)\b[^<>]{0,200}>", re.IGNORECASE)
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
Known = Callable[[str], set[str]]


def unwrapper(text: str, known: Known) -> Unwrap | None:
    """Return a function that strips colours, stress, tags and prefixes from a line; None if the text has none.

    Parameters
    ----------
    text : its begin.
    known : returns the formats whose outputs, or parts of them, a text holds.
    """
    page = "<pre" in text.lower()
    begin = _undressed(text, page)
    changed = begin != text
    every = [line for line in begin.removeprefix("\ufeff").splitlines() if line.strip()][:_NEAR]
    forms, lines = _prefixes(every[:_SAMPLE], _PREFIXES)
    rare = _prefixes(every[:_SAMPLE], _RARE, constant=True)[0]
    if rare != forms and (found := known(_stripped(every, rare))) and known(_stripped(every, forms)) <= found:
        forms, lines = rare, []
    elif (block := _block(every[:_SAMPLE])) and not known(_stripped(every, forms)) and known(_stripped(every, [block])):
        forms, lines = [block], []
    if sum(map(bool, map(_QUOTE.match, lines))) >= _QUOTED:
        forms.append(_QUOTE)
    plain = _stripped(every, forms).split("\n")
    cells = None if known("\n".join(plain)) else _cells(plain, known)
    written = numbers.way(_apart(line, cells) for line in plain)
    if not forms and not changed and not cells and not written:
        return None

    def unwrapped(line: str) -> str:
        line = _undressed(line, page)
        for form in forms:
            line = form.sub("", line, count=1)
        line = _apart(line, cells)
        return written(line) if written else line

    return unwrapped


def _undressed(text: str, page: bool) -> str:
    """Return a text without colours, with ordinary blanks, and without stress on numbers and the tags of a page."""
    text = html.unescape(_TAG.sub("", text)) if page else text
    return _BOLD.sub(r"\1", _NO_BREAK.sub(" ", _HIDDEN.sub("", COLOUR.sub("", text))))


def _prefixes(
    lines: list[str], kinds: Sequence[re.Pattern[str]], *, constant: bool = False
) -> tuple[list[re.Pattern[str]], list[str]]:
    """Return the patterns of nested prefixes, and the lines without them.

    Parameters
    ----------
    constant : whether the same words before every line are a prefix, too.
    """
    forms: list[re.Pattern[str]] = []
    while lines and len(forms) < _DEEPEST:
        form = _prefix(lines, kinds) or (_words(lines) if constant else None)
        if not form:
            break
        forms.append(form)
        lines = [rest for line in lines if (rest := form.sub("", line, count=1)).strip()]
    return forms, lines


def _stripped(lines: Iterable[str], forms: Sequence[re.Pattern[str]]) -> str:
    """Return a text without prefixes."""
    for form in forms:
        lines = [form.sub("", line, count=1) for line in lines]
    return "\n".join(lines)


def _cells(lines: Sequence[str], known: Known) -> re.Pattern[str] | None:
    """Return what stands between the cells of most lines, if a format knows the text with blanks in its place."""
    if any(map(_OF_JSON.fullmatch, lines)):
        return None
    told = [line for line in lines if not _DRAWN.fullmatch(line)]
    for form in _CELLS:
        if sum(map(bool, map(form.search, told))) > _MOST * len(told) and known(
            "\n".join(_apart(line, form) for line in lines)
        ):
            return form
    return None


def _apart(line: str, cells: re.Pattern[str] | None) -> str:
    """Return a row of a table with blanks between its cells."""
    if not cells:
        return line
    return "" if _DRAWN.fullmatch(line) else cells.sub("  ", line.replace('"', "")).strip()


def _block(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of the blanks before most lines, or behind almost all of them."""
    if sum(line != line.rstrip() for line in lines) >= _WHOLE * len(lines):
        return re.compile(r"[ \t]+\Z")
    inside = [blanks for line in lines if (blanks := len(line) - len(line.lstrip(" "))) >= _INDENT]
    return re.compile(rf"\A {{{min(inside)}}}") if len(inside) > _MOST * len(lines) else None


def shared(text: str) -> str:
    r"""Return the words before almost every line of a text; empty if there are none.

    Examples
    --------
    >>> shared("node1: one\nnode1: two\nnode1: three\n")
    'node1:'
    """
    lines = [line for line in text.splitlines() if line.strip()][:_NEAR]
    form = _words(lines)
    return form.match(lines[0])[0].strip() if form and form.match(lines[0]) else ""  # type: ignore[index]


def _words(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of the words with which almost every line begins, up to a colon, a bar or the like."""
    if len(lines) < _FEWEST:
        return None
    ordered = sorted(lines)
    margin = int((1 - _WHOLE) / 2 * len(ordered))
    both = zip(ordered[margin], ordered[-1 - margin], strict=False)  # what they share, all lines between them share
    same = "".join(one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], both))
    if not (words := _SEPARATES.match(same)):
        return None
    prefix = re.compile(re.escape(words[0]))
    return _with_blanks(prefix, [match for line in lines if (match := prefix.match(line))])


def _with_blanks(prefix: re.Pattern[str], matches: Sequence[re.Match[str]]) -> re.Pattern[str]:
    """Return the pattern of a prefix with the blanks that follow it in all lines."""
    rests = [match.string[match.end() :] for match in matches]
    blanks = min((len(rest) - len(rest.lstrip(" ")) for rest in rests if rest.strip()), default=0)
    return re.compile(rf"\A(?:{prefix.pattern}) {{0,{blanks}}}")


def _prefix(lines: Sequence[str], kinds: Sequence[re.Pattern[str]]) -> re.Pattern[str] | None:
    """Return the pattern of the prefix that almost every line has, with the blanks that follow it in all lines."""
    for prefix in kinds:
        found = [match for line in lines if (match := prefix.match(line))]
        if len(found) < _WHOLE * len(lines):
            continue
        return _with_blanks(prefix, found)
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


def pieces(texts: Iterable[tuple[int, str]], known: Known) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a text without the wrapping of its lines, each with its original length in bytes.

    Parameters
    ----------
    known : of `unwrapper`.
    """
    unwrap, rest = None, ""
    for number, (count, piece) in enumerate(_returned(texts)):
        if not number:
            unwrap = unwrapper(piece, known)
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
