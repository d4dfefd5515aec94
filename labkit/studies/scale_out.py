"""What would collectives, halos and transposes take on a network that is not there, with up to 4096 ranks?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import pandas as pd

from labkit import benchmarks, figures, stats, studies
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.models import loggp_engine, schedules
from labkit.point.spec import Spec, sweep
from labkit.point.units import parse_duration, parse_rate, parse_sizes
from labkit.read import reference
from labkit.read.reference.comparing import with_arguments
from labkit.studies import counts, number, size_words, words
from labkit.testbeds import simulated
from labkit.testbeds.simulation import calibration, collectives, workloads

ALLREDUCE, ALLTOALL, HALO, FFT = "mpi.allreduce", "mpi.alltoall", "apps.halo3d26", "apps.fft_subcom3d"
PAPER, WINDOW_B = "ethernet2020", 4 << 20  # its arguments of both applications; the size of its bandwidths, B
_SAME = 1.01  # ratio below which two simulated times count as equal
# Kenny et al. 2020 → path, application, number in the paper, and whether a knob was chosen with that number known
PUBLISHED = (
    ("RoCE", HALO, "halo_roce", ""),
    ("RoCE", FFT, "fft_roce", ""),
    ("TCP", HALO, "halo_tcp_pfc", ""),
    ("TCP", FFT, "fft_tcp", ""),
    ("TCP, half duplex", HALO, "halo_tcp_pfc", "processing"),
)
NAMES = {HALO: "Halo3D", FFT: "FFT", ALLREDUCE: "allreduce", ALLTOALL: "all to all"}
# algorithm of the simulation → schedule of the LogGP engine
SCHEDULES = {
    "recursive-doubling": "recursive doubling",
    "ring": "ring",
    "pairwise": "pairwise",
    "linear": "linear",
    "bruck": "Bruck",
}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook about simulated networks.

    Parameters
    ----------
    topologies : topologies to simulate, a list of fat-tree, dragonfly and torus.
    tapers : tapers of the fat tree, a list.
    per_leaf : hosts on a leaf switch of the fat tree.
    ranks : a list; each number has a network with one host per rank.
    allreduce_sizes, alltoall_sizes : MIN:MAX or a list.
    cells : cells of a rank of the halo exchange along each side; with 8 B in a cell, a face has cells² · 8 B.
    rate, latency : rate and latency of the simulated links, as the testbed simulated takes them.
    paper : also simulate Halo3D and FFT of the Ethernet paper on its tree, with its published latencies and bandwidths.
    launches : launches of the paper's tree, whose uplinks each launch chooses again.
    """

    topologies: str = "fat-tree,dragonfly,torus"
    tapers: str = "1,3"
    per_leaf: int = 8
    ranks: str = "8,16,32,64"
    allreduce_sizes: str = "8,64Ki"
    alltoall_sizes: str = "4Ki"
    cells: int = 50
    rate: str = "100gbit"
    latency: str = "1us"
    paper: bool = True
    launches: int = 3


