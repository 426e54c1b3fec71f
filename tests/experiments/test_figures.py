"""Figures: the same bytes each time, nothing lost on the way from numbers to picture."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from experiments import table
from experiments.figures import contrasts, control, convergence, style
from experiments.statistics.aggregate import Interval, curves
from experiments.statistics.paired import Comparison, comparison
from tests.experiments import synthetic

LOOKS = style.looks(synthetic.ARMS)
TASKS = tuple(synthetic.TASKS)


@pytest.fixture(scope="module")
def tables() -> table.Tables:
    return table.tidy(*synthetic.tables(4))


@pytest.fixture(scope="module")
def regret(tables: table.Tables) -> pd.DataFrame:
    points = table.points(tables.trajectories, "log_regret")
    return curves(points, synthetic.generator("regret"))


@pytest.fixture(scope="module")
def dials(tables: table.Tables) -> pd.DataFrame:
    parts = [
        curves(
            table.points(tables.trajectories, name), synthetic.generator(name)
        ).assign(quantity=name)
        for name in control.QUANTITIES
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def compared(tables: table.Tables) -> list[tuple[str, Comparison]]:
    values = table.values(tables.runs)
    return [
        (contrast.title, comparison(values, contrast.arm, contrast.base, rng))
        for contrast in synthetic.PAGE.contrasts
        for rng in [synthetic.generator(contrast.title)]
    ]


def luminance(colour: str) -> float:
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def words(figure: Figure) -> str:
    return " ".join(ElementTree.fromstring(style.svg(figure)).itertext())


def test_lines_stand_out_and_text_is_readable_on_both_pages() -> None:
    for page, raised, dark in (
        ("#ffffff", "#f5f6f8", False),
        ("#14171a", "#1d2126", 1),
    ):
        colours = style.variables(dark=bool(dark))
        for name, colour in colours.items():
            least = {"grid": 0.0, "ink": 4.5, "muted": 4.5}.get(name, 3.0)
            assert min(contrast(colour, page), contrast(colour, raised)) >= least, name


def test_an_arm_keeps_its_look_when_others_follow_and_28_looks_differ() -> None:
    names = [f"arm{index}" for index in range(28)]
    looks = style.looks(names)
    assert style.looks(names[:3]) == {name: looks[name] for name in names[:3]}
    assert len({str(look) for look in looks.values()}) == 28


def test_dashes_of_the_key_are_those_of_the_lines() -> None:
    assert style.dash_array(LOOKS["fixed"]) == "none"
    assert style.dash_array(style.Look("#000000", (0, (5.0, 1.6)))) == "10 3.2"


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        ([0.1, 0.5, 0.9], [0.1, 0.5, 0.9]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.9, 0.5, 0.5], [0.9, 0.45, 0.55]),
        ([0.50, 0.52, 0.54], [0.42, 0.52, 0.62]),
    ],
)
def test_labels_move_apart_as_little_as_they_must(
    wanted: list[float], placed: list[float]
) -> None:
    np.testing.assert_allclose(style._apart(np.array(wanted), 0.1), placed)


def test_every_figure_is_the_same_text_twice_and_stands_alone(
    regret: pd.DataFrame, dials: pd.DataFrame, compared: list[tuple[str, Comparison]]
) -> None:
    def drawn() -> list[str]:
        figures = (
            convergence.figure(regret, TASKS, LOOKS, 1e-6, "n = 4 runs"),
            control.figure(dials, TASKS, LOOKS, "n = 4 runs"),
            contrasts.figure(compared, LOOKS, "n = 4 runs"),
        )
        return [style.svg(figure) for figure in figures]

    first, second = drawn(), drawn()
    assert first == second
    questions = (convergence.QUESTION, control.QUESTION, contrasts.QUESTION)
    for text, question in zip(first, questions, strict=True):
        said = " ".join(ElementTree.fromstring(text).itertext())
        assert question in said
        assert "n = 4 runs" in said
        assert all(task in said for task in TASKS)
        assert "<dc:date>" not in text


def test_a_facet_shows_the_curves_and_their_intervals(regret: pd.DataFrame) -> None:
    mine = regret[regret["task"] == "onemax_64"]
    with style.styled():
        _, axes = style.blank(1, 1, width=4.0, height=3.0)
        convergence.draw(mine, axes[0][0], LOOKS, 1e-6)
    lines = [line for line in axes[0][0].lines if line.get_color() != style.MUTED[0]]
    assert len(lines) == len(LOOKS)
    for line, (arm, look) in zip(lines, LOOKS.items(), strict=True):
        curve = mine[mine["arm"] == arm]
        assert line.get_color() == look.colour
        np.testing.assert_allclose(line.get_ydata(), 10.0 ** curve["centre"])
        assert len(line.get_xdata()) <= 40
    assert len(axes[0][0].collections) == len(LOOKS)


def test_few_arms_are_named_beside_their_lines_and_many_are_not(
    regret: pd.DataFrame,
) -> None:
    few = convergence.panel(regret, "nk_32", LOOKS, 1e-6)
    assert all(arm in words(few) for arm in LOOKS)
    crowd = {**LOOKS, "x": LOOKS["twin"], "y": LOOKS["twin"]}
    more = regret[regret["arm"] == "fixed"]
    copies = [more.assign(arm=arm) for arm in ("x", "y")]
    many = convergence.panel(pd.concat([regret, *copies]), "nk_32", crowd, 1e-6)
    assert not any(arm in words(many) for arm in LOOKS)
    assert not many.axes[0].collections


def test_regret_at_its_floor_is_marked_as_the_optimum() -> None:
    curve = pd.DataFrame({"task": "t", "arm": "fixed", "evaluation": [1.0, 100.0]})
    curve = curve.assign(centre=[-1.0, -6.0], low=[-1.0, -6.0], high=[-1.0, -6.0])
    assert "optimum" in words(convergence.panel(curve, "t", LOOKS, 1e-6))
    above = curve.assign(centre=-1.0, low=-1.1, high=-0.9)
    assert "optimum" not in words(convergence.panel(above, "t", LOOKS, 1e-6))


def test_small_numbers_on_the_ticks_are_written_out() -> None:
    curve = pd.DataFrame({"task": "t", "arm": "fixed", "evaluation": [1.0, 100.0]})
    curve = curve.assign(centre=[-1.0, -4.0], low=[-1.0, -4.2], high=[-1.0, -3.8])
    assert re.search(r"\b0\.001\b", words(convergence.panel(curve, "t", LOOKS, 1e-6)))
    assert [style.plain(value) for value in (0.001, 1e-6, 30.0)] == [
        *("0.001", "1e-06", "30")
    ]


def test_clamps_are_drawn_up_and_down_only_where_there_are_any(
    dials: pd.DataFrame,
) -> None:
    mine = dials[dials["task"] == "nk_32"]
    with style.styled():
        _, axes = style.blank(3, 1, width=4.0, height=1.5)
        control.draw(mine, [row[0] for row in axes], LOOKS)
    clamps = axes[2][0]
    colours = [line.get_color() for line in clamps.lines]
    assert LOOKS["stuck"].colour in colours
    assert LOOKS["fixed"].colour not in colours
    stuck = clamps.lines[colours.index(LOOKS["stuck"].colour)]
    assert stuck.get_ydata()[-1] == -1.0
    assert [len(row[0].lines) for row in axes[:2]] == [len(LOOKS)] * 2


def test_diversity_that_was_never_measured_leaves_its_axes_empty(
    dials: pd.DataFrame,
) -> None:
    blind = dials[dials["quantity"] != "diversity"]
    figure = control.panel(blind, "nk_32", LOOKS)
    assert "nk_32" in words(figure)
    assert all(len(line.get_xdata()) == 0 for line in figure.axes[0].lines)


def test_a_forest_has_the_mean_first_and_says_identical(
    compared: list[tuple[str, Comparison]],
) -> None:
    _, twin = compared[-1]
    rows = contrasts.task_rows(twin, LOOKS)
    assert [row.label for row in rows] == ["mean of tasks", *sorted(TASKS)]
    assert rows[0].identical
    figure = contrasts.panel(rows, "A title", 1.0)
    assert "mean of tasks (identical)" in words(figure)
    other = contrasts.panel(contrasts.task_rows(compared[0][1], LOOKS), "A title", 1.0)
    assert "identical" not in words(other)


def test_intervals_are_drawn_where_they_are_and_cut_with_an_arrow() -> None:
    row = contrasts.Row("r", "#0072b2", 0.2, Interval(-0.1, 0.5), Interval(-9.0, 0.9))
    with style.styled():
        _, axes = style.blank(1, 1, width=4.0, height=2.0)
        contrasts.draw([row], axes[0][0], 1.0)
    drawn = {
        (line.get_marker(), tuple(map(float, line.get_xdata())))
        for line in axes[0][0].lines
        if line.get_color() == row.colour
    }
    assert ("None", (-0.1, 0.5)) in drawn
    assert ("None", (-1.0, 0.9)) in drawn
    assert ("<", (-1.0,)) in drawn
    assert not any(marker == ">" for marker, _ in drawn)


def test_the_reach_covers_what_is_known_and_does_not_follow_a_wild_interval() -> None:
    table_ = pd.DataFrame(
        [
            {"arm": arm, "task": task, "instance": 1, "seed": seed, "value": value}
            for arm, sign in (("a", 1.0), ("b", 0.0))
            for task, level in (("x", -1.0), ("y", 1.0))
            for seed, value in enumerate([sign * level, sign * level])
        ]
    )
    found = comparison(table_, "a", "b", synthetic.generator("reach"))
    assert found.tasks_random.high > 10.0
    assert contrasts.reach([found]) == pytest.approx(1.08 * 2.0)
    assert math.isclose(contrasts.reach([]), 1.08 * 0.05)


def test_long_titles_are_broken_and_take_room() -> None:
    short = contrasts.Row("short", "#0072b2", 0.0, Interval(-0.1, 0.1))
    long = short._replace(label="a rather long title " * 4)
    low = contrasts.panel([short, short], "t", 1.0).get_size_inches()[1]
    high = contrasts.panel([short, long], "t", 1.0).get_size_inches()[1]
    assert high > low + 0.1


def test_an_inline_figure_takes_its_colours_from_the_page(
    compared: list[tuple[str, Comparison]],
) -> None:
    rows = contrasts.task_rows(compared[0][1], LOOKS)
    text = style.inline_svg(contrasts.panel(rows, "T", 1.0), "f", 'A "label" <here>')
    assert text.startswith("<svg viewBox=")
    assert 'aria-label="A &#34;label&#34; &lt;here&gt;"' in text
    assert set(re.findall(r"#[0-9a-f]{6}\b", text)) <= {"#000000"}
    assert "var(--arm-1)" in text
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert all(name.startswith("f-") for name in ids)
    assert len(ids) == len(set(ids))
    referred = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', text)
    assert {one or two for one, two in referred} <= set(ids)
    ElementTree.fromstring(text.replace("<svg ", '<svg xmlns:xlink="x" ', 1))


def test_drawing_leaves_the_settings_of_others_alone(regret: pd.DataFrame) -> None:
    before = dict(mpl.rcParams)
    style.svg(convergence.panel(regret, "nk_32", LOOKS, 1e-6))
    assert dict(mpl.rcParams) == before
