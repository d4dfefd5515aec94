"""Several servers of a kind as one command: ``_servers.py COUNT tcp|unix ADDRESS PORT SOCKET COMMAND…``.

The standard library alone. In COMMAND ``@port@`` and ``@socket@`` represent where a server listens. All but the first
choose free ports. When they listen, their addresses are written to the file `LIST`, and this process becomes the first
server, on the given port or socket: once that listens, all do.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

LIST = "servers"
_READY_S = 20.0


def _free(address: str) -> int:
    """Return a TCP port on which nothing listens."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.bind((address, 0))
        return int(one.getsockname()[1])


def _answers(kind: str, address: str, port: str, path: str) -> bool:
    """Whether a server accepts connections."""
    try:
        if kind == "unix":
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(path)
        else:
            socket.create_connection((address, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def main(count: str, kind: str, address: str, port: str, path: str, *command: str) -> None:
    """Start all servers."""

    def words(port: str, path: str) -> list[str]:
        return [word.replace("@port@", port).replace("@socket@", path) for word in command]

    places = [
        (port, path),
        *((str(_free(address)) if kind == "tcp" else "0", f"{k}.{path}") for k in range(1, int(count))),
    ]
    others = [subprocess.Popen(words(*place)) for place in places[1:]]
    end = time.monotonic() + _READY_S
    while not all(_answers(kind, address, *place) for place in places[1:]):
        ended = [one.returncode for one in others if one.poll() is not None]
        if ended or time.monotonic() > end:
            sys.exit(f"a server ended with status {ended[0]}" if ended else f"no answer within {_READY_S:g} s")
        time.sleep(0.02)
    listed = [f"unix:{path}" if kind == "unix" else f"tcp:{address}:{port}" for port, path in places]
    Path(LIST).write_text(",".join(listed))
    os.execvp(command[0], words(port, path))


if __name__ == "__main__":
    main(*sys.argv[1:])
