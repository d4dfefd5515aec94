"""Models of what a number could be: bounds that hardware and protocols set, computed from stated facts."""
