"""A step of a recommendation model with its tables spread over the ranks: three all-to-alls and two all-reduces (DLRM).

The pattern follows DLRM (Naumov et al., 2019) as PARAM's dlrm.py runs it: indices go to the ranks that have the
tables, the rows come back, the gradients of the rows return, and the gradients of both perceptrons are averaged. The
features meet by concatenation. Before the timing each rank compares its gradients with those of the same model with all
tables in one place.

The rate counts the samples of all ranks.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _model
from labkit.options import frozen
from labkit.options.learning import Ranks
from labkit.point.spec import Spec
from labkit.tools import torch


@frozen
class Options(Ranks):
    """Options of learning.recommendation.

    Parameters
    ----------
    tables : on each rank.
    rows : rows of a table.
    width : width of a row, elements (PARAM's arch-sparse-feature-size).
    lookups : indices of a sample into each table (num-indices-per-lookup).
    batch : samples of a rank (mini-batch-size).
    hidden : width of the perceptrons' inner layer.
    """

    tables: int = 4
    rows: int = 1000
    width: int = 64
    lookups: int = 10
    batch: int = 128
    hidden: int = 256


_MOST = {"tables": 1000, "rows": 10_000_000, "width": 4096, "lookups": 1000, "batch": 65536, "hidden": 16384}


def _check(spec: Spec) -> str:
    return _model.beyond(spec, _MOST)


BENCHMARK = ProgramBenchmark(
    title="step of a recommendation model",
    options=Options,
    sized=False,
    ranks=(2, None),
    check=_check,
    metrics={"step_s": lambda spec: 1, "operation_rate_per_s": lambda spec: spec.ranks * spec.options.batch},
    phases={"all_to_all_ns": "all_to_all_s", "all_reduce_ns": "all_reduce_s"},
    tools=(torch.training,),
    cadence="streaming",
)
