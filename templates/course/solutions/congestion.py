"""Solutions of the lab congestion: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("congestion")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% incast
incast = lab.results.median("mpi.hotspot_receive", "bandwidth_MBps", ranks=8)
lab.submit("incast", incast)

# %% limit
one = lab.results.median("mpi.hotspot_receive", "bandwidth_MBps", ranks=2)
limit = "the receiver's link" if incast < 1.5 * one else "the senders' links"
lab.submit("limit", limit)

# %% together
together = lab.results.median("mpi.multi_bandwidth", "bandwidth_MBps", ranks=8)
lab.submit("together", together)

# %% part
single = lab.results.median("mpi.bandwidth", "bandwidth_MBps")
part = 100 * together / (4 * single)
lab.submit("part", part)

# %% where
within = lab.results.median("mpi.multi_bandwidth", "bandwidth_MBps", ranks=4) / 2
where = "the link from leaf to spine" if together / 4 < 0.75 * within else "the senders' links"
lab.submit("where", where)

# %% fairness
import numpy as np

from labkit.judge import congestion

rows = lab.results.reported.dropna(subset=["rank"])
rows = rows[(rows["benchmark"] == "congestion.incast") & (rows["name"] == "bandwidth_MBps")]
fairness = np.median([congestion.jain_fairness(one["value"]) for _, one in rows.groupby("launch")])
lab.submit("fairness", fairness)


# %% impact
def times(testbed):
    found = [
        lab.results.median("congestion.interference", name, testbed=testbed) for name in ("latency_us", "alone_us")
    ]
    return found[0] / found[1]


places = sorted(lab.results.rows("congestion.interference")["testbed"], key=lambda name: "qos=" in name)
impact = times(places[0])
lab.submit("impact", impact)

# %% cure
cure = times(next(name for name in places if "qos=shares" in name))
lab.submit("cure", cure)

# %% waits
waits = "all bytes of the bulk that wait already" if impact > 3 * cure else "at most a few frames of the bulk"
lab.submit("waits", waits)
