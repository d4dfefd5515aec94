"""Solutions of the lab overlap: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("overlap")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% without
without = lab.results.median("mpi.iallreduce", "overlap_osu_percent", size=262144, option_tests=0)
lab.submit("without", without)

# %% by_hand
total, computation, pure = (
    lab.results.median("mpi.iallreduce", metric, size=4096, option_tests=8)
    for metric in ("latency_us", "compute_us", "pure_us")
)
by_hand = max(0, 100 * (1 - (total - computation) / pure))
lab.submit("by_hand", by_hand)

# %% who
before, after = (
    lab.results.median("mpi.iallreduce", "overlap_osu_percent", size=262144, option_tests=tests) for tests in (0, 8)
)
adapter, calls, nobody = "the network adapter", "calls of MPI by the program", "nothing: it cannot be hidden"
who = adapter if before > 50 else calls if after > before + 20 else nobody
lab.submit("who", who)

# %% share
overhead = lab.results.median("mpi.host_overhead", "overhead_us", transport="tcp", size=8)
latency = lab.results.median("mpi.host_overhead", "latency_us", transport="tcp", size=8)
share = 100 * overhead / (2 * latency)
lab.submit("share", share)
