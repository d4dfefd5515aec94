"""A key-value store as HERD has it: requests by WRITE into slots that the server watches, answers by SEND over UD.

Of 20 requests 19 read a key and one writes one, of 128 keys; every value read must be the key's own. `clients` requests
are in flight. After HERD and RDMA-bench (Kalia et al., SIGCOMM 2014 and USENIX ATC 2016), as a program over
pyverbs.
"""

from typing import Literal

from labkit.benchmarks.verbs import program
from labkit.options import frozen
from labkit.options.verbs import Served
from labkit.tools import pyverbs


@frozen
class Options(Served):
    """Options of verbs.key_value.

    Parameters
    ----------
    connection : service of the queue pairs that requests are written over.
    """

    connection: Literal["RC", "UC"] = "UC"


BENCHMARK = program("key-value store", pyverbs.key_value, Options)
