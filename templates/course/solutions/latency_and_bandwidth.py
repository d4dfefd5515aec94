"""Solutions of the lab latency_and_bandwidth: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("latency_and_bandwidth")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% ratio
tcp = lab.results.median("mpi.latency", "latency_us", transport="tcp", size=8)
shm = lab.results.median("mpi.latency", "latency_us", transport="shm", size=8)
ratio = tcp / shm
lab.submit("ratio", ratio)

# %% alpha
import numpy as np

sizes, times = lab.results.curve("mpi.latency", "latency_us", transport="tcp")
beta, alpha = np.polyfit(sizes, times, 1, w=1 / times)
lab.submit("alpha", alpha)

# %% bandwidth
bandwidth = 1 / beta
lab.submit("bandwidth", bandwidth)

# %% half_size
half_size = alpha / beta
lab.submit("half_size", half_size)

# %% model
off = np.max(np.abs(alpha + beta * sizes - times) / times)
model = "within 20 % at every size" if off <= 0.2 else "off by more than 20 % at some size"
lab.submit("model", model)
