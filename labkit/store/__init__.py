"""What measuring writes and reading reads: campaigns and the samples in them."""
