"""The model that learners fit: a line of latency and bandwidth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.errors import DataError
from labkit.point.units import format_exact, plural


def alpha_beta(sizes: ArrayLike, times: ArrayLike) -> tuple[float, float]:
    """Fit latency α and time per byte β of ``t = α + β·m``, by least squares of relative residuals.

    Parameters
    ----------
    sizes : B; at least two different ones.
    times : in any unit, above 0.

    Returns
    -------
    α in the unit of the times, β in that unit per B.

    Raises
    ------
    DataError
        If there are too few sizes, or a time is not above 0.

    Examples
    --------
    >>> alpha, beta = alpha_beta([0, 1000, 2000], [5.0, 6.0, 7.0])
    >>> round(alpha, 6), round(beta, 6)
    (5.0, 0.001)
    """
    m, t = np.asarray(sizes, np.float64), np.asarray(times, np.float64)
    if len(set(m.tolist())) < 2 or (t <= 0).any():
        raise DataError(
            f"{plural(len(m), 'size')} with times from {format_exact(float(t.min(initial=0)))}, but a line needs 2 "
            "sizes and "
            "times above 0."
        )
    beta, alpha = np.polyfit(m, t, 1, w=1 / t)
    return float(alpha), float(beta)


def off_the_line(sizes: NDArray[np.float64], times: NDArray[np.float64], alpha: float, beta: float) -> float:
    """Return the distance of the worst point from the line, as a share of its time."""
    return float(np.max(np.abs(alpha + beta * sizes - times) / times))
