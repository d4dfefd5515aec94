"""Solutions of the lab lies_and_statistics: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("lies_and_statistics")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% spread
medians = lab.results.launches("mpi.latency", "latency_us", transport="shm", size=256)
middle = (
    sorted(medians)[len(medians) // 2] if len(medians) % 2 else sum(sorted(medians)[len(medians) // 2 - 1 :][:2]) / 2
)
spread = 100 * (max(medians) - min(medians)) / middle
lab.submit("spread", spread)

# %% truth
truth = "the two are the same library: what differs is the launch"
lab.submit("truth", truth)

# %% trick
trick = "iterations of one launch taken as independent"
lab.submit("trick", trick)

# %% rate
import numpy as np

from labkit.read import records

chosen = [s for s in lab.results.samples if s.spec.size == 256 and s.spec.transport == "shm"]
times = [records.values(samples, "latency_us") for samples in chosen]
rate = np.median([256 / np.mean(t) for t in times])
lab.submit("rate", rate)

# %% flattered
flattered = np.median([100 * (np.mean(256 / t) / (256 / np.mean(t)) - 1) for t in times])
lab.submit("flattered", flattered)

# %% tail
from labkit import stats

tail = np.median([stats.quantile(t, 0.99) for t in times])
lab.submit("tail", tail)
