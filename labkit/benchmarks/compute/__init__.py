"""Benchmarks of processors and memory, from the logs of the originals."""
