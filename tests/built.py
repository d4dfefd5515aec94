"""A wheel and a source archive of this checkout, built from a copy of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BESIDE = (
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "RELEASING.md",
    "SECURITY.md",
    "environment.yml",
    "requirements.lock",
)
_BUILD = "import sys, setuptools.build_meta as b; out = sys.argv[1]; b.build_wheel(out); b.build_sdist(out)"
_FOLDERS = ("labkit", "notebooks", "templates", "docs", "data/reference", "data/peers", "data/campaigns/examples")
_FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "_quarto.yml", "index.qmd", "README.md", "LICENSE", *BESIDE)


def wheel(source: Path, out: Path, **variables: str) -> Path:
    """Build both into a folder, and return the wheel.

    With ``LABKIT_KERNELS=required`` it holds this checkout's kernels: setuptools compiles those that are missing, or
    older than their sources.
    """
    left = shutil.ignore_patterns("__pycache__", "*.so", "_shipped", "run-*", ".ipynb_checkpoints")
    for name in _FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=left)
    for name in _FILES:
        shutil.copy(ROOT / name, source)
    (source / "notebooks/labs/2-layers/run-somebody").mkdir()
    (source / "notebooks/labs/2-layers/run-somebody/answers.json").touch()
    if "LABKIT_KERNELS" in variables:
        place = f"build/lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}/labkit/kernels"
        (source / place).mkdir(parents=True)
        for built in (ROOT / "labkit" / "kernels").glob("_kernels_*.so"):
            shutil.copy2(built, source / place)
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, out], cwd=source, env=os.environ | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return next(out.glob("*.whl"))
