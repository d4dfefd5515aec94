"""Results of the NAS Parallel Benchmarks (``print_results`` of NPB 2 and 3, in Fortran and C; MPI, OpenMP, serial).

``Mop/s total`` are the operations of the kernel by its own formula over the timed seconds, of all processes together:
flops in most kernels, keys ranked in IS, random numbers in EP. So rates of two kernels do not compare. DT prints the
name of its graph in place of its own, such as ``DT_BH.S``.
"""

from __future__ import annotations

import re

from labkit.formats import metric
from labkit.formats.reading.log import CUT, NUMBER, Lines, Log, Run, settings
from labkit.point.notes import note

CLOCK_NS = 1e7  # prints s with two decimals
_BEGINS = re.compile(r" {0,3}([A-Z]{2}(?:-MZ)?)(?:_([A-Z]{2})\.[A-Z])?(?: Multi-Zone)? Benchmark Completed")
_PAIR = r" *{} *= *(\S.*)$"
_PROCESSES = r" *(?:Total (?:number of )?proc(?:esse)?s|Active procs|Total processes) *= *(\d{1,9})"
_THREADS = r" *(?:Total )?[Tt]hreads *= *(\d{1,9})"
_OPTYPE = r" *Operation type *= *(\S.*)$"
Found = tuple[int, re.Match[str]] | None


def runs(text: str, where: str) -> list[Run]:
    """Return one run per kernel that completed."""
    lines, made = Lines(text, where), []
    for first, last, kernel in lines.blocks(_BEGINS):
        made.append(_run(lines, first, last, kernel[1], kernel[2]))
    return made


def _run(lines: Lines, first: int, last: int, kernel: str, graph: str | None) -> Run:
    """Read the results of one kernel; only DT has a graph."""
    _, letter = lines.need(r" *[Cc]lass *= *([A-Z])$", first, last, "a line 'Class = …'")
    at, seconds = lines.need(rf" *Time in seconds *= *({NUMBER})$", first, last, "a line 'Time in seconds = …'")
    rate_at, rate = lines.need(rf" *Mop/s total *= *({NUMBER})$", first, last, "a line 'Mop/s total = …'")
    end, check = lines.need(r" *Verification *= *([A-Z ]+)$", first, last, "a line 'Verification = …'")
    version = lines.find(_PAIR.format("Version"), first, last)
    time, operations = lines.number(seconds[1], at), lines.number(rate[1], rate_at)
    if time < 0:
        raise lines.wrong(at, "a time of 0 s or more: the program's clock is broken")
    processes, threads = lines.find(_PROCESSES, first, end), lines.find(_THREADS, first, end)
    optype = lines.find(_OPTYPE, first, end)
    size = lines.find(_PAIR.format("Size"), first, end)
    right = check[1].strip() == "SUCCESSFUL"
    doubts = []
    if not right:
        words = check[1].strip().lower()
        doubts.append(note("wrong-result", f"the kernel's own verification was {words}"))
    in_c = version is not None and not re.match(r"2|3\.[0-2]", version[1][1])  # from NPB 3.3 on C prints no RAND
    closing = lines.find(r" *RAND +=", end, last) or (lines.find(r" *CLINKFLAGS +=", end, last) if in_c else None)
    if not closing:
        doubts.append(CUT)
    if time < 0.1:
        took = f"{time:g} s" if time else "less than 0.01 s"
        text = f"the timed part took {took}, printed with two decimals: its time is coarse"
        doubts.append(note("coarse-time", text, seconds=time))
    values = [metric("run_time_s", "value", time)] if time else []
    values += [metric("operations_Mops", "value", operations)] if operations > 0 else []
    if not values:
        raise lines.wrong(rate_at, "a rate above 0: the problem is too small for the program's clock")
    return Run(
        test=f"NPB {kernel}",
        values=tuple(values),
        line=first,
        ranks=int(processes[1][1]) if processes else 1,
        options={
            "kernel": kernel,
            "npb_class": letter[1],
            "threads": _of_each(processes, threads),
            **_model(processes, threads),
            **({"graph": graph} if graph else {}),
        },
        stated=_stated(lines.texts[first - 1 : closing[0] if closing else last]),
        parameters={"operation": optype[1][1] if optype else "", "size": size[1][1].strip() if size else ""},
        version=version[1][1].strip() if version else "",
        verified=right,
        doubts=tuple(doubts),
        source=lines.source(first, end + 2),
    )


def _of_each(processes: Found, threads: Found) -> int | None:
    """Threads of each process; None if the processes have different numbers of them."""
    total, many = int(threads[1][1]) if threads else 1, int(processes[1][1]) if processes else 1
    if not (threads and processes):
        return total
    return total // many if total % many == 0 else None


def _model(processes: Found, threads: Found) -> dict[str, str]:
    """The version of the program, where its output states processes or threads."""
    return {"model": "mpi" if processes else "openmp"} if processes or threads else {}


_SETTINGS = ("iterations", "active_threads", "total_threads", "total_processes", "active_processes")
_COMPILED = re.compile(r" *((?:MPI)?(?:F77|FC|CC)|[FC]LINK|[FC](?:MPI)?_(?:LIB|INC)|[FC](?:LINK)?FLAGS|RAND) += (.*)$")


def _stated(texts: list[str]) -> dict[str, str]:
    """Return iterations, processes and compile options."""
    found = {name: value for name, value in settings(texts).items() if name in _SETTINGS}
    compiled = filter(None, map(_COMPILED.match, texts))
    return found | {pair[1].lower(): pair[2].strip() for pair in compiled}


LOG = Log("NPB", ("Benchmark Completed",), _BEGINS, runs)
