"""Options of benchmarks of remote procedure calls that tools read."""

from typing import Literal

from labkit.options import frozen


@frozen
class Call:
    """Options of a call.

    Parameters
    ----------
    system : ``grpc`` or ``thrift``, each with a server and a client in C++ (in Python if `language` requests it).
    method : ``echo`` answers with the payload, ``send`` with the number of its bytes.
    serialised : gRPC's messages: of Protocol Buffers, or without serialisation (raw byte buffers).
    protocol : protocol of Thrift.
    framing : Thrift's transport: framed or buffered.
    model : Thrift's server: a thread for each connection, or one loop over all (needs framing=framed).
    server_threads : gRPC's completion queues, or the loops of Thrift's nonblocking server; 0 for the library's choice.
    ip : version of the internet protocol.
    """

    system: Literal["grpc", "thrift"] = "grpc"
    method: Literal["echo", "send"] = "echo"
    serialised: bool = True
    protocol: Literal["binary", "compact", "json"] = "binary"
    framing: Literal["framed", "buffered"] = "framed"
    model: Literal["threaded", "nonblocking"] = "threaded"
    server_threads: int = 0
    ip: Literal["ipv4", "ipv6"] = "ipv4"


@frozen
class Loop(Call):
    """Options of calls one after the other.

    Parameters
    ----------
    language : language of server and client. Python shows the overhead of its layer.
    """

    language: Literal["c++", "python"] = "c++"


@frozen
class Payload:
    """Options of TF-gRPC-Bench's payloads.

    Parameters
    ----------
    scheme : mix of small, medium and large buffers: alternating, at random, or 10, 30 and 60 % of them.
    buffers : number of buffers of a payload.
    small, medium, large : their sizes, B.
    draw : seed of scheme=random.
    """

    scheme: Literal["uniform", "random", "skew"] = "uniform"
    buffers: int = 10
    small: int = 10
    medium: int = 10 * 1024
    large: int = 1024 * 1024
    draw: int = 1


@frozen
class InFlight:
    """Options of concurrent calls.

    Parameters
    ----------
    window : calls in flight.
    """

    window: int


@frozen
class Clients:
    """Options of several clients.

    Parameters
    ----------
    clients : connections, each with one call in flight.
    """

    clients: int


@frozen
class Workers:
    """Options of several servers and their workers.

    Parameters
    ----------
    servers, workers : parameter servers and workers.
    """

    servers: int
    workers: int


@frozen
class Bulk:
    """Options of clients with large calls.

    Parameters
    ----------
    bulk_clients : clients with large calls.
    bulk_size : size of a large call, B.
    """

    bulk_clients: int
    bulk_size: int


@frozen
class Paced:
    """Options of calls that are due at a rate.

    Parameters
    ----------
    rate : calls per second of all clients.
    arrivals : gaps between the calls of a client: ``constant``, as wrk2's, or ``poisson``.
    """

    rate: float
    arrivals: Literal["constant", "poisson"]
