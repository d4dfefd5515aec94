"""Where a user's own files lie."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.apps.jobs import site
from labkit.errors import DataError, LaunchError
from labkit.host import software
from labkit.io import folders
from labkit.store import signatures

VARIABLES = {
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}


def no_such_user(uid: int) -> None:
    raise KeyError(uid)


@pytest.mark.parametrize("kind", VARIABLES)
def test_a_folder_follows_its_variable_and_else_the_home(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, usual = VARIABLES[kind]
    for home in ("/", str(tmp_path)):
        monkeypatch.setenv("HOME", home)
        monkeypatch.setenv(variable, str(tmp_path / "own"))
        assert getattr(folders, kind)() == tmp_path / "own" / "labkit"
        for nothing in ("", "relative"):  # as the specification says
            monkeypatch.setenv(variable, nothing)
            assert getattr(folders, kind)() == Path(home) / usual / "labkit"
    assert not (tmp_path / "own").exists()


def test_who_has_no_home_is_told_what_to_set_and_can_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", *(variable for variable, _ in VARIABLES.values())):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", no_such_user)
    with pytest.raises(DataError, match=r"no home folder.*Set HOME or XDG_CACHE_HOME"):
        folders.cache()
    assert signatures.sign(b"x") == ""
    assert "slurm-modules" in site.names()
    assert software._fonts() in (True, False)


def test_notes_of_running_processes_stay_where_other_versions_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o755)  # what platformdirs would not take
    runtime = folders.runtime()
    assert runtime == tmp_path / f"labkit-{os.getuid()}"
    assert runtime.stat().st_mode & 0o777 == 0o700
    assert folders.runtime() == runtime
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    script = "from labkit.io import folders; print(folders.runtime())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(runtime)


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "gone"))
    with pytest.raises(LaunchError, match="Set XDG_RUNTIME_DIR"):
        folders.runtime()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folders.runtime()
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    (tmp_path / "labkit-4242").mkdir()
    with pytest.raises(LaunchError, match="belongs to another user"):
        folders.runtime()