class Study(studies.Study):
    """Simulated points against ranks and topology, and the numbers of the Ethernet paper beside simulated ones."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (ALLREDUCE, ALLTOALL, HALO, FFT)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Every benchmark on every topology with every number of ranks; both applications of the paper."""
        v, many = self.values, counts(self.values.ranks, "ranks")
        if not many:
            raise SpecError("ranks is empty. Set it to a list, as in ranks=8,16,32.")
        specs = []
        for ranks in many:
            for bed in self.testbeds(ranks).values():
                where = {"ranks": ranks, "testbed": bed}
                specs += sweep(ALLREDUCE, sizes=parse_sizes(v.allreduce_sizes), **where)
                specs += sweep(ALLTOALL, sizes=parse_sizes(v.alltoall_sizes), **where)
                cells = {"nx": v.cells, "ny": v.cells, "nz": v.cells}
                specs += sweep(HALO, sizes=[8], neighbours="18", periodic=True, **cells, **where)
        return specs + [spec for path, name, *_ in PUBLISHED if v.paper for spec in [self.of_paper(path, name)]]

    @property
    def missing(self) -> str:
        """What is missing for a simulation, as a sentence; empty if nothing is."""
        packages = simulated.absent()
        if not packages:
            return ""
        return (
            f"SimGrid is not installed, so nothing was simulated here. Install it with `sudo apt-get install "
            f"{' '.join(packages)}`, and run the notebook again. The LogGP engine's times need nothing else."
        )

    def _requested(self) -> list[Spec]:
        """Empty if the point cannot be simulated."""
        return [] if self.values.measure and self.missing else super()._requested()

    def testbeds(self, ranks: int) -> dict[str, str]:
        """Networks for this many ranks: name → testbed."""
        beds = {}
        for topology in words(self.values.topologies):
            tree = topology == "fat-tree"
            tapers = words(self.values.tapers) if tree else [""]
            for taper in tapers:
                name = f"{topology} {taper}:1" if taper else topology
                options = {"nodes": str(ranks), "rate": self.values.rate, "latency": self.values.latency}
                options |= {"taper": taper, "per_leaf": str(min(self.values.per_leaf, ranks))} if tree else {}
                beds[name] = f"simulated:{topology}," + ",".join(f"{key}={options[key]}" for key in sorted(options))
        return beds

    @staticmethod
    def of_paper(path: str, name: str) -> Spec:
        """An application with the paper's arguments on its tree and hosts."""
        application = "halo3d" if name == HALO else "fft"
        options: dict[str, Any] = {"preset": PAPER} | ({"periodic": True} if name == HALO else {})
        return Spec(
            benchmark=name,
            size=8 if name == HALO else 10_000,
            ranks=48,
            testbed=f"simulated:{PAPER},placement={application},{network(path)}",
            options=options,
        )

    # ---- tables and figures ------------------------------------------------------------------------------------

    def rows(self, benchmark: str) -> pd.DataFrame:
        """Rows of the summary of a benchmark without the paper's, with the network in words."""
        rows = self.of(benchmark)
        if rows.empty:
            return rows
        rows = rows[~rows["testbed"].str.startswith(f"simulated:{PAPER}")]
        names = {text: name for ranks in rows["ranks"].unique() for name, text in self.testbeds(int(ranks)).items()}
        rows = rows.assign(network=rows["testbed"].map(names))
        sizes = [f", {size_words(size)}" if benchmark != HALO else "" for size in rows["message_size_B"]]
        rows = rows.assign(kind=rows["network"] + sizes)
        return rows[rows["network"].notna() & (rows["latency_us_p50"] > 0)].sort_values(
            ["message_size_B", "network", "ranks"]
        )

    def ranks_figure(self, benchmark: str) -> Figure | Omitted:
        """Slowest rank against the number of ranks, a line for each network and size."""
        rows = self.rows(benchmark)
        return self.drawn(figures.versus, rows, "x" if rows.empty else "ranks", shown="latency_us", series=["kind"])

    def engine(self) -> pd.DataFrame:
        """Times of the collectives by the LogGP engine, of origin ``modelled``: one switch, without shared links.

        The cost of a message is the latency plus its size divided by the rate of a link. Meanwhile an end sends one
        message and receives one.
        """
        v = self.values
        per_byte = 8 / parse_rate(v.rate)
        line = loggp_engine.Line(parse_duration(v.latency), per_byte)
        costs = loggp_engine.Costs((loggp_engine.Segment(time=line, gap=loggp_engine.Line(0.0, per_byte)),))
        rows = []
        for name, sizes in ((ALLREDUCE, v.allreduce_sizes), (ALLTOALL, v.alltoall_sizes)):
            for size, ranks in product(parse_sizes(sizes), sorted(counts(v.ranks, "ranks"))):
                spec = benchmarks.resolve(Spec(benchmark=name, ranks=ranks, size=size))
                algorithm = SCHEDULES[collectives.algorithm(spec)]
                if workloads.messages(spec) > workloads.MOST:
                    continue
                stages = schedules.schedule(name, algorithm, ranks, size)
                seconds = float(loggp_engine.finish(stages, ranks, costs).max())
                headline = stats.headline([seconds * 1e6])
                rows.append(
                    {
                        "benchmark": name,
                        "network": "LogGP engine",
                        "algorithm": algorithm,
                        "ranks": ranks,
                        "message_size_B": size,
                        "origin": "modelled",
                        "latency_us_p50": headline.centre,
                        "latency_us_low": headline.low,
                        "latency_us_high": headline.high,
                        "headline": headline.label,
                        "launches": headline.launches,
                    }
                )
        return pd.DataFrame(rows)

    def beside_engine(self, benchmark: str) -> pd.DataFrame:
        """Rows of a collective on the first network, and the engine's rows."""
        rows, modelled = self.rows(benchmark), self.engine()
        modelled = modelled[modelled["benchmark"] == benchmark] if len(modelled) else modelled
        if len(rows):
            first = next(name for name in self.testbeds(int(rows["ranks"].max())) if name in set(rows["network"]))
            rows = rows[rows["network"] == first]
        both = pd.concat([one[[name for name in modelled if name in one]] for one in (rows, modelled) if len(one)])
        sizes = both["message_size_B"].map(size_words)
        return both.assign(kind=both["network"] + ", " + sizes).reset_index(drop=True)

    def engine_figure(self, benchmark: str) -> Figure | Omitted:
        """Times of the engine against the number of ranks, beside the simulated ones of one network."""
        return self.drawn(figures.versus, self.beside_engine(benchmark), "ranks", shown="latency_us", series=["kind"])

    def engine_table(self) -> pd.DataFrame:
        """Times of the engine with the most ranks of each size, and simulated times over them on each network."""
        modelled = self.engine()
        last = modelled.groupby(["benchmark", "message_size_B"], sort=False).tail(1) if len(modelled) else modelled
        rows = []
        for row in last.to_dict("records"):
            cells = {name: row[name] for name in ("algorithm", "message_size_B", "ranks")}
            cells = {"collective": NAMES[row["benchmark"]]} | cells | {"modelled (µs)": row["latency_us_p50"]}
            there = self.rows(row["benchmark"])
            for other in there.to_dict("records"):
                if (other["ranks"], other["message_size_B"]) == (row["ranks"], row["message_size_B"]):
                    cells[f"{other['network']}, times as long"] = other["latency_us_p50"] / row["latency_us_p50"]
            rows.append(cells)
        return pd.DataFrame(rows)

    def table(self, benchmark: str) -> pd.DataFrame:
        """The slowest rank's time of all points, with the origin."""
        rows = self.rows(benchmark)
        sizes = ["message_size_B"] if benchmark != HALO else []  # for a halo, the size of a cell
        columns = ["network", "ranks", *sizes, "latency_us_p50", "origin"]
        return rows[[name for name in columns if name in rows]]

    def compared(self) -> list[dict[str, Any]]:
        """Each published number beside the simulated one, times in s, with the range over launches."""
        paper, rows = reference.load("ethernet-scientific-2020"), self.summary
        compared: list[dict[str, Any]] = []
        if rows.empty:
            return compared
        for path, name, key, chosen in PUBLISHED:
            spec = self.of_paper(path, name)
            of_path = rows[(rows["benchmark"] == name) & (rows["testbed"].map(_sorted) == _sorted(spec.testbed))]
            of_path = with_arguments(of_path, spec.values)
            for row in of_path.to_dict("records"):
                compared.append(
                    {
                        "path": path,
                        "name": NAMES[name],
                        "published": paper[key].si,
                        "simulated": row["latency_us_osu_mean"] * 1e-6,
                        "chosen": chosen,
                        "where": paper[key].where,
                    }
                )
        return compared

    def paper_table(self) -> pd.DataFrame:
        """Published and simulated times, their ratio, and what was fitted."""
        return pd.DataFrame(
            {
                "application": one["name"],
                "path": one["path"],
                "published (ms)": 1e3 * one["published"],
                "simulated (ms)": 1e3 * one["simulated"],
                "simulated over published": one["simulated"] / one["published"],
                "nature": f"{one['chosen']} was chosen with the result known" if one["chosen"] else "predicted",
            }
            for one in self.compared()
        )

    def paper_figure(self) -> Figure | Omitted:
        """Simulated and published times, a bar for each."""
        compared = self.compared()
        if not compared:
            return NOTHING
        return Figure(
            figures.measured_and_published(
                {f"{one['name']}, {one['path']}": one["simulated"] for one in compared},
                {f"{one['name']}, {one['path']}": one["published"] for one in compared},
                title="mean time of an iteration (ms)",
                factor=1e3,
                source="Kenny et al. 2020",
                origin="simulated",
            )
        )

    # ---- sentences ---------------------------------------------------------------------------------------------

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        without = [self.missing] if self.missing and self.summary.empty else []
        sentences = [*without, *self._growth(), *self._tapered(), *self._engine(), *self._paper()]
        return listed(sentences)

    def _growth(self) -> Iterator[str]:
        """Growth of each benchmark from the fewest ranks to the most."""
        for name in (ALLREDUCE, ALLTOALL, HALO):
            rows = self.rows(name)
            if rows.empty or rows["ranks"].nunique() < 2:
                continue
            growth = {
                str(kind): float(group["latency_us_p50"].iloc[-1] / group["latency_us_p50"].iloc[0])
                for kind, group in rows.groupby("kind", sort=False)
            }
            least, most = min(growth, key=growth.__getitem__), max(growth, key=growth.__getitem__)
            yield (
                f"Simulated {NAMES[name]}: from {rows['ranks'].min()} to {rows['ranks'].max()} ranks the time of the "
                f"slowest rank {_grown('least', growth[least])} on {least}, and {_grown('most', growth[most])} on "
                f"{most}."
            )

    def _tapered(self) -> Iterator[str]:
        """Cost of a taper with the most ranks."""
        for name in (ALLTOALL, HALO):
            rows = self.rows(name)
            rows = rows[(rows["ranks"] == rows["ranks"].max())] if len(rows) else rows
            trees = rows[rows["network"].str.startswith("fat-tree")] if len(rows) else rows
            for size, group in trees.groupby("message_size_B") if len(trees) else ():
                low, high = group.loc[group["latency_us_p50"].idxmin()], group.loc[group["latency_us_p50"].idxmax()]
                ratio = high["latency_us_p50"] / low["latency_us_p50"]
                about = "" if name == HALO else f" of {size_words(size)}"
                what = f"Simulated {NAMES[name]}{about} with {high['ranks']} ranks takes"
                if ratio >= _SAME:
                    yield f"{what} {number(ratio)} times as long on {high['network']} as on {low['network']}."
                elif len(group) > 1:
                    yield f"{what} the same time on {' and '.join(group['network'])}: the taper costs less than 1 %."

    def _engine(self) -> Iterator[str]:
        """The engine's time with the most ranks, and the least and greatest of the simulated ones over it."""
        for row in self.engine_table().to_dict("records"):
            suffix = ", times as long"
            ratios = {name.removesuffix(suffix): row[name] for name in row if str(name).endswith(suffix)}
            ratios = {name: ratio for name, ratio in ratios.items() if not math.isnan(ratio)}
            what = (
                f"Modelled by the LogGP engine, where no links are shared, an {row['collective']} of "
                f"{size_words(row['message_size_B'])} ({row['algorithm']}) with {row['ranks']} ranks takes "
                f"{number(row['modelled (µs)'])} µs"
            )
            if ratios:
                least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
                what += (
                    f"; simulated, it takes {number(ratios[least])} ({least}) to {number(ratios[most])} times ({most}) "
                    "as long"
                )
            yield f"{what}."

    def _paper(self) -> Iterator[str]:
        """Each published number beside the simulated one."""
        for one in self.compared():
            nature = (
                f"not predicted: {one['chosen']} was chosen with this number known" if one["chosen"] else "predicted"
            )
            times = one["simulated"] / one["published"]
            yield (
                f"{one['name']} of Kenny et al. over {one['path']}: simulated {number(1e3 * one['simulated'])} ms "
                f"({nature}), published {number(1e3 * one['published'])} ms ({one['where']})"
                f"{times and f': {number(times)} times'}."
            )


