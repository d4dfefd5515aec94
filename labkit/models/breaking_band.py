"""The models of Zambre et al., *Breaking Band* (ICPP 2019): injection overhead and latency of a small message.

A message is posted by the processor (HLP: MPI and UCP; LLP: UCT), crosses PCI Express, wire and switch, crosses PCI
Express again, is written to memory, and is found by a poll. Every function is a formula of the paper over
`Components`, times in one unit. `published` reads the components of the paper's two nodes, in ns.

Where the paper prints two numbers for one thing, the models use that of Table 1: 58.68 for Misc, not the 56.58 of
section 4.2 (only 58.68 gives its 295.73), and 293.29 for MPI_Wait in MPICH, not the 293.99 of section 6 (only 293.29
gives the 443.8 of section 5). The second does not enter any sum.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

from labkit.errors import SpecError, unknown_name
from labkit.models.breakdown import Breakdown, Part, Time
from labkit.read import reference

PAPER = "breaking-band-2019"


@dataclass(frozen=True, kw_only=True)
class Components:
    """Times of the paper's components, all in one unit, at least 0.

    Parameters
    ----------
    md_setup, md_barrier, dbc_barrier, pio_copy, post_misc : the five parts of LLP_post: descriptor, barrier, barrier
        after the doorbell counter, programmed copy to the adapter, and the rest.
    llp_prog : UCT takes one entry from the completion queue.
    busy_post, update : between two posts of put_bw: a post that finds the queue full, and the benchmark's own work.
    pcie : PCI Express between processor and adapter, one way.
    wire, switch : network, one way; 0 for a direct link.
    rc_to_mem : the root complex writes the payload to memory.
    isend_mpich, isend_ucp : MPI_Isend above UCT.
    callback_mpich, callback_ucp, after_progress : complete a receive above UCT.
    wait_mpich, wait_ucp : all of a successful MPI_Wait above UCT, part of which overlaps with the message's way.
    post_prog : complete a send, amortised over the sends of one completion.
    busy_posts : posts that find the queue full, for each message of MPI.
    per_completion : sends for each completion.

    Raises
    ------
    SpecError
        If a time is negative or not finite, or there is no send for a completion.
    """

    md_setup: float = 0.0
    md_barrier: float = 0.0
    dbc_barrier: float = 0.0
    pio_copy: float = 0.0
    post_misc: float = 0.0
    llp_prog: float = 0.0
    busy_post: float = 0.0
    update: float = 0.0
    pcie: float = 0.0
    wire: float = 0.0
    switch: float = 0.0
    rc_to_mem: float = 0.0
    isend_mpich: float = 0.0
    isend_ucp: float = 0.0
    callback_mpich: float = 0.0
    callback_ucp: float = 0.0
    after_progress: float = 0.0
    wait_mpich: float = 0.0
    wait_ucp: float = 0.0
    post_prog: float = 0.0
    busy_posts: float = 0.0
    per_completion: int = 64

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if not 0 <= value < math.inf:
                raise SpecError(f"{name}={value}, but a component takes at least 0 and a finite time.")
        if self.per_completion < 1:
            raise SpecError("per_completion=0, but a completion is for at least 1 send.")

    @property
    def llp_post(self) -> float:
        """UCT posts a message: the sum of its five parts."""
        return self.md_setup + self.md_barrier + self.dbc_barrier + self.pio_copy + self.post_misc

    @property
    def misc(self) -> float:
        """Time between a post and the next that is neither post nor poll, in put_bw."""
        return self.busy_post + self.update

    @property
    def network(self) -> float:
        """Wire and switch, one way."""
        return self.wire + self.switch

    @property
    def hlp_post(self) -> float:
        """MPI and UCP start a send."""
        return self.isend_mpich + self.isend_ucp

    @property
    def post(self) -> float:
        """All layers start a send."""
        return self.hlp_post + self.llp_post

    @property
    def hlp_rx_prog(self) -> float:
        """MPI and UCP complete a receive, after UCT found the message."""
        return self.callback_mpich + self.callback_ucp + self.after_progress

    @property
    def llp_tx_prog(self) -> float:
        """UCT's part of `post_prog`: one poll for all sends of a completion."""
        return min(self.llp_prog / self.per_completion, self.post_prog)

    @property
    def hlp_tx_prog(self) -> float:
        """MPI's and UCP's part of `post_prog`."""
        return self.post_prog - self.llp_tx_prog


