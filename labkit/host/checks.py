"""Checks of ``labkit doctor``: the machine, and the installed software. Pure functions of descriptions."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.io import extras, project
from labkit.io.programs import Program
from labkit.point.conditions import RAISE_QUOTA, Check, Facts, check, of_machine


def checks(description: Facts, installed: Facts, programs: Mapping[str, Program], *, ranks: int = 2) -> list[Check]:
    """Return everything that ``labkit doctor`` prints.

    Parameters
    ----------
    description : as from `labkit.host.describe`.
    installed : as from `labkit.host.installed` for the programs.
    programs : programs that labkit can use, by name: launchers, tools and `labkit.host.PROGRAMS`.
    ranks : processes to be measured.
    """
    software = [*_loaded_from(installed), *_software(installed, programs)]
    software += _programs(description, installed, programs)
    return [_cores(description, ranks), *of_machine(description), *software]


def _cores(facts: Facts, ranks: int) -> Check:
    usable, quota = facts["cpus_usable"], facts.get("cpu_quota")
    limit = f", control groups give the time of {quota:g}" if quota else ""
    lacking = quota is not None and quota < min(ranks + 1, len(facts["cpu_affinity"]))
    return check(
        "cores",
        usable > ranks,
        f"{usable} for {ranks} ranks ({facts['cpu_threads']} in the machine{limit})",
        f"{ranks + 1} or more: one per rank and one for the system",
        f"{RAISE_QUOTA}; processes wait once it is used up"
        if lacking
        else "measure on a larger machine or allocation; do not trust p99 and max here",
    )


def _loaded_from(installed: Facts) -> list[Check]:
    """Check the file system of what ranks load; nothing if nobody looked."""
    facts = installed.get("loaded_from")
    if facts is None:
        return []
    network, switch = facts["network"], facts["switch"]
    shared = ", ".join(f"{what} on {mount}" for what, mount in network.items())
    copies = "ranks load from copies on their nodes where they are many" if switch != "no" else "no copies on the nodes"
    return [
        check(
            "environment",
            not network or switch != "no",
            f"{shared}; {copies}" if network else f"{facts['filesystem']}, not on a network file system",
            "on a disk of each node, or copies on the nodes (LABKIT_STAGE=auto): else every rank asks the file server",
            "unset LABKIT_STAGE",
        )
    ]


def _software(installed: Facts, programs: Mapping[str, Program]) -> list[Check]:
    """Check MPI, compiled kernels, fonts and pyverbs."""
    programs_here, kernels = installed["programs"], installed["kernels"]
    mpis = [name for name, program in programs.items() if program.mpi]
    rootless = project.make("mpich") or extras.command("mpich")
    libraries = [
        f"{name} {programs_here[name]['version']} ({programs_here[name]['path']})"
        for name in mpis
        if name in programs_here
    ]
    return [
        check(
            "MPI",
            bool(libraries),
            ", ".join(libraries) or "none",
            f"one of {', '.join(mpis)}",
            f"{rootless}   # or install {programs[mpis[0]].package}, or load your site's module",
            bad=True,
        ),
        check(
            "kernels",
            len(kernels) == 2,
            f"compiled for {' and '.join(kernels)} handles" if kernels else "not compiled",
            "compiled for int and ptr handles; else mpi4py loops measure, with a higher cost per iteration",
            project.rebuild() if "cc" in programs_here else f"{programs['cc'].alone} && {project.rebuild()}",
        ),
        check(
            "fonts",
            installed["fonts"],
            "Liberation Sans" if installed["fonts"] else "no Liberation Sans",
            "Liberation Sans, for figures that look the same everywhere",
            "sudo apt-get install fonts-liberation",
        ),
        check(
            "pyverbs",
            bool(installed.get("pyverbs", True)),
            installed.get("pyverbs_explained", "not asked for"),
            "a Python that imports pyverbs",
            f"{programs['pyverbs'].remedy}; perftest and qperf work without it",
        ),
    ]


_CLIENTS = {"kv_client": "kv.*", "delayed_link": "delay, loss and ECN on virtual-cluster"}  # labkit's, and no tools


def _programs(facts: Facts, installed: Facts, programs: Mapping[str, Program]) -> list[Check]:
    """Check every other program; those of no use on this machine only if they are installed."""
    of_use = {"": True, "rdma": bool(facts.get("rdma_devices")), "slurm": False}
    unbuilt, build = installed.get("unbuilt", ()), f"{project.rebuild()}   # prints what the compiler says"
    lines = []
    for name, program in programs.items():
        library = installed.get("libraries", {}).get(name, "")
        program_here = {"version": library, "path": program.package} if library else installed["programs"].get(name)
        if program.mpi or (program_here is None and not of_use[program.needs]):
            continue
        if not program.commands and (program.read_version is None or name == "pyverbs"):  # which has a separate check
            continue
        lacks = "not built, although what builds it is installed" if program.built in unbuilt else "not installed"
        without = f"{lacks}{f'; instead: {program.instead}' if program.instead else ''}"
        lines.append(
            check(
                name,
                program_here is not None,
                f"{program_here['version']} ({program_here['path']})".removesuffix(" ()") if program_here else without,
                f"for {program.purpose}",
                build if program.built in unbuilt else program.remedy,
            )
        )
    clients = {name: use for name, use in _CLIENTS.items() if name in unbuilt}
    lines += [check(name, False, "not built", f"for {use}", build) for name, use in clients.items()]
    return lines


# While measuring.
