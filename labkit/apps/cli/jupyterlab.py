"""Run JupyterLab on the notebooks, on this machine only; it ends with this process in any case."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from labkit.io import extras, project, supervise

SETTINGS = project.SHIPPED / "templates" / "jupyter"
_PROGRAM = f"{extras.HIDE}; from jupyterlab.labapp import main; sys.exit(main())"


def environment() -> dict[str, str]:
    """Variables for JupyterLab: its buttons work after a reload, notebooks are shown as prose, and it reads no news."""
    return os.environ | {name: _before(name) for name in ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH")}


def _before(name: str) -> str:
    """Folders of a variable, after the folder of labkit's settings and extensions."""
    return os.pathsep.join([str(SETTINGS), *filter(None, [os.environ.get(name, "")])])


def run(folder: Path, words: Sequence[str]) -> int:
    """Run JupyterLab on a folder until it ends.

    Parameters
    ----------
    words : further ones for JupyterLab.

    Returns
    -------
    Its exit status.
    """
    extras.need("jupyterlab")
    root = ["--allow-root"] if os.geteuid() == 0 else []
    command = [sys.executable, "-c", _PROGRAM, "--ip=127.0.0.1", *root, f"--ServerApp.root_dir={folder}", *words]
    with supervise.start(command, env=environment(), stdout=None, stderr=None, grace=4.0) as tree:
        try:
            while tree.poll() is None:
                time.sleep(0.3)
        except KeyboardInterrupt:
            return 0
        return int(tree.returncode or 0)
