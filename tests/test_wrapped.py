"""Wrapped logs import like the original."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit import importing
from labkit.campaign import Campaign
from labkit.errors import DataError
from labkit.importing.text import identify

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
    "crlf": lambda rows: "\r\n".join(rows),
    "colours": lambda rows: "\n".join(f"\x1b[32m{row}\x1b[0m" if n % 3 == 0 else row for n, row in enumerate(rows)),
    "chatter": lambda rows: "\n".join(
        itertools.chain.from_iterable([row, _NOTE] if n % 5 == 4 else [row] for n, row in enumerate(rows))
    ),
}


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


def _points(file: Path, folder: Path) -> list[tuple[object, ...]]:
    importing.bring([file], into=folder, testbed="T", ranks=4)
    points = Campaign(folder).samples()
    return sorted((str(p.spec), p.launch, repr([v.as_dict() for v in p.reported])) for p in points)


@pytest.mark.parametrize("name", ORIGINALS)
@pytest.mark.filterwarnings("ignore")
def test_a_wrapped_log_has_the_points_of_the_original(name: str, tmp_path: Path) -> None:
    """Times, labels, quotes, lists, colours, line ends, prose and messages around a log do not change its points."""
    file = _original(name)
    wanted = _points(file, tmp_path / "original")
    rows = file.read_text(encoding="utf-8").split("\n")
    for variant, wrapped in VARIANTS.items():
        copy = tmp_path / f"{variant}.txt"
        copy.write_text(wrapped(rows), encoding="utf-8", newline="")
        assert _points(copy, tmp_path / variant) == wanted, variant


def test_an_error_names_the_line_of_the_file_with_the_messages_in_it(tmp_path: Path) -> None:
    """Line numbers count the lines that were skipped."""
    log = tmp_path / "hpl.txt"
    log.write_text(
        f"{_NOTE}\nHPLinpack 2.3  --  High-Performance Linpack benchmark\n{_NOTE}\nT/V  N\n", encoding="utf-8"
    )
    with pytest.raises(DataError, match=r"line 4: found 'T/V  N'|line 5: found"):
        importing.bring([log], into=tmp_path / "c")
