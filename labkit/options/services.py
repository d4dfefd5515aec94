"""Options of benchmarks of microservices that tools read."""

from typing import Literal

from labkit.options import frozen


@frozen
class Load:
    """Options of a load on services.

    Parameters
    ----------
    load : offered requests per second of all clients.
    arrivals : gaps between requests: ``poisson``, or ``constant``.
    clients : connections; each carries any number of concurrent requests.
    ip : version of the internet protocol.
    """

    load: float = 200.0
    arrivals: Literal["poisson", "constant"] = "poisson"
    clients: int = 4
    ip: Literal["ipv4", "ipv6"] = "ipv4"


@frozen
class Leaves(Load):
    """Options of a load on a mid-tier with leaves.

    Parameters
    ----------
    leaves : services that the mid-tier asks, each with a part of the data (fan-out).
    """

    leaves: int = 4


@frozen
class Hdsearch(Leaves):
    """Options of services.hdsearch.

    Parameters
    ----------
    records : vectors of all leaves together.
    search : candidates from the index (``lsh``), or all vectors (``exact``).
    """

    records: int = 10_000
    search: Literal["lsh", "exact"] = "lsh"


@frozen
class Recommend(Leaves):
    """Options of services.recommend.

    Parameters
    ----------
    users : number of users, each with ratings of some of 200 items.
    """

    users: int = 1000


@frozen
class Router(Leaves):
    """Options of services.router.

    Parameters
    ----------
    records : keys.
    replicas : number of leaves with each key.
    reads : share of the requests that read.
    leaf : ``table``, labkit's own, or ``memcached``.
    """

    records: int = 10_000
    replicas: int = 1
    reads: float = 0.9
    leaf: Literal["table", "memcached"] = "table"


@frozen
class SetAlgebra(Leaves):
    """Options of services.set_algebra.

    Parameters
    ----------
    records : documents of all leaves together.
    words : number of words in the dictionary.
    """

    records: int = 20_000
    words: int = 500


@frozen
class SocialNetwork(Load):
    """Options of services.social_network.

    Parameters
    ----------
    topology : graph of calls: DeathStarBench's `social_network` or `media` service, or a `random` graph.
    services : number of services in a random topology.
    """

    topology: Literal["social_network", "media", "random"] = "social_network"
    services: int = 18
