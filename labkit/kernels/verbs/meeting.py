"""Exchange values between two ends over TCP, as one JSON text per line."""

from __future__ import annotations

import json
import select
import socket
import time
from types import TracebackType
from typing import Any

from labkit.kernels.verbs.objects import QueuePair


class Meeting:
    """A TCP connection between server and client, for everything that is not measured.

    Parameters
    ----------
    port : port of the server.
    address : address of the server; empty in the server itself, which waits for one client.
    limit : longest wait for the other end and for every answer, s.
    listener : socket that listens already, in a server that waits for one of several clients.

    Attributes
    ----------
    port : of the server.
    """

    def __init__(
        self, port: int, address: str = "", *, limit: float = 60.0, listener: socket.socket | None = None
    ) -> None:
        if address:
            self._socket = _connected(address, port, limit)
        elif listener:
            listener.settimeout(limit)
            self._socket, _ = listener.accept()
        else:
            with listening(port) as server:
                server.settimeout(limit)
                self._socket, _ = server.accept()
        self._socket.settimeout(limit)
        self.port = port
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines = self._socket.makefile("r")  # read only: a text file for both directions loses buffered input

    def tell(self, value: Any) -> None:
        """Send a value."""
        self._socket.sendall((json.dumps(value) + "\n").encode())

    def hear(self) -> Any:
        """Wait for the next value of the other end.

        Raises
        ------
        EOFError
            If it has gone.
        """
        line = self._lines.readline()
        if not line:
            raise EOFError("the peer has gone.")
        return json.loads(line)

    def waiting(self) -> bool:
        """Whether a value of the other end waits to be read."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(0))

    def swap(self, value: Any = None) -> Any:
        """Send a value and return the other end's. Afterwards both ends know that both have arrived here."""
        self.tell(value)
        return self.hear()

    def connect(self, pair: QueuePair, **options: Any) -> Any:
        """Connect a queue pair with the other end's, and return the peer's address.

        Parameters
        ----------
        options : arguments of `QueuePair.ready_to_receive`.
        """
        peer = self.swap(pair.address)
        pair.ready_to_receive(peer, **options)
        pair.ready_to_send()
        return peer

    def __enter__(self) -> Meeting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.close()
        self._socket.close()


def listening(port: int, *, backlog: int = 1) -> socket.socket:
    """Make a socket that listens on a port of all addresses."""
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    return socket.create_server(("", port), family=family, dualstack_ipv6=family is socket.AF_INET6, backlog=backlog)


def _connected(address: str, port: int, limit: float) -> socket.socket:
    """Connect to a server that may not listen yet."""
    end = time.monotonic() + limit
    while True:
        try:
            return socket.create_connection((address, port), timeout=limit)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
