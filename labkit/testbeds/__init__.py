"""Where ranks and tools run: one file a testbed.

A testbed's file offers ``open(argument, options)``, a context manager that brings it up, yields a `Testbed` and takes
it down whatever happens; ``ARGUMENT``, the option that may stand after the colon; and, where it makes sense,
``attach(handle)`` for one that another process keeps up, ``absent()`` with the packages it needs and has not,
``outline(argument, options)`` for what is known of it before it is up, and ``ADJUSTABLE`` with ``adjusted(testbed,
options)`` for options that can be changed while it is up.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, Literal

from labkit.errors import SpecError, known
from labkit.host.checks import Check
from labkit.notes import Note
from labkit.spec import Spec
from labkit.testbeds._kept import Kept, noted, start_keeper, take_down, up
from labkit.tools import Place

__all__ = [
    "Kept",
    "Opened",
    "Testbed",
    "bring_up",
    "held",
    "names",
    "noted",
    "open",
    "outline",
    "parse",
    "resolved",
    "take_down",
    "up",
]

Tell = Callable[[str], None]
LIFETIME = 3600.0  # s; what `bring_up` keeps up ends by itself after that
HELD = 30 * 86400.0  # s; what `held` keeps up ends with its process


@dataclass(frozen=True)
class Testbed:
    """A place to run commands.

    Parameters
    ----------
    name : as the records show it.
    badges : what every number from it must carry.
    hosts : names of its hosts, for the launchers; empty where it is a single one.
    wrap : the command line that runs another one there; on its first host.
    on : the same on the host of a name.
    remote_shell : program that starts a command on another host, in the place of ssh, where hosts share this
        machine; empty where they are machines of their own.
    place : where the two ends of a tool run, and the words that fill their commands.
    evidence : counters of its links and devices at this moment: name → value.
    links : those of its links that ranks can read themselves: name → table and interface, see `labkit.worker.links`.
    facts : for the metadata: what it is made of.
    handle : plain values from which ``attach`` makes it again in another process; empty where that cannot be.
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
    facts: Mapping[str, Any] = field(default_factory=dict)
    handle: Mapping[str, Any] = field(default_factory=dict)


