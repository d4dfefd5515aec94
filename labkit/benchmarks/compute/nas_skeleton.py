"""Messages of NAS BT, SP and LU without their computation: communication skeletons.

The same messages between the same ranks in the same order as NPB's, step after step, and nothing in between: no number
is computed, so there is no rate of operations and no result to publish. The computation that NPB overlaps with messages
is missing, so a skeleton shows the cost of its messages alone. The first and last element of each message hold its
sender, receiver, tag and number. A wrong or missing one fails the run. An iteration is a whole run, after one untimed
step. The slowest rank determines its time; communication is the part inside MPI, the rest writes and checks the names.
LU receives its layers from the neighbour by its number, where NPB takes any source.
"""

from collections.abc import Sequence

import numpy as np

from labkit.benchmarks import ApplicationBenchmark
from labkit.benchmarks.compute import _nas, _skeletons
from labkit.benchmarks.compute._skeletons import PROBLEMS as PROBLEMS
from labkit.benchmarks.compute._skeletons import check as check
from labkit.point.spec import Spec


def _peers(spec: Spec[_nas.Options], rank: int) -> Sequence[int]:
    return [number for call in _skeletons.calls(spec, rank) for number in call]


def _work(spec: Spec[_nas.Options]) -> dict[str, object]:
    return {"places": np.array([_skeletons.memory(spec), _skeletons.steps(spec), _skeletons.stride(spec)], np.int64)}


def _form(name: str, problem: _skeletons.Problem) -> ApplicationBenchmark:
    return ApplicationBenchmark(
        title=f"messages of NAS {name.upper()} (communication skeleton)",
        doc=f"{problem.doc}\n\n{__doc__}",
        kernel="nas_skeleton",
        options=_nas.Options,
        sized=False,
        ranks=(2, None),
        check=_skeletons.check,
        dtype=lambda spec: "float64",
        requests=lambda spec: _skeletons.SLOTS,
        peers=_peers,
        buffers=lambda spec: (_skeletons.memory(spec), _nas.received(spec)),
        work=_work,
        wrong=_skeletons.wrong,
        metrics={
            "run_time_s": lambda spec: 1,
            "bandwidth_MBps": _skeletons.moved,
            "message_rate_per_s": _skeletons.messages,
        },
        phases={"computation_ns": "computation_s", "communication_ns": "communication_s"},
        derived={"communication_percent": _nas.share},
        warmup=(0, 0),
    )


FORMS = {f"nas_{name}_skeleton": _form(name, problem) for name, problem in _skeletons.PROBLEMS.items()}
