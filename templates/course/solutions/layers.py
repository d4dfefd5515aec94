"""Solutions of the lab layers: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("layers")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% one_way
one_way = lab.results.median("sockets.tcp_rr", "round_trip_us") / 2
lab.submit("one_way", one_way)

# %% kernel
unix = lab.results.median("sockets.unix_rr", "round_trip_us") / 2
shm = lab.results.median("mpi.latency", "latency_us", transport="shm")
kernel = unix - shm
lab.submit("kernel", kernel)

# %% stack
stack = one_way - unix
lab.submit("stack", stack)

# %% most
parts = {"entering the kernel and waking the peer": kernel, "the TCP/IP stack": stack, "the MPI library": shm}
most = max(parts, key=parts.get)
lab.submit("most", most)
