"""Counters that a host keeps of its network interfaces and RDMA ports, as anybody may read them in /sys.

A line of shell reads them, so a launcher can also read the counters of other hosts without labkit there.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence

from labkit.errors import LaunchError
from labkit.io import supervise

TIME_LIMIT = 60.0  # s
READ = (
    "sh",
    "-c",
    "for file in /sys/class/net/*/statistics/* /sys/class/infiniband/*/ports/*/counters/* "
    "/sys/class/infiniband/*/ports/*/hw_counters/*; do "
    'read -r value <"$file" && echo "labkit-counter $(uname -n) $file $value"; done 2>/dev/null; :',
)
_LINE = re.compile(
    r"labkit-counter (\S+) /sys/class/(?:net/([^/]+)/statistics|infiniband/([^/]+/ports/[^/]+)/(?:hw_)?counters)"
    r"/(\S+) (\d+)$"
)

Counters = dict[str, dict[str, int]]  # host → name → count


def read(command: Sequence[str] = READ, environment: Mapping[str, str] | None = None) -> Counters:
    """Read the counters of this host, or of those on which a command runs `READ`.

    Parameters
    ----------
    command : `READ`, or a launcher that starts it once on each host.
    environment : environment of the command.

    Raises
    ------
    LaunchError
        If the command fails, or does not end within `TIME_LIMIT`.
    """
    with tempfile.TemporaryFile() as output:
        with supervise.start(command, env=environment, stdout=output) as tree:
            status = tree.wait(TIME_LIMIT)
            problem = tree.stderr_tail()
        if status != 0:
            why = f"did not end within {TIME_LIMIT:.0f} s" if status is None else "failed"
            raise LaunchError(
                f"Reading the counters of the hosts {why}.", command=command, exit_status=status, stderr=problem
            )
        output.seek(0)
        return parsed(output.read().decode(errors="replace"))


def parsed(text: str) -> Counters:
    r"""Return the counters in what `READ` printed, by host; those of a port are named as ``mlx5_0/1.symbol_error``.

    Examples
    --------
    >>> parsed("labkit-counter n1 /sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error 3\n")
    {'n1': {'mlx5_0/1.symbol_error': 3}}
    """
    found: Counters = {}
    for line in map(str.strip, text.splitlines()):
        if row := _LINE.search(line):
            host, interface, port, name, value = row.groups()
            device = interface or port.replace("/ports/", "/")
            found.setdefault(host, {})[f"{device}.{name}"] = int(value)
    return found


def changed(before: Counters, after: Counters) -> Counters:
    """Return by how much counters grew; those that stayed the same are left out.

    Examples
    --------
    >>> changed({"n1": {"eth0.rx_bytes": 5, "eth0.rx_errors": 0}}, {"n1": {"eth0.rx_bytes": 9, "eth0.rx_errors": 0}})
    {'n1': {'eth0.rx_bytes': 4}}
    """
    return {
        host: {name: now - then[name] for name, now in own.items() if name in then and now != then[name]}
        for host, own in after.items()
        if (then := before.get(host)) is not None
    }
