"""Solutions of the lab tail_latency: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("tail_latency")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% sent
import numpy as np

from labkit import stats
from labkit.read import records

samples = lab.results.samples
closed = [records.values(one, "round_trip_us") for one in samples if one.spec.benchmark == "sockets.tcp_rr"]
sent = np.median([1e6 / np.mean(times) for times in closed])
lab.submit("sent", sent)

# %% closed
closed_p99 = np.median([stats.quantile(times, 0.99) for times in closed])
lab.submit("closed", closed_p99)

# %% opened
loops = [one for one in samples if one.spec.values.get("message_rate") == 10_000]
opened = [records.values(one, "round_trip_us") for one in loops]
opened_p99 = np.median([stats.quantile(times, 0.99) for times in opened])
lab.submit("opened", opened_p99)

# %% omitted
omitted = "the requests that a client at a fixed rate would have sent while it waited"
lab.submit("omitted", omitted)


# %% filled
def with_missing(times, every=100):
    return np.concatenate([times, *(np.arange(time - every, every, -every) for time in times if time > 2 * every)])


filled_p99 = np.median([stats.quantile(with_missing(times), 0.99) for times in closed])
lab.submit("filled", filled_p99)

# %% due
late = [one.extras["late_ns"].ravel() / 1000 for one in loops]
due = [times + more for times, more in zip(opened, late, strict=True)]
due_p99 = np.median([stats.quantile(times, 0.99) for times in due])
lab.submit("due", due_p99)
