"""Print the kernels and programs that set-up can build but has not built: ``python -m labkit.kernels.programs``."""

from __future__ import annotations

import shutil

from labkit import host
from labkit.kernels import programs

if __name__ == "__main__":
    compiler = any(map(shutil.which, host.PROGRAMS["cc"].commands))
    print(*(["kernels"] if compiler and not host.kernels() else []), *programs.unbuilt())
