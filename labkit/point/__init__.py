"""What one point is: its spec, the words and units that describe it, and the ranges of its numbers."""
