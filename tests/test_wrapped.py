"""Wrapped logs import like the original."""

import html
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.errors import DataError
from labkit.formats.reading.wrapped import pieces
from labkit.run import importing
from labkit.run.importing.kinds import known
from labkit.run.importing.text import Text, parts
from tests.test_logs import identify

LOGS = Path(__file__).parent / "golden"
ORIGINALS = [
    *("imb/multi.txt", "omb/pt2pt_bw.txt", "omb/opt_allreduce_f.txt"),
    *(sorted(str(folder.relative_to(LOGS)) for folder in (LOGS / "logs").iterdir() if folder.is_dir())),
]
_NOTE = "[host-1:4242] mca: base: a note of another program"
VARIANTS: dict[str, Callable[[list[str]], str]] = {
    "clock": lambda rows: "\n".join(f"09:00:{n % 60:02}  {row}" for n, row in enumerate(rows)),
    "date": lambda rows: "\n".join(f"Wed May 14 11:00:{n % 60:02} 2025 {row}" for n, row in enumerate(rows)),
    "iso": lambda rows: "\n".join(f"2025-05-14T11:00:00.{n % 1000:03}Z {row}" for n, row in enumerate(rows)),
    "pod": lambda rows: "\n".join(f"[pod/bench-0] {row}" for row in rows),
    "tag": lambda rows: "\n".join(f"[1,0]<stdout>:{row}" for row in rows),
    "quoted": lambda rows: "\n".join(f"> {row}" for row in rows),
    "list": lambda rows: "\n".join(f"  - {row}" if row else row for row in rows),
    "fence": lambda rows: "Here is what I get:\n\n```\n" + "\n".join(rows) + "\n```\n\nIs this normal?\n",
    "trimmed": lambda rows: "\n".join(row.lstrip() for row in rows),
    "crlf": lambda rows: "\r\n".join(rows),
    "colours": lambda rows: "\n".join(f"\x1b[32m{row}\x1b[0m" if n % 3 == 0 else row for n, row in enumerate(rows)),
    "erased": lambda rows: "\n".join(f"\x1b[2K\x1b[1G{row}\x1b[K" for row in rows),
    "highlighted": lambda rows: re.sub(r"\d+", "\x1b[01;31m\x1b[K\\g<0>\x1b[m\x1b[K", "\n".join(rows)),
    "web": lambda rows: "\n".join(row.replace("  ", "\u00a0\u00a0") for row in rows),
    "chatter": lambda rows: "\n".join(
        itertools.chain.from_iterable([row, _NOTE] if n % 5 == 4 else [row] for n, row in enumerate(rows))
    ),
    "container": lambda rows: "\n".join(f"2025-05-14T11:00:00.{n:09}Z stdout F {row}" for n, row in enumerate(rows)),
    "job": lambda rows: "\n".join(f"2025-05-14T11:00:00.{n:06}Z 01O {row}" for n, row in enumerate(rows)),
    "numbered": lambda rows: "\n".join(f"{n:6}\t{row}" for n, row in enumerate(rows, 1)),
    "added": lambda rows: "\n".join(f"+{row}" for row in rows),
    "seconds": lambda rows: "\n".join(f"[{n / 100:10.4f}] {row}" for n, row in enumerate(rows)),
    "no width": lambda rows: "\n".join(f"\u200b{row}" for row in rows),
    "blanks behind": lambda rows: "\n".join(f"{row}   " for row in rows),
}
# words that are the same before every line: of three lines or more
WORDS: dict[str, Callable[[list[str]], str]] = {
    "compose": lambda rows: "\n".join(f"bench-1  | {row}" for row in rows),
    "journal": lambda rows: "\n".join(f"Nov 28 11:00:{n % 60:02} node01 b[42]: {row}" for n, row in enumerate(rows)),
    "syslog": lambda rows: "\n".join(
        f"2025-05-14T11:00:00.{n:03}+02:00 node01 b[42]: {row}" for n, row in enumerate(rows)
    ),
    "grep": lambda rows: "\n".join(f"results/run.log:{row}" for row in rows),
    "grep -n": lambda rows: "\n".join(f"run.log:{n}:{row}" for n, row in enumerate(rows, 1)),
    "pdsh": lambda rows: "\n".join(f"node01: {row}" for row in rows),
    "java": lambda rows: "\n".join(
        f"INFO  2025-05-14 11:00:00,{n:03} [main] Run - {row}" for n, row in enumerate(rows)
    ),
    "python": lambda rows: "\n".join(f"2025-05-14 11:00:00,{n:03} - run - INFO - {row}" for n, row in enumerate(rows)),
    "lines of a container": lambda rows: "\n".join(json.dumps({"log": f"{row}\n", "stream": "stdout"}) for row in rows),
    "Ansible": lambda rows: "ok: [node01] => " + json.dumps({"changed": True, "stdout_lines": rows}, indent=4) + "\n",
    "page": lambda rows: "<html><body><pre>\n" + html.escape("\n".join(rows)) + "\n</pre></body></html>\n",
}
_SINGLE = 3  # lines of a log of which `WORDS` takes none


