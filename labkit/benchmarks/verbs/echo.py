"""An echo server: every request comes back; time of a request and requests per second.

Requests and answers travel by SEND over RC, UC or UD, or by WRITE over RC or UC into slots that the other end watches.
`clients` requests are under way at once. After RDMA-bench (Kalia et al., USENIX ATC 2016), as a program over pyverbs:
what it shows is how transports differ, not how fast a card is.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks.verbs import Served, program
from labkit.tools import pyverbs


@dataclass(frozen=True, kw_only=True)
class Options(Served):
    """Options of verbs.echo.

    Parameters
    ----------
    request : what carries requests and answers.
    connection : service of the queue pairs.
    """

    request: Literal["send", "write"] = "send"
    connection: Literal["RC", "UC", "UD"] = "RC"


BENCHMARK = program("echo server", pyverbs.echo, Options)
