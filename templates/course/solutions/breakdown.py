"""Solutions of the lab breakdown: a cell for each question."""

from labkit.apps import teaching
from labkit.read import reference

lab = teaching.begin("breakdown")
paper = reference.load("breaking-band-2019")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% waking
tcp, unix = (lab.results.median(name, "round_trip_us") / 2 for name in ("sockets.tcp_rr", "sockets.unix_rr"))
memory = lab.results.median("mpi.latency", "latency_us", transport="shm", size=64)
waking = 100 * (unix - memory) / tcp
lab.submit("waking", waking)

# %% proof
proof = "nothing: differences between neighbours always sum to the longest path"
lab.submit("proof", proof)

# %% under_way
latency = lab.results.median("mpi.latency", "latency_us", transport="tcp", size=8)
rate = lab.results.median("mpi.bandwidth", "message_rate_per_s", transport="tcp", size=8)
under_way = latency * rate / 1e6
lab.submit("under_way", under_way)

# %% both
overhead = lab.results.median("mpi.host_overhead", "overhead_us", transport="tcp", size=8)
half = lab.results.median("mpi.host_overhead", "latency_us", transport="tcp", size=8)
more, less = (
    "more than the round trip: at times both sides work at once",
    "less than the round trip: they may take turns",
)
both = more if 2 * overhead > 2 * half else less
lab.submit("both", both)

# %% off
off = 100 * (paper.sum("latency") / paper["latency_observed"].value - 1)
lab.submit("off", off)

# %% pays
from labkit.models import what_if

share = {
    "the wire": what_if.published(paper, "injection", ["wire"], 90),
    "PCIe": what_if.published(paper, "injection", ["pcie"], 90),
    "MPI and UCP": what_if.published(paper, "injection", ["hlp_post", "post_prog"], 90),
    "UCT": what_if.published(paper, "injection", ["llp_post"], 90),
}
pays = max(share, key=share.get)
lab.submit("pays", pays)

# %% wire
wire = what_if.published(paper, "latency", ["wire"], 90)
lab.submit("wire", wire)

# %% without_pcie
without_pcie = paper.sum("latency") - 2 * paper["pcie"].value
lab.submit("without_pcie", without_pcie)

# %% bound
bound = tcp / (tcp - (unix - memory))
lab.submit("bound", bound)
