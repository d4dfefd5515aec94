"""Start services as one command: ``_microservices.py PROGRAM PLAN KIND ADDRESS PORT SOCKET HOSTS``.

The standard library alone. PLAN is a file with a JSON list of services: the arguments of each, and the numbers of the
services that it calls, which come later in the list; for a memcached its command. HOSTS is a JSON list: of each host
its address, and the words before a command that run it there; empty for this machine. A service goes to the host of its
number, around the list. When all others listen, this process becomes the first service, on the given port or socket.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

_READY_S = 20.0


def _port(name: str, process: subprocess.Popen[str], kind: str) -> str:
    """Wait until memcached listens on its socket, or has written its port; return the port, empty if it ended."""
    end, path = time.monotonic() + _READY_S, Path(name)
    while process.poll() is None and time.monotonic() < end:
        if kind == "unix":
            with socket.socket(socket.AF_UNIX) as one:
                if not one.connect_ex(name):
                    return "0"
        elif path.exists():
            return path.read_text().split()[-1]
        time.sleep(0.01)
    process.kill()
    return ""


def main(program: str, plan: str, kind: str, address: str, port: str, path: str, hosts: str) -> None:
    """Start all services, those first that ask no other."""
    services = json.loads(Path(plan).read_text())
    places = json.loads(hosts) or [[address]]

    def words(number: int, where: str) -> list[str]:
        host = places[number % len(places)]
        if "command" in services[number]:
            own = ["-s", where[5:]] if kind == "unix" else ["-l", where[4 : where.rindex(":")], "-p", "-1", "-U", "0"]
            return [*host[1:], *services[number]["command"], *own]
        asked = ",".join(f"{one}={known[one]}" for one in services[number]["asks"])
        given = (f"number={number}", f"listen={where}", f"children={asked}")
        return [*host[1:], program, "serve", *services[number]["arguments"], *given]

    known: dict[int, str] = {}
    waiting = list(range(len(services) - 1, 0, -1))
    while waiting:
        ready = [number for number in waiting if all(one in known for one in services[number]["asks"])]
        if not ready:
            sys.exit(f"services {waiting} ask one another in a circle")
        started = []
        for number in ready:
            ip = places[number % len(places)][0]
            where = f"unix:{number}.{path}" if kind == "unix" else f"tcp:{ip}:0"
            Path(f"port.{number}").unlink(missing_ok=True)  # of an attempt before
            environment = os.environ | {"MEMCACHED_PORT_FILENAME": f"port.{number}"}
            process = subprocess.Popen(words(number, where), stdout=subprocess.PIPE, text=True, env=environment)
            started.append((number, where, process))
        for number, where, process in started:
            memcached = "command" in services[number]
            if memcached:
                own = _port(where[5:] if kind == "unix" else f"port.{number}", process, kind)
            else:
                line = process.stdout.readline().split() if process.stdout else []
                own = line[1] if line[:1] == ["listening"] else ""
            if not own:
                sys.exit(f"service {number} ended with status {process.wait()} before it listened")
            address = where if kind == "unix" else f"{where.rpartition(':')[0]}:{own}"
            known[number] = f"memcached:{address}" if memcached else address
            waiting.remove(number)
    command = words(0, f"unix:{path}" if kind == "unix" else f"tcp:{places[0][0]}:{port}")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
