"""gRPC and Thrift servers and clients in Python: the same service, bytes and samples as those in C++.

    python -I rpc_python.py server system=grpc|thrift address=tcp:HOST:PORT|unix:PATH …
    python -I rpc_python.py client system=… address=… buffers=SIZE clients=N seconds=S limit=N out=FILE …

Only the standard library, and grpc and google.protobuf, or thrift: any Python that has them runs this file by its
path. One of the two may be missing, so functions import them. Classes that a compiler would write from ``rpc.proto``
and ``rpc.thrift`` are made here at run time. A client is a thread with a separate connection that calls again when it
has its answer (closed loop).
"""

from __future__ import annotations

import json
import random
import struct
import sys
import threading
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ECHO, SEND, DIGEST = "echo", "send", "digest"
_THREADS = 64  # of gRPC's server: one call of each client at once
_NUMBER = struct.Struct("=Q")
_CONNECT_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A client's connection. Only `call` is timed: what it sends was made before, what it brings is looked at after.

    Parameters
    ----------
    prepare : payload → what a call sends.
    call : method and what it sends → the answer, as the library hands it over.
    content : answer of `echo` → its bytes.
    number : answer of `send` or `digest` → its number.
    """

    prepare: Callable[[bytes], Any]
    call: Callable[[str, Any], Any]
    content: Callable[[Any], bytes]
    number: Callable[[Any], int]


def digest(data: bytes) -> int:
    """Return the FNV-1a digest of bytes, as the server in C++ works it out.

    Examples
    --------
    >>> hex(digest(b"a"))
    '0xaf63dc4c8601ec8c'
    """
    total = 14695981039346656037
    for byte in data:
        total = ((total ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return total


def answer(method: str, payload: bytes) -> int:
    """Return the number that `send` and `digest` answer with."""
    return digest(payload) if method == DIGEST else len(payload)


def signed(number: int) -> int:
    """Return an unsigned number of 64 bits as Thrift's i64 carries it.

    Examples
    --------
    >>> signed(2**64 - 1)
    -1
    """
    return number - (1 << 64) if number >> 63 else number


# ---- gRPC


def _messages() -> tuple[Any, Any]:
    """Classes of the messages of ``rpc.proto``."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="rpc.proto", package="labkit.rpc", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    payload = file.message_type.add(name="Payload")
    payload.field.add(name="buffers", number=1, label=kinds.LABEL_REPEATED, type=kinds.TYPE_BYTES)
    number = file.message_type.add(name="Answer")
    number.field.add(name="number", number=1, label=kinds.LABEL_OPTIONAL, type=kinds.TYPE_FIXED64)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = [pool.FindMessageTypeByName(f"labkit.rpc.{name}") for name in ("Payload", "Answer")]
    if hasattr(message_factory, "GetMessageClass"):
        return tuple(map(message_factory.GetMessageClass, found))
    return tuple(map(message_factory.MessageFactory(pool).GetPrototype, found))


def _grpc_target(address: str) -> str:
    if address.startswith("unix:"):
        return address
    host, _, port = address.removeprefix("tcp:").rpartition(":")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _grpc_server(given: Mapping[str, str]) -> None:
    import grpc

    message, number = _messages()

    def handlers(raw: bool) -> dict[str, Any]:
        def one(method: str) -> Any:
            def handle(request: Any, context: object) -> Any:
                if method == ECHO:
                    return request
                data = request if raw else b"".join(request.buffers)
                return answer(method, data) if raw else number(number=answer(method, data))

            if raw:
                write = None if method == ECHO else _NUMBER.pack
                return grpc.unary_unary_rpc_method_handler(handle, None, write)
            return grpc.unary_unary_rpc_method_handler(
                handle, message.FromString, (message if method == ECHO else number).SerializeToString
            )

        return {method.capitalize(): one(method) for method in (ECHO, SEND, DIGEST)}

    options = (("grpc.max_receive_message_length", -1), ("grpc.so_reuseport", 0))
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=options)
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler("labkit.rpc.Raw", handlers(raw=True)),
            grpc.method_handlers_generic_handler("labkit.rpc.Rpc", handlers(raw=False)),
        )
    )
    server.add_insecure_port(_grpc_target(given["address"]))
    server.start()
    server.wait_for_termination()


