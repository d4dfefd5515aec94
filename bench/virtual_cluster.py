"""Print how near the links of a virtual cluster come to their shaped rate, and how long its start takes. Asserts nothing.

It opens one TCP connection of two seconds or more for each rate, and two across the tapered uplink of a tree; then it
delays the links: ``python bench/virtual_cluster.py``. TCP over Ethernet can carry 1448 of the 1514 B, 95.6 %, that HTB counts.
"""

from __future__ import annotations

import argparse
import sys
import time

from labkit import testbeds
from labkit.io import supervise

TAKE = """
import socket
peer = socket.create_server(("", 5001)).accept()[0]
while peer.recv(1 << 20):
    pass
peer.sendall(b"+")
"""
GIVE = """
import socket, sys, time
while True:
    try:
        peer = socket.create_connection((sys.argv[1], 5001))
        break
    except ConnectionRefusedError:
        time.sleep(0.01)
began = time.perf_counter()
peer.sendall(bytes(int(sys.argv[2])))
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
print(time.perf_counter() - began)
"""
ECHO = """
import socket
peer = socket.create_server(("", 5001)).accept()[0]
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while byte := peer.recv(1):
    peer.send(byte)
"""
ASK = """
import socket, statistics, sys, time
while True:
    try:
        peer = socket.create_connection((sys.argv[1], 5001))
        break
    except ConnectionRefusedError:
        time.sleep(0.01)
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
times = []
for _ in range(300):
    began = time.perf_counter()
    peer.send(b"?")
    peer.recv(1)
    times.append(time.perf_counter() - began)
print(statistics.median(times))
"""
PYTHON = [sys.executable, "-I", "-S", "-c"]


def rates(cluster: testbeds.Testbed, pairs: list[tuple[str, str]], size: int) -> list[float]:
    """Mbit/s of one connection per pair, with all pairs at the same time."""
    takers = [supervise.start(cluster.on(target, [*PYTHON, TAKE])) for _, target in pairs]
    givers = [supervise.start(cluster.on(source, [*PYTHON, GIVE, target, str(size)])) for source, target in pairs]
    try:
        return [size * 8e-6 / float(giver.stdout.read()) for giver in givers]
    finally:
        for tree in (*givers, *takers):
            tree.stop()


def round_trip(cluster: testbeds.Testbed) -> float:
    """Median µs of a byte and its answer between the first two hosts."""
    answering = supervise.start(cluster.on("vc1", [*PYTHON, ECHO]))
    asking = supervise.start(cluster.on("vc0", [*PYTHON, ASK, "vc1"]))
    try:
        return 1e6 * float(asking.stdout.read())
    finally:
        asking.stop()
        answering.stop()


def delays() -> None:
    """Print what a round trip takes beyond its delay, and what a delayed link carries."""
    for delay in ("", "100us", "1ms", "10ms"):
        with testbeds.open(f"virtual-cluster:2,delay={delay}" if delay else "virtual-cluster:2") as cluster:
            by, took = cluster.facts.get("delayed_by", "nothing"), round_trip(cluster)
        print(f"delay={delay or 0:>5} by {by}: {took:9.1f} µs a round trip")
    for rate in (100, 200, 500, 1000):
        with testbeds.open(f"virtual-cluster:2,rate={rate}mbit,delay=100us") as cluster:
            (got,) = rates(cluster, [("vc0", "vc1")], int(rate * 1e6 / 8 * 2.2))
        print(f"rate={rate:4}mbit, delay=100us by {by}: {got:6.1f} Mbit/s of payload, {got / rate:.1%}")


def main() -> None:
    """Print a table."""
    for text in ("virtual-cluster:2", "virtual-cluster:8,per_leaf=4,uplink=267mbit"):
        began = time.perf_counter()
        with testbeds.open(text):
            up = time.perf_counter()
        print(f"{text:46} up in {up - began:.2f} s, down in {time.perf_counter() - up:.2f} s")
    for rate in (50, 100, 200, 500, 1000):
        with testbeds.open(f"virtual-cluster:2,rate={rate}mbit") as cluster:
            (got,) = rates(cluster, [("vc0", "vc1")], int(rate * 1e6 / 8 * 2.2))
        print(f"rate={rate:4}mbit: {got:6.1f} Mbit/s of payload, {got / rate:.1%}")
    pairs = [("vc0", "vc2"), ("vc1", "vc3")]
    for uplink in (400, 200, 133):
        with testbeds.open(f"virtual-cluster:4,per_leaf=2,rate=200mbit,uplink={uplink}mbit") as cluster:
            got = rates(cluster, pairs, int(min(uplink / 2, 200) * 1e6 / 8 * 2.2))
        ideal = min(uplink / 2, 200)
        shown = ", ".join(f"{rate:.1f}" for rate in got)
        print(
            f"two senders across an uplink of {uplink} Mbit/s ({400 / uplink:.0f}:1): {shown} Mbit/s each, ideal {ideal:.1f}"
        )
    delays()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
