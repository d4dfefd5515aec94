"""A fuzzer of the command line: scenes, inputs, and what must hold after each of them."""