def _grpc_connection(given: Mapping[str, str]) -> Connection:
    """A connection of a client's own."""
    import grpc

    message, number = _messages()
    raw = given.get("serialised", "1") == "0"
    options = (("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1))
    channel = grpc.insecure_channel(_grpc_target(given["address"]), options=options)
    grpc.channel_ready_future(channel).result(timeout=_CONNECT_S)

    def stub(method: str) -> Any:
        if raw:
            return channel.unary_unary(f"/labkit.rpc.Raw/{method.capitalize()}")
        read = (message if method == ECHO else number).FromString
        return channel.unary_unary(f"/labkit.rpc.Rpc/{method.capitalize()}", message.SerializeToString, read)

    stubs = {method: stub(method) for method in (ECHO, SEND, DIGEST)}
    return Connection(
        prepare=lambda payload: payload if raw else message(buffers=(payload,)),
        call=lambda method, request: stubs[method](request),
        content=lambda found: found if raw else b"".join(found.buffers),
        number=lambda found: _NUMBER.unpack(found)[0] if raw else found.number,
    )


# ---- Thrift


def _structs() -> tuple[Any, Any, Any, Any]:
    """Classes of the structs of ``rpc.thrift``: payload, arguments of a call, its result as payload, and as number."""
    from thrift.protocol.TBase import TBase
    from thrift.Thrift import TType

    class Payload(TBase):  # type: ignore[misc]
        thrift_spec = (None, (1, TType.LIST, "buffers", (TType.STRING, "BINARY", False), None))

        def __init__(self, buffers: Any = None) -> None:
            self.buffers = buffers

    class Arguments(TBase):  # type: ignore[misc]
        thrift_spec = (None, (1, TType.STRUCT, "payload", [Payload, Payload.thrift_spec], None))

        def __init__(self, payload: Any = None) -> None:
            self.payload = payload

    class Returned(TBase):  # type: ignore[misc]
        thrift_spec = ((0, TType.STRUCT, "success", [Payload, Payload.thrift_spec], None),)

        def __init__(self, success: Any = None) -> None:
            self.success = success

    class Counted(TBase):  # type: ignore[misc]
        thrift_spec = ((0, TType.I64, "success", None, None),)

        def __init__(self, success: Any = None) -> None:
            self.success = success

    return Payload, Arguments, Returned, Counted


def _thrift_factories(given: Mapping[str, str]) -> tuple[Any, Any]:
    """Factories of the transport and the protocol."""
    from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
    from thrift.protocol.TCompactProtocol import TCompactProtocolAcceleratedFactory
    from thrift.protocol.TJSONProtocol import TJSONProtocolFactory
    from thrift.transport import TTransport

    framing = {"framed": TTransport.TFramedTransportFactory, "buffered": TTransport.TBufferedTransportFactory}
    protocol = {
        "binary": TBinaryProtocolAcceleratedFactory,
        "compact": TCompactProtocolAcceleratedFactory,
        "json": TJSONProtocolFactory,
    }
    return framing[given.get("framing", "framed")](), protocol[given.get("protocol", "binary")]()


def _thrift_socket(address: str) -> dict[str, Any]:
    """Arguments of Thrift's sockets."""
    if address.startswith("unix:"):
        return {"unix_socket": address.removeprefix("unix:")}
    host, _, port = address.removeprefix("tcp:").rpartition(":")
    return {"host": host, "port": int(port)}


def _thrift_server(given: Mapping[str, str]) -> None:
    from thrift.server.TNonblockingServer import TNonblockingServer
    from thrift.server.TServer import TThreadedServer
    from thrift.Thrift import TMessageType, TProcessor
    from thrift.transport import TSocket

    _, arguments, returned, counted = _structs()

    class Processor(TProcessor):  # type: ignore[misc]
        def process(self, source: Any, target: Any) -> bool:
            method, _, sequence = source.readMessageBegin()
            asked = arguments()
            asked.read(source)
            source.readMessageEnd()
            if method == ECHO:
                result = returned(asked.payload)
            else:
                result = counted(signed(answer(method, b"".join(asked.payload.buffers))))
            target.writeMessageBegin(method, TMessageType.REPLY, sequence)
            result.write(target)
            target.writeMessageEnd()
            target.trans.flush()
            return True

    listening = TSocket.TServerSocket(**_thrift_socket(given["address"]))
    framing, protocol = _thrift_factories(given)
    if given.get("model") == "nonblocking":
        TNonblockingServer(
            Processor(), listening, inputProtocolFactory=protocol, threads=int(given.get("threads", 10))
        ).serve()
    else:
        TThreadedServer(Processor(), listening, framing, protocol, daemon=True).serve()


def _thrift_connection(given: Mapping[str, str]) -> Connection:
    """A connection of a client's own."""
    from thrift.Thrift import TApplicationException, TMessageType
    from thrift.transport import TSocket

    payload_of, arguments, returned, counted = _structs()
    framing, factory = _thrift_factories(given)
    transport = framing.getTransport(TSocket.TSocket(**_thrift_socket(given["address"])))
    transport.open()
    protocol = factory.getProtocol(transport)

    def call(method: str, request: Any) -> Any:
        protocol.writeMessageBegin(method, TMessageType.CALL, 0)
        request.write(protocol)
        protocol.writeMessageEnd()
        transport.flush()
        _, kind, _ = protocol.readMessageBegin()
        if kind == TMessageType.EXCEPTION:
            error = TApplicationException()
            error.read(protocol)
            raise error
        result = returned() if method == ECHO else counted()
        result.read(protocol)
        protocol.readMessageEnd()
        return result.success

    return Connection(
        prepare=lambda payload: arguments(payload_of([payload])),
        call=call,
        content=lambda found: b"".join(found.buffers),
        number=lambda found: found & 0xFFFFFFFFFFFFFFFF,
    )


# ---- a load


def _check(connection: Connection, size: int, salt: int) -> None:
    """Send fresh bytes both ways, and compare each.

    Raises
    ------
    RuntimeError
        If other bytes came.
    """
    sent = random.Random(salt).randbytes(size)
    request = connection.prepare(sent)
    if connection.number(connection.call(DIGEST, request)) != digest(sent):
        raise RuntimeError("the server received other bytes than were sent")
    if connection.content(connection.call(ECHO, request)) != sent:
        raise RuntimeError("other bytes came back than were sent")


class Load:
    """A closed loop of clients, each a thread with its connection; bytes are checked before and after.

    Parameters
    ----------
    given : arguments of the command line.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self.given = given
        self.size, self.method, self.seed = int(given["buffers"]), given.get("method", ECHO), int(given.get("seed", 1))
        self.samples = [array("q") for _ in range(int(given.get("clients", 1)))]
        self.errors = list[str]()
        self._tickets, self._lock = iter(range(int(given["limit"]))), threading.Lock()  # calls that may still be made
        self._begin, self._origin = threading.Barrier(len(self.samples) + 1), 0

    def run(self) -> None:
        """Connect and check all, then let all begin at once, and wait for their end."""
        threads = [threading.Thread(target=self._guarded, args=(k,), daemon=True) for k in range(len(self.samples))]
        for thread in threads:
            thread.start()
        with suppress(threading.BrokenBarrierError):
            self._begin.wait()
            self._origin = time.monotonic_ns() + 1_000_000
            self._begin.wait()
        for thread in threads:
            thread.join()

    def _guarded(self, number: int) -> None:
        try:
            self._client(number)
        except threading.BrokenBarrierError:
            return  # another failed
        except Exception as error:  # of either library
            self.errors.append(f"rpc client {number}: {type(error).__name__}: {error}")
            self._begin.abort()

    def _client(self, number: int) -> None:
        connection = {"grpc": _grpc_connection, "thrift": _thrift_connection}[self.given["system"]](self.given)
        salt = self.seed * 1000003 + number * 1009
        _check(connection, self.size, salt)
        self._begin.wait()  # all are connected and checked
        self._begin.wait()  # the origin is known
        self._timed(connection, number)
        _check(connection, self.size, salt + 500)

    def _timed(self, connection: Connection, number: int) -> None:
        origin, mine, now = self._origin, self.samples[number], time.monotonic_ns
        method, call, request = self.method, connection.call, connection.prepare(bytes(self.size))
        stop = origin + int(float(self.given["seconds"]) * 1e9)
        time.sleep(max(0, origin - now()) * 1e-9)
        while now() < stop and self._may_call():
            start = now()
            found = call(method, request)
            end = now()
            if (len(connection.content(found)) if method == ECHO else connection.number(found)) != self.size:
                raise RuntimeError("an answer has a wrong length")
            mine.extend((start - origin, start - origin, end - origin, number))

    def _may_call(self) -> bool:
        with self._lock:
            return next(self._tickets, None) is not None

    def write(self) -> None:
        """Write the samples, and print the totals."""
        calls = sum(map(len, self.samples)) // 4
        Path(self.given["out"]).write_bytes(b"".join(one.tobytes() for one in self.samples))
        moved = {"operations": calls, "unfinished": 0, "payload_B": self.size * calls}
        sys.stdout.write(json.dumps({**moved, "bulk_operations": 0, "bulk_ns": 0}) + "\n")


def main(words: Sequence[str]) -> int:
    """Be a server or a client. Returns the exit status."""
    role, given = words[0], dict(word.partition("=")[::2] for word in words[1:])
    if role == "client":
        load = Load(given)
        load.run()
        if load.errors:
            sys.stderr.write("\n".join(load.errors) + "\n")
            return 1
        load.write()
        return 0
    {"grpc": _grpc_server, "thrift": _thrift_server}[given["system"]](given)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
