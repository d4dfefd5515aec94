"""Benchmarks of key-value stores: redis and memcached, by labkit's client, redis-benchmark and YCSB."""

from labkit.benchmarks.kv._options import Loop as Loop
