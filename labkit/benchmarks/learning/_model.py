"""Options of the small transformer that steps of training share, and their check."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.options import frozen
from labkit.options.learning import Ranks
from labkit.point.spec import Spec


@frozen
class Transformer(Ranks):
    """Options of the model.

    Parameters
    ----------
    layers : layers of a rank.
    width : width of the model; a perceptron is four times as wide.
    heads : heads of the attention; they divide the width.
    length : length of a sequence, tokens.
    batch : sequences at a time.
    """

    layers: int = 2
    width: int = 128
    heads: int = 4
    length: int = 32
    batch: int = 4


MOST: Mapping[str, int] = {"layers": 96, "width": 16384, "heads": 128, "length": 65536, "batch": 4096}


def beyond(spec: Spec, most: Mapping[str, int]) -> str:
    """Say which option is below 1 or above its limit; empty if none is."""
    for name, limit in most.items():
        if not 1 <= spec.values[name] <= limit:
            return f"{name}={spec.values[name]}, but it must be 1 to {limit}. Set {name}=1, or more."
    return ""


def check(spec: Spec[Transformer]) -> str:
    """Say what is wrong with a spec; empty if nothing is."""
    if complaint := beyond(spec, MOST):
        return complaint
    width, heads = spec.options.width, spec.options.heads
    if width % heads:
        return f"width={width}, but {heads} heads must divide it. Set width={max(1, width // heads) * heads}."
    return ""
