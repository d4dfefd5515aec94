"""labkit's RPC servers and clients in Python, run by any Python that has the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labkit.errors import SpecError
from labkit.host import pythons
from labkit.kernels import programs
from labkit.options.rpc import Loop
from labkit.point.spec import Effort, Spec
from labkit.tools import _rpc
from labkit.tools._invocation import Invocation
from labkit.tools._tool import Tool


def load(
    tool: Tool,
    system: str,
    distribution: Sequence[str],
    spec: Spec[Loop],
    effort: Effort,
    both: Mapping[str, object],
    server: Mapping[str, object],
) -> Invocation:
    """A run of clients in Python against a server in Python.

    Parameters
    ----------
    distribution : the library, by the name under which it is installed, and the modules that are needed.
    both, server : further arguments of both ends, and of the server.

    Raises
    ------
    SpecError
        If the spec asks for C++.
    """
    if spec.options.language != "python":
        raise SpecError(f"{tool.name} is in Python. Set language=python.")
    python = pythons.having(*distribution)[0]
    missing = f"a python3 with {distribution[0]} (pip install 'labkit[rpc]')"
    command = (python or missing, "-I", str(programs.path("rpc_python.py")))
    return _rpc.invocation(tool, spec, effort, command, {"system": system, **both}, server, system=system)
