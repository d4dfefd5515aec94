"""Testbeds with their options in words: ``virtual-cluster:4,rate=200mbit`` is a virtual cluster of 4 hosts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

_HEADS = {  # name → words with its argument
    "virtual-cluster": "virtual cluster of {} hosts",
    "file-system": "file system {}",
    "simulated": "simulated {}",
}
_BARE = {"virtual-cluster": "virtual cluster", "soft-roce": "soft-RoCE"}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?bit|[num]?s)(?:/s)?", re.IGNORECASE)
_UNITS = {"us": "µs", "kbit": "kbit/s", "mbit": "Mbit/s", "gbit": "Gbit/s", "tbit": "Tbit/s"}


def _amount(text: str) -> str:
    """Rate or time with its unit: ``200mbit`` is 200 Mbit/s."""
    match = _QUANTITY.fullmatch(text)
    return f"{match[1]} {_UNITS.get(match[2].lower(), match[2].lower())}" if match else text


def _slow(text: str) -> str:
    host, _, rate = text.partition(":")
    return f"a link of {_amount(rate)} at {host}"


def _list(text: str) -> str:
    *most, last = text.split("+")
    return f"{', '.join(most)} and {last}" if most else last


_CHOICES = {  # option → its values in words
    "qos": {
        "off": "one queue for all traffic",
        "shares": "a share of the links for each kind of traffic",
        "priority": "strict priority over bulk traffic",
    },
    "queue": {
        "tail": "queues that drop when they are full",
        "drop": "queues that drop early",
        "mark": "queues that mark early (ECN)",
    },
}
_WORDS: dict[str, Callable[[str], str]] = {
    "rate": lambda text: f"links of {_amount(text)}",
    "uplink": lambda text: f"uplinks of {_amount(text)}",
    "per_leaf": lambda text: f"{text} hosts per leaf switch",
    "delay": lambda text: f"{_amount(text)} of delay",
    "loss": lambda text: f"{text} % of loss",
    "bulk": lambda text: f"bulk traffic from {_list(text)}",
    "shares": lambda text: f"shares of {text}",
    "throttle": _slow,
    "tcp": lambda text: f"TCP {text}",
    "mtu": lambda text: f"an MTU of {text} B",
    **{name: lambda text, known=known: known.get(text, text) for name, known in _CHOICES.items()},  # type: ignore[misc]
}
_ABSENT = {  # option → what a testbed without it has; empty where another option implies it
    "rate": "links of the default rate",
    "uplink": "default uplinks",
    "per_leaf": "a single switch",
    "throttle": "links of one rate",
    "tcp": "the machine's TCP",
    "mtu": "the default MTU",
    "qos": _CHOICES["qos"]["off"],
    "queue": _CHOICES["queue"]["tail"],
    "bulk": "",
    "shares": "",
    "threshold": "",
}


def in_words(testbed: str) -> str:
    """Return a testbed with its options in words.

    Examples
    --------
    >>> in_words("virtual-cluster:4,per_leaf=2,rate=200mbit"), in_words("soft-roce,delay=4ms"), in_words("local")
    ('virtual cluster of 4 hosts (2 hosts per leaf switch, links of 200 Mbit/s)', 'soft-RoCE (4 ms of delay)', 'local')
    """
    head, options = _parsed(testbed)
    words = ", ".join(_option(name, value) for name, value in options.items())
    return f"{head} ({words})" if words else head


def labelled(testbed: str, *, imported: bool = False) -> str:
    """Return the same for a list of settings; a name that says nothing by itself, with the word testbed.

    Parameters
    ----------
    imported : whether the point was imported: then the name is that of its file, or what the import was given.

    Examples
    --------
    >>> labelled("soft-roce"), labelled("site"), labelled("node1.txt", imported=True)
    ('soft-RoCE', 'testbed site', 'node1.txt')
    """
    if imported:
        return testbed
    name = re.split("[:,]", testbed, maxsplit=1)[0]
    return in_words(testbed) if name in {**_HEADS, **_BARE} else f"testbed {in_words(testbed)}"


def differences(testbeds: Sequence[str]) -> list[str]:
    """Describe testbeds in words: only the differing options if kind and size are the same, else completely.

    Examples
    --------
    >>> differences(["virtual-cluster:4,bulk=vc1+vc3,qos=priority", "virtual-cluster:4"])
    ['strict priority over bulk traffic', 'one queue for all traffic']
    >>> differences(["soft-roce,loss=1", "soft-roce"]), differences(["soft-roce,loss=1", "local"])
    (['1 % of loss', 'no loss'], ['soft-RoCE (1 % of loss)', 'local'])
    """
    parts = [_parsed(one) for one in testbeds]
    names = dict.fromkeys(name for _, options in parts for name in options)
    varied = [name for name in names if len({options.get(name) for _, options in parts}) > 1]
    said = [_joined([_option(name, options.get(name)) for name in varied]) for _, options in parts]
    apart = len({head for head, _ in parts}) > 1 or len({*said}) < len({*testbeds}) or not all(said)
    return [in_words(one) for one in testbeds] if apart else said


def _joined(words: Sequence[str]) -> str:
    *most, last = [one for one in words if one] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _parsed(testbed: str) -> tuple[str, Mapping[str, str]]:
    """Testbed in words, and its options."""
    head, *rest = testbed.split(",")
    name, _, argument = head.partition(":")
    options = {key.replace("-", "_"): value for key, _, value in (one.partition("=") for one in rest)}
    if options.get("qos", "off") != "off":
        options.pop("bulk", None)  # only a part of what makes the difference
    if argument and name in _HEADS:
        return _HEADS[name].format(argument.replace("_", " ")), options
    return (head if argument else _BARE.get(name, name)), options


def _option(name: str, value: str | None) -> str:
    """One option in words; of one that is not there, what that means."""
    if value is None:
        return _ABSENT.get(name, f"no {name.replace('_', ' ')}")
    return _WORDS[name](value) if name in _WORDS else f"{name.replace('_', ' ')} {value}"
