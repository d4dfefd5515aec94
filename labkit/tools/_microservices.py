"""Start services as one command: ``_microservices.py PROGRAM PLAN KIND ADDRESS PORT SOCKET HOSTS``.

The standard library alone. PLAN is a file with a JSON list of services: the arguments of each, and the numbers of
those that it asks, which come later in the list. HOSTS is a JSON list: of each host its address, and the words before a
command that run it there; empty for this machine. A service goes to the host of its number, around the list. When all
others listen, this process becomes the first service, on the given port or socket.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def main(program: str, plan: str, kind: str, address: str, port: str, path: str, hosts: str) -> None:
    """Start all services, those first that ask no other."""
    services = json.loads(Path(plan).read_text())
    places = json.loads(hosts) or [[address]]

    def words(number: int, where: str) -> list[str]:
        asked = ",".join(f"{one}={known[one]}" for one in services[number]["asks"])
        host = places[number % len(places)]
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
            started.append((number, where, subprocess.Popen(words(number, where), stdout=subprocess.PIPE, text=True)))
        for number, where, process in started:
            line = process.stdout.readline().split() if process.stdout else []
            if line[:1] != ["listening"]:
                sys.exit(f"service {number} ended with status {process.wait()} before it listened")
            known[number] = where if kind == "unix" else f"{where.rpartition(':')[0]}:{line[1]}"
            waiting.remove(number)
    command = words(0, f"unix:{path}" if kind == "unix" else f"tcp:{places[0][0]}:{port}")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
