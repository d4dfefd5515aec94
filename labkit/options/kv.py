"""Options of benchmarks of key-value stores that tools read."""

from typing import Literal

from labkit.options import frozen


@frozen
class Loop:
    """Options of a YCSB workload on a key-value store.

    Parameters
    ----------
    store : redis or memcached.
    workload : YCSB's core workload, A to F: A updates half of the time, B 5 %, C never; D inserts and reads the latest,
        E scans, F reads, modifies and writes.
    distribution : distribution of the keys; ``auto`` is the workload's own.
    records : records loaded before (YCSB's recordcount).
    clients : connections, each with one operation in flight.
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


@frozen
class OpenLoop(Loop):
    """Options of kv.open_loop.

    Parameters
    ----------
    rate : operations per second of all clients (YCSB's -target).
    arrivals : gaps between the operations of a client: ``constant``, as YCSB's and wrk2's, or ``poisson``.
    """

    rate: float = 1000.0
    arrivals: Literal["constant", "poisson"] = "constant"


@frozen
class Ycsb:
    """Options of kv.ycsb.

    Parameters
    ----------
    workload : YCSB's core workload, A to F, as in kv.closed_loop.
    distribution : distribution of the keys; ``auto`` is the workload's own.
    records : records loaded before (``recordcount``).
    threads : threads of the client, each with a connection (``-threads``).
    target : operations per second of all threads (``-target``); 0 for a closed loop.
    operation : operation with the latencies of the point: READ, UPDATE, INSERT, SCAN or READ-MODIFY-WRITE; in a log
        also OVERALL.
    interval : kind of latencies in a log: ``operation``, or ``intended`` from the moment when it was due.
    ip : version of the internet protocol.
    """

    workload: Literal["A", "B", "C", "D", "E", "F", "unknown"] = "A"
    distribution: Literal["auto", "zipfian", "uniform", "latest", "hotspot"] = "auto"
    records: int = 1000
    threads: int = 1
    target: int = 0
    operation: Literal["READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE", "OVERALL"] = "READ"
    interval: Literal["operation", "intended"] = "operation"
    ip: Literal["ipv4", "ipv6"] = "ipv4"


@frozen
class RedisBenchmark:
    """Options of kv.redis_benchmark.

    Parameters
    ----------
    command : command of redis.
    clients : connections (``-c``).
    records : keys (``-r``).
    pipeline : requests of a client in flight (``-P``).
    server_threads : threads of redis for its sockets.
    ip : version of the internet protocol.
    """

    command: Literal["get", "set", "incr", "ping", "lpush", "sadd", "hset", "zadd"] = "get"
    clients: int = 1
    records: int = 1000
    pipeline: int = 1
    server_threads: int = 1
    ip: Literal["ipv4", "ipv6"] = "ipv4"
