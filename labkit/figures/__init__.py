"""Figures: plotly, drawn from records, summaries or samples; the same input gives the same bytes.

Every figure says in its axis titles what is drawn, in which unit, and what its bars mean; n, launches, host and
badges are in the hover text. Static pictures come from `labkit.figures.static`.
"""

from labkit.figures.against import versus
from labkit.figures.beside import beside
from labkit.figures.cells import heat_map
from labkit.figures.factors import factors, phases
from labkit.figures.iterations import distribution, over_iterations
from labkit.figures.looks import keep
from labkit.figures.nodes import scatter
from labkit.figures.pairs import pairs
from labkit.figures.parts import parts
from labkit.figures.path import Part, Stack, saving, stacked
from labkit.figures.points import bars, versus_size
from labkit.figures.ranks import per_rank
from labkit.figures.ratios import ratios
from labkit.figures.spread import launches
from labkit.figures.static import svgs
from labkit.figures.style import CONFIG, ORIGINS, bundle
from labkit.figures.together import together
from labkit.figures.topology import topology
from labkit.figures.twice import twice

__all__ = [
    "CONFIG",
    "ORIGINS",
    "Part",
    "Stack",
    "bars",
    "beside",
    "bundle",
    "distribution",
    "factors",
    "heat_map",
    "keep",
    "launches",
    "over_iterations",
    "pairs",
    "parts",
    "per_rank",
    "phases",
    "ratios",
    "saving",
    "scatter",
    "stacked",
    "svgs",
    "together",
    "topology",
    "twice",
    "versus",
    "versus_size",
]
