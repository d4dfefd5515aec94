"""Generate the parts of the summary: key numbers, systems, measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from labkit.point import units
from labkit.point.columns import STATISTICS
from labkit.point.notes import joined
from labkit.read.records import bases
from labkit.read.records.factors import ASSUMED, OPEN
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.report.variables import KeyNumber, key_numbers, sized, title

_LINES = 32  # of the table of key numbers: more do not fit on a page
_WIDE = (20, 24)  # characters of a line of its columns quantity and setting
_TWICE = ("mpi.latency", "mpi.bandwidth")  # shown on every path
_BEFORE = (  # what readers look for first
    "mpi.latency",
    "mpi.bandwidth",
    "mpi.multi_bandwidth",
    "mpi.allreduce",
    "mpi.alltoall",
    "sockets.tcp_rr",
    "sockets.tcp_stream",
    "verbs.write_latency",
    "verbs.write_bandwidth",
    "storage.read",
    "storage.write",
)
_HOST_FIRST = (
    "name",
    "hostname",
    "cpu_model",
    "cpu_sockets",
    "cpu_cores",
    "cpu_threads",
    "cpus_usable",
    "numa_nodes",
    "memory_total_B",
    "distribution",
    "kernel",
    "virtualisation",
    "container",
    "governor",
    "clock_source",
)


def key_table(content: Content) -> str:
    """Return a table of the most important key numbers, at most a page long."""
    total = 0
    rows = []
    for source in content.sources:
        numbers = key_numbers(source)
        total += len(numbers)
        rows += [(source, _key_row(number)) for number in _leading(numbers, _LINES // len(content.sources))]
    rest = f" {len(rows)} of {total} key numbers; key-numbers.json has all." if len(rows) < total else ""
    rests = joined(bases(source.summary) for source in content.sources)
    if any(source.doubted for source in content.sources):
        rest += " Points that contradict what is expected are left out."
    return content.table(
        ["quantity", "path", "ranks", "setting", "size", "value", "interval", "launches", "n"],
        rows,
        align="llrlrrlrr",
        caption=f"Key numbers.{rest} The values are based on {rests}. {{#tbl-key}}",
        empty="This campaign has no samples yet, so there are no key numbers.",
    )


def value_kinds(content: Content) -> str:
    """Return a sentence on the statistics and origins of the values in the table of key numbers."""
    numbers = [one for source in content.sources for one in key_numbers(source)]
    own = dict.fromkeys(one.statistic for one in numbers if one.n)
    given = sorted({(STATISTICS[one.statistic].label, one.origin) for one in numbers if not one.n})
    which = "Each value" if not given else "Each value with a number of samples (n)"
    sentences = []
    for statistic in own:
        about = f"{which} is" if len(own) == 1 else f"A {STATISTICS[statistic].label} is"
        what = "median over iterations" if statistic == "p50" else f"{STATISTICS[statistic].label} of its samples"
        sentences.append(f"{about} the median over launches of the {what}.")
    if given:
        listed = joined(f"{label} ({origin})" for label, origin in given)
        subject = "Each value without n" if own else "Each value"
        sentences.append(f"{subject} is what its source states: {listed}. labkit has no samples of it (n: –).")
    return " ".join(sentences)


def _leading(numbers: Sequence[KeyNumber], most: int) -> list[KeyNumber]:
    """Return the numbers of the most important curves: one curve of each benchmark, then the second of each.

    Benchmarks count in the order of `_BEFORE`; a curve keeps both of its ends.
    """
    curves: dict[tuple[Any, ...], list[KeyNumber]] = {}
    for one in numbers:
        curves.setdefault(
            (one.benchmark, one.transport, one.ranks, one.ranks_assumed, one.setting, one.origin), []
        ).append(one)
    turn: Counter[str] = Counter()
    ranked = []
    for (benchmark, *_), ends in sorted(curves.items(), key=lambda item: item[0][1] in OPEN):
        named = benchmark in _TWICE and ends[0].transport not in OPEN
        ranked.append((turn[benchmark] - 2 * named, _place(benchmark), benchmark, ends))
        turn[benchmark] += 1
    chosen: list[KeyNumber] = []
    room = most
    for *_, ends in sorted(ranked, key=lambda one: one[:3]):
        room -= len(ends) * max(
            -(-len(text) // wide) for text, wide in zip((ends[0].title, ends[0].setting), _WIDE, strict=True)
        )
        if room < 0:
            break
        chosen += ends
    return sorted(chosen, key=lambda one: _place(one.benchmark))


def _place(benchmark: str) -> int:
    """Return the place of a benchmark in the table: those that readers look for stand first."""
    return _BEFORE.index(benchmark) if benchmark in _BEFORE else len(_BEFORE)


def _key_row(number: KeyNumber) -> list[str]:
    value = number.shown.readable()
    origin = "" if number.origin == "measured" else f" ({number.origin})"
    return [
        escape(f"{number.title}{origin}"),
        escape(number.transport),
        f"{number.ranks}{ASSUMED if number.ranks_assumed else ''}",
        escape(number.setting) or "–",
        _size(number.size) if sized(number.benchmark) else "–",
        f"**{value.text}**\u00a0{value.unit}",
        value.range.replace(" ", "\u00a0"),
        str(number.launches),
        units.format_count(number.n) if number.n else "–",
    ]


def _size(size: int) -> str:
    """Return a size without a place for a line break."""
    return units.format_size(size).replace(" ", "\u00a0")


def flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return nested facts as rows of name and text, without empty facts.

    Examples
    --------
    >>> flat({"cpu": {"model": "A", "flags": []}, "nodes": ["a", "b"]})
    [('cpu model', 'A'), ('nodes', 'a, b')]
    >>> flat({"nics": [{"name": "lo", "kind": "loopback", "mtu": 65536}]})
    [('nics lo', 'kind loopback, mtu 65536')]
    >>> flat({"load": {"load_1": 1.5, "tasks": 3}})
    [('load 1', '1.5'), ('load tasks', '3')]
    """
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        group = prefix.rpartition(" ")[0].rpartition(" ")[2]  # a name that begins with that of its group has it once
        name = f"{prefix}{key.removeprefix(f'{group}_') if group else key}".replace("_", " ")
        if isinstance(value, Mapping):
            rows += flat(value, f"{name} ")
        elif isinstance(value, list | tuple):
            if all(not isinstance(part, Mapping | list) for part in value):
                if value:
                    rows.append((name, ", ".join(units.format_fact(str(key), part) for part in value)))
            else:
                for number, part in enumerate(value, start=1):
                    if isinstance(part, Mapping) and isinstance(part.get("name"), str):  # such as a network interface
                        about = flat({one: fact for one, fact in part.items() if one != "name"})
                        rows.append((f"{name} {part['name']}", ", ".join(f"{one} {text}" for one, text in about)))
                    else:
                        rows += flat(part if isinstance(part, Mapping) else {"": part}, f"{name} {number} ")
        elif value not in (None, ""):
            rows.append((name.removesuffix(" B").strip(), units.format_fact(str(key), value)))
    return rows


