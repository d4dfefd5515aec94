"""Ctrl-C and SIGTERM: a command ends at once, with at most one line, and leaves no unfinished file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from labkit.io import atomic
from labkit.run import importing
from labkit.run.importing import staging
from labkit.store import archive, merging
from tests.test_store import filled
from tests.waiting import until

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "data" / "campaigns" / "examples" / "two-cores"
LABKIT = [sys.executable, "-m", "labkit"]
COMMANDS = (["list"], ["show", str(EXAMPLE)], ["compare", str(EXAMPLE), "--by", "transport=shm,tcp"], ["doctor"])


def guarded(process: subprocess.Popen[str]) -> bool:
    """Whether a process has installed a handler for SIGTERM, or has ended."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except FileNotFoundError:
        return True
    caught = re.search(r"SigCgt:\s*(\w+)", status)
    return caught is None or bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


def started(words: list[str], folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [*LABKIT, *words],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(folder), "XDG_CACHE_HOME": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: guarded(process))
    return process


@pytest.mark.parametrize(
    "words",
    [words if words[0] == "show" else pytest.param(words, marks=pytest.mark.slow) for words in COMMANDS],
    ids=lambda words: words[0],
)
def test_ctrl_c_is_quiet_from_the_first_moment_on(words: list[str], tmp_path: Path) -> None:
    for tenths in (0, 1, 3, 6, 10):  # of a second: while labkit loads, while libraries load, while it computes
        process = started(words, tmp_path)
        time.sleep(tenths / 10)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=240)[1]
        ended = process.returncode in (0, 1) or (process.returncode, said) == (-signal.SIGINT, "")  # before the signal
        assert ended or process.returncode == 130, said
        assert said.count("\n") <= 1, said
        assert "KeyboardInterrupt" not in said


def test_the_handler_comes_before_everything_that_takes_time() -> None:
    code = "import sys; before = {*sys.modules}; import labkit.__main__; print(*{*sys.modules} - before)"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(loaded.split()) <= {
        "labkit",
        "labkit.__main__",
        "labkit.io",
        "labkit.io.signals",
        "__future__",
        "signal",
        "enum",
        "types",
        "operator",
        "gc",
    } | {name for name in loaded.split() if name.startswith("_")} | {
        "functools",
        "collections",
        "itertools",
        "keyword",
        "reprlib",
    }
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"labkit": "labkit.__main__:main"}


def test_the_collector_rarely_looks_while_a_command_loads() -> None:
    code = (
        "import gc; from labkit import __main__; from labkit.apps import cli; "
        "cli.main = lambda: print(gc.get_threshold()[0]) or 0; __main__.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 50_000


def test_a_command_ends_its_threads_and_handlers_but_takes_no_modules_apart() -> None:
    code = (
        "import atexit, threading\nfrom concurrent.futures import ThreadPoolExecutor\nfrom labkit import __main__\n"
        "class Kept:\n    def __del__(self): print('taken apart')\n"
        "kept, pool = Kept(), ThreadPoolExecutor(1)\n"
        "pool.submit(threading.Event().wait, 0.1).add_done_callback(lambda _: print('pool'))\n"
        "threading.Timer(0.2, print, ['thread']).start()\n"
        "atexit.register(print, 'handler')\n"
        "__main__._leave(3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout.split(), done.stderr) == (3, ["pool", "thread", "handler"], "")


@pytest.mark.slow
def test_python_runs_the_package() -> None:
    words = [*LABKIT, "--version"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.startswith("labkit ")
    assert subprocess.run([*LABKIT, "nonsense"], capture_output=True).returncode == 1


def large(place: Path) -> Path:
    """A campaign that takes some time to pack."""
    campaign = filled(place, 2)
    (campaign.path / "notebooks").mkdir()
    (campaign.path / "notebooks" / "data.bin").write_bytes(os.urandom(1 << 20) * 60)
    return campaign.path


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(other, marks=pytest.mark.slow) for other in (signal.SIGHUP, signal.SIGINT))],
)
@pytest.mark.parametrize("verb", ["export", pytest.param("merge", marks=pytest.mark.slow)])
def test_a_signal_leaves_no_unfinished_file(verb: str, number: int, tmp_path: Path) -> None:
    (place := tmp_path / "place").mkdir()
    source = large(tmp_path / "c")
    words = ["export", str(source), "--output", str(place / "c.zip")]
    if verb == "merge":
        archive.export(source, tmp_path / "c.zip")
        words = ["merge", str(tmp_path / "c.zip"), "--into", str(place / "merged")]
    process = started(words, place)
    # Python itself probes TMPDIR with a file of eight characters, which it may leave if it is interrupted
    until(lambda: [p for p in place.iterdir() if not re.fullmatch(r"\w{8}", p.name)] or process.poll() is not None)
    process.send_signal(number)
    said = process.communicate(timeout=240)[1]
    assert process.returncode == 128 + number, said
    assert [path.name for path in place.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    (place := tmp_path / "place").mkdir()
    words = ["export", str(large(tmp_path / "c")), "--output", str(place / "c.zip")]
    process = started(words, place)
    until(lambda: list(place.glob(".c.zip.*")))
    process.kill()
    process.communicate()
    assert list(place.glob(".c.zip.*"))
    alive = place / f".c.zip.{os.getpid()}-{atomic._space()}-01234567"
    foreign = place / ".c.zip.999999999-01234567-01234567"  # of another host
    other = place / f".d.zip.999999999-{atomic._space()}-01234567"
    for path in (alive, foreign, other):
        path.touch()
    subprocess.run([*LABKIT, *words], check=True, capture_output=True)
    assert {path.name for path in place.iterdir()} == {"c.zip", alive.name, foreign.name, other.name}


def test_a_campaign_is_cleared_when_the_next_run_begins(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "c", 2)
    places = [campaign.path, campaign.path / "samples" / "mpi.allreduce", campaign.path / "starts"]
    for place in places:
        place.mkdir(exist_ok=True)
        (place / f".x.999999999-{atomic._space()}-01234567").touch()
    with campaign.lease():
        pass
    assert not list(campaign.path.rglob(".x.*"))


@pytest.mark.slow
def test_an_archive_that_a_killed_merge_unpacked_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place := tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    source = archive.export(large(tmp_path / "c"), tmp_path / "c.zip")
    process = started(["verify", str(source)], place)
    until(lambda: list(place.glob("labkit-archive-*/campaign/*")))
    process.kill()
    process.communicate()
    assert list(place.iterdir())
    archive.verify(source)
    assert not list(place.glob("labkit-archive-*"))


@pytest.mark.parametrize("how", [KeyboardInterrupt, SystemExit])
def test_a_signal_in_the_middle_leaves_no_new_campaign_and_keeps_an_old_one(
    how: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last step is ended, when the points of a merge are in the campaign and those of an import are ready."""
    old, source = filled(tmp_path / "old", 1), filled(tmp_path / "source", 2)
    (log := tmp_path / "osu.txt").write_text("# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8   1.50\n")
    take = merging._Merger.take

    def ended(*given: Any) -> None:
        if isinstance(given[0], merging._Merger):
            take(*given)
        raise how

    monkeypatch.setattr(merging._Merger, "take", ended)
    monkeypatch.setattr(staging.Staging, "publish", ended)
    for place in (tmp_path / "new", old.path):
        with pytest.raises(how):
            merging.merge([source.path], place)
        with pytest.raises(how):
            importing.bring([str(log)], into=place)
    assert not (tmp_path / "new").exists()
    assert old.done()
