"""How fast are reads and writes, and does the disk or the page cache answer them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from labkit import figures, notes, records, studies
from labkit.spec import Spec, sweep
from labkit.studies import markdown_list, size_words, statement, tail, words

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the storage notebook.

    Parameters
    ----------
    sizes : of one read or write.
    patterns : sequential, random.
    syncs : how far a write must get before it counts: none, or osync.
    directory : on the file system to be measured; empty for a temporary folder.
    iozone : measure iozone's table of file size × record size.
    """

    sizes: str = "4Ki,64Ki,1Mi"
    patterns: str = "sequential,random"
    syncs: str = "none,osync"
    directory: str = ""
    iozone: bool = True


class Study(studies.Study):
    """Reads and writes by size, pattern and sync, and iozone's heat maps."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = ("storage.read", "storage.write", "storage.iozone")
    focus: ClassVar = (("storage.write", "option_sync"), ("storage.read", "option_pattern"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Reads; writes with and without sync; the table of file size × record size."""
        v = self.values
        common = {"ranks": 1, "directory": v.directory}
        specs = sweep("storage.read", sizes=v.sizes, pattern=words(v.patterns), **common)
        specs += sweep("storage.write", sizes=v.sizes, pattern=words(v.patterns), sync=words(v.syncs), **common)
        if v.iozone:
            specs += sweep("storage.iozone", sizes=0, sync=[False, True], **common)
        return specs

    def read_figure(self) -> go.Figure | str:
        """Time of one read against its size."""
        return self.drawn(
            figures.versus_size, self.of("storage.read"), "latency_us", series=["option_pattern"], tail="p99"
        )

    def write_figure(self) -> go.Figure | str:
        """Time of one write against its size, with and without sync."""
        rows = self.of("storage.write")
        return self.drawn(figures.versus_size, rows, "latency_us", series=["option_pattern", "option_sync"], tail="p99")

    def heat_map(self, test: str, *, sync: bool) -> go.Figure | str:
        """Throughput over file size and record size.

        Parameters
        ----------
        test : ``read``, ``reread``, ``write`` or ``rewrite``.
        sync : with O_SYNC.
        """
        chosen = [s for s in self.samples if s.spec.benchmark == "storage.iozone" and s.spec.option("sync") == sync]
        cells = records.reported(chosen)
        return figures.heat_map(cells[cells["test"] == test], "file_size_B", "record_size_B", "bandwidth_MBps")

    def findings(self) -> str:
        """Findings as a Markdown list."""
        sentences = []
        for name in ("storage.read", "storage.write"):
            rows = self.of(name)
            for _, row in rows[rows["message_size_B"] == rows["message_size_B"].min()].iterrows():
                options = [row.get("option_pattern"), row.get("option_sync")]
                how = ", ".join(word for word in options if isinstance(word, str) and word not in ("none", ""))
                sentences.append(
                    f"{name}, {size_words(row['message_size_B'])}, {how}: {statement(row, 'latency_us')}"
                    f"{tail(row, 'latency_us')}."
                )
        cached = self.records[[notes.has(badges, "page-cache") for badges in self.records["badges"]]]
        if len(cached):
            sentences.append(
                f"In {len(cached)} of {len(self.records)} records the page cache may have answered; "
                f"they measure memory, not the disk."
            )
        return markdown_list(sentences)
