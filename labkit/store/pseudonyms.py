"""Pseudonyms for the names of hosts and users, for paths and addresses: the same name gets the same one.

Addresses and paths are recognised by their form. Names of hosts and users are learned first, from the fields of a
campaign that hold them and from home folders. Then every text is replaced.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from labkit.errors import SpecError
from labkit.point import host_list

HOSTS = ("hostname", "hosts", "rank_hosts", "leaves", "nodelist", "HOSTNAME")  # keys of fields that name hosts
USERS = ("user", "username", "account", "USER", "LOGNAME")
FILES = ("file", "path", "folder", "directory", "cwd", "input_path", "output_path")  # a whole value that is a path
PLACE = "/redacted"  # folder of the pseudonyms of paths
_ENDINGS = (".bin", ".csv", ".dat", ".ipynb", ".json", ".log", ".out", ".py", ".sh", ".so", ".toml", ".txt", ".xml")
_NETWORKS = tuple(map(ipaddress.ip_network, ("198.18.0.0/15", "2001:db8::/32")))  # of nobody: RFC 2544, RFC 3849
_OURS = "02000000"  # begins the pseudonyms of MAC addresses and GUIDs
_PICTURES = ("image/png", "image/jpeg", "application/pdf")  # names may be drawn in them
_RAW = ("bdata",)  # numbers of figures, in base64
_VERSIONS = (
    "version",
    "versions",
    "library",
    "mpi_library",
    "kernel",
    "firmware",
    "driver",
)  # 5.8.1.2 is not an address
_ORDINARY = {
    *("localhost", "localhost.localdomain", "root", "nobody", "user", "users", "local", "shared", "public", "common"),
    *(
        "data",
        "project",
        "projects",
        "same-leaf",
        "across-leaves",
        "auto",
        "none",
        "null",
        "unknown",
        "kernel",
        "version",
        "release",
        "labkit",
        "",
    ),
}  # words that name nobody
_SYSTEM = r"(?!/(?:usr(?!/local)|s?bin|lib\d*|proc|sys|dev|etc|redacted)(?:/|\b))"  # the same folders on all machines
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_HOME = re.compile(r"(?:(?<![\w.-])|(?<=-[A-Za-z]))(?:/[\w.+-]+)*/(?:home|Users)/([\w.-]+)")
_PRINTED = re.compile(
    r"""(?:\bLinux |["']?\b(?:host_?name|(?:job_)?node_?list|nodename)["']?\s*[:=]\s*["']?)"""
    r"([A-Za-z][\w.-]*(?:\[[\d,-]+\])?)",
    re.IGNORECASE,
)
_LONGEST = 4096  # characters of a text whose replacement is kept
_END = r"(?!\w|:[0-9A-Fa-f])"
_FORMS = {
    "list": r"(?<![\w.-])[A-Za-z][\w.-]*\[\d[\d,-]*\](?:[\w.-]|\[\d[\d,-]*\])*",
    "gid": rf"(?<!\w)\d{{2,3}}(?::\d{{2,3}}){{15}}{_END}",  # as perftest prints it, in decimal numbers
    "mac": rf"(?<!\w)[0-9A-Fa-f]{{2}}(?P<dash>[:-])(?:[0-9A-Fa-f]{{2}}(?P=dash)){{4,18}}[0-9A-Fa-f]{{2}}{_END}",
    "guid": rf"(?<!\w)(?:0x[0-9A-Fa-f]{{16}}|[0-9A-Fa-f]{{4}}(?::[0-9A-Fa-f]{{4}}){{3}}){_END}",
    "ipv6": rf"(?<![\w.])(?:[0-9A-Fa-f]{{0,4}}:){{2,7}}(?:\d{{1,3}}(?:\.\d{{1,3}}){{3}}|[0-9A-Fa-f]{{1,4}})?{_END}",
    "ipv4": r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d)",
    "path": rf"""(?:(?<![\w./<&~])|(?<=-[A-Za-z])|(?<=file://)){_SYSTEM}"""
    r"/(?:[\w.+@%~-]+/)+(?:[\w.+@%~-]*[\w+@%~-])?",
}


class Pseudonyms:
    """Learns names, and replaces them.

    Parameters
    ----------
    words : further words to replace, such as the name of a cluster.
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._names: dict[str, str] = {}  # those that are looked for
        self._forms: dict[str, str] = {}  # those that are recognised by their form
        self._counts = Counter[str]()
        self._pattern: re.Pattern[str] | None = None
        self._done: dict[tuple[str, bool], str] = {}
        for word in words:
            self._name(word, "name")
        self._host(socket.gethostname())
        self._name(os.environ.get("LOGNAME") or os.environ.get("USER", ""), "user")

    # ---- learning ----

    def learn(self, value: Any, key: str = "", *, hosts: bool = True) -> None:
        """Learn the names in the fields of JSON.

        Parameters
        ----------
        key : key of the field.
        hosts : whether fields for hosts name real ones; those of an emulated network are called the same everywhere.
        """
        if isinstance(value, Mapping):
            for name, inner in value.items():
                if hosts and key in HOSTS:
                    self._host(str(name))
                self.learn(inner, key if key in HOSTS else str(name), hosts=hosts)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for inner in value:
                self.learn(inner, key, hosts=hosts)
        elif isinstance(value, str):
            self._learn_text(value, key, hosts)

    def _learn_text(self, text: str, key: str, hosts: bool) -> None:
        if hosts and (key in HOSTS or key.endswith("_NODELIST")):
            for word in _listed(text):
                self._host(word.partition(":")[0])
        elif key in USERS:
            self._name(text, "user")
        elif "guid" in key.lower() and re.fullmatch(r"[0-9A-Fa-f]{16}", text):  # in other places it would be any number
            self._put(text, self._of_form(f"guid {text.lower()}", lambda: self._next("guid")))
        elif key in FILES and text.startswith("/") and len(text) > 1:
            self._put(text, self._place(text))
        self.learn_homes(text)

    def learn_homes(self, text: str) -> None:
        """Learn the names of users from the home folders in a text."""
        if "/home/" in text or "/Users/" in text:
            for name in _HOME.findall(text):
                self._name(name, "user")

    def learn_printed(self, text: str) -> None:
        """Learn the names of hosts in what a tool printed: in its JSON, and as uname prints them."""
        for name in _PRINTED.findall(text):
            for host in _listed(name):
                self._host(host)
        self.learn_homes(text)

    def _host(self, name: str) -> None:
        """Learn a host; its short name and its name with the domain are the same host."""
        short, _, domain = name.partition(".")
        if _is_address(name) or not _NAME.fullmatch(short) or short.isdecimal():
            return
        self._name(short, "host")
        if domain and short in self._names:
            self._put(name, self._names[short])
            self._name(domain, "domain")
        for other in {short.lower(), short.upper()}:
            if short in self._names:
                self._put(other, self._names[short])

    def _name(self, name: str, kind: str) -> None:
        if name.lower() not in _ORDINARY and name not in self._names:
            self._put(name, self._next(kind))

    def _place(self, text: str) -> str:
        """Return the pseudonym of a path, which keeps the ending."""
        if text in self._names:
            return self._names[text]
        suffix = PurePosixPath(text).suffix
        return f"{PLACE}/{self._next('path')}{suffix if suffix in _ENDINGS else ''}"

    def _put(self, name: str, pseudonym: str) -> None:
        if name not in self._names:
            self._names[name] = pseudonym
            self._pattern, self._done = None, {}

    def _next(self, kind: str) -> str:
        self._counts[kind] += 1
        number = self._counts[kind]
        match kind:
            case "ipv4":
                return str(_NETWORKS[0][number % (1 << 17)])
            case "ipv6":
                return str(_NETWORKS[1][number])
            case "mac":
                return ":".join(f"{(2 << 40) + number:012x}"[at : at + 2] for at in range(0, 12, 2))
            case "guid":
                return f"0x{(2 << 56) + number:016x}"
        return f"{kind}-{number}"

    # ---- replacing ----

    def text(self, words: str, *, addresses: bool = True) -> str:
        """Return a text with pseudonyms.

        Parameters
        ----------
        addresses : whether numbers with three dots are addresses; in the text of a version they are not.
        """
        if (known := self._done.get((words, addresses))) is not None:
            return known

        def replaced(match: re.Match[str]) -> str:
            kind = match.lastgroup or ""
            if kind in ("name", "tail", "known"):
                return self._names[match["known" if kind == "known" else "name"]]
            return self._replaced(match[0], kind) if addresses or kind != "ipv4" else match[0]

        before = self._pattern or self._compiled()
        result = before.sub(replaced, words)
        if len(words) <= _LONGEST:
            self._done[words, addresses] = result
        return result

    def _compiled(self) -> re.Pattern[str]:
        """Return the pattern of all names and forms; longer names first, because one may contain another."""
        paths = sorted((name for name in self._names if name.startswith("/")), key=len, reverse=True)
        names = sorted((name for name in self._names if not name.startswith("/")), key=len, reverse=True)
        parts = [f"(?P<known>{'|'.join(map(re.escape, paths))})(?![\\w-])"] if paths else ["(?P<known>(?!))"]
        parts += [f"(?P<{kind}>{form})" for kind, form in _FORMS.items()]
        if names:  # with the domain of a host, if a text gives it; no tags of HTML
            every = "|".join(map(re.escape, names))
            tail = r"(?P<tail>(?:\.[A-Za-z][A-Za-z0-9-]*){2,})?"
            parts.append(f"(?<![A-Za-z0-9<])(?<!</)(?P<name>{every}){tail}(?![A-Za-z0-9])")
        self._pattern = re.compile("|".join(parts))
        return self._pattern

    def _replaced(self, found: str, kind: str) -> str:
        """Return the pseudonym of what has the form of a kind; the text itself if it is something else."""
        if kind == "list":
            hosts = _listed(found)
            known = any(host in self._names for host in hosts)
            return ",".join(self._names.get(host, host) for host in hosts) if known else found
        if kind == "path":
            return self._of_form(found, lambda: self._place(found))
        if kind == "gid":
            numbers = [int(number) for number in found.split(":")]
            address = _address(str(ipaddress.IPv6Address(bytes(numbers)))) if max(numbers) < 256 else ""
            if not address:
                return found
            other = ipaddress.IPv6Address(self._of_form(address, lambda: self._next("ipv6")))
            return ":".join(f"{number:02d}" for number in other.packed)
        if kind in ("ipv4", "ipv6"):
            plain = found if _address(found) or found.endswith("::") else found.removesuffix(":")
            address = _address(plain)
            return self._of_form(address, lambda: self._next(kind)) + found[len(plain) :] if address else found
        digits = re.sub("[:-]|0x", "", found).lower()  # one GUID is written in several ways
        if digits.startswith(_OURS):
            return found
        return self._of_form(f"{kind} {digits}", lambda: self._next(kind))

    def _of_form(self, name: str, make: Callable[[], str]) -> str:
        """Return the pseudonym of what is recognised by its form; it need not be part of the pattern."""
        if name not in self._forms:
            self._forms[name] = make()
        return self._forms[name]

    def value(self, value: Any, key: str = "") -> Any:
        """Return JSON with pseudonyms in its texts and keys, and without pictures."""
        if isinstance(value, str):
            return value if key in _RAW else self.text(value, addresses=key not in _VERSIONS)
        if isinstance(value, Mapping):
            inherited = key if key in _VERSIONS else ""
            return {
                self.text(name): self.value(inner, inherited or str(name))
                for name, inner in value.items()
                if name not in _PICTURES
            }
        if isinstance(value, list | tuple):
            return type(value)(self.value(inner, key) for inner in value)
        return value

    def known(self) -> Iterator[str]:
        """Yield the names that were replaced."""
        yield from self._names


def _listed(text: str) -> Sequence[str]:
    """Return the hosts of a list; none if it is not a list of hosts."""
    try:
        return host_list.named(text)
    except SpecError:
        return ()


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _address(text: str) -> str:
    """Return an address in its usual form; empty if it is none, or one that every machine has."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    common = address.is_loopback or address.is_unspecified or any(address in one for one in _NETWORKS)
    return "" if common else str(address)
