"""gRPC in Python (grpcio): labkit's server and client, with messages of Protocol Buffers or raw bytes."""

from __future__ import annotations

from labkit.formats import rpc_client as layout
from labkit.host import pythons
from labkit.options.rpc import Loop
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Tool, _rpc_python, only

_LIBRARY = ("grpcio", "grpc", "google.protobuf")
TOOL = Tool(
    name="grpcio",
    read_version=lambda: pythons.having(*_LIBRARY)[1] or "unknown",
    package="python3-grpcio python3-protobuf",
    format=layout,
    purpose="rpc.* with system=grpc and language=python",
    instead="grpc",
)


def load(spec: Spec[Loop], effort: Effort) -> Invocation:
    """Calls of the spec's clients."""
    only(spec, "grpcio", "thrift_python", protocol="binary", framing="framed", model="threaded", server_threads=0)
    return _rpc_python.load(TOOL, "grpc", _LIBRARY, spec, effort, {"serialised": int(spec.options.serialised)}, {})
