"""Congestion: what a network in use by others does to the time of messages."""
