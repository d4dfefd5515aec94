"""Values of a study that are computed once for the same inputs, and again when an input has changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Derived(Generic[T]):
    """A property that is a function of inputs. It caches the last value with its inputs.

    Parameters
    ----------
    make : the property's function.
    inputs : returns the inputs of an object. Tuples and plain values are compared. Anything else, such as a table or a
        list of samples, must be the same object.
    """

    def __init__(self, make: Callable[[Any], T], inputs: Callable[[Any], Sequence[Any]]) -> None:
        self._make, self._inputs, self.__doc__ = make, inputs, make.__doc__
        self._slot = f"_derived_{make.__name__}"

    @overload
    def __get__(self, study: None, kind: type) -> Derived[T]: ...
    @overload
    def __get__(self, study: object, kind: type) -> T: ...
    def __get__(self, study: Any, kind: type) -> Any:
        """Return the value for the present inputs."""
        if study is None:
            return self
        inputs = tuple(self._inputs(study))
        cached = study.__dict__.get(self._slot)
        if cached is None or not _same(cached[0], inputs):
            cached = study.__dict__[self._slot] = (inputs, self._make(study))
        return cached[1]


def _same(before: Sequence[Any], now: Sequence[Any]) -> bool:
    """Whether inputs are the same as before."""
    return len(before) == len(now) and all(map(_alike, before, now))


def _alike(before: Any, now: Any) -> bool:
    return before is now or (isinstance(before, Hashable) and isinstance(now, Hashable) and bool(before == now))


def derived(inputs: Callable[[Any], Sequence[Any]]) -> Callable[[Callable[[Any], T]], Derived[T]]:
    """Make a property of a function of the inputs named."""
    return lambda make: Derived(make, inputs)


def of_samples(make: Callable[[Any], T]) -> Derived[T]:
    """Make a property of a function of the study's samples."""
    return Derived(make, lambda study: (study.samples,))