_FIRST = ("logs/jube",)  # its table has no mark but that it begins the text
_BY_PLACE = ("logs/iozone", "logs/ramble")  # the indentation of their lines has a meaning


def _original(name: str) -> Path:
    """The smallest log in a folder that can be imported, or the file itself."""
    path = LOGS / name
    files = (
        [path] if path.is_file() else sorted((f for f in path.iterdir() if f.is_file()), key=lambda f: f.stat().st_size)
    )
    for file in files:
        try:
            if (text := identify(file)).log and text.runs(lambda count: None):
                return file
        except DataError:
            continue
    return files[0]


def _read(path: Path) -> list[tuple[object, ...]]:
    """What a file of one program holds."""
    return _runs(identify(path))


def _runs(text: Text) -> list[tuple[object, ...]]:
    """What a text holds: the rows of its tables, or its runs."""
    if not text.log:
        return [(t.test, r.size, r.values) for t in text.tables(text.lines(lambda count: None)) for r in t.rows]
    return [
        (r.test, r.size, r.ranks, r.options, r.stated, r.version, r.verified, repr([v.as_dict() for v in r.values]))
        for r in text.runs(lambda count: None)
    ]


@pytest.mark.parametrize("name", ORIGINALS)
def test_a_wrapped_log_is_read_as_the_original(name: str, tmp_path: Path) -> None:
    """Times, labels, quotes, lists, colours, line ends, prose and messages around a log change nothing in it."""
    file = _original(name)
    wanted = _read(file)
    rows = file.read_text(encoding="utf-8").split("\n")
    lines = rows[: len(rows) - (not rows[-1])]
    for variant, wrapped in VARIANTS.items() if len(lines) < _SINGLE else (VARIANTS | WORDS).items():
        if (variant == "trimmed" and name in _BY_PLACE) or (variant == "page" and name in _FIRST):
            continue
        copy = tmp_path / f"{variant}.txt"
        copy.write_text(wrapped(rows), encoding="utf-8", newline="")
        assert _read(copy) == wanted, variant


def test_an_error_names_the_line_of_the_file_with_the_messages_in_it(tmp_path: Path) -> None:
    """Line numbers count the lines that were skipped."""
    log = tmp_path / "hpl.txt"
    log.write_text(
        f"{_NOTE}\nHPLinpack 2.3  --  High-Performance Linpack benchmark\n{_NOTE}\nT/V  N\n", encoding="utf-8"
    )
    with pytest.raises(DataError, match=r"line 4: found 'T/V  N'|line 5: found"):
        importing.bring([log], into=tmp_path / "c")


_CUT = "the log is cut"  # qperf's tests print lines that the other log lacks
_REFUSED = re.compile(f"text and JSON|not of both|text or CSV|perftest JSON|{_CUT}")


