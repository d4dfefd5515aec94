"""Options that the loops over key-value stores share, and their check."""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Ends
from labkit.point.spec import Spec

ENDS = Ends(where="apart", transports=True)

FIELDS = 10  # of a record, as in YCSB's workload files
MOST = {"records": 10_000_000, "clients": 1000, "servers": 16, "server_threads": 64}


@dataclass(frozen=True, kw_only=True)
class Loop:
    """Options of a YCSB workload on a key-value store.

    Parameters
    ----------
    store : redis or memcached.
    workload : YCSB's core workload, A to F: A updates half of the time, B 5 %, C never; D inserts and reads the latest,
        E scans, F reads, modifies and writes.
    distribution : of the keys; ``auto`` is the workload's own.
    records : loaded before (YCSB's recordcount).
    clients : connections, each with one operation under way.
    servers : processes of the store, among which the client spreads the keys.
    server_threads : memcached's threads, or those of redis for its sockets.
    ip : version of the internet protocol.
    """

    store: Literal["redis", "memcached"] = "redis"
    workload: Literal["A", "B", "C", "D", "E", "F"] = "A"
    distribution: Literal["auto", "zipfian", "uniform", "latest", "hotspot"] = "auto"
    records: int = 1000
    clients: int = 1
    servers: int = 1
    server_threads: int = 1
    ip: Literal["ipv4", "ipv6"] = "ipv4"


def check(spec: Spec[Loop]) -> str:
    """Say what no store can do; empty if nothing."""
    options, values = spec.options, spec.values
    if spec.size < FIELDS or spec.size % FIELDS:
        return (
            f"size={spec.size} B, but a record has {FIELDS} fields of equal length. Set a multiple of {FIELDS}, "
            "such as size=1000."
        )
    for name, most in MOST.items():
        least = 2 if name == "records" else 1
        if not least <= values[name] <= most:
            return f"{name}={values[name]}, but it must be {least} to {most}. Set {name}={least}."
    if options.workload == "E" and options.store == "memcached":
        return "workload=E scans, but memcached has no scan. Set store=redis, or another workload."
    if options.workload == "E" and options.servers > 1:
        return "workload=E scans the keys of one server. Set servers=1, or another workload."
    if spec.transport not in ("auto", "tcp", "unix"):
        return f"transport={spec.transport}, but a store listens on tcp or unix. Set transport=tcp."
    return ""
