"""Benchmarks of sockets: TCP, UDP and Unix sockets."""

from labkit.benchmarks.sockets._options import Sockets as Sockets
from labkit.benchmarks.sockets._options import TcpStream as TcpStream