@pytest.mark.parametrize("tool", sorted(folder.name for folder in (LOGS / "logs").iterdir() if folder.is_dir()))
def test_logs_in_one_file_have_the_runs_of_each_or_are_refused(tool: str, tmp_path: Path) -> None:
    """No run takes a setting, a name or a version from its neighbour, and none is lost."""
    alone = {file: _read(file) for file in sorted((LOGS / "logs" / tool).iterdir())}
    for first, second in itertools.permutations(alone, 2):
        both = tmp_path / "both.txt"
        both.write_text(f"{first.read_text()}\n{second.read_text()}")
        runs, refused = [], ""
        try:
            runs = _read(both)
        except DataError as error:
            refused = str(error)
        together = _REFUSED.search(refused) or runs == alone[first] + alone[second]
        assert together, (first.name, second.name, refused)


_WHOLE = ("jube",)  # a file in itself: what follows is not part of it
_ORDERED = [name for name in ORIGINALS if Path(name).name not in _WHOLE]


@pytest.mark.parametrize("name", _ORDERED)
def test_the_log_of_a_job_with_several_programs_has_the_runs_of_each_or_is_refused(name: str, tmp_path: Path) -> None:
    """Nothing is lost, and no run takes a value from its neighbour."""
    own = _original(name)
    for other in (_original(one) for one in _ORDERED):
        if identify(own).kind == identify(other).kind:
            continue
        both = tmp_path / "job.txt"
        both.write_text(f"+ mpirun -n 2 ./first\n{own.read_text()}\n+ ./second\n{other.read_text()}\n")
        try:
            found = {text.kind: _runs(text) for text in parts(both)}
        except DataError:
            continue
        assert found == {identify(file).kind: _read(file) for file in (own, other)}, other.name


def test_programs_in_turn_are_read_each_in_its_lines(tmp_path: Path) -> None:
    """Also between fences, where a program comes twice, and with the command above its output."""
    omb, sockperf, iperf = (
        _original(name).read_text() for name in ("omb/pt2pt_bw.txt", "logs/sockperf", "logs/iperf3")
    )
    log = tmp_path / "job.md"
    log.write_text(
        f"First\n```\n{omb}\n```\nthen\n```\n$ sockperf ping-pong\n{sockperf}\n{iperf}\n```\n{omb}", encoding="utf-8"
    )
    kinds = {text.kind: _runs(text) for text in parts(log)}
    once = _read(_original("omb/pt2pt_bw.txt"))
    assert kinds == {
        "OMB": [*once, *once],
        "sockperf": _read(_original("logs/sockperf")),
        "iperf3": _read(_original("logs/iperf3")),
    }
    outcome = importing.bring([log], into=tmp_path / "c")
    assert outcome.files == {"OMB": 1, "sockperf": 1, "iperf3": 1}
    assert importing.bring([log], into=tmp_path / "c").added == 0


def test_the_end_inside_a_line_concerns_the_last_program_only(tmp_path: Path) -> None:
    log = tmp_path / "job.txt"
    texts = (_original(name).read_text() for name in ("logs/sockperf", "omb/pt2pt_bw.txt"))
    log.write_text("\n".join(texts).rstrip("\n"))
    assert {text.kind: text.open for text in parts(log)} == {"sockperf": False, "OMB": True}


