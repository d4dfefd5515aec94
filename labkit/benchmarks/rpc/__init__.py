"""Benchmarks of remote procedure calls."""
