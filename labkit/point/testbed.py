"""The text that names a testbed: ``NAME[:ARG][,key=value…]``."""

from __future__ import annotations

from labkit.errors import SpecError


def parse(text: str) -> tuple[str, str, dict[str, str]]:
    """Split ``NAME[:ARG][,key=value…]`` into name, argument and options.

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
    names = [key.strip().replace("-", "_") for key, _, _ in pairs]
    if twice := next((key for key in names if names.count(key) > 1), ""):
        raise SpecError(f"testbed={text!r} sets {twice} twice. Set it once.")
    return name, argument, dict(zip(names, (value for _, _, value in pairs), strict=True))