@pytest.mark.parametrize("tool", sorted(folder.name for folder in (LOGS / "logs").iterdir() if folder.is_dir()))
def test_numbers_in_another_notation_are_refused_or_read_right(tool: str, tmp_path: Path) -> None:
    """A decimal comma or a mark between thousands never changes a value, and drops none silently."""
    for file in sorted((LOGS / "logs" / tool).iterdir()):
        text = file.read_text()
        for pattern, mark in (
            (r"(?<=\d)\.(?=\d)", ","),
            (r"(?<=\d)(?=\d{3}\.\d)", ","),
            (r"(?<=\d)(?=\d{3}\.\d)", "'"),
        ):
            changed = tmp_path / file.name
            changed.write_text(re.sub(pattern, mark, text))
            try:
                runs = [(one[0], one[-1]) for one in _read(changed)]
            except DataError:
                continue
            # a title such as `Test v7,4` names no version, and so no test
            wanted = [(one[0], one[-1]) for one in _read(file)]
            named = [
                (test if " unnamed " in test else name, values)
                for (test, _), (name, values) in zip(runs, wanted, strict=True)
            ]
            assert runs == named, (file.name, mark)


def test_jobs_of_one_name_in_two_runs_of_fio_keep_their_own_settings(tmp_path: Path) -> None:
    """A job's block size and pattern are those above its results."""
    text = (LOGS / "logs" / "fio" / "jobs.txt").read_text()
    other = text.replace("rw=randread, bs=(R) 4096B-4096B", "rw=read, bs=(R) 1024KiB-1024KiB").replace("3.33", "3.36")
    log = tmp_path / "fio.txt"
    log.write_text(text + other)
    runs = identify(log).runs(lambda count: None)
    assert [(r.size, r.options["pattern"], r.version) for r in (runs[0], runs[len(runs) // 2])] == [
        (4096, "random", "3.33"),
        (1 << 20, "sequential", "3.36"),
    ]
    twice = text.replace("seqwrite: (g=1)", "randread: (g=0)", 1)
    log.write_text(twice)
    with pytest.raises(DataError, match="settings are ambiguous"):
        identify(log).runs(lambda count: None)


def test_json_documents_after_another_are_all_read_and_other_json_is_not(tmp_path: Path) -> None:
    """Results are not lost behind the first document, and log lines in JSON do not count."""
    text = (LOGS / "logs" / "pyperf" / "fast.json").read_text()
    log = tmp_path / "log.json"
    log.write_text(f'{{"level": "info"}}\n{text}\n{{"level": "info"}}\n{text}')
    assert len(_read(log)) == 2 * len(_read(LOGS / "logs" / "pyperf" / "fast.json"))
    log.write_text(f"{text}\n{text[:-40]}")
    with pytest.raises(DataError, match="wanted JSON"):
        _read(log)


def test_text_and_json_of_different_runs_are_refused(tmp_path: Path) -> None:
    """Neither is left out silently."""
    folder = LOGS / "logs" / "fio"
    log = tmp_path / "both.txt"
    log.write_text((folder / "jobs.txt").read_text() + (folder / "jobs.json").read_text())
    with pytest.raises(DataError, match="Split it into one file"):
        _read(log)


def test_connections_of_a_server_that_share_a_number_are_all_read(tmp_path: Path) -> None:
    """iperf 2 gives the number of an ended connection to the next one."""
    log = tmp_path / "server.txt"
    row = "[  4]  0.0-10.0 sec  1.00 GBytes   {} Mbits/sec"
    stream = "[  4] local 10.0.0.1 port 5001 connected with 10.0.0.2 port {}"
    log.write_text(
        "\n".join(
            [
                "Server listening on TCP port 5001",
                *(stream.format(5), row.format(800), stream.format(6), row.format(400)),
                "",
            ]
        )
    )
    assert [run.values[0].value for run in identify(log).runs(lambda count: None)] == [100.0, 50.0]


def test_a_carriage_return_ends_a_line_wherever_a_piece_ends() -> None:
    """Meters of progress write one before they write over their line."""
    text = "SET: rps=0\rSET: 10\r\nGET: rps=0\r"
    for place in range(len(text) + 1):
        given = [(place, text[:place]), (len(text) - place, text[place:]), (0, "")]
        read = "".join(piece for _, piece in pieces([one for one in given if one[1] or one == (0, "")], known))
        assert read == "SET: rps=0\nSET: 10\r\nGET: rps=0\n", place
