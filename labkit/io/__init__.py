"""Files, folders and processes: written whole, read with bounds, and ended with their owner."""
