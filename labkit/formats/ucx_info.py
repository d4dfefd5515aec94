"""What ``ucx_info -d`` prints: the transports of UCX, each with the devices that it works on."""

from __future__ import annotations

import re

from labkit.formats import malformed

_LINE = re.compile(r"#\s+(Transport|Device): (\S+)\s*")


def transports(text: str) -> dict[str, list[str]]:
    r"""Return the transports, each with its devices.

    Raises
    ------
    DataError
        If there is no transport.

    Examples
    --------
    >>> transports("# Transport: tcp\n#    Device: eth0\n#\n# Transport: tcp\n#    Device: lo\n")
    {'tcp': ['eth0', 'lo']}
    """
    found: dict[str, list[str]] = {}
    name = ""
    for match in filter(None, map(_LINE.fullmatch, text.splitlines())):
        if match[1] == "Transport":
            name = match[2]
        elif name:
            found.setdefault(name, []).append(match[2])
    if not found:
        raise malformed("ucx_info -d", 0, text[-80:] or "nothing", "lines with 'Transport:' and 'Device:'")
    return found
