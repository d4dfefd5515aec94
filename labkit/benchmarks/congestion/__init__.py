"""Congestion: times of messages while other jobs use the network."""
