"""Figures: plotly, drawn from records, summaries or samples; the same input gives the same bytes.

The axis titles of every figure name the quantity, its unit and the meaning of its bars. The hover text has n, launches,
host and badges. Static pictures come from `labkit.figures.static`.
"""

from labkit.figures.bounded import bounded, with_bounds
from labkit.figures.cells import heat_map, heat_maps, matrix
from labkit.figures.factors import factors, phases
from labkit.figures.guesses import Asked, guesses
from labkit.figures.iterations import distribution, over_iterations
from labkit.figures.labels import label_lines
from labkit.figures.looks import keep
from labkit.figures.measured_and_published import measured_and_published
from labkit.figures.nodes import scatter
from labkit.figures.overlay import fitting, overlay, subject
from labkit.figures.pairs import pairs
from labkit.figures.path import Part, Stack, stacked
from labkit.figures.points import bars, versus_size
from labkit.figures.programs import Shares, Traffic, time_split, traffic
from labkit.figures.rank_map import rank_map
from labkit.figures.ranks import per_rank
from labkit.figures.ratios import ratios
from labkit.figures.repeated_pairs import repeated_pairs
from labkit.figures.rounds import rounds
from labkit.figures.savings import saving
from labkit.figures.several_metrics import several_metrics
from labkit.figures.shifts import shifts
from labkit.figures.spectrum import spectrum
from labkit.figures.spread import launches
from labkit.figures.static import svgs
from labkit.figures.streams import streams
from labkit.figures.style import CONFIG, ORIGINS
from labkit.figures.tail import tail
from labkit.figures.topology import topology
from labkit.figures.unit import in_unit
from labkit.figures.versus import versus

__all__ = [
    "CONFIG",
    "ORIGINS",
    "Asked",
    "Part",
    "Shares",
    "Stack",
    "Traffic",
    "bars",
    "bounded",
    "distribution",
    "factors",
    "fitting",
    "guesses",
    "heat_map",
    "heat_maps",
    "in_unit",
    "keep",
    "label_lines",
    "launches",
    "matrix",
    "measured_and_published",
    "over_iterations",
    "overlay",
    "pairs",
    "per_rank",
    "phases",
    "rank_map",
    "ratios",
    "repeated_pairs",
    "rounds",
    "saving",
    "scatter",
    "several_metrics",
    "shifts",
    "spectrum",
    "stacked",
    "streams",
    "subject",
    "svgs",
    "tail",
    "time_split",
    "topology",
    "traffic",
    "versus",
    "versus_size",
    "with_bounds",
]
