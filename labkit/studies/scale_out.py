"""What would collectives, halos and transposes take on a network that is not there, with up to 4096 ranks?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import figures, reference, studies
from labkit.errors import SpecError
from labkit.simulation import calibration
from labkit.spec import Spec, sweep
from labkit.studies import LEFT_OUT, counts, markdown_list, number, size_words, words
from labkit.units import parse_sizes

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

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


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook about simulated networks.

    Parameters
    ----------
    topologies : to simulate, a list of fat-tree, dragonfly and torus.
    tapers : of the fat tree, a list.
    per_leaf : hosts on a leaf switch of the fat tree.
    ranks : a list; each has a network with as many hosts.
    allreduce_sizes, alltoall_sizes : MIN:MAX or a list.
    cells : of a rank of the halo exchange along each side; with 8 B in a cell, a face has cells² · 8 B.
    rate, latency : of the simulated links, as the testbed simulated takes them.
    paper : also simulate Halo3D and FFT of the Ethernet paper on its tree, with its published latencies and bandwidths.
    launches : of the paper's tree, whose uplinks each launch chooses anew.
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

    def testbeds(self, ranks: int) -> dict[str, str]:
        """Networks for so many ranks: name → testbed."""
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
            options=tuple(options.items()),
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
        return rows[rows["network"].notna()].sort_values(["message_size_B", "network", "ranks"])

    def ranks_figure(self, benchmark: str) -> go.Figure | str:
        """Slowest rank against the number of ranks, a line for each network and size."""
        rows = self.rows(benchmark)
        return self.drawn(figures.versus, rows, "x" if rows.empty else "ranks", shown="latency_us", series=["kind"])

    def table(self, benchmark: str) -> pd.DataFrame:
        """Slowest rank of all points, with the origin."""
        columns = ["network", "ranks", "message_size_B", "latency_us_p50", "origin"]
        rows = self.rows(benchmark)
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
        import pandas as pd

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

    def paper_figure(self) -> go.Figure | str:
        """Simulated and published times, a bar for each."""
        compared = self.compared()
        if not compared:
            return LEFT_OUT
        return figures.measured_and_published(
            {f"{one['name']}, {one['path']}": one["simulated"] for one in compared},
            {f"{one['name']}, {one['path']}": one["published"] for one in compared},
            title="mean time of an iteration (ms)",
            factor=1e3,
            source="Kenny et al. 2020",
            origin="simulated",
        )

    # ---- sentences ---------------------------------------------------------------------------------------------

    def findings(self) -> str:
        """Findings as a Markdown list."""
        sentences = [*self._growth(), *self._tapered(), *self._paper()]
        return markdown_list(sentences) or LEFT_OUT

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
                f"slowest rank grows least on {least}, to {number(growth[least])} times, and most on {most}, to "
                f"{number(growth[most])} times."
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
                if ratio < _SAME:
                    continue
                about = "" if name == HALO else f" of {size_words(size)}"
                yield (
                    f"Simulated {NAMES[name]}{about} with {high['ranks']} ranks takes {number(ratio)} times as long on "
                    f"{high['network']} as on {low['network']}."
                )

    def _paper(self) -> Iterator[str]:
        """Each published number beside the simulated one."""
        for one in self.compared():
            nature = (
                f"not predicted: {one['chosen']} was chosen with this number known" if one["chosen"] else "predicted"
            )
            yield (
                f"{one['name']} of Kenny et al. over {one['path']}: simulated {number(1e3 * one['simulated'])} ms "
                f"({nature}), published {number(1e3 * one['published'])} ms ({one['where']}): "
                f"{number(one['simulated'] / one['published'])} times."
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
