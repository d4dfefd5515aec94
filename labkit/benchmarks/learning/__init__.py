"""Benchmarks of the communication of deep learning."""