@cache
def names() -> list[str]:
    """All testbeds there are files for."""
    found = (module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return sorted(name.replace("_", "-") for name in found)


def checks() -> list[Check]:
    """For each testbed that must be brought up, whether it can be; for ``labkit doctor``."""
    found = []
    for name in names():
        module = module_of(name)
        if hasattr(module, "absent"):
            packages = module.absent()
            there = "can be brought up" if not packages else f"needs {', '.join(packages)}"
            remedy = f"sudo apt-get install {' '.join(packages)}" if packages else ""
            state: Literal["ok", "warn"] = "warn" if packages else "ok"
            found.append(Check(f"testbed {name}", state, there, f"labkit testbed up {name}", remedy))
    return found


def module_of(name: str) -> ModuleType:
    """A testbed's file.

    Raises
    ------
    SpecError
        If there is none of that name.
    """
    if name not in names():
        raise known("testbed", name, names())
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def parse(text: str) -> tuple[str, str, dict[str, str]]:
    """Name, argument and options of ``NAME[:ARG][,key=value…]``.

    Examples
    --------
    >>> parse("virtual-cluster:4,rate=200mbit")
    ('virtual-cluster', '4', {'rate': '200mbit'})
    """
    head, _, rest = text.partition(",")
    name, _, argument = head.partition(":")
    pairs = [pair.partition("=") for pair in rest.split(",") if pair]
    if any(not equals for _, equals, _ in pairs):
        raise SpecError(f"testbed={text!r}: after the first comma, write key=value pairs.")
    return name, argument, {key.replace("-", "_"): value for key, _, value in pairs}


def text_of(name: str, argument: str, options: Mapping[str, str]) -> str:
    """The inverse of `parse`; options in the order of their names.

    Examples
    --------
    >>> text_of("virtual-cluster", "4", {"rate": "200mbit"})
    'virtual-cluster:4,rate=200mbit'
    """
    own = {key.replace("-", "_"): value for key, value in options.items()}
    argument = argument or own.pop(getattr(module_of(name), "ARGUMENT", ""), "")
    head = f"{name}:{argument}" if argument else name
    return ",".join([head, *(f"{key}={own[key]}" for key in sorted(own))])


def open(text: str, tell: Tell = lambda words: None) -> AbstractContextManager[Testbed]:
    """The testbed of that description, as a context manager; one that is up is used, and stays up.

    Parameters
    ----------
    text : ``NAME[:ARG][,key=value…]``.
    tell : hears what is going on.

    Raises
    ------
    SpecError
        If there is none of that name, or it does not take the argument or an option.
    LaunchError
        If it does not come up.
    """
    name, argument, options = parse(text)
    module = module_of(name)
    asked = text_of(name, argument, options)
    kept = next((one for one in up() if one.text == asked), None)
    if kept is not None:
        return nullcontext(module.attach(kept.handle))
    if name != "local":
        tell(f"bringing up {asked}")
    opened: AbstractContextManager[Testbed] = module.open(argument, options)
    return opened


def outline(text: str) -> Testbed:
    """What is known of a testbed that need not be up: its hosts, its facts.

    Raises
    ------
    SpecError
        If there is none of that name, or it does not take the argument or an option.
    """
    name, argument, options = parse(text)
    module = module_of(name)
    known: Testbed = module.outline(argument, options) if hasattr(module, "outline") else Testbed(name)
    return known


@contextmanager
def held(text: str, tell: Tell = lambda words: None) -> Iterator[None]:
    """Keep a testbed up for as long as the context lasts, also for processes that are started meanwhile."""
    text = text_of(*parse(text))
    with ExitStack() as stack:
        if hasattr(module_of(parse(text)[0]), "attach") and all(one.text != text for one in up()):
            testbed = stack.enter_context(open(text, tell))
            stack.enter_context(noted(text, HELD, testbed.handle))
        yield


class Opened:
    """Testbeds of one run: each is brought up when first asked for, and once.

    Parameters
    ----------
    stack : takes them down when it is closed.
    tell : hears what is going on.
    """

    def __init__(self, stack: ExitStack, tell: Tell = lambda words: None) -> None:
        self._stack, self._tell, self._held = stack, tell, dict[str, Testbed]()

    def get(self, text: str) -> Testbed:
        """The testbed of that description, with its adjustable options as they are asked for."""
        name, argument, options = parse(text)
        module = module_of(name)
        later = {key: options.pop(key) for key in list(options) if key in getattr(module, "ADJUSTABLE", ())}
        base = text_of(name, argument, options)
        if base not in self._held:
            kept = next((one for one in ours() if base_of(one.text) == base), None)
            opened = open(kept.text if kept else base, self._tell)
            self._held[base] = self._stack.enter_context(opened)
        testbed = self._held[base]
        return module.adjusted(testbed, later) if hasattr(module, "adjusted") else testbed


def ours() -> list[Kept]:
    """Those that are up of the kinds there are files for; another version of labkit may have others."""
    return [one for one in up() if parse(one.text)[0] in names()]


def base_of(text: str) -> str:
    """A description without what can be changed while the testbed is up."""
    name, argument, options = parse(text)
    adjustable = getattr(module_of(name), "ADJUSTABLE", ())
    return text_of(name, argument, {key: value for key, value in options.items() if key not in adjustable})


def resolved(text: str) -> str:
    """The full description: a bare name stands for the one of that name that is up, if it is the only one."""
    name, argument, options = parse(text)
    module_of(name)
    if not argument and not options:
        kept = [one.text for one in ours() if parse(one.text)[0] == name]
        if len(kept) == 1:
            return kept[0]
    return text_of(name, argument, options)


def bring_up(text: str, *, lifetime: float = LIFETIME) -> Kept:
    """Have a process of its own bring a testbed up and keep it up; returns when it is.

    Parameters
    ----------
    lifetime : s after which it ends by itself.

    Raises
    ------
    SpecError
        If there is no such testbed, or nothing of it to bring up.
    LaunchError
        If it does not come up; with what its daemon said.
    """
    text = text_of(*parse(text))
    if not hasattr(module_of(parse(text)[0]), "attach"):
        raise SpecError(f"The testbed {text} is always available. Use it with --testbed {text}.")
    return next((one for one in up() if one.text == text), None) or start_keeper(text, lifetime)
