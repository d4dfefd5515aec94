"""Apache Thrift in Python: labkit's server and client, over each protocol and transport."""

from __future__ import annotations

from labkit.formats import rpc_client as layout
from labkit.host import pythons
from labkit.options.rpc import Loop
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Tool, _rpc_python, only

_LIBRARY = ("thrift", "thrift.protocol")
TOOL = Tool(
    name="thrift_python",
    read_version=lambda: pythons.having(*_LIBRARY)[1] or "unknown",
    package="python3-thrift",
    format=layout,
    purpose="rpc.* with system=thrift and language=python",
    instead="thrift",
)


def load(spec: Spec[Loop], effort: Effort) -> Invocation:
    """Calls of the spec's clients."""
    only(spec, "Thrift in Python", "grpcio", serialised=True, server_threads=0)
    both = {"protocol": spec.options.protocol, "framing": spec.options.framing}
    server = {"model": spec.options.model}
    return _rpc_python.load(TOOL, "thrift", _LIBRARY, spec, effort, both, server)
