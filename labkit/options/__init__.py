"""Options of benchmarks that tools or ranks read: one module for each family of tools, `ranks` for ranks."""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import cache
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")


class _Shared:
    """What the classes that `frozen` makes share."""

    def __init__(self, **given: Any) -> None:
        values, known = {}, _fields(cast("Any", type(self)))
        if unexpected := given.keys() - {name for name, *_ in known}:
            raise TypeError(f"{type(self).__name__} got an unexpected keyword argument {min(unexpected)!r}")
        for name, default, factory in known:
            if name in given:
                values[name] = given[name]
            elif factory is not MISSING:
                values[name] = factory()
            elif default is not MISSING:
                values[name] = default
            else:
                raise TypeError(f"{type(self).__name__} is missing the keyword argument {name!r}")
        vars(self).update(values)
        if finish := getattr(self, "__post_init__", None):
            finish()

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__qualname__}({values})"


@cache
def _fields(cls: type[Any]) -> list[tuple[str, Any, Any]]:
    """Return the fields of a class: name, default, and what makes a default."""
    return [(one.name, one.default, one.default_factory) for one in fields(cls)]


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass with keywords. All such classes share their functions.

    ``dataclass(frozen=True)`` compiles six functions for each class: 0.4 ms of every command and every rank, which
    load 50 such classes. A class that inherits from one of these is made by `frozen`, too.

    Examples
    --------
    >>> @frozen
    ... class Options:
    ...     window: int = 64
    >>> Options(window=2), Options() == Options(window=64)
    (Options(window=2), True)
    """
    made = dataclass(kw_only=True, init=False, repr=False, eq=False)(cls)
    for name, function in vars(_Shared).items():
        if callable(function) and name not in vars(cls):
            setattr(made, name, function)
    return made
