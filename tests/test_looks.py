"""A series keeps its colour and marker, whatever else is drawn, in whatever order, and whoever draws it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.apps.explorer.view import View
from labkit.figures import looks, style, versus_size
from labkit.figures.looks import COLOURS, SHAPES


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    with looks.session():
        yield


def rows(**columns: object) -> pd.DataFrame:
    """Points of one line at four sizes."""
    sizes = [1, 2, 4, 8]
    names = ",".join(f"{key}={value}" for key, value in columns.items())
    return pd.DataFrame(
        {
            "benchmark": "mpi.latency",
            "message_size_B": sizes,
            "transport": "auto",
            "ranks": 2,
            "launcher": "openmpi",
            "origin": "measured",
            "latency_us_p50": [1.0, 2.0, 3.0, 4.0],
            "headline": "1 launch",
            "campaign": "one",
            "fingerprint": [f"{names},{size}" for size in sizes],
        }
    ).assign(**columns)


def drawn(figure: object) -> dict[str, tuple[str, str]]:
    """Name → colour and marker."""
    return {trace.name: (trace.line.color, trace.marker.symbol) for trace in figure.data}  # type: ignore[attr-defined]


LINES = [rows(transport="shm"), rows(transport="tcp"), rows(transport="ucx"), rows(transport="ofi")]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_a_line_that_was_drawn_is_never_recoloured_when_others_come(order: tuple[int, ...]) -> None:
    view, before = View(metric="latency_us"), {}
    for count in range(1, 5):
        figure = view.figure(pd.concat([LINES[n] for n in order[:count]], ignore_index=True))
        paths = {tuple(trace.x): trace for trace in figure.data}
        assert paths
        now = {
            name if count > 1 else LINES[order[0]]["transport"].iloc[0]: look for name, look in drawn(figure).items()
        }
        assert {name: now[name] for name in before} == before
        assert len(set(now.values())) == count
        before = now
    assert (before["shm"], before["tcp"]) == (("#0072b2", "circle"), ("#d55e00", "square"))


@settings(deadline=None, max_examples=10)
@given(st.permutations(range(4)), st.lists(st.sampled_from(["a", "ucx, 2 ranks", "launch 3"]), unique=True))
@pytest.mark.slow
def test_a_line_looks_the_same_in_every_session_order_and_report(order: list[int], before: list[str]) -> None:
    view, seen = View(metric="latency_us"), []
    for drawn_before in ([], before):  # by another notebook, or by the Explorer
        with looks.session():
            looks.named(drawn_before)
            seen.append(drawn(view.figure(pd.concat([LINES[n] for n in order], ignore_index=True))))
    with looks.session():
        report = drawn(versus_size(pd.concat(LINES, ignore_index=True), "latency_us", series=["transport"], tail=None))
    assert seen[0] == report
    assert {name: colour for name, (colour, _) in seen[1].items()} == {n: colour for n, (colour, _) in report.items()}


def test_neighbours_in_a_family_have_colours_of_their_own() -> None:
    for names in ([f"launch {n}" for n in range(5)], [f"{n} ranks" for n in (2, 4, 8, 16)]):
        alone = []
        for name in names[:3]:
            with looks.session():
                alone += looks.named([name])
        with looks.session():
            assert [look.slot for look in looks.named(names)[:3]] == [look.slot for look in alone]
            assert len({look.colour for look in looks.named(names)}) == len(names)


def test_points_that_are_added_to_a_line_change_nothing_of_it() -> None:
    view = View(metric="latency_us")
    few = pd.concat([LINES[2].head(1), LINES[3].head(2)])
    first = drawn(view.figure(few))
    later = drawn(view.figure(pd.concat([LINES[3], LINES[0], LINES[2]])))
    assert {name: later[name] for name in first} == first


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.sampled_from([f"s{n}" for n in range(12)]), min_size=1, unique=True), max_size=8))
def test_twelve_lines_are_told_apart_and_keep_their_looks(figures: list[list[str]]) -> None:
    with looks.session():
        slots: dict[str, int] = {}
        for names in figures:
            latest = {look.series: look.slot for look in looks.named(names)}
            assert all(slots.get(name, slot) == slot for name, slot in latest.items())
            slots |= latest
            assert len(set(latest.values())) == len(names)
        if figures == []:
            twelve = looks.named([f"n{n}" for n in range(10)] + ["shm", "tcp"])
            assert len({look.colour for look in twelve}) == 12


def test_a_session_leaves_the_looks_of_the_one_around_it() -> None:
    looks.keep({"ucx": 40})
    with looks.session():
        assert looks.named(["ucx"])[0].slot != 40
        looks.keep({"ofi": 41})
    assert looks.named(["ucx"])[0].slot == 40
    assert looks.named(["ofi"])[0].slot != 41


def test_colours_and_shapes_meet_only_once() -> None:
    each = [looks.Look("", slot) for slot in range(looks.SLOTS)]
    assert len({(look.colour, look.shape) for look in each}) == len(COLOURS) * len(SHAPES) == looks.SLOTS


def test_a_path_in_a_name_gives_its_colour_and_an_origin_changes_only_the_marker() -> None:
    one, other = looks.named(["mpi.bandwidth, shm", "sockets.tcp_stream, auto"])
    assert one.colour == looks.named(["shm"])[0].colour != other.colour
    both = pd.concat([rows(library="a"), rows(library="a", origin="reported", fingerprint=list("abcd"))])
    measured, reported = versus_size(both, "latency_us", series=["library"], tail=None).data
    assert measured.line.color == reported.line.color
    assert reported.marker.symbol == f"{measured.marker.symbol}-open"


def test_no_two_lines_of_a_figure_have_one_name() -> None:
    both = pd.concat([rows(option_tool="a", origin="reported"), rows(option_tool=None, origin="reported")])
    names = [name for name, *_ in style.split(both.assign(option_x=None), ["option_tool", "option_x"])]
    assert len(set(names)) == 2
    alike = pd.concat([rows(option_x="a", option_y=""), rows(option_x=None, option_y="a")])
    assert [name for name, *_ in style.split(alike, ["option_x", "option_y"])] == ["a, x a, y -", "a, x -, y a"]
    older = pd.concat([rows(option_x="").head(2), rows(option_x=None).tail(2)])
    assert [name for name, *_ in style.split(older, ["option_x"])] == ["measured"]


def beside(*campaigns: str, paths: tuple[str, ...] = ("shm", "tcp")) -> pd.DataFrame:
    """The same lines of several campaigns."""
    some = [rows(transport=path, campaign=name) for name in campaigns for path in paths]
    return pd.concat(some, ignore_index=True)


def test_campaigns_share_the_colour_of_a_path_and_differ_in_marker_and_dashes() -> None:
    for campaigns in (("node7-before", "node7-after"), ("node7-after", "node7-before")):  # the first figure decides
        view = View(metric="latency_us")
        traces = {trace.name: trace for trace in view.figure(beside(*campaigns)).data}
        assert {*traces} == {f"node7-{when}, {path}" for when in ("before", "after") for path in ("shm", "tcp")}
        for path, colour in (("shm", COLOURS[0]), ("tcp", COLOURS[1])):
            one, other = traces[f"node7-before, {path}"], traces[f"node7-after, {path}"]
            assert one.line.color == other.line.color == colour
            assert one.marker.symbol != other.marker.symbol
            assert (one.line.dash, other.line.dash) == ("solid", "dash")
            assert one.legendgroup != other.legendgroup
    alone = View(metric="latency_us").figure(beside("node7-after")).data
    assert [trace.line.color for trace in alone] == [*COLOURS[:2]]


def test_campaigns_with_one_line_each_differ_in_colour() -> None:
    figure = versus_size(beside("before", "after", paths=("shm",)), "latency_us", tail=None)
    assert len({trace.line.color for trace in figure.data}) == 2
    assert {trace.line.dash for trace in figure.data} == {"solid"}


def test_the_looks_of_campaigns_are_kept_and_repainted() -> None:
    looks.keep({}, ["other", "before"])
    spec = json.loads(View(metric="latency_us").figure(beside("after", "before")).to_json())
    shapes = {trace["name"]: trace["marker"]["symbol"] for trace in spec["data"]}
    kept = {name: SHAPES[(slot + n) % len(SHAPES)] for slot, path in enumerate(("shm", "tcp"))
            for n, name in ((1, f"before, {path}"), (2, f"after, {path}"))}  # fmt: skip
    assert shapes == kept
    assert looks.repaint(spec, {"shm": 9})
    painted = {trace["name"]: (trace["line"]["color"], trace["marker"]["symbol"]) for trace in spec["data"]}
    assert painted["before, shm"] == (COLOURS[9], SHAPES[(9 + 1) % len(SHAPES)])
    assert painted["after, shm"] == (COLOURS[9], SHAPES[(9 + 2) % len(SHAPES)])
    assert painted["after, tcp"][1] == shapes["after, tcp"]


def test_repainting_changes_every_colour_and_marker_of_a_series() -> None:
    figure = versus_size(pd.concat([rows(transport="ucx"), rows(transport="ofi")]), "latency_us", tail=None)
    spec = json.loads(figure.to_json())
    old, new = looks.drawn(spec["data"][0]), looks.Look("ucx", 9)
    assert old is not None
    assert not looks.repaint(spec, {"ucx": old.slot})
    assert looks.repaint(spec, {"ucx": 9})
    text = json.dumps(spec["data"][0])
    assert old.colour not in text
    assert new.colour in text
    assert spec["data"][0]["marker"]["symbol"] == new.shape
    assert looks.drawn(spec["data"][0]) == new
