"""Run one end of a point as a program: ``python -I __main__.py server|client DEVICE GID PORT [ADDRESS] PLAN``.

The client prints one JSON object with its samples. labkit runs this file by its path, so the interpreter that has
pyverbs needs no installed labkit.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))


def main(arguments: Sequence[str]) -> int:
    """Run one end."""
    from labkit.kernels.verbs.plan import LIMIT_S, Plan  # the path above finds them

    faulthandler.dump_traceback_later(LIMIT_S, exit=True)
    role, device, gid, port, *address, word = arguments
    from labkit.kernels.verbs.programs import run  # pyverbs: the limit above holds while it loads

    plan = Plan.decode(word)
    try:
        result = run(role, device, int(gid), int(port), address[0] if address else "", plan)
    except Exception as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    if result is not None:
        sys.stdout.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
