"""The theoretical peak of a core: its clock times the double-precision operations that its vector units do in a cycle.

A processor reports its instructions, but not how many units execute them. That is from the vendors' optimisation
manuals, for x86. A core may run faster than its nominal clock, or slower under wide vectors; so a program may exceed
this peak. Compare shares of it between runs on one machine rather than between machines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from labkit.host.machine import cpuinfo, number
from labkit.point.units import format_number

_CPU0 = Path("/sys/devices/system/cpu/cpu0")
_ZEN_2, _ZEN_5 = (0x17, 0x30), 0x1A  # family and model; family


@dataclass(frozen=True)
class Peak:
    """Peak performance of a core.

    Parameters
    ----------
    gflops : double-precision operations per second, 10^9; of one core.
    method : how that was worked out, as a phrase.
    """

    gflops: float
    method: str


def of_core() -> Peak | None:
    """Return the theoretical peak of a core of this machine; None if labkit does not know its clock or units."""
    cpu = cpuinfo()
    base, nominal = number(_CPU0 / "cpufreq/base_frequency"), number(_CPU0 / "acpi_cppc/nominal_freq")
    return worked_out(cpu, (base or 0) / 1e6 or (nominal or 0) / 1e3)


def worked_out(cpu: Mapping[str, str], base: float = 0.0) -> Peak | None:
    """Return the peak of a core from a paragraph of /proc/cpuinfo.

    Parameters
    ----------
    cpu : key → value.
    base : base clock that the kernel shows, GHz; 0 if it shows none.

    Examples
    --------
    >>> flags = "avx avx2 fma avx512f constant_tsc"
    >>> worked_out({"vendor_id": "GenuineIntel", "flags": flags, "model name": "X @ 2.50GHz"}).gflops
    80.0
    """
    clock, units = _clock(cpu, base), _units(cpu)
    if not clock or not units:
        return None
    method = f"{format_number(clock[0], 'GHz')} ({clock[1]}) × {units[0]} flop in a cycle ({units[1]})"
    return Peak(clock[0] * units[0], method)


def _clock(cpu: Mapping[str, str], base: float) -> tuple[float, str] | None:
    """The clock of a core, GHz, and where it stands."""
    if base:
        return base, "base clock"
    if named := re.search(r"@ ([\d.]+) ?GHz", cpu.get("model name", "")):
        return float(named[1]), "clock in the processor's name"
    if "constant_tsc" in cpu.get("flags", "").split() and "bogomips" in cpu:
        return float(cpu["bogomips"]) / 2e3, "rate of the time stamp counter"
    return None


def _units(cpu: Mapping[str, str]) -> tuple[int, str] | None:
    """Double-precision operations of a core in a cycle, and what does them."""
    flags = set(cpu.get("flags", "").split())
    amd = cpu.get("vendor_id") in ("AuthenticAMD", "HygonGenuine")
    family, model = int(cpu.get("cpu family", 0)), int(cpu.get("model", 0))
    if "avx512f" in flags and (not amd or family >= _ZEN_5):
        return 32, "AVX-512: two FMA units of 8 doubles" + ("" if amd else ", as server processors have")
    if {"avx2", "fma"} <= flags and amd and (family, model) < _ZEN_2:
        return 8, "AVX2: two FMA units of 2 doubles"
    if {"avx2", "fma"} <= flags:
        return 16, "AVX2: two FMA units of 4 doubles"
    if "avx" in flags:
        return 8, "AVX: an adder and a multiplier of 4 doubles"
    return (4, "SSE2: an adder and a multiplier of 2 doubles") if "sse2" in flags else None
