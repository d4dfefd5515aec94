"""The timed loops: in C, over verbs, with torch, and programs that tools start."""
