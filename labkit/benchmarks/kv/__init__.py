"""Benchmarks of key-value stores, from the logs of the originals."""
