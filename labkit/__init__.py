"""A lab for measuring, understanding and publishing how fast a cluster communicates."""

__version__ = "0.1.0"
