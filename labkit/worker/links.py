"""Bytes that the links of a testbed have carried, from the tables of interfaces in /proc that can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

LINKS = "LABKIT_LINKS"  # variable that tells rank 0 of them, as JSON


def read(links: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Read how many B every link has carried so far: ``NAME.tx_bytes`` and ``NAME.rx_bytes``.

    Parameters
    ----------
    links : name → table (``/proc/…/net/dev``) and the interface in it; one whose table is gone is left out.
    """
    tables = {table: interfaces(table) for table, _ in links.values()}
    counters = {}
    for name, (table, interface) in links.items():
        if interface in tables[table]:
            counters[f"{name}.rx_bytes"], counters[f"{name}.tx_bytes"] = tables[table][interface]
    return counters


def interfaces(table: str = "/proc/net/dev") -> dict[str, tuple[int, int]]:
    """Read how many B every interface of a table has received and sent; empty if the table cannot be read."""
    try:
        lines = Path(table).read_text().splitlines()[2:]
    except OSError:
        return {}
    rows = ((name.strip(), rest.split()) for name, _, rest in (line.partition(":") for line in lines))
    return {name: (int(values[0]), int(values[8])) for name, values in rows}
