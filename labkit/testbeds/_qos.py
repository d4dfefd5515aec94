"""Two classes of traffic on the links of a virtual cluster: lines for tc that divide a link between them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from labkit.errors import SpecError

MARK = 0x20  # byte of DSCP and ECN of bulk traffic: CS1 (RFC 3662)
_QUANTUM = 1514  # B that a class sends before it is the other's turn


def checked(mode: str, shares: str, bulk: str, hosts: Sequence[str]) -> None:
    """Refuse options that contradict each other.

    Raises
    ------
    SpecError
        If `shares` is not two numbers, or a host of the bulk traffic does not exist.
    """
    wrong = ""
    if not re.fullmatch(r"[1-9]\d{0,2}:[1-9]\d{0,2}", shares):
        wrong = f"shares={shares!r}, but it must be two shares like 1:1, of the usual traffic and of the bulk"
    elif mode == "off" and (shares != "1:1" or bulk):
        wrong = f"shares={shares!r} and bulk={bulk!r} have no effect with qos=off. Set qos=shares, or leave them out"
    elif unknown := sorted(set(bulk.split("+")) - set(hosts) - {""}):
        wrong = f"bulk={bulk!r}, but there is no host {unknown[0]}. Join names with +, as in {hosts[0]}+{hosts[-1]}"
    if wrong:
        raise SpecError(f"testbed virtual-cluster: {wrong}.")


def classes(
    interface: str,
    rate_bps: float,
    burst: int,
    queue: str,
    *,
    mode: str,
    shares: str,
    sources: Sequence[tuple[str, str]],
) -> list[str]:
    """Return lines for tc below a root of HTB whose class 1:1 has the whole rate.

    Either class may use what the other leaves free. With ``shares`` they divide the link as given when both have
    packets to send, as ETS (IEEE 802.1Qaz) requires of a switch; with ``priority`` bulk packets are sent only if no
    others wait.

    Parameters
    ----------
    burst : size of a burst that passes unshaped, B.
    queue : the qdisc of each class.
    sources : IPv4 and IPv6 addresses of hosts whose packets are bulk without a mark.
    """
    usual, bulk = (int(part) for part in shares.split(":")) if mode == "shares" else (99, 1)
    lines = []
    for number, share, priority in ((10, usual, 0), (20, bulk, mode == "priority")):
        rate = rate_bps * share / (usual + bulk)
        lines += [
            f"class add dev {interface} parent 1:1 classid 1:{number} htb rate {rate:.0f}bit ceil {rate_bps:.0f}bit "
            f"burst {burst} cburst {burst} quantum {_QUANTUM} prio {priority:d}",
            f"qdisc add dev {interface} parent 1:{number} handle {number}: {queue}",
        ]
    matches = [("ip prio 1", f"ip tos {MARK:#x} 0xfc"), ("ipv6 prio 2", f"ip6 priority {MARK:#x} 0xfc")]
    for four, six in sources:
        matches += [("ip prio 1", f"ip src {four}/32"), ("ipv6 prio 2", f"ip6 src {six}/128")]
    return lines + [
        f"filter add dev {interface} parent 1: protocol {kind} u32 match {match} flowid 1:20" for kind, match in matches
    ]
