"""Options of benchmarks of the communication of deep learning that tools read."""

from typing import Literal

from labkit.options import frozen
from labkit.options.ranks import Cadence


@frozen
class Ranks:
    """Options of every group of ranks.

    Parameters
    ----------
    backend : backend of torch.distributed.
    device : device with the buffers; gloo copies those of a GPU to the host.
    directory : directory in which the ranks find one another; all hosts must see it.
    """

    backend: Literal["gloo", "nccl"] = "gloo"
    device: Literal["cpu", "cuda"] = "cpu"
    directory: str = ""


@frozen
class Call(Cadence, Ranks):
    """Options of a call.

    Parameters
    ----------
    cadence : one call after the other, as nccl-tests, or after a barrier.
    """

    cadence: Literal["streaming", "isolated"] = "streaming"
