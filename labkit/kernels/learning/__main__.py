"""Run one rank of a point as a program: ``python -I __main__.py PLAN``, in a folder that all ranks see.

The launcher's variables say which rank this is. Rank 0 prints one JSON object with the samples. labkit runs this file
by its path, so the interpreter that has torch needs no installed labkit.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
LIMIT_S = 900.0  # a rank ends itself after this time


def main(arguments: Sequence[str]) -> int:
    """Run one rank."""
    faulthandler.dump_traceback_later(LIMIT_S, exit=True)
    from labkit.kernels.learning.plan import Plan  # torch: the limit above holds while it loads
    from labkit.kernels.learning.programs import run

    result = run(Plan.decode(arguments[0]), Path.cwd())
    if result is not None:
        sys.stdout.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
