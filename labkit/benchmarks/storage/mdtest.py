"""Operations on files and directories of all ranks per second, by mdtest itself.

Items of all tasks divided by the time of the slowest task. mdtest prints the highest, lowest and mean rate over the
iterations of one start; the mean averages rates. storage.metadata has the same definition, and needs no mdtest.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.options.storage import Mdtest
from labkit.point.spec import Spec
from labkit.tools import mdtest


def _check(spec: Spec[Mdtest]) -> str:
    if spec.options.items < 1:
        return f"items={spec.options.items}, but it must be 1 or more. Set items=1000."
    for name, value in (("write_size", spec.options.write_size), ("shift", spec.options.shift)):
        if value < 0:
            return f"{name}={value}, but it must be 0 or more. Set {name}=0."
    if spec.options.write_size and not spec.options.operation.startswith("file"):
        return f"write_size={spec.options.write_size}, but directories hold no bytes. Set write_size=0."
    return ""


BENCHMARK = ProgramBenchmark(
    title="metadata operations (mdtest)",
    options=Mdtest,
    sized=False,
    metrics={"operation_rate_per_s": lambda spec: 1},
    tools=(mdtest.operations,),
    logs={"mdtest": {}},
    check=_check,
    cadence="streaming",
    size_label="request size (B)",
)