def published() -> Components:
    """Return the components that the paper prints, ns.

    Examples
    --------
    >>> paper = published()
    >>> [round(of(paper), 2) for of in (injection_llp, latency_llp, injection, latency)]
    [295.73, 1135.8, 264.97, 1387.02]
    """
    paper = reference.load(PAPER)
    names = {field.name for field in dataclasses.fields(Components)} - {"per_completion"}
    return Components(**{name: paper[name].value for name in names}, per_completion=round(paper["unsignaled"].value))


# ---- injection: from one message to the next, at the adapter ---------------------------------------------------------


def gen_completion(c: Components, write: float | None = None) -> float:
    """Time from a post's arrival at the bus until its completion can be polled (section 4.2).

    2 × (PCIe + Network) + RC-to-MEM(64 B): there, and back as the acknowledgement.

    Parameters
    ----------
    write : of the 64 B of a completion to memory; that of the payload if None. The paper gives 8 B alone.
    """
    return 2 * (c.pcie + c.network) + (c.rc_to_mem if write is None else write)


def least_posts(c: Components, write: float | None = None) -> int:
    """Return the least number p of posts between polls for which no poll waits: p ≥ gen_completion / LLP_post.

    Raises
    ------
    SpecError
        If a post takes no time, so that no number is enough.

    Examples
    --------
    >>> least_posts(published())
    8
    """
    if not c.llp_post:
        raise SpecError("LLP_post is 0, but then no number of posts hides a completion. Give the parts of the post.")
    return max(1, math.ceil(gen_completion(c, write) / c.llp_post))


def cpu_time(c: Components, batch: int, total_misc: float) -> float:
    """Time of the processor for each message, if it posts and polls in batches (section 4.2).

    (b × LLP_post + b × LLP_prog + tot_misc) / b, which is LLP_post + LLP_prog + Misc.

    Parameters
    ----------
    batch : posts, and then polls, b; at least `least_posts`, or a poll waits.
    total_misc : other time of the whole batch.

    Raises
    ------
    SpecError
        If the batch is too small for the model.
    """
    if batch < (least := least_posts(c)):
        raise SpecError(f"batch={batch}, but a poll waits unless {least} posts lie between. Set batch={least}.")
    return (batch * c.llp_post + batch * c.llp_prog + total_misc) / batch


def injection_llp(c: Components) -> float:
    """Equation 1: LLP_post + LLP_prog + Misc, the time between two messages of put_bw at the adapter."""
    return c.llp_post + c.llp_prog + c.misc


def message_injection(c: Components) -> float:
    """Time that one message takes to the adapter: CPU_time + PCIe. The next one overlaps with its second part."""
    return injection_llp(c) + c.pcie


def injection(c: Components) -> float:
    """Equation 2: Post + Post_prog + Misc, the time between two messages of MPI; Misc are the busy posts."""
    return c.post + c.post_prog + c.busy_posts


# ---- latency: from the call to the payload in the receiver's hands ---------------------------------------------------


def latency_llp(c: Components) -> float:
    """Latency without MPI (section 4.3): LLP_post + 2 PCIe + Network + RC-to-MEM + LLP_prog."""
    return c.llp_post + 2 * c.pcie + c.network + c.rc_to_mem + c.llp_prog


def latency(c: Components) -> float:
    """Latency with MPI (section 6): HLP_post and HLP_rx_prog more than without it."""
    return c.hlp_post + latency_llp(c) + c.hlp_rx_prog


