"""Options of benchmarks that tools read, by family: a benchmark takes them, its tools name them in their types."""
