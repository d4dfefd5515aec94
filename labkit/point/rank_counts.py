"""Numbers of ranks that a partition of the problem allows; for a wrong number, the error and the right one."""

from __future__ import annotations

from math import isqrt


def not_square(ranks: int, what: str, *, least: int = 1) -> str:
    """Say what is wrong with a number of ranks that must be a square; empty if nothing is.

    Parameters
    ----------
    ranks : number of ranks.
    what : that needs it, as the subject of the sentence.
    least : the smallest number that is possible, a square.

    Examples
    --------
    >>> not_square(5, "BT")
    'ranks=5, but BT needs a square. Set ranks=4 or 9.'
    """
    side = isqrt(ranks)
    if side**2 == ranks:
        return ""
    near = dict.fromkeys((max(side**2, least), (side + 1) ** 2))
    return f"ranks={ranks}, but {what} needs a square. Set ranks={' or '.join(map(str, near))}."


def not_power_of_two(ranks: int, what: str, *, most: int | None = None) -> str:
    """Say what is wrong with a number of ranks that must be a power of two; empty if nothing is.

    Parameters
    ----------
    ranks : number of ranks.
    what : that needs it, as the subject of the sentence.
    most : the largest number that is possible; None if there is none.

    Examples
    --------
    >>> not_power_of_two(6, "FT"), not_power_of_two(6, "FT", most=4)
    ('ranks=6, but FT needs a power of two. Set ranks=4 or 8.', 'ranks=6, but FT needs a power of two. Set ranks=4.')
    """
    below = 1 << (ranks.bit_length() - 1)
    if ranks == below:
        return ""
    above = f" or {2 * below}" if most is None or 2 * below <= most else ""
    return f"ranks={ranks}, but {what} needs a power of two. Set ranks={below}{above}."
