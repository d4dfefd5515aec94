"""Solutions of the lab eager_and_rendezvous: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("eager_and_rendezvous")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% where
limit = "env_OMPI_MCA_btl_vader_eager_limit"
sizes, times = lab.results.curve("mpi.latency", "latency_us", **{limit: None})
time = dict(zip(sizes, times, strict=True))
growth = {
    "between 512 B and 1 KiB": time[1024] / time[512],
    "between 1 and 2 KiB": time[2048] / time[1024],
    "between 4000 and 5000 B": time[5000] / time[4000],
    "between 8 and 12 KiB": time[12288] / time[8192],
}
where = max(growth, key=growth.get)
lab.submit("where", where)

# %% height
height = time[5000] - time[4000]
lab.submit("height", height)

# %% gain
raised = lab.results.median("mpi.latency", "latency_us", size=5000, **{limit: "16384"})
gain = time[5000] / raised
lab.submit("gain", gain)

# %% moved
sizes, times = lab.results.curve("mpi.latency", "latency_us", **{limit: "16384"})
time = dict(zip(sizes, times, strict=True))
growth = {
    "between 4000 and 5000 B": time[5000] / time[4000],
    "between 8 and 12 KiB": time[12288] / time[8192],
    "between 16000 and 18000 B": time[18000] / time[16000],
}
moved = max(growth, key=growth.get)
lab.submit("moved", moved)

# %% cause
cause = "the step goes away at these sizes" if gain > 1.5 else "the step stays where it is"
lab.submit("cause", cause)
