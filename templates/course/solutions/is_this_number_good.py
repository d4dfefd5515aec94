"""Solutions of the lab is_this_number_good: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("is_this_number_good")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% limit
limit = 50 / 8 * 1448 / 1514
lab.submit("limit", limit)

# %% share
link = {"testbed": "virtual-cluster:2,rate=50mbit", "size": 65536}
stream = lab.results.median("mpi.bandwidth", "bandwidth_MBps", **link)
share = 100 * stream / limit
lab.submit("share", share)


# %% verdict
def judged(value, bound, good=0.9, bad=0.7):
    low, high = value.low / bound, value.high / bound
    if low > 1.02:
        return "above its bound"
    return "good" if low >= good else "unknown" if high >= good else "bad" if high < bad else "doubtful"


measured = lab.results.value("mpi.bandwidth", "bandwidth_MBps", **link)
verdict = judged(measured, limit)
lab.submit("verdict", verdict)

# %% stated
stated = judged(measured, 2 * limit)
lab.submit("stated", stated)

# %% defect
defect = "the data sheet or the measurement is wrong"
lab.submit("defect", defect)

# %% copied
inside = lab.results.value("mpi.bandwidth", "bandwidth_MBps", testbed="local", size=65536)
copies = lab.results.value("micro.memory_copy", "bandwidth_MBps", size=65536)
copied = 100 * inside.centre / copies.centre
lab.submit("copied", copied)

# %% memory_verdict
sizes = (4096, 65536)
streams = [lab.results.value("mpi.bandwidth", "bandwidth_MBps", testbed="local", size=size) for size in sizes]
best = max(sizes, key=lambda size: streams[sizes.index(size)].centre)
names = ("micro.memory_copy", "micro.core_to_core_copy")
copies, crossings = (lab.results.value(name, "bandwidth_MBps", size=best).centre for name in names)
twice = 1 / (1 / copies + 1 / crossings + 0.25 / best)  # µs for each message of the library
memory_verdict = judged(streams[sizes.index(best)], twice, 0.4, 0.2)
lab.submit("memory_verdict", memory_verdict)
