"""Apache Thrift: labkit's server and client in C++, over each protocol and transport."""

from __future__ import annotations

from labkit.formats import rpc_client as layout
from labkit.options.rpc import Call
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Tool, _rpc, only

_PROGRAM = "rpc_thrift"
TOOL = Tool(
    name="thrift",
    read_version=lambda: _rpc.version(_PROGRAM),
    package="libthrift-dev libboost-dev libevent-dev thrift-compiler",
    format=layout,
    built=_PROGRAM,
    purpose="rpc.* with system=thrift",
    instead="grpc",
)


def load(spec: Spec[Call], effort: Effort) -> Invocation:
    """Calls of the spec's clients."""
    only(spec, "Thrift in C++", "thrift_python", language="c++")
    command = (_rpc.program(_PROGRAM, TOOL.package),)
    only(spec, "Thrift", "system=grpc", serialised=True)
    both = {"protocol": spec.options.protocol, "framing": spec.options.framing}
    server: dict[str, str] = {"model": spec.options.model}
    if threads := spec.options.server_threads:
        server["threads"] = str(threads)
    return _rpc.invocation(TOOL, spec, effort, command, both, server)
