"""If the system refuses a write, the message names the path, the reason and a remedy."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from labkit.apps.cli import main
from labkit.io import safe_read
from labkit.store import archive
from tests.test_store import filled

OSU = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8   1.50\n16   1.60\n"
CODES = (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT, errno.EMFILE)
VERBS = {
    "import": (["import", "osu.txt", "--into", "new"], ("new", "labkit-import", "test_a_refusal")),
    "import into": (["import", "osu.txt", "--into", "c"], ("c",)),
    "measure": (["measure", "micro.clock", "-i", "3", "--launches", "1", "--into", "c"], ("c",)),
    "merge": (["merge", "source.zip", "--into", "c"], ("c", "source.zip", "labkit-archive")),
    "compact": (["compact", "c"], ("c",)),
    "export": (["export", "c", "--output", "out.zip"], ("out.zip",)),
    "show": (["show", "c", "--format", "csv", "--output", "out.csv"], ("out.csv",)),
    "init": (["init", "project"], ("project",)),
    "report": (["report", "c", "--engine", "plain"], ("c",)),
}


def refuse(patch: pytest.MonkeyPatch, code: int) -> None:
    """Refuse every write. Like an error of `write`, the error names no file."""
    real_open, real_path_open = os.open, Path.open

    def opened(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(code, os.strerror(code))
        return real_open(path, flags, *rest, **more)

    def path_opened(path: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if set(mode) & set("wxa"):
            raise OSError(code, os.strerror(code))
        return real_path_open(path, mode, *rest, **more)

    patch.setattr(os, "open", opened)
    patch.setattr(Path, "open", path_opened)  # `write_text` and `write_bytes` call it


@pytest.mark.parametrize(
    "code",
    [pytest.param(code, marks=pytest.mark.slow if number else ()) for number, code in enumerate(CODES)],
    ids=[errno.errorcode[code] for code in CODES],
)
@pytest.mark.parametrize("verb", VERBS)
def test_a_refusal_of_the_system_names_the_path_and_a_remedy(
    verb: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    filled(tmp_path / "c", 3)
    archive.export(filled(tmp_path / "source", 2).path, tmp_path / "source.zip")
    (tmp_path / "osu.txt").write_text(OSU)
    words, places = VERBS[verb]
    with monkeypatch.context() as patch:
        refuse(patch, code)
        assert main(words) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert os.strerror(code) in said
    assert any(place in said.partition(os.strerror(code))[0] for place in places), said
    assert safe_read.remedy(OSError(code, "")) in said
    assert "/proc/" not in said
    assert not list(tmp_path.rglob(".*"))
    assert not (tmp_path / "new").exists()


def test_a_copied_folder_names_its_first_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("text")

    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)

    with pytest.raises(shutil.Error) as raised:
        shutil.copytree(tmp_path / "a", tmp_path / "b", copy_function=full)
    assert str(safe_read.explained(raised.value)).startswith(f"{tmp_path}/b/file: No space left on device. Free space")
