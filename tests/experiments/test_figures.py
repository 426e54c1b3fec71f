"""Figures: the same bytes each time, nothing lost on the way from numbers to picture."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from experiments import table
from experiments.figures import (
    contrasts,
    control,
    convergence,
    cost,
    course,
    layout,
    profile,
    quantity,
    runtime,
    style,
)
from experiments.statistics.aggregate import Interval, curves
from experiments.statistics.family import verdicts
from experiments.statistics.paired import comparison
from experiments.statistics.verdict import Outcome
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
    whole = pd.concat(parts, ignore_index=True)
    parents = whole["quantity"] == "effective_parents"
    return whole.assign(centre=whole["centre"].where(~parents, whole["centre"] / 100))


@pytest.fixture(scope="module")
def named(tables: table.Tables) -> tuple[contrasts.Named, ...]:
    plans = synthetic.PAGE.contrasts
    found = verdicts(
        table.values(tables.runs),
        plans,
        margin=0.05,
        resamples=400,
        generator=synthetic.generator,
    )
    pairs = zip(plans, found, strict=True)
    return tuple(contrasts.Named(plan.title, "Group", one) for plan, one in pairs)


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
            behind = dict.fromkeys(("grid", "paper", "other"), 0.0)
            least = {**behind, "ink": 4.5, "muted": 4.5}.get(name, 3.0)
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
    np.testing.assert_allclose(layout.apart(np.array(wanted), 0.1), placed)


def test_arms_shown_together_differ_and_the_rest_is_grey() -> None:
    names = [f"arm{index}" for index in range(20)]
    groups = [names[:7], [names[0], *names[7:13]], names[13:15]]
    looks = style.highlighted(names, groups)
    for group in groups:
        assert len({looks[name].colour for name in group}) == len(group)
        assert not any(looks[name].context for name in group)
    assert all(looks[name].context for name in names[15:])
    crowd = style.highlighted(names, [names])
    assert len({str(look) for look in crowd.values()}) == 20


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (10.0, 500.0, [10.0, 30.0, 100.0, 300.0]),
        (0.5, 2.0, [0.5, 1.0, 2.0]),
        (1e-6, 1.0, [1e-6, 1e-4, 1e-2, 1.0]),
        (0.55, 0.95, [0.6, 0.7, 0.8, 0.9]),
    ],
)
def test_a_logarithmic_axis_has_three_round_ticks_or_more(
    low: float, high: float, ticks: list[float]
) -> None:
    assert layout.log_ticks(low, high) == ticks


def test_labels_leave_out_what_all_names_begin_with() -> None:
    assert layout.shortened(["ranked_fixed", "ranked_fine"]) == {
        "ranked_fixed": "fixed",
        "ranked_fine": "fine",
    }
    assert layout.shortened(["ranked_fixed"]) == {"ranked_fixed": "ranked_fixed"}
    assert layout.shortened(["fixed", "fine"]) == {"fixed": "fixed", "fine": "fine"}
    (short,) = layout.shortened(["a" * 40]).values()
    assert short.endswith("\u2026")
    assert len(short) < 20


def test_every_figure_is_the_same_text_twice_and_stands_alone(
    tables: table.Tables,
    regret: pd.DataFrame,
    dials: pd.DataFrame,
    named: tuple[contrasts.Named, ...],
) -> None:
    share = regret.assign(regret=10.0 ** regret["centre"], share=0.5)
    steps = share[share["task"] == "nk_32"].drop(columns="centre")

    def drawn() -> list[str]:
        figures = (
            convergence.figure(regret, TASKS, LOOKS, 1e-6, "n = 4 runs"),
            control.figure(dials, TASKS, LOOKS, "n = 4 runs"),
            contrasts.figure(named, 0.05, "n = 4 runs"),
            profile.figure(steps, LOOKS, "n = 4 runs", profile.QUESTION),
            runtime.figure(steps, LOOKS, (10.0, 500.0), "n = 4 runs", runtime.QUESTION),
            quantity.figure(regret, TASKS, LOOKS, "regret", "n = 4 runs"),
        )
        return [style.svg(figure) for figure in figures]

    first, second = drawn(), drawn()
    assert first == second
    files = (convergence, control, contrasts, profile, runtime)
    questions = [*(file.QUESTION for file in files), quantity.LOOKS["regret"][0]]
    for place, (text, question) in enumerate(zip(first, questions, strict=True)):
        said = " ".join(" ".join(ElementTree.fromstring(text).itertext()).split())
        assert question in said
        assert "n = 4 runs" in said
        assert place in (3, 4) or all(task in said for task in TASKS)
        assert "<dc:date>" not in text


def test_no_lettering_leaves_its_figure(
    regret: pd.DataFrame, dials: pd.DataFrame, named: tuple[contrasts.Named, ...]
) -> None:
    long = {f"{arm}_with_a_long_name": look for arm, look in LOOKS.items()}
    wide = regret.assign(
        arm=regret["arm"] + "_with_a_long_name", centre=regret["centre"] - 3.0
    )
    rows = contrasts.task_rows(named[0].verdict)
    title = "a rather long question about something? " * 3
    figures = (
        convergence.panel(regret, "onemax_64", LOOKS, 1e-6),
        convergence.figure(wide, TASKS, long, 1e-6, "A caption of some words. " * 20),
        control.panel(dials, "nk_32", LOOKS),
        contrasts.panel(rows, title, 1.0, 0.05),
        contrasts.panel(contrasts.overview_rows(named), title, 1.0, 0.05),
        contrasts.figure(named, 0.05, "A caption of some words. " * 20),
    )
    for figure in figures:
        said = words(figure)
        with style.styled():
            figure.draw_without_rendering()
            width, height = figure.bbox.size
            for text in figure.findobj(mpl.text.Text):
                lines = text.get_text().split("\n")
                # Ticks beyond the ends of an axis are there and never drawn.
                if not text.get_visible() or not all(line in said for line in lines):
                    continue
                box = text.get_window_extent()
                inside = box.x0 >= -1 and box.y0 >= -1
                inside = inside and box.x1 <= width + 1 and box.y1 <= height + 1
                assert inside, (text.get_text(), box, width, height)


def test_a_facet_shows_the_curves_and_their_intervals(regret: pd.DataFrame) -> None:
    mine = regret[regret["task"] == "onemax_64"]
    with style.styled():
        _, axes = layout.blank(1, 1, width=4.0, height=3.0)
        convergence.draw(mine, axes[0][0], LOOKS, 1e-6)
    lines = [line for line in axes[0][0].lines if line.get_color() != style.MUTED[0]]
    few = dict(list(LOOKS.items())[:3])
    _, other = layout.blank(1, 1, width=4.0, height=3.0)
    convergence.draw(mine, other[0][0], few, 1e-6)
    assert len(other[0][0].collections) == len(few)
    assert len(lines) == len(LOOKS)
    for line, (arm, look) in zip(lines, LOOKS.items(), strict=True):
        curve = mine[mine["arm"] == arm]
        assert line.get_color() == look.colour
        np.testing.assert_allclose(line.get_ydata(), 10.0 ** curve["centre"])
        assert len(line.get_xdata()) <= 40
    # Bands of five arms would hide each other.
    assert not axes[0][0].collections


def test_lines_that_end_apart_are_named_and_those_that_end_together_counted(
    regret: pd.DataFrame,
) -> None:
    base = regret[(regret["task"] == "nk_32") & (regret["arm"] == "fixed")]
    apart = pd.concat(
        base.assign(arm=arm, centre=base["centre"] - index)
        for index, arm in enumerate(LOOKS)
    )
    said = words(convergence.panel(apart, "nk_32", LOOKS, 1e-6))
    assert all(arm in said for arm in LOOKS)
    assert "alike" not in said
    alike = pd.concat([base.assign(arm=arm) for arm in LOOKS])
    said = words(convergence.panel(alike, "nk_32", LOOKS, 1e-6))
    assert "5 arms alike" in said
    assert not any(arm in said for arm in LOOKS)


def test_context_is_one_grey_line_behind_the_highlighted(regret: pd.DataFrame) -> None:
    looks = style.highlighted(synthetic.ARMS, [["fixed", "adaptive"]])
    figure = convergence.panel(regret, "nk_32", looks, 1e-6)
    colours = [line.get_color() for line in figure.axes[0].lines]
    assert colours == [
        style.OTHER[0],
        looks["fixed"].colour,
        looks["adaptive"].colour,
    ]
    assert "inverted" not in words(figure)


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
    assert [layout.plain(value) for value in (0.001, 1e-6, 30.0)] == [
        *("0.001", "1e-06", "30")
    ]


def test_a_temperature_that_was_cut_is_marked_where_it_was(
    dials: pd.DataFrame,
) -> None:
    mine = dials[dials["task"] == "nk_32"]
    with style.styled():
        _, facets = layout.blank(1, 1, width=4.0, height=3.5, stack=3)
        control.draw(mine, facets[0], LOOKS)
    marks = {
        (line.get_marker(), line.get_color())
        for line in facets[0][1].lines
        if line.get_linestyle() == "None" and len(line.get_xdata())
    }
    assert marks == {("v", LOOKS["stuck"].colour)}
    curves_ = [len(one.lines) for one in (facets[0][0], facets[0][2])]
    assert curves_ == [len(LOOKS)] * 2


def test_what_was_never_measured_is_said_to_be(dials: pd.DataFrame) -> None:
    blind = dials[dials["quantity"] != "diversity"]
    figure = control.panel(blind, "nk_32", LOOKS)
    assert "not measured" in words(figure)
    assert all(len(line.get_xdata()) == 0 for line in figure.axes[0].lines)
    assert "not measured" not in words(control.panel(dials, "nk_32", LOOKS))


def test_a_forest_has_the_mean_first_and_its_title_the_verdict(
    named: tuple[contrasts.Named, ...],
) -> None:
    twin = named[-1]
    rows = contrasts.task_rows(twin.verdict)
    assert [row.label for row in rows] == ["mean of tasks", *sorted(TASKS)]
    title = contrasts.titles(twin)
    assert title == f"Group: {twin.title} EQUIVALENT (identical)"
    assert "mean of tasks" in words(contrasts.panel(rows, title, 1.0, 0.05))
    said = words(contrasts.panel(contrasts.overview_rows(named), "T", 1.0, 0.05))
    for entry in named:
        assert entry.verdict.words in said


def test_an_open_question_has_a_hollow_mark(
    named: tuple[contrasts.Named, ...],
) -> None:
    rows = contrasts.overview_rows(named)
    for row, entry in zip(rows, named, strict=True):
        assert row.hollow == (entry.verdict.outcome is Outcome.INCONCLUSIVE)
    with style.styled():
        _, axes = layout.blank(1, 1, width=4.0, height=2.0)
        row = contrasts.Row("r", "#0072b2", 0.2, hollow=True)
        contrasts.draw([row], axes[0][0], 1.0, 0.05)
    (mark,) = [line for line in axes[0][0].lines if line.get_marker() == "D"]
    assert mark.get_markerfacecolor() == style.PAPER[0]


def test_intervals_are_drawn_where_they_are_and_cut_with_an_arrow() -> None:
    row = contrasts.Row("r", "#0072b2", 0.2, Interval(-9.0, 0.9), Interval(-0.1, 0.5))
    with style.styled():
        _, axes = layout.blank(1, 1, width=4.0, height=2.0)
        contrasts.draw([row], axes[0][0], 1.0, 0.05)
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
    assert contrasts.reach([found], 0.05, tasks=True) == pytest.approx(1.05 * 2.0)
    few = contrasts.reach([found], 0.05, tasks=False)
    inner = max(map(abs, (found.effect, *found.tasks_fixed, 0.07)))
    assert few == pytest.approx(1.05 * 2.0 * inner)
    assert math.isclose(contrasts.reach([], 0.05, tasks=True), 1.05 * 0.07)


def test_long_titles_are_broken_and_take_room() -> None:
    short = contrasts.Row("short", "#0072b2", 0.0)
    long = short._replace(label="a rather long title " * 4)
    low = contrasts.panel([short, short], "t", 1.0, 0.05).get_size_inches()[1]
    high = contrasts.panel([short, long], "t", 1.0, 0.05).get_size_inches()[1]
    assert high > low + 0.1


def test_an_inline_figure_takes_its_colours_from_the_page(
    regret: pd.DataFrame,
) -> None:
    looks = dict(list(LOOKS.items())[:3])
    figure = convergence.panel(regret, "nk_32", looks, 1e-6)
    text = style.inline_svg(figure, "f", 'A "label": <here>; and there')
    assert text.startswith("<svg viewBox=")
    assert 'aria-label="A &#34;label&#34;: &lt;here&gt;; and there"' in text
    assert set(re.findall(r"#[0-9a-f]{6}\b", text)) <= {"#000000"}
    assert "var(--arm-1)" in text
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert all(name.startswith("f-") for name in ids)
    assert len(ids) == len(set(ids))
    referred = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', text)
    assert {one or two for one, two in referred} <= set(ids)
    ElementTree.fromstring(text.replace("<svg ", '<svg xmlns:xlink="x" ', 1))


def test_an_inline_figure_says_the_same_as_the_one_that_stands_alone(
    regret: pd.DataFrame,
) -> None:
    def panel() -> Figure:
        return convergence.panel(regret, "nk_32", LOOKS, 1e-6)

    inline = style.inline_svg(panel(), "f", "label")
    text = inline.replace("<svg ", '<svg xmlns:xlink="x" ', 1)
    found = [
        [
            word.strip()
            for word in ElementTree.fromstring(one).itertext()
            if word.strip()
        ]
        for one in (text, style.svg(panel()))
    ]
    # What stands alone has a style sheet of its own.
    assert found[0] == [word for word in found[1] if not word.startswith("*{")]
    assert len(inline) < 0.7 * len(style.svg(panel()))


def test_paths_keep_their_points_without_needless_letters() -> None:
    assert style._path("M 1.04 2\nL 3.26 -4.55\nL 5 6\nz") == "M1 2 3.3 -4.5 5 6z"
    assert style._path("M 1 2\nC 1.5 2 3 4 5 6") == "M1 2C1.5 2 3 4 5 6"


def test_a_pdf_is_the_same_bytes_twice(regret: pd.DataFrame, tmp_path: Path) -> None:
    for name in ("a", "b"):
        figure = convergence.panel(regret, "nk_32", LOOKS, 1e-6)
        style.save(figure, tmp_path / f"{name}.pdf")
    one, other = ((tmp_path / f"{name}.pdf").read_bytes() for name in ("a", "b"))
    assert one == other
    assert b"CreationDate" not in one


def test_drawing_leaves_the_settings_of_others_alone(regret: pd.DataFrame) -> None:
    before = dict(mpl.rcParams)
    style.svg(convergence.panel(regret, "nk_32", LOOKS, 1e-6))
    assert dict(mpl.rcParams) == before


def test_a_dollar_in_a_label_is_a_dollar() -> None:
    with style.styled():
        figure, axes = layout.blank(1, 1, width=3.0, height=2.0)
        axes[0][0].set_title("$x_{$ and 100 $")
        assert "$x_{$ and 100 $" in style.svg(figure)


def test_a_course_is_drawn_in_per_cent_within_its_own_reach(
    tables: table.Tables,
) -> None:
    points = table.points(tables.trajectories, "best", at_most=12)
    lines = curves(points, synthetic.generator("course"))
    drawn = course.figure(lines, TASKS, LOOKS, ("accuracy", "question"), "n = 4")
    axes = drawn.axes[0]
    ticks = [label.get_text() for label in axes.get_yticklabels()]
    assert ticks
    assert all(re.fullmatch(r"\d+ %", tick) for tick in ticks)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("questions", "accuracy")
    assert style.svg(drawn) == style.svg(
        course.figure(lines, TASKS, LOOKS, ("accuracy", "question"), "n = 4")
    )
    flat = lines.assign(centre=1.0, low=1.0, high=1.0)
    low, high = course.panel(flat, TASKS[0], LOOKS, "a", "b").axes[0].get_ylim()
    assert low < 0.96
    assert high > 1.0


def test_every_arm_is_named_beside_its_cost_and_none_without_one_is_drawn() -> None:
    points = pd.DataFrame(
        {
            "arm": list(synthetic.ARMS),
            "score": [0.5, 0.5, 0.51, 0.9, 0.2],
            "cost": [100.0, 101.0, 100.0, 800.0, math.nan],
        }
    )
    drawn = cost.figure(points, LOOKS, ("retention", "tokens"), "n = 4")
    (axes,) = drawn.axes
    named = [text.get_text() for text in axes.texts]
    assert sorted(named) == sorted(synthetic.ARMS[:4])
    assert len(axes.lines) == 4
    # Labels of neighbours keep the height of a line between them.
    heights = sorted(
        text.xyann[1] / 72.0
        + axes.transData.transform((1.0, text.xy[1]))[1] / drawn.get_dpi()
        for text in axes.texts
    )
    assert min(np.diff(heights)) > 0.99 * layout.LABEL_HEIGHT
    same = points.assign(cost=100.0, score=0.5)
    low, high = cost.figure(same, LOOKS, ("a", "b")).axes[0].get_xlim()
    assert high / low > 2.0
