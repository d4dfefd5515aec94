"""Requests to a graph of services that call one another, such as the social network of DeathStarBench.

`topology=social_network` has its services and calls: 18 services, with one store in place of memcached, redis and
MongoDB, and three operations in its mix (compose a post 10 %, read a user's timeline 30 %, read the home timeline 60
%). `topology=media` has those of its media service: 17 services that compose a review. `topology=random` draws a graph
of `services` from the seed. A service reads its own memory and answers with a record and a digest of everything that
its calls returned. The client computes the digest too, so an answer proves that every service was called and answered
completely. The services do not process their data as the original ones do. The size refers to a post or a review; a
page of a timeline has ten. A sample is the time from the moment when a request was due to the end of its answer.

Services and calls: Gan et al., ASPLOS 2019, and the source of DeathStarBench (socialNetwork, mediaMicroservices), which
uses Thrift. The calls of its other applications are not published as source: `topology=random` with their number of
services (e-commerce 41, banking 34, drone swarm in the cloud 25 and at the edge 21) stands for them.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.services import _options
from labkit.options.services import SocialNetwork
from labkit.point.spec import Spec
from labkit.tools import microservices


def _check(spec: Spec[SocialNetwork]) -> str:
    services, (least, most) = spec.options.services, microservices.SERVICES
    if spec.size < 8 or spec.size % 8:
        return f"size={spec.size} B, but a post has a multiple of 8 B. Set size=256."
    if not least <= services <= most:
        return f"services={services}, but it must be {least} to {most}. Set services={least}."
    if spec.options.topology != "random" and services != SocialNetwork.services:
        return f"services={services}, but {spec.options.topology} has a fixed list of services. Set topology=random."
    return _options.check(spec)


BENCHMARK = ToolBenchmark(
    title="social network of microservices",
    options=SocialNetwork,
    sizes="256",
    max_size=65536,
    check=_check,
    metrics={"response_us": lambda spec: 1},
    phases={"service_ns": "round_trip_us"},
    tools=(microservices.social_network,),
    cadence="paced",
    ends=_options.ENDS,
)
