"""Benchmarks of key-value stores: redis and memcached, by labkit's client, redis-benchmark and YCSB."""