def paired(facts: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return facts as rows of a table with two facts each, the first half on the left.

    Examples
    --------
    >>> paired([("a", "1"), ("b", "2"), ("c", "3")])
    [['a', '1', 'c', '3'], ['b', '2', '', '']]
    """
    cells = [[escape(name), escape(value)] for name, value in facts]
    half = -(-len(cells) // 2)
    return [[*left, *right] for left, right in zip_longest(cells[:half], cells[half:], fillvalue=["", ""])]


def facts_table(
    content: Content, facts: Sequence[tuple[Source, Sequence[tuple[str, str]]]], *, caption: str, empty: str
) -> str:
    """Return a table of facts, two in a row; facts common to all campaigns come first, once.

    Parameters
    ----------
    facts : campaign, and its facts as name and text.
    caption, empty : as `Content.table` takes them.
    """
    everywhere = [set(facts_of) for _, facts_of in facts]
    shared = set.intersection(*everywhere) if content.several and everywhere else set()
    rows: list[tuple[Source | None, list[str]]] = []
    if shared:
        rows += [(None, row) for row in paired([fact for fact in facts[0][1] if fact in shared])]
    for source, facts_of in facts:
        rows += [(source, row) for row in paired([fact for fact in facts_of if fact not in shared])]
    return content.table(["fact", "value", "fact", "value"], rows, caption=caption, empty=empty)


def hosts(content: Content) -> str:
    """Return a short table of the hosts; the appendix has every fact."""
    facts: list[tuple[Source, list[tuple[str, str]]]] = []
    for source in content.sources:
        for name, host in _hosts(source).items():
            of_campaign = [("campaign", name)] if name else []
            facts.append((source, of_campaign + flat(_first(host) or host) + _interfaces(host)))
    rest = markdown.needing("tbl-host-all", "; @tbl-host-all has what else was recorded")
    return facts_table(
        content,
        facts,
        caption=f"Systems that were measured{rest}. {{#tbl-hosts}}",
        empty="The campaign holds no description of its host.",
    )


def _first(host: Mapping[str, Any]) -> dict[str, Any]:
    return {key: host[key] for key in _HOST_FIRST if key in host}


def rest(host: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the facts on a host that the table of the systems lacks."""
    first = _first(host)
    return flat({key: value for key, value in host.items() if key not in first}) if first else []


def _hosts(source: Source) -> dict[str, Mapping[str, Any]]:
    """Return the host of a campaign, or the hosts of those that were merged into it, by name."""
    origins = source.facts.get("origins")
    facts = {k: v for k, v in origins.items() if isinstance(v, Mapping)} if isinstance(origins, Mapping) else {}
    merged = {str(name): one["host"] for name, one in facts.items() if isinstance(one.get("host"), Mapping)}
    return merged or {"": source.host}


def _interfaces(host: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the physical network interfaces, a row each."""
    rows = []
    nics = host.get("nics")
    for nic in nics if isinstance(nics, list) else ():
        if isinstance(nic, Mapping) and nic.get("physical"):
            speed = f"{nic['speed_Mbps']} Mbit/s" if nic.get("speed_Mbps") else ""
            facts = [nic.get("kind"), nic.get("driver"), nic.get("model"), speed, nic.get("state")]
            rows.append((f"network {nic.get('name', '')}", ", ".join(str(fact) for fact in facts if fact)))
    return rows


def measured(content: Content) -> str:
    """Return a table of what was measured: benchmarks with points, launches and samples."""
    rows: list[tuple[Source, list[str]]] = []
    for source in content.sources:
        for benchmark, group in source.by_benchmark():
            sizes = group["message_size_B"]
            span = _size(int(sizes.min())) + (f" to {_size(int(sizes.max()))}" if sizes.nunique() > 1 else "")
            origins = ", ".join(sorted(group["origin"].unique()))
            cells = [
                escape(title(benchmark)),
                markdown.code(benchmark),
                span if sized(benchmark) else "–",
                str(group["fingerprint"].nunique()),
                str(len(group)),
                units.format_count(group["n"].sum()),
                escape(origins),
            ]
            rows.append((source, cells))
    return content.table(
        ["quantity", "benchmark", "sizes", "points", "launches", "iterations", "origin"],
        rows,
        align="lllrrrl",
        caption="Measurements. Each launch of a point is a fresh start. {#tbl-measured}",
        empty="The campaign holds no samples.",
    )


BLOCKS = {"key-numbers": key_table, "value-kinds": value_kinds, "hosts": hosts, "measured": measured}