def network(path: str) -> str:
    """Options of the paper's tree for a path, fitted to its published latency (0 B) and bandwidth (4 MiB) alone.

    ``TCP, half duplex`` adds a processor that moves data in one direction at a time at the rate of a single stream.
    """
    paper = reference.load("ethernet-scientific-2020")
    kind = "roce" if path == "RoCE" else "tcp"
    published = paper[f"{kind}_latency"]
    latency = published.si * (published.value + (published.to or published.value)) / 2 / published.value
    rate_bps, link_bps = (8 * paper[f"{name}_bandwidth"].si for name in (kind, "roce"))  # one link carries both
    half = path.endswith("half duplex")
    options = {"latency": f"{latency * 1e6:g}us", "rate": f"{link_bps / 1e9:g}gbit", "routing": "hash"}
    if half:
        options |= {"processing": f"{rate_bps / 1e9:g}gbit"}
    else:
        times = ((0, latency), (WINDOW_B, latency + 8 * WINDOW_B / rate_bps))
        options |= {"pingpong": calibration.text(times)}
    return ",".join(f"{name}={options[name]}" for name in sorted(options))


def _sorted(testbed: str) -> str:
    """A testbed's description with its options in order."""
    head, *options = testbed.split(",")
    return ",".join([head, *sorted(options)])


def _grown(how: str, times: float) -> str:
    """How a time grows: ``grows most, to 3.46 times,``; one that does not grow stays the same."""
    if times < _SAME:
        return "stays the same" if times * _SAME > 1 else f"falls to {number(times)} times"
    return f"grows {how}, to {number(times)} times,"