# ---- the same as breakdowns ------------------------------------------------------------------------------------------

# number of the paper → its smallest parts in Table 1 and section 6, in the order of the path
MODELS = {
    "injection_llp": (
        "md_setup",
        "md_barrier",
        "dbc_barrier",
        "pio_copy",
        "post_misc",
        "llp_prog",
        "busy_post",
        "update",
    ),
    "injection": (
        *("isend_mpich", "isend_ucp"),
        *("md_setup", "md_barrier", "dbc_barrier", "pio_copy", "post_misc"),
        *("hlp_tx_prog", "llp_tx_prog", "busy_posts"),
    ),
    "latency_llp": (
        *("md_setup", "md_barrier", "dbc_barrier", "pio_copy", "post_misc"),
        *("pcie", "wire", "switch", "pcie", "rc_to_mem", "llp_prog"),
    ),
    "latency": (
        *("isend_mpich", "isend_ucp"),
        *("md_setup", "md_barrier", "dbc_barrier", "pio_copy", "post_misc"),
        *("pcie", "wire", "switch", "pcie", "rc_to_mem", "llp_prog"),
        *("callback_ucp", "callback_mpich", "after_progress"),
    ),
}
HLP_POST, LLP_POST = ("isend_mpich", "isend_ucp"), ("md_setup", "md_barrier", "dbc_barrier", "pio_copy", "post_misc")
HLP_RX, HLP, LLP = (
    ("callback_mpich", "callback_ucp", "after_progress"),
    ("isend_mpich", "isend_ucp", "hlp_tx_prog", "callback_mpich", "callback_ucp", "after_progress"),
    (*LLP_POST, "llp_tx_prog", "llp_prog"),
)
IO, NETWORK = ("pcie", "rc_to_mem"), ("wire", "switch")
_SPLIT = {"hlp_tx_prog": "complete a send, MPI and UCP", "llp_tx_prog": "complete a send, UCT"}


def breakdown(name: str, c: Components | None = None, title: str = "") -> Breakdown:
    """Return a model's sum as a breakdown into its smallest parts.

    Parameters
    ----------
    name : name of `MODELS`.
    c : components; the paper's own if None, with what it observed.
    title : title of the whole; that of the paper if empty.

    Raises
    ------
    SpecError
        If there is no such model.
    """
    paper, values = reference.load(PAPER), c or published()
    if name not in MODELS:
        raise unknown_name("model", name, list(MODELS))
    parts = []
    for part in MODELS[name]:
        number = paper.numbers.get(part)
        text, kind = (number.text, number.kind) if number else (_SPLIT[part], "processor")
        where = paper.place(number) if number else f"{paper.short}, section 6"
        parts.append(Part(name=part, text=text, kind=kind, time=Time(value=getattr(values, part)), source=where))
    observed = None if c else Time(value=paper[paper[name].observed].value)
    origin = "modelled" if c else "published"
    return Breakdown(
        title=title or paper[name].text, unit=paper.unit, origin=origin, parts=tuple(parts), observed=observed
    )


# ---- percentages of the figures --------------------------------------------------------------------------------------


