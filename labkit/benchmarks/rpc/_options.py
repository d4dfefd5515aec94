"""Options that the benchmarks of remote procedure calls share, and their check."""

from collections.abc import Mapping
from math import prod

from labkit.benchmarks import Ends
from labkit.options import frozen
from labkit.options.rpc import Call, Payload
from labkit.point.spec import Spec, has
from labkit.point.units import MiB, format_size
from labkit.tools import grpc

ENDS = Ends(where="apart", transports=True)

MOST_B = 8 * MiB  # of a message: Thrift's frames end at 16,384,000 B
UNDER_WAY_B = 512 * MiB  # of all calls that are under way at once
_LIMITS: Mapping[str, tuple[int, int]] = {
    "clients": (1, 256),
    "workers": (1, 64),
    "servers": (1, 16),
    "server_threads": (0, 64),
    "window": (1, 1024),
    "bulk_clients": (0, 64),
    "bulk_size": (1, MOST_B),
    "buffers": (1, 100),
    "small": (1, MOST_B),
    "medium": (1, MOST_B),
    "large": (1, MOST_B),
}


@frozen
class Tensors(Payload, Call):
    """Options of TF-gRPC-Bench: a payload of several buffers, as a TensorFlow worker sends its tensors.

    The survey (Li et al., 2022, Table 7) lists buffers, payload generation scheme, serialisation, and the numbers of
    servers and workers as parameters, without values. Sizes and shares follow the paper (Biswas, Lu and Panda, arXiv
    1804.01138); they were not compared with its code.
    """


def payload(spec: Spec) -> int:
    """Return the bytes of a call's payload."""
    return sum(grpc.buffers(spec))


def check(spec: Spec[Call]) -> str:
    """Say what no system can do; empty if nothing."""
    options, values = spec.options, spec.values
    if spec.size == 0 and not has(options, Tensors):
        return "size=0, but a payload has at least 1 B. Set size=1."
    for name, (least, most) in _LIMITS.items():
        if name in values and not least <= values[name] <= most:
            return f"{name}={values[name]}, but it must be {least} to {most}. Set {name}={max(least, 1)}."
    sent = payload(spec)
    if has(options, Tensors) and sent > 15_000_000 and options.system == "thrift":
        return f"the buffers have {sent} B, but a frame of Thrift takes 16,384,000 B. Set fewer buffers."
    at_once = sent * prod(grpc.at_once(options))
    if at_once > UNDER_WAY_B:
        return (
            f"{format_size(at_once)} would be under way at once, but {format_size(UNDER_WAY_B)} is the most. "
            "Set a smaller size, or fewer clients or a smaller window."
        )
    if options.model == "nonblocking" and options.framing != "framed":
        return "framing=buffered, but model=nonblocking needs frames. Set framing=framed."
    if spec.transport not in ("auto", "tcp", "unix"):
        return f"transport={spec.transport}, but a server listens on tcp or unix. Set transport=tcp."
    return ""
