"""Benchmarks of requests over HTTP, from the logs of the originals."""
