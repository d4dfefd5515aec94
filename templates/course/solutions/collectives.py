"""Solutions of the lab collectives: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("collectives")
lab.measure(without_predictions=True)  # a teacher's dry run


# %% linear
def broadcast(algorithm, ranks, piece=None):
    variable = "env_OMPI_MCA_coll_tuned_bcast_algorithm"
    chosen = {variable: algorithm, f"{variable}_segmentsize": piece}
    return lab.results.median("mpi.bcast", "latency_us", ranks=ranks, **chosen)


linear = 100 * (broadcast("1", 8) * 6.25 / (7 * 65536) - 1)
lab.submit("linear", linear)

# %% gain
gain = broadcast("1", 8) / broadcast("6", 8, "8192")
lab.submit("gain", gain)

# %% growth
growth = broadcast("1", 8) / broadcast("1", 2)
lab.submit("growth", growth)

# %% law
laws = {"not at all": 1, "with the logarithm of the ranks": 3, "in proportion to ranks − 1": 7}
grown = broadcast("6", 8, "8192") / broadcast("6", 2, "8192")
law = min(laws, key=lambda one: max(grown / laws[one], laws[one] / grown))
lab.submit("law", law)

# %% steps
steps = broadcast("6", 8) * 6.25 / 65536
lab.submit("steps", steps)

# %% best
found = {
    "linear": broadcast("1", 8),
    "binomial tree, whole": broadcast("6", 8),
    "binomial tree, in pieces": broadcast("6", 8, "8192"),
    "pipeline": broadcast("3", 8, "8192"),
}
best = min(found, key=found.get)
lab.submit("best", best)


# %% ratio
def here(name):
    return lab.results.median(name, "latency_us", transport="shm", size=65536)


ratio = here("mpi.allreduce") / (here("mpi.reduce") + here("mpi.bcast"))
lab.submit("ratio", ratio)

# %% verdict
table = lab.table("violations")
row = table[table["guideline"].str.startswith("allreduce(m) ≤ reduce(m) + bcast") & (table["message_size_B"] == 65536)]
if row.empty:
    verdict = "it is not slower"
elif row["certain"].iloc[0] == "yes":
    verdict = "it is slower, and the launches show it"
else:
    verdict = "it is slower by the medians, but the launches do not show it"
lab.submit("verdict", verdict)