def figures(c: Components | None = None) -> dict[str, dict[str, float]]:
    """Return the percentages of Figures 4, 8 and 10 to 16, computed from components; each adds up to 100 %.

    The text of the paper states some of them; the others are only in its figures.

    Parameters
    ----------
    c : components; the paper's own if None.
    """
    c = c or published()
    initiator = {"software": c.post, "I/O": c.pcie}
    target = {"software": c.llp_prog + c.hlp_rx_prog, "I/O": c.pcie + c.rc_to_mem}
    software, bus = c.post + c.llp_prog + c.hlp_rx_prog, 2 * c.pcie + c.rc_to_mem
    wholes: Mapping[str, Mapping[str, float]] = {
        "Figure 4: LLP_post": {
            "message descriptor": c.md_setup,
            "barrier after it": c.md_barrier,
            "barrier after the doorbell counter": c.dbc_barrier,
            "PIO copy": c.pio_copy,
            "rest": c.post_misc,
        },
        "Figure 8: injection without MPI": {"LLP_post": c.llp_post, "LLP_prog": c.llp_prog, "Misc": c.misc},
        "Figure 10: latency without MPI": {
            "LLP_post": c.llp_post,
            "PCIe, there": c.pcie,
            "wire": c.wire,
            "switch": c.switch,
            "PCIe, target": c.pcie,
            "RC-to-MEM": c.rc_to_mem,
            "LLP_prog": c.llp_prog,
        },
        "Figure 11: MPI_Isend above UCT": {"MPICH": c.isend_mpich, "UCP": c.isend_ucp},
        "Figure 11: MPI_Wait above UCT": {"MPICH": c.wait_mpich, "UCP": c.wait_ucp},
        "Figure 12: injection with MPI": {"Post": c.post, "Post_prog": c.post_prog, "Misc": c.busy_posts},
        "Figure 13: latency with MPI": {
            "HLP_post": c.hlp_post,
            "LLP_post": c.llp_post,
            "PCIe, there": c.pcie,
            "wire": c.wire,
            "switch": c.switch,
            "PCIe, target": c.pcie,
            "RC-to-MEM": c.rc_to_mem,
            "LLP_prog": c.llp_prog,
            "HLP_rx_prog": c.hlp_rx_prog,
        },
        "Figure 14: initiation": {"LLP": c.llp_post, "HLP": c.hlp_post},
        "Figure 14: progress of a send": {"LLP": c.llp_tx_prog, "HLP": c.hlp_tx_prog},
        "Figure 14: progress of a receive": {"LLP": c.llp_prog, "HLP": c.hlp_rx_prog},
        "Figure 15: latency by category": {"software": software, "I/O": bus, "network": c.network},
        "Figure 15: software": {"LLP": c.llp_post + c.llp_prog, "HLP": c.hlp_post + c.hlp_rx_prog},
        "Figure 15: I/O": {"PCIe, twice": 2 * c.pcie, "RC-to-MEM": c.rc_to_mem},
        "Figure 15: network": {"wire": c.wire, "switch": c.switch},
        "Figure 16: on the nodes": {"initiator": sum(initiator.values()), "target": sum(target.values())},
        "Figure 16: initiator": initiator,
        "Figure 16: target": target,
        "Figure 16: I/O of the target": {"RC-to-MEM": c.rc_to_mem, "PCIe": c.pcie},
    }
    return {figure: _percent(parts) for figure, parts in wholes.items()}


def _percent(parts: Mapping[str, float]) -> dict[str, float]:
    total = math.fsum(parts.values())
    if not total:
        return dict.fromkeys(parts, math.nan)
    return {name: 100 * value / total for name, value in parts.items()}


# ---- Figure 17 -------------------------------------------------------------------------------------------------------

# panel → whole, and lines: what becomes cheaper → its parts; the lines that the text of section 7 names
FIGURE_17: Mapping[str, tuple[str, Mapping[str, tuple[str, ...]]]] = {
    "(a) injection, software": (
        "injection",
        {"HLP": HLP, "HLP_tx_prog": ("hlp_tx_prog",), "LLP": LLP, "LLP_post": LLP_POST, "PIO": ("pio_copy",)},
    ),
    "(b) latency, software": (
        "latency",
        {"HLP": HLP, "HLP_rx_prog": HLP_RX, "LLP": LLP, "LLP_post": LLP_POST, "PIO": ("pio_copy",)},
    ),
    "(c) latency, I/O": ("latency", {"integrated NIC": IO, "PCIe": ("pcie",), "RC-to-MEM": ("rc_to_mem",)}),
    "(d) latency, network": ("latency", {"wire": ("wire",), "switch": ("switch",)}),
}
