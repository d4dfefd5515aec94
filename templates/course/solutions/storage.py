"""Solutions of the lab storage: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("storage")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% price
durable = lab.results.median("storage.write", "latency_us", option_sync="osync", option_pattern="sequential")
plain = lab.results.median("storage.write", "latency_us", option_sync="none", option_pattern="sequential")
price = durable / plain
lab.submit("price", price)

# %% rate
rate = 1e6 / durable
lab.submit("rate", rate)

# %% who
who = "the page cache" if price > 10 else "the disk"
lab.submit("who", who)

# %% matters
random = lab.results.median("storage.write", "latency_us", option_sync="none", option_pattern="random")
order, wait = max(random / plain, plain / random), durable / plain
if max(order, wait) < 2:
    matters = "both by less than a factor of 2"
else:
    matters = "asking for durability" if wait > order else "a random order"
lab.submit("matters", matters)

# %% ahead
ahead = lab.results.median("storage.read", "latency_us", option_pattern="random") / lab.results.median(
    "storage.read", "latency_us", option_pattern="sequential"
)
lab.submit("ahead", ahead)
