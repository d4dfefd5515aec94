"""Benchmarks of sockets: TCP, UDP and Unix sockets."""
