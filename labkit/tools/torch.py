"""torch.distributed: ranks of `labkit.kernels.learning`, run by any Python that has torch and started by a launcher."""

from __future__ import annotations

from pathlib import Path

import labkit.kernels.learning
from labkit.errors import SpecError
from labkit.host import allocation, pythons
from labkit.kernels.learning.plan import Plan
from labkit.options.learning import Call, Ranks
from labkit.point.notes import badge
from labkit.point.spec import Effort, Spec
from labkit.tools import _own_json
from labkit.tools._invocation import Invocation
from labkit.tools._tool import Tool

# reads the version without the import, which takes seconds
_TRY = """
import importlib.util, pathlib
spec = importlib.util.find_spec("torch")
values = {}
if spec and spec.origin:
    exec((pathlib.Path(spec.origin).parent / "version.py").read_text(), values)
print(values.get("__version__", ""))
"""
TOOL = Tool(
    name="torch",
    read_version=lambda: pythons.first(_TRY)[1] or "unknown",
    package="python3-torch",
    target="",
    purpose="learning.*",
)
ABSENT = "a python3 with torch (pip install 'labkit[learning]')"  # what is missing where no Python has it
_PROGRAM = str(Path(labkit.kernels.learning.__file__).parent / "__main__.py")
_START_S = 60.0  # the import of torch on a busy machine, and the meeting of the ranks
_COMMON = ("backend", "device", "cadence", "directory")  # options that are fields of the plan, or of the run
_WARMUP = 5
# NCCL takes the network as if the GPUs had no path of their own
_NETWORK = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_IB_DISABLE": "1"}
_SHARED_MEMORY = {"NCCL_P2P_DISABLE": "1"}


def interpreter() -> str:
    """Return the first Python that has torch, labkit's or the system's; empty if none has."""
    return pythons.first(_TRY)[0]


def collective(spec: Spec[Call], effort: Effort) -> Invocation:
    """A collective, timed as nccl-tests does."""
    _, _, name = spec.benchmark.partition(".")
    text = f"torch.distributed {name}: time of a call on the slowest rank. The mean over ranks of the whole loop over "
    text += "its iterations, as nccl-tests prints it, is a reported value."
    return _invocation(spec, effort, name, text, spec.options.cadence)


def training(spec: Spec[Ranks], effort: Effort) -> Invocation:
    """Steps of training."""
    _, _, name = spec.benchmark.partition(".")
    text = "torch: time of a step on the slowest rank, one step after the other, its phases on that rank."
    return _invocation(spec, effort, name, text)


def _invocation(
    spec: Spec[Ranks], effort: Effort, program: str, definition: str, cadence: str = "streaming"
) -> Invocation:
    """One start of the ranks.

    Raises
    ------
    SpecError
        For what the backend cannot do.
    """
    _refuse(spec)
    plan = Plan(
        program=program,
        ranks=spec.ranks,
        backend=spec.options.backend,
        device=spec.options.device,
        size=spec.size,
        cadence=cadence,
        iterations=effort.iterations or 0,
        warmup=_WARMUP if effort.warmup is None else effort.warmup,
        time_cap=effort.time_cap,
        interface=spec.device,
        seed=effort.seed,
        options={name: value for name, value in spec.values.items() if name not in _COMMON},
    )
    python = interpreter() or ABSENT
    paths = {"tcp": _NETWORK, "shm": _SHARED_MEMORY}.get(spec.transport, {}) if plan.backend == "nccl" else {}
    here = spec.testbed == "local" and not spec.hosts and allocation.current() is None
    return Invocation(
        tool=TOOL,
        needs=(python,),
        client=(python, "-I", _PROGRAM, plan.encode()),
        parse=_own_json.parsed,
        environment={"OMP_NUM_THREADS": "1", **paths},
        directory=spec.options.directory,
        definition=definition,
        duration=effort.time_cap + 5,
        time_limit=10 * effort.time_cap + _START_S + effort.time_limit,
        badges=(badge("loopback"),) if here and plan.backend == "gloo" and spec.ranks > 1 else (),
    )


def _refuse(spec: Spec[Ranks]) -> None:
    """Refuse what the backend cannot do.

    Raises
    ------
    SpecError
        If it cannot.
    """
    backend, device = spec.options.backend, spec.options.device
    if backend == "nccl" and device != "cuda":
        raise SpecError("backend=nccl moves data between GPUs only. Set device=cuda, or backend=gloo.")
    if backend == "gloo" and spec.transport == "shm":
        raise SpecError("transport=shm, but gloo talks over TCP, inside a host too. Set transport=tcp.")
