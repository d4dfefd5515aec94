"""gRPC: labkit's server and client in C++, with messages of Protocol Buffers or raw byte buffers."""

from __future__ import annotations

from labkit.formats import rpc_client as layout
from labkit.options.rpc import Call
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Tool, _rpc, only
from labkit.tools._rpc import at_once as at_once
from labkit.tools._rpc import buffers as buffers

_PROGRAM = "rpc_grpc"
TOOL = Tool(
    name="grpc",
    read_version=lambda: _rpc.version(_PROGRAM),
    package="libgrpc++-dev libprotobuf-dev protobuf-compiler",
    format=layout,
    built=_PROGRAM,
    purpose="rpc.* with system=grpc",
    instead="thrift",
)


def load(spec: Spec[Call], effort: Effort) -> Invocation:
    """Calls of the spec's clients."""
    only(spec, "gRPC in C++", "grpcio", language="c++")
    command = (_rpc.program(_PROGRAM, TOOL.package),)
    only(spec, "gRPC", "system=thrift", protocol="binary", framing="framed", model="threaded")
    both = {"serialised": int(spec.options.serialised)}
    threads = spec.options.server_threads
    return _rpc.invocation(TOOL, spec, effort, command, both, {"threads": threads} if threads else {})
