"""Every quantity that has a name: unit, meaning, label and which way is better.

Axis labels, table heads and the data dictionary come from here, so that each unit is written once.
"""
# ruff: noqa: E501  (tables: one row to a line)

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from labkit.io.markdown import table

Better = Literal["lower", "higher", ""]


@dataclass(frozen=True)
class Metric:
    """A quantity that follows from the time of an iteration and the work done in it.

    Parameters
    ----------
    name : name with the unit, as in records: ``latency_us``.
    kind : ``cost`` (time per unit of work), ``rate`` (work per time), ``share`` (of something, in %) or ``loss`` (a share
        that is better small).
    factor : factor from seconds per unit of work, or units per second, to the metric's unit.
    unit : unit as shown to people.
    label : name in words, without the unit.
    meaning : one sentence for the data dictionary.
    """

    name: str
    kind: Literal["cost", "rate", "share", "loss"]
    factor: float
    unit: str
    label: str
    meaning: str

    @property
    def better(self) -> Better:
        """``lower`` for costs and losses, ``higher`` for rates and shares."""
        return "lower" if self.kind in ("cost", "loss") else "higher"

    @property
    def title(self) -> str:
        """Axis label: words and unit."""
        return f"{self.label} ({self.unit})"


METRICS = {
    m.name: m
    for m in (
        Metric("latency_us", "cost", 1e6, "µs", "latency", "Time of one operation; for ping-pong half the round trip."),
        Metric("round_trip_us", "cost", 1e6, "µs", "round-trip time", "Time from request to response, as netperf's request/response tests count it."),
        Metric("bandwidth_MBps", "rate", 1e-6, "MB/s", "bandwidth", "Bytes per time, 1 MB = 10^6 B."),
        Metric("sent_MBps", "rate", 1e-6, "MB/s", "sent", "Bytes per time that left the sender; the bandwidth counts what arrived."),
        Metric("lost_percent", "loss", 1.0, "%", "lost", "Share of the datagrams that did not arrive."),
        Metric("jitter_us", "cost", 1e6, "µs", "jitter", "Smoothed difference of the transit times of successive datagrams (RFC 1889, as iperf counts it)."),
        Metric("message_rate_per_s", "rate", 1.0, "1/s", "message rate", "Messages per second."),
        Metric("transaction_rate_per_s", "rate", 1.0, "1/s", "transaction rate", "Request/response pairs per second."),
        Metric("iops_per_s", "rate", 1.0, "1/s", "I/O operations", "Completed reads or writes per second."),
        Metric("operation_rate_per_s", "rate", 1.0, "1/s", "operations", "Operations per second, such as created files or served requests."),
        Metric("response_us", "cost", 1e6, "µs", "response time", "Time from the moment a request was due to its response (wrk2, YCSB's intended latencies)."),
        Metric("performance_GFLOPS", "rate", 1e-9, "Gflop/s", "performance", "Floating-point operations per second by the benchmark's formula (HPL, HPCC)."),
        Metric("operations_Mops", "rate", 1e-6, "Mop/s", "operations", "Operations per second of all processes by the kernel's formula (NPB)."),
        Metric("updates_GUPS", "rate", 1e-9, "GUP/s", "updates", "Random updates of memory per second (HPCC RandomAccess)."),
        Metric("run_time_s", "cost", 1.0, "s", "run time", "Time of the timed part of the program."),
        Metric("open_us", "cost", 1e6, "µs", "opening", "Time from the first rank's call to open a file to the return of the last rank's call."),
        Metric("access_us", "cost", 1e6, "µs", "transfers", "Time from the first transfer of any rank to the end of the last one, with its sync."),
        Metric("close_us", "cost", 1e6, "µs", "closing", "Time from the first rank's call to close a file to the return of the last rank's call."),
        Metric("moved_MB", "share", 1e3, "MB", "moved", "Bytes that all ranks wrote or read until the deadline."),
        *(
            Metric(f"ior_{level}_{way}_MBps", "rate", 1e-6, "MB/s", f"ior-{level}-{way}", "Bandwidth of the IO500 phase of this name.")
            for level in ("easy", "hard")
            for way in ("write", "read")
        ),
        *(
            Metric(f"{phase.replace('-', '_')}_per_s", "rate", 1.0, "1/s", phase, "Operations per second of the IO500 phase of this name.")
            for phase in (
                *("mdtest-easy-write", "mdtest-easy-stat", "mdtest-easy-delete", "mdtest-hard-write", "mdtest-hard-stat"),
                *("mdtest-hard-read", "mdtest-hard-delete", "find"),
            )
        ),
        Metric("shortest_write_s", "cost", 1.0, "s", "shortest phase that writes", "Time of the shortest phase that writes or creates; a submission to IO500 needs 300 s."),
        Metric("bandwidth_score_GiBps", "rate", 1.0, "GiB/s", "bandwidth score", "Geometric mean of the four phases of IOR, 1 GiB = 2^30 B (IO500)."),
        Metric("metadata_score_kIOPS", "rate", 1.0, "kIOPS", "metadata score", "Geometric mean of the eight phases of mdtest and find, thousands of operations per second (IO500)."),
        Metric("io500_score", "rate", 1.0, "√(GiB/s·kIOPS)", "IO500 score", "Root of the product of both scores, by IO500's formula; a submission needs the original program."),
        Metric("io_time_s", "cost", 1.0, "s", "time in I/O", "Time spent in calls of MPI-IO: the harmonic mean over ranks (NPB), mean over iterations."),
        Metric("io_percent", "loss", 1.0, "%", "share of I/O", "Share of the run time spent in calls of MPI-IO."),
        Metric("peak_percent", "share", 1.0, "%", "fraction of peak", "Performance over the theoretical peak of the cores used (HPL); peak_method names its calculation."),
        Metric("speedup_times", "rate", 1.0, "times", "speedup", "Run time of one rank over run time of all ranks, "
        "for the same problem (HPL)."),
        Metric("algbw_GBps", "rate", 1e-9, "GB/s", "algorithm bandwidth", "Message size over time, 1 GB = 10^9 B (nccl-tests)."),
        Metric("busbw_GBps", "rate", 1e-9, "GB/s", "bus bandwidth", "Algorithm bandwidth times the collective's factor (nccl-tests): comparable with the link's peak at any number of ranks."),
        Metric("pure_us", "cost", 1e6, "µs", "pure time", "Time of a request and its completion without computation in between."),
        Metric("compute_us", "cost", 1e6, "µs", "computation", "Time of the computation while a request or a window was in flight."),
        Metric("compute_alone_us", "cost", 1e6, "µs", "computation alone", "Time of the same computation without communication."),
        Metric("overlap_osu_percent", "share", 1.0, "%", "overlap (OSU)", "Share of the pure time that the computation hid: 100 - (total - computation) / pure, at least 0 (OMB)."),
        Metric("overlap_imb_percent", "share", 1.0, "%", "overlap (IMB)", "Time saved compared with pure time plus computation, as a share of the longer of the two (IMB-NBC; for files of the shorter, as IMB-IO)."),
        Metric("deregistration_us", "cost", 1e6, "µs", "deregistration", "Time to deregister the memory again."),
        Metric("open_device_us", "cost", 1e6, "µs", "open device", "Time to open the device."),
        Metric("protection_domain_us", "cost", 1e6, "µs", "protection domain", "Time to make a protection domain."),
        Metric("memory_us", "cost", 1e6, "µs", "memory 4 KiB", "Time to allocate and register 4 KiB."),
        Metric("completion_channel_us", "cost", 1e6, "µs", "completion channel", "Time to make a completion channel."),
        Metric("completion_queue_us", "cost", 1e6, "µs", "completion queue", "Time to make a completion queue."),
        Metric("queue_pair_us", "cost", 1e6, "µs", "queue pair to INIT", "Time to make a queue pair and move it to INIT."),
        Metric("to_rtr_us", "cost", 1e6, "µs", "INIT to RTR", "Time to move a queue pair from INIT to RTR."),
        Metric("to_rts_us", "cost", 1e6, "µs", "RTR to RTS", "Time to move a queue pair from RTR to RTS."),
        Metric("address_handle_us", "cost", 1e6, "µs", "UD to RTR", "Time to make an address handle and move a datagram queue pair to RTR."),
        Metric("resolve_address_us", "cost", 1e6, "µs", "resolve address", "Time until RDMA CM has found the device for an address."),
        Metric("resolve_route_us", "cost", 1e6, "µs", "resolve route", "Time until RDMA CM has found the path."),
        Metric("connect_us", "cost", 1e6, "µs", "connect", "Time from the request of RDMA CM until both ends are established."),
        Metric("disconnect_us", "cost", 1e6, "µs", "disconnect", "Time until RDMA CM has ended the connection at both ends."),
        Metric("injection_us", "cost", 1e6, "µs", "injection overhead", "Time from one message to the next in a stream."),
        Metric("post_us", "cost", 1e6, "µs", "post", "Time inside the call that posts a message: MPI_Isend."),
        Metric("poll_us", "cost", 1e6, "µs", "poll in vain", "Time inside a call that looks for a message and finds none: MPI_Test."),
        Metric("find_us", "cost", 1e6, "µs", "poll that finds", "Time inside the call that finds the message: MPI_Test."),
        Metric("complete_us", "cost", 1e6, "µs", "complete the send", "Time inside the call that completes a message that was posted: MPI_Wait or MPI_Waitall."),
        Metric("expect_us", "cost", 1e6, "µs", "post the receive", "Time inside the call that posts a receive: MPI_Irecv."),
        Metric("overhead_us", "cost", 1e6, "µs", "host overhead", "Processor time of a message: time inside the calls that post and complete it."),
        Metric("send_overhead_us", "cost", 1e6, "µs", "sender's overhead", "Time inside the call that sends a message: o_s of the LogP models."),
        Metric("receive_overhead_us", "cost", 1e6, "µs", "receiver's overhead", "Time inside the call that receives a message that has arrived: o_r of the LogP models."),
        Metric("delay_us", "cost", 1e6, "µs", "delay", "Wait between sending a message and receiving its answer."),
        Metric("available_percent", "share", 1.0, "%", "CPU availability", "Share of the running time spent on computation while messages moved."),
        Metric("helped_us", "cost", 1e6, "µs", "latency with the target in MPI", "Latency of a one-sided call while the target waits inside MPI."),
        Metric("exchange_us", "cost", 1e6, "µs", "exchange", "Time of the messages of an iteration, without the sleep before them."),
        Metric("isolated_us", "cost", 1e6, "µs", "isolated", "Time of an iteration of the victims before the congestors started."),
        Metric("recovered_us", "cost", 1e6, "µs", "recovered", "Time of an iteration of the victims after the congestors stopped."),
        Metric("congestor_us", "cost", 1e6, "µs", "congestor's round", "Time of a round of the congestors during the victims' loaded phase, mean over congestors."),
        Metric("alone_us", "cost", 1e6, "µs", "alone", "Time of an iteration of the victim without the aggressor."),
        Metric("impact_p50_times", "cost", 1.0, "times", "interference, median", "Median time beside the aggressor divided by the median time alone, slowest rank of each iteration."),
        Metric("impact_mean_times", "cost", 1.0, "times", "congestion impact, mean", "Mean time under congestion over mean time in isolation: of all victims (GPCNeT's congestion impact factor), or of the slowest rank of each iteration (interference)."),
        Metric("impact_p99_times", "cost", 1.0, "times", "congestion impact, p99", "99th percentile of the time of all victims under congestion, divided by the percentile in isolation."),
        Metric("computation_s", "cost", 1.0, "s", "computation", "Time of a run outside MPI, slowest rank."),
        Metric("communication_s", "cost", 1.0, "s", "communication", "Time of a run inside MPI, including waits, "
        "longest rank."),
        Metric("communication_percent", "loss", 1.0, "%", "inside MPI", "Share of the run time inside MPI, mean over ranks and runs."),
        Metric("clock_read_ns", "cost", 1e9, "ns", "cost of a clock read", "Time between two consecutive clock reads."),
        Metric("clock_step_ns", "cost", 1e9, "ns", "clock resolution", "Step of the clock, from the times between consecutive reads."),
        Metric("line_transfer_ns", "cost", 1e9, "ns", "cache line between cores", "Time to move a cache line from one core to another: half a round of a ping-pong on one shared word."),
        Metric("system_call_ns", "cost", 1e9, "ns", "system call", "Time of a system call that does next to nothing (getppid)."),
        Metric("wake_up_us", "cost", 1e6, "µs", "wake-up", "Time to wake a thread that sleeps in read: half the round of a byte through two pipes."),
        Metric("launch_us", "cost", 1e6, "µs", "launch call", "Time inside the call that launches an empty kernel on a GPU."),
        Metric("wait_us", "cost", 1e6, "µs", "wait for the GPU", "Time from the end of the launching call until the host detects that the kernel has run."),
        Metric("quantum_us", "cost", 1e6, "µs", "work quantum", "Time of a fixed amount of arithmetic."),
        Metric("gap_us", "cost", 1e6, "µs", "gap between quanta", "Time from the end of one work quantum to the start of the next."),
        Metric("step_s", "cost", 1.0, "s", "training step", "Time of a step of training: forward, backward, exchange and update, slowest rank."),
        Metric("forward_s", "cost", 1.0, "s", "forward pass", "Time of the forward pass of a step."),
        Metric("backward_s", "cost", 1.0, "s", "backward pass", "Time of the backward pass of a step, with the reductions that overlap it."),
        Metric("reduction_s", "cost", 1.0, "s", "reduction", "Time after the backward pass in which gradients are reduced."),
        Metric("update_s", "cost", 1.0, "s", "update", "Time to update the weights."),
        Metric("all_to_all_s", "cost", 1.0, "s", "all-to-alls", "Time of the all-to-alls of a step: indices, rows and their gradients."),
        Metric("all_reduce_s", "cost", 1.0, "s", "all-reduces", "Time of the all-reduces of a step."),
        Metric("waiting_s", "cost", 1.0, "s", "waiting", "Time in a step in which a stage of a pipeline waits for another stage."),
        Metric("noise_percent", "loss", 1.0, "%", "noise", "Share of the time that work quanta take beyond the fastest one."),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Statistic:
    """What a number says about its samples; the last part of a column's name."""

    name: str
    label: str
    meaning: str


# For a rate the tail is the slow side: p99 is the rate of the iteration that is slower than 99 % of all, and the
# worst value is `min`; for a cost the worst value is `max`.
STATISTICS = {
    s.name: s
    for s in (
        Statistic("p50", "median", "Median over iterations."),
        Statistic("ci_low", "lower end of ci_within", "Ends of ci_within, the 95 % rank interval of the median inside one launch, of n_eff samples."),
        Statistic("ci_high", "upper end of ci_within", "Ends of ci_within, the 95 % rank interval of the median inside one launch, of n_eff samples."),
        Statistic("p95", "95th percentile", "19 of 20 iterations are at least as fast. Needs 20 samples."),
        Statistic("p99", "99th percentile", "99 of 100 iterations are at least as fast. Needs 100 samples."),
        Statistic("p999", "99.9th percentile", "Needs 10 000 samples."),
        *(
            Statistic(f"p{digits}", f"{number}{'st' if number == '1' else 'th'} percentile", "Only in imported logs; labkit's own points keep every sample.")
            for digits, number in (
                *((f"{n}", f"{n}") for n in (1, 5, 10, 20, 25, 30, 40, 60, 70, 75, 80, 90)),
                *(("995", "99.5"), ("9995", "99.95"), ("9999", "99.99"), ("99999", "99.999")),
            )
        ),
        Statistic("stddev", "standard deviation", "Over iterations; only in imported logs."),
        Statistic("max", "maximum", "Slowest iteration for costs; rate of the fastest iteration for rates."),
        Statistic("min", "minimum", "Fastest iteration for costs; rate of the slowest iteration for rates."),
        Statistic("mean", "mean", "Mean time for costs; total work over total time for rates, never the mean of rates."),
        Statistic("osu_mean", "mean over ranks", "The average that OSU and IMB print: for collectives the mean over ranks of each rank's mean time; for one-sided calls loop time divided by iterations, clock reads included."),
        Statistic("rank_min", "fastest rank", "Mean of the fastest rank, where a log prints it (IMB's t_min, OSU's Min)."),
        Statistic("rank_max", "slowest rank", "Mean of the slowest rank, where a log prints it (IMB's t_max, OSU's Max)."),
        *(
            Statistic(f"osu_p{n}", f"OSU's {n}th percentile", "Percentile of the mean over ranks of each iteration.")
            for n in (50, 75, 90, 95, 99)
        ),
        Statistic("value", "value", "One value computed from all samples, or reported by a tool without a definition."),
        Statistic("step", "resolution", "Resolution of the clock, as seen in the times, in the metric's unit (for a rate, at its median)."),
        Statistic("low", "lower end of the headline interval", "Only in summaries: ends of the interval or range of the headline statistic; `headline` names its kind."),
        Statistic("high", "upper end of the headline interval", "Only in summaries: ends of the interval or range of the headline statistic; `headline` names its kind."),
        *(
            Statistic(f"{over}_{end}", f"{side} end over {over}", f"Only in summaries of 2 to 5 sessions with 6 launches or more: ends of {what}.")
            for over, what in (("launches", "the 95 % interval over launches"), ("sessions", "the range of the medians of sessions"))
            for end, side in (("low", "lower"), ("high", "upper"))
        ),
    )
}  # fmt: skip

ENDS = ("low", "high")  # of an interval over launches
OVER = ("launches", "sessions")  # what a summary of few sessions gives both ends over
# What a reader may choose to see of a metric; the rest are ends of intervals and the resolution.
SHOWN = tuple(
    s
    for s in STATISTICS
    if s not in ("ci_low", "ci_high", "step", *ENDS, *(f"{over}_{end}" for over in OVER for end in ENDS))
)


@dataclass(frozen=True)
class Column:
    """A column of the records that is not a metric."""

    name: str
    dtype: str
    unit: str
    meaning: str

    @property
    def kind(self) -> str:
        """Type of the column in pandas, where a list is a Python object."""
        return "object" if self.dtype.startswith("list") else self.dtype


COLUMNS = {
    c.name: c
    for c in (
        Column("benchmark", "str", "", "What was measured: family.name."),
        Column("message_size_B", "int64", "B", "Size of one message, request or record."),
        Column("ranks", "int64", "", "Number of processes."),
        Column("ranks_assumed", "bool", "", "Whether labkit assumed the number of processes, because a log does not state it."),
        Column("ppn", "int64", "", "Ranks per host; 0 if the launcher decided or a log does not state it."),
        Column("transport", "str", "", "Path of the messages: shm, tcp, auto (the library's choice), or not stated by a log."),
        Column("launcher", "str", "", "Program that started the ranks; a log does not state it."),
        Column("device", "str", "", "Requested network device; empty if the library decided or a log does not state it."),
        Column("hosts", "str", "", "Requested hosts with their slots; empty for this machine, the launcher's allocation or a log."),
        Column("bind", "str", "", "Binding of ranks: core, socket, none, auto (core if there were enough), or not stated by a log."),
        Column("testbed", "str", "", "Testbed of the point."),
        Column("library", "str", "", "MPI library or tool with its version."),
        Column("engine", "str", "", "Engine of the timed loop: c, mpi4py, or the name of a tool."),
        Column("origin", "str", "", "measured, reported, imported, published, simulated or modelled."),
        Column("launch", "int64", "", "Number of the launch (fresh start of the ranks or the tool), from 0."),
        Column("n", "int64", "", "Number of samples; 0 if the tool reports only statistics."),
        Column("n_eff", "float64", "", "Equivalent number of independent samples. In a summary, the sum over launches."),
        Column("verified", "bool", "", "Whether an untimed pass verified the bytes, or the program its result."),
        Column("badges", "list of notes", "", "Marks of numbers that could mislead: loopback, shared memory, oversubscription and others."),
        Column("warnings", "list of notes", "", "Warnings during the measurement."),
        Column("further", "list of notes", "", "Values without a column: of one rank, of one moment, with a label, "
        "or under a tool's own name."),
        Column("stopped_by", "str", "", "Why measuring ended: ci, count, cap (the time cap was hit), iterations (exact count asked), start (of a program), tool."),
        Column("ci_width", "float64", "", "Width of ci_within as a fraction of the median."),
        Column("unreliable", "list of str", "", "Percentiles with fewer than 10 samples beyond them."),
        Column("spread_within", "float64", "", "Spread of the iterations of a launch: interquartile range divided by 1.349, as a fraction of the median."),
        Column("timing", "str", "", "each: every iteration is timed (OSU); total: one time around the loop (IMB); empty: no times, only values."),
        Column("cadence", "str", "", "isolated (a barrier in every iteration), streaming (back to back), windowed (a window of messages in an iteration), synchronised (agreed starts on synchronised clocks) or paced (sent at a fixed rate)."),
        Column("timer_overhead_ns", "float64", "ns", "Cost of the two clock reads around an iteration; never subtracted."),
        Column("options", "str", "", "The benchmark's own options as JSON."),
        Column("host", "str", "", "Name of the host, or of the first one."),
        Column("cpu_model", "str", "", "Processor, as the kernel names it."),
        Column("start", "str", "", "Start time of the point, UTC, ISO 8601."),
        Column("session", "str", "", "Start of the session that the schedule placed the launch in, UTC, ISO 8601; empty without a schedule (`--sessions`, `--spread`)."),
        Column("elapsed_s", "float64", "s", "Wall time of the point with verification, warm-up and bookkeeping."),
        Column("fingerprint", "str", "", "Hash of the work and the system; equal fingerprints are repeats."),
        Column("allocation", "str", "", "Batch job, with its index in an array: 1234 or 1234_2; empty outside a job. A factor, like the launch."),
        Column("campaign", "str", "", "Campaign that measured it: its folder; for merged points its name in `origins` of campaign.json."),
    )
}  # fmt: skip


# What `labkit.read.records.summary` has beside the columns above (without launch, n being a total): one row per fingerprint.
SUMMARY = {
    c.name: c
    for c in (
        Column("launches", "int64", "", "Launches behind the row."),
        Column("sessions", "int64", "", "[Sessions](statistics.md#sessions) behind the row; 0 if start times are unknown."),
        Column("span_s", "float64", "s", "From the start of the first launch to the start of the last."),
        Column("basis", "str", "", "What the row is based on: '6 launches within 40 s', or '18 launches in 6 sessions over 2 h'."),
        Column("left_out", "list of notes", "", "Statistics that only some of the launches have, so the row omits them."),
        Column("headline", "str", "", "What low and high are, such as '95 % interval of 6 launches' ([all kinds](statistics.md#interval-over-launches-the-headline))."),
        Column("spread_between", "float64", "", "Spread of the launch medians, defined like spread_within. In a summary, spread_within is the median over launches."),
        Column("of_launches", "object", "", "The launches behind the row, for `labkit.read.records.launches_of`; in no file."),
    )
}  # fmt: skip


def of_rate(unit: str) -> bool:
    """Return whether a unit is that of a rate, so that more is better; false for times and shares."""
    return any(one.unit == unit for one in METRICS.values() if one.kind == "rate")


def statistic_column(metric: str, statistic: str) -> str:
    """Name of a column: ``statistic_column("latency_us", "p50")`` is ``latency_us_p50``."""
    return f"{metric}_{statistic}"


def end_column(metric: str, statistic: str, end: str) -> str:
    """Name of a column of a summary: ``end_column("latency_us", "p99", "low")`` is ``latency_us_p99_low``."""
    return f"{metric}_{statistic}_{end}"


@cache
def split_end(column: str) -> tuple[str, str, str] | None:
    """Metric, statistic and end of a column of `end_column`; None for any other column."""
    name, _, end = column.rpartition("_")
    parts = split(name) if end in ENDS else None
    return (*parts, end) if parts and parts[1] in SHOWN else None


@cache
def split(column: str) -> tuple[str, str] | None:
    """Metric and statistic of a column; None if the column is not a statistic of a metric.

    Examples
    --------
    >>> split("latency_us_p50"), split("ranks")
    (('latency_us', 'p50'), None)
    """
    for metric in METRICS:
        if column.startswith(metric + "_") and column[len(metric) + 1 :] in STATISTICS:
            return metric, column[len(metric) + 1 :]
    return None


def title(column: str) -> str:
    """Label of a column with its unit, for axes and table heads.

    Examples
    --------
    >>> title("latency_us_p99"), title("message_size_B"), title("ranks")
    ('latency, 99th percentile (µs)', 'message size (B)', 'ranks')
    """
    parts = split(column)
    if parts:
        metric, statistic = METRICS[parts[0]], STATISTICS[parts[1]]
        return f"{metric.label}, {statistic.label} ({metric.unit})"
    if ends := split_end(column):
        side = "lower" if ends[2] == "low" else "upper"
        return f"{METRICS[ends[0]].label}, {side} end of the interval of the {STATISTICS[ends[1]].label} ({METRICS[ends[0]].unit})"
    if column in METRICS:
        return METRICS[column].title
    other = (COLUMNS | SUMMARY).get(column)
    words = column.removesuffix("_" + other.unit.replace("/", "p")) if other and other.unit else column
    return words.replace("_", " ") + (f" ({other.unit})" if other and other.unit else "")


def alike(rows: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Rows of the dictionary, with one row for all names that have the same meaning."""
    rest: dict[tuple[str, ...], list[str]] = {}
    for name, *cells in rows:
        rest.setdefault(tuple(cells), []).append(f"`{name}`")
    return [(", ".join(names), *cells) for cells, names in rest.items()]


def dictionary() -> str:
    """Data dictionary as Markdown: every column that records and summaries can have."""
    plain = [alike((c.name, c.meaning) for c in table.values()) for table in (COLUMNS, SUMMARY)]
    lower, higher = (
        alike((m.name, m.meaning) for m in METRICS.values() if m.better == better) for better in ("lower", "higher")
    )
    return f"""# Data dictionary

Generated from `labkit/point/columns.py` by `labkit.point.columns.dictionary()`; edit there.

A row of the **records** is one launch of a point. A row of the **summary** is one point over all its launches.
A missing number is NaN (an empty cell in CSV, `null` in JSON); a missing text is empty.

A name ends in its unit: `_B` bytes, `_us` µs, `_MB` 10^6 B, `_MBps` 10^6 B/s, `_per_s` 1/s, `_Mops` 10^6 operations/s, `_GUPS`
10^9 updates/s, `_GFLOPS` 10^9 flop/s, `_percent` %, `_times` a ratio.

`badges`, `warnings`, `further` and `left_out` are lists of **notes**. A note has `code` (for programs), `text` (for people) and
`values` (the values in the text, by name). A list of notes is

| in | stored as |
|:--|:--|
| pandas | a tuple of `labkit.point.notes.Note` |
| Parquet | a list of structs, with `values` as a JSON object |
| JSON | a list of the texts |
| CSV and tables | one text, separated by `; ` |

## Columns of the records

{table(["column", "meaning"], plain[0])}

Columns `option_<name>` hold options of the benchmark (`labkit describe` lists them). Columns `env_<NAME>` hold environment
variables of its ranks: the requested ones, and settings of MPI libraries such as `OMPI_MCA_btl` or `UCX_TLS`.

## Further columns of the summary

{table(["column", "meaning"], plain[1])}

## Metrics

Numeric columns are named `<metric>_<statistic>`, such as `latency_us_p50`. All are float64.

{table(["lower is better", "meaning"], lower)}

{table(["higher is better", "meaning"], higher)}

## Statistics

For a rate the tail is the slow side: `p99` is the rate of the iteration that is slower than 99 % of all
([definitions](statistics.md#costs-and-rates)).

{table(["statistic", "meaning"], alike((s.name, s.meaning) for s in STATISTICS.values()))}

A row of the summary gives the median over launches of each statistic. Each median has its own interval:
`<metric>_<statistic>_low` and `_high`, such as `latency_us_p99_low`. `<metric>_low` and `_high` belong to the metric's headline
statistic: the median, else the mean, the value or the mean over ranks.
"""
