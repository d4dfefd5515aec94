"""Where ranks and tools run: one file for each kind of testbed, named after it.

The file has a docstring, whose first line `labkit testbed list` prints, and one constant ``TESTBED`` (`Kind`).
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from labkit.errors import SpecError, unknown_name
from labkit.options import frozen
from labkit.point.conditions import Check
from labkit.point.notes import Note
from labkit.point.spec import Spec
from labkit.point.testbed import parse as parse
from labkit.testbeds._kept import Kept, noted, start_keeper, take_down, up
from labkit.tools import Place

if TYPE_CHECKING:
    from labkit.testbeds.simulation import Network

__all__ = [
    "Kept",
    "Kind",
    "Opened",
    "Testbed",
    "bring_up",
    "get",
    "kept_up",
    "lacks",
    "names",
    "noted",
    "open",
    "outline",
    "parse",
    "resolved",
    "take_down",
    "up",
    "with_options",
]

Tell = Callable[[str], None]
LIFETIME = 3600.0  # s, after which a testbed of `bring_up` ends by itself
OWNERS_LIFETIME = 30 * 86400.0  # s; a testbed of `kept_up` ends earlier, with its process


@dataclass(frozen=True)
class Testbed:
    """A place to run commands.

    Parameters
    ----------
    name : as the records show it.
    badges : badges that every number from it must carry.
    hosts : names of its hosts, for the launchers; empty for a single host.
    wrap : changes a command line to one that runs it on the testbed's first host.
    on : the same for the host of a name.
    remote_shell : program that starts a command on another host instead of ssh, if hosts share this machine;
        else empty.
    place : where the two ends of a tool run, and the words that fill their commands.
    evidence : counters of its links and devices at this moment: name → value.
    links : links whose counters ranks can read: name → table and interface, see `labkit.worker.links`.
    counters : counters of loss, pause and congestion of its hosts and switches at this moment: name → value; None for
        those of this machine.
    switches : process in whose network its switches are; 0 without any.
    facts : its properties, for the metadata.
    handle : plain values from which ``attach`` makes it again in another process; empty if that is impossible.
    rdma : variables of UCX for ranks that send over its RDMA devices.
    network : what is simulated in place of ranks and links; None for a place where something runs.
    guest : whether commands run on its own machine: it may see other folders, and gets no standard input.
    directory : where benchmarks of files work if they name none; empty for the folder of temporary files.
    """

    name: str
    badges: tuple[Note, ...] = ()
    hosts: tuple[str, ...] = ()
    wrap: Callable[[Sequence[str]], list[str]] = list
    on: Callable[[str, Sequence[str]], list[str]] = lambda host, argv: list(argv)
    remote_shell: str = ""
    place: Callable[[Spec], Place] = lambda spec: Place()
    evidence: Callable[[], Mapping[str, int]] = dict
    links: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    counters: Callable[[], Mapping[str, int]] | None = None
    switches: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)
    handle: Mapping[str, Any] = field(default_factory=dict)
    rdma: Mapping[str, str] = field(default_factory=dict)
    network: Network | None = None
    guest: bool = False
    directory: str = ""

    @property
    def guest_cores(self) -> int:
        """Cores of the emulated guest that runs the commands; 0 if this machine runs them."""
        return int(self.facts.get("cpus") or 0)


@frozen
class Kind:
    """A kind of testbed: what its file exports as ``TESTBED``.

    Parameters
    ----------
    open : context manager that brings a testbed up, yields it, and always takes it down; from the argument and options
        of a description. It refuses with a SpecError what it does not take.
    outline : what is known of a testbed before it is up; from argument and options, which it checks too.
    argument : the option that may stand after the colon; empty for none.
    attach : makes a testbed that another process keeps up, from its handle; None if there is nothing to keep up.
    absent : Debian packages that are missing; None if it needs none.
    shell : lines of the shell with which a user's own commands find one that is up, from its handle; empty for none.
    refusal : tries to bring one up if that is cheap, and returns why it does not come up.
    lacks : what this machine lacks for an argument and options; empty if nothing is known to be missing.
    settled : options in the form in which a description keeps them.
    adjustable : options that can be changed while it is up.
    adjusted : sets these, and removes those that are not given.
    name, doc : filled in from the file.
    """

    open: Callable[[str, Mapping[str, str]], AbstractContextManager[Testbed]]
    outline: Callable[[str, Mapping[str, str]], Testbed]
    argument: str = ""
    attach: Callable[[Mapping[str, Any]], Testbed] | None = None
    absent: Callable[[], list[str]] | None = None
    shell: Callable[[Mapping[str, Any]], str] = lambda handle: ""
    refusal: Callable[[], str] = str
    lacks: Callable[[str, Mapping[str, str]], str] = lambda argument, options: ""
    settled: Callable[[Mapping[str, str]], dict[str, str]] = dict
    adjustable: tuple[str, ...] = ()
    adjusted: Callable[[Testbed, Mapping[str, str]], Testbed] = lambda testbed, options: testbed
    name: str = ""
    doc: str = ""


@cache
def names() -> list[str]:
    """Return the names of all testbeds that have a file."""
    modules = (
        module.name for module in pkgutil.iter_modules(__path__) if not (module.ispkg or module.name.startswith("_"))
    )
    return sorted(name.replace("_", "-") for name in modules)


def checks() -> list[Check]:
    """Check for each testbed whether it can be brought up; for ``labkit doctor``."""
    found = []
    for name in names():
        kind = get(name)
        if kind.absent is None:
            continue
        packages = kind.absent()
        refused = "" if packages else kind.refusal()
        text = f"needs {', '.join(packages)}" if packages else refused or "can be brought up"
        state: Literal["ok", "warn"] = "warn" if packages or refused else "ok"
        remedy = f"sudo apt-get install {' '.join(packages)}" if packages else ""
        found.append(Check(f"testbed {name}", state, text, f"labkit testbed up {name}", remedy))
    return found


@cache
def get(name: str) -> Kind:
    """Return the kind of testbed of that name, from its file.

    Raises
    ------
    SpecError
        If there is none, or its file does not define one.
    """
    if name not in names():
        raise unknown_name("testbed", name, names())
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    kind = getattr(module, "TESTBED", None)
    if not isinstance(kind, Kind):
        raise SpecError(
            f"{module.__file__} defines no TESTBED. Define a Kind of labkit.testbeds, as CONTRIBUTING.md shows, or "
            "move the file away."
        )
    return dataclasses.replace(kind, name=name, doc=module.__doc__ or "")


def text_of(name: str, argument: str, options: Mapping[str, str]) -> str:
    """Return the description of a testbed, the inverse of `parse`; options in the order of their names.

    Examples
    --------
    >>> text_of("virtual-cluster", "4", {"rate": "200mbit"})
    'virtual-cluster:4,rate=200mbit'
    """
    by_name = {key.replace("-", "_"): value for key, value in options.items()}
    argument = argument or by_name.pop(get(name).argument, "")
    head = f"{name}:{argument}" if argument else name
    return ",".join([head, *(f"{key}={by_name[key]}" for key in sorted(by_name))])


def open(text: str, tell: Tell = lambda words: None) -> AbstractContextManager[Testbed]:
    """Open the testbed of a description, as a context manager. A testbed that is up is used, and stays up.

    Parameters
    ----------
    text : ``NAME[:ARG][,key=value…]``.
    tell : called with a text on each step.

    Raises
    ------
    SpecError
        If no testbed has that name, or it does not accept the argument or an option.
    LaunchError
        If it does not come up.
    """
    name, argument, options = parse(text)
    kind = get(name)
    description = text_of(name, argument, options)
    if kind.attach is not None:
        if running := next((one for one in up() if one.text == description), None):
            return nullcontext(kind.attach(running.handle))
        tell(f"bringing up {description}")
    return kind.open(argument, options)


def with_options(text: str, **options: str) -> str:
    """Return the description of a testbed with further options, in place of its options of the same name.

    Examples
    --------
    >>> with_options("virtual-cluster:4,delay=1ms", delay="4ms")
    'virtual-cluster:4,delay=4ms'
    """
    name, argument, own = parse(text)
    return text_of(name, argument, {**own, **options})


def running(text: str) -> str:
    """Return the full description that a bare testbed name represents: that of the running testbed, if one is up.

    Raises
    ------
    SpecError
        If several testbeds of that name are up.
    """
    if "," in text or ":" in text:
        return text
    found = [one.text for one in up() if parse(one.text)[0] == text]
    if len(found) > 1:
        raise SpecError(f"testbed={text!r}, but {len(found)} of them are up: {'; '.join(found)}. Name one of these.")
    return found[0] if found else text


def outline(text: str) -> Testbed:
    """Return what is known of a testbed before it is up: its hosts, its facts.

    Raises
    ------
    SpecError
        If no testbed has that name, or it does not accept the argument or an option.
    """
    name, argument, options = parse(text)
    return get(name).outline(argument, options)


@contextmanager
def kept_up(text: str, tell: Tell = lambda words: None) -> Iterator[None]:
    """Keep a testbed up for as long as the context lasts, also for processes that are started meanwhile."""
    text = text_of(*parse(text))
    with ExitStack() as stack:
        if get(parse(text)[0]).attach and all(one.text != text for one in up()):
            testbed = stack.enter_context(open(text, tell))
            stack.enter_context(noted(text, OWNERS_LIFETIME, testbed.handle))
        yield


class Opened:
    """Testbeds of one run: each is brought up once, at its first use.

    Parameters
    ----------
    stack : takes them down when it is closed.
    tell : called with a text on each step.
    """

    def __init__(self, stack: ExitStack, tell: Tell = lambda words: None) -> None:
        self._stack, self._tell, self._opened = stack, tell, dict[str, Testbed]()

    def get(self, text: str) -> Testbed:
        """Return the testbed of a description, with its adjustable options set."""
        name, argument, options = parse(text)
        kind = get(name)
        adjustable = {key: options.pop(key) for key in list(options) if key in kind.adjustable}
        base = text_of(name, argument, options)
        if base not in self._opened:
            running = next((one for one in usable() if base_of(one.text) == base), None)
            bringing_up = open(running.text if running else base, self._tell)
            self._opened[base] = self._stack.enter_context(bringing_up)
        return kind.adjusted(self._opened[base], adjustable)


def usable() -> list[Kept]:
    """Return the testbeds that are up and have a file here; another version of labkit may have others."""
    return [one for one in up() if parse(one.text)[0] in names()]


def lacks(text: str) -> str:
    """Say what this machine lacks for the testbed of a description; empty if nothing is known to be missing."""
    name, argument, options = parse(text)
    return get(name).lacks(argument, options)


def base_of(text: str) -> str:
    """Return a description without the options that can be changed while the testbed is up."""
    name, argument, options = parse(text)
    fixed = {key: value for key, value in options.items() if key not in get(name).adjustable}
    return text_of(name, argument, fixed)


def resolved(text: str) -> str:
    """Return the full description: a bare name represents the only testbed of that name that is up, if there is one."""
    name, argument, options = parse(text)
    if not argument and not options:
        matching = [one.text for one in usable() if parse(one.text)[0] == name]
        if len(matching) == 1:
            return matching[0]
    return text_of(name, argument, get(name).settled(options))


def bring_up(text: str, *, lifetime: float = LIFETIME) -> Kept:
    """Start a process that brings a testbed up and keeps it up; return when it is up.

    Parameters
    ----------
    lifetime : time in s, after which the testbed ends by itself.

    Raises
    ------
    SpecError
        If there is no such testbed, or it need not be brought up.
    LaunchError
        If it does not come up; with the output of its daemon.
    """
    text = text_of(*parse(text))
    if get(parse(text)[0]).attach is None:
        raise SpecError(f"The testbed {text} is always available. Use it with --testbed {text}.")
    return next((one for one in up() if one.text == text), None) or start_keeper(text, lifetime)
