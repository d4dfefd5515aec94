"""Measuring: what is missing, in which order, started how, saved where."""
