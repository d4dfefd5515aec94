"""Benchmarks of accelerators, from the logs of the originals."""
