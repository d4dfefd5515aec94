"""Shared by rules about the number of launches."""

from labkit import stats
from labkit.point.units import plural

MUST = f"at least {plural(stats.LAUNCHES, 'launch')}, for a 95 % interval"
REMEDY = f"Run again with --launches {stats.LAUNCHES}; labkit adds the missing launches."
IMPORTED = f"To import launches, run the tool {stats.LAUNCHES} times, and import all outputs with one --testbed."
