"""The page: its sentences follow from numbers, its bytes from its input alone."""

from __future__ import annotations

import dataclasses
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import table
from experiments.report import page, sentences
from experiments.statistics.aggregate import Behaviour, Interval
from experiments.statistics.paired import Comparison, TaskEffect
from tests.experiments import synthetic

Raw = tuple[pd.DataFrame, pd.DataFrame]
FAILED = ["trap_60-adaptive-1", "nk_32-fixed-0", "nk_32-fixed-1"]


class Outline(HTMLParser):
    """What a page is made of, and whether its elements close in order."""

    VOID = ("meta", "link", "br", "line", "path", "use", "rect")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    def said(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


@pytest.fixture(scope="module")
def raw() -> Raw:
    return synthetic.tables(4)


SMALL = dataclasses.replace(synthetic.PAGE, n_seeds=4)


@pytest.fixture(scope="module")
def written(raw: Raw, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page.write(SMALL, *raw, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def failing(raw: Raw, tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = synthetic.with_failures(raw[0], FAILED)
    return page.write(SMALL, runs, raw[1], tmp_path_factory.mktemp("failing"))


ONE = dataclasses.replace(SMALL, tasks=("nk_32",), contrasts=SMALL.contrasts[:1])


def on_one_task(raw: Raw) -> Raw:
    runs, trajectories = raw
    runs = runs[runs["task"] == "nk_32"]
    return runs, trajectories[trajectories["cell"].isin(runs["cell"])]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_same_tables_give_the_same_bytes_in_any_order_on_any_host(
    raw: Raw, written: Path, tmp_path: Path
) -> None:
    runs, trajectories = raw
    other = runs.assign(host="there", wall_seconds=7.5)[::-1]
    again = page.write(SMALL, other, trajectories[::-1], tmp_path / "a" / "b")
    names = sorted(
        path.relative_to(written.parent) for path in written.parent.rglob("*.*")
    )
    assert [str(name) for name in names] == [
        "contrasts.csv",
        "contrasts_by_task.csv",
        "coverage.csv",
        "figures/contrasts.svg",
        "figures/control.svg",
        "figures/convergence.svg",
        "report.html",
        "scores.csv",
    ]
    for name in names:
        one = (written.parent / name).read_bytes()
        assert one == (again.parent / name).read_bytes(), name
        assert b"elsewhere" not in one
        assert b"\r" not in one


def test_the_page_asks_nobody_for_anything(written: Path) -> None:
    outline = Outline(text_of(written))
    assert outline.open == []
    for tag, attributes in outline.elements:
        assert tag not in ("script", "iframe", "img", "object")
        for name in ("src", "href", "xlink:href"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:,")), (tag, value)
    assert not re.search(r"@import|url\((?!#)", text_of(written))


def test_every_picture_says_what_it_shows_and_every_id_is_there_once(
    written: Path,
) -> None:
    elements = Outline(text_of(written)).elements
    pictures = [attributes for tag, attributes in elements if tag == "svg"]
    shown = [attributes for attributes in pictures if "aria-hidden" not in attributes]
    n_tasks, n_contrasts = len(SMALL.tasks), len(SMALL.contrasts)
    assert len(shown) == 2 * n_tasks + n_contrasts + 1
    for attributes in shown:
        assert attributes["role"] == "img"
        assert len(attributes["aria-label"] or "") > 40
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    labelled = [a["aria-labelledby"] for _, a in elements if "aria-labelledby" in a]
    assert set(labelled) <= set(ids)


def test_every_table_scrolls_in_a_container_of_its_own(failing: Path) -> None:
    text = text_of(failing)
    containers = re.findall(
        r'<div class="scroll"[^>]*tabindex="0"[^>]*>\s*<table', text
    )
    assert len(containers) == text.count("<table") == 6


def test_the_question_comes_first_then_the_contrasts(written: Path) -> None:
    said = Outline(text_of(written)).said()
    order = [
        SMALL.question,
        "Paired differences",
        "negative = the arm is better than its base",
        "Adaptive against fixed",
        "What each arm is, and what it did",
        "Which arm finds better solutions sooner?",
        "Which runs are behind this",
        "What was registered",
        SMALL.plan_hash,
        SMALL.reproduce,
    ]
    at = -1
    for words in order:
        at = said.index(words, at + 1)


def test_the_numbers_of_the_page_are_those_of_its_tables(written: Path) -> None:
    effects = pd.read_csv(written.parent / "contrasts.csv")
    said = Outline(text_of(written)).said()
    for row in effects.itertuples():
        assert sentences.signed(row.difference) in said
        interval = Interval(row.random_low, row.random_high)
        assert sentences.span(interval) in said
    by_task = pd.read_csv(written.parent / "contrasts_by_task.csv")
    means = by_task.groupby(["arm", "base", "failed_runs"])["difference"].mean()
    index = effects.set_index(["arm", "base", "failed_runs"])["difference"]
    pd.testing.assert_series_equal(
        means, index.sort_index(), check_exact=False, atol=1e-5
    )


def test_an_arm_under_another_name_is_called_identical(written: Path) -> None:
    effects = pd.read_csv(written.parent / "contrasts.csv").set_index("arm")
    assert effects.loc["twin", "identical"].all()
    assert not effects.loc["adaptive", "identical"].any()
    said = Outline(text_of(written)).said()
    assert said.count("Identical: every paired difference is zero.") == 1


def test_failures_are_shown_counted_and_left_out_once(failing: Path) -> None:
    said = Outline(text_of(failing)).said()
    assert "3 of 60 runs did not finish." in said
    assert "The same with failed runs left out" in said
    assert "2 + 2 failed" in said
    assert "ValueError: bad <text>" in said
    assert "at line 1" not in said
    effects = pd.read_csv(failing.parent / "contrasts.csv")
    mine = effects[effects["arm"] == "adaptive"].set_index("failed_runs")
    assert mine.loc["worst", "n_pairs"] == 12
    assert mine.loc["left out", "n_pairs"] == 9
    assert mine.loc["worst", "difference"] != mine.loc["left out", "difference"]


def test_a_study_without_failures_has_no_second_table(written: Path) -> None:
    said = Outline(text_of(written)).said()
    assert "All 60 runs finished." in said
    assert "left out" not in said


def test_an_arm_that_failed_everywhere_still_gives_a_page(
    raw: Raw, tmp_path: Path
) -> None:
    runs, trajectories = on_one_task(raw)
    cells = runs.loc[runs["arm"] == "fixed", "cell"].tolist()
    runs = synthetic.with_failures(runs, cells)
    said = Outline(text_of(page.write(ONE, runs, trajectories, tmp_path))).said()
    assert "No run finished." in said
    assert "no pair left" in said


def test_one_task_one_seed_and_no_contrast_still_give_a_page(
    raw: Raw, tmp_path: Path
) -> None:
    runs, trajectories = on_one_task(raw)
    runs = runs[runs["seed"] == 0]
    trajectories = trajectories[trajectories["cell"].isin(runs["cell"])]
    tiny = dataclasses.replace(ONE, n_seeds=1, contrasts=(), plan_hash="")
    said = Outline(text_of(page.write(tiny, runs, trajectories, tmp_path))).said()
    assert "Paired differences" not in said
    assert "no plan was registered" in said
    assert not (tmp_path / "figures" / "contrasts.svg").exists()
    with_one = dataclasses.replace(tiny, contrasts=SMALL.contrasts[:1])
    said = Outline(text_of(page.write(with_one, runs, trajectories, tmp_path))).said()
    assert "none none" in said


def test_dials_that_were_not_measured_still_give_a_page(
    raw: Raw, tmp_path: Path
) -> None:
    runs, trajectories = on_one_task(raw)
    empty = [[math.nan] * synthetic.GRID.size] * len(trajectories)
    blind = trajectories.assign(
        diversity=empty, used_diversity=empty, effective_parents=empty
    )
    runs = runs.assign(mean_diversity=math.nan, zero_diversity_share=math.nan)
    said = Outline(text_of(page.write(ONE, runs, blind, tmp_path))).said()
    assert said.count("D was not measured") == len(ONE.arms)


def test_tasks_of_different_budgets_are_said_to_be(raw: Raw, tmp_path: Path) -> None:
    more = dataclasses.replace(ONE, budget=800)
    said = Outline(text_of(page.write(more, *on_one_task(raw), tmp_path))).said()
    assert "500 to 800 evaluations a run" in said


def test_names_are_escaped(raw: Raw, tmp_path: Path) -> None:
    odd = dataclasses.replace(ONE, question="Is <b>a</b> & b < c?")
    text = text_of(page.write(odd, *on_one_task(raw), tmp_path))
    assert "<h1>Is &lt;b&gt;a&lt;/b&gt; &amp; b &lt; c?</h1>" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "other"}, "runs must be of the study other, got synthetic"),
        ({"tasks": ("onemax_64", "trap_60")}, "must have the tasks of .* nk_32"),
        ({"arms": synthetic.PAGE.arms[:4], "contrasts": ()}, "arms of .* stuck"),
        ({"n_seeds": 5}, "runs must have 5 seeds as the study, got 4"),
    ],
)
def test_tables_of_another_study_are_refused(
    raw: Raw, tmp_path: Path, change: dict, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        page.write(dataclasses.replace(SMALL, **change), *raw, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arms": ()}, "arms must not be empty"),
        ({"tasks": ()}, "tasks must not be empty"),
        ({"tasks": ("x", "x")}, "tasks must differ from each other"),
        ({"contrasts": (page.Contrast("fixed", "?", "t"),)}, "name arms of the study"),
        ({"budget": 0}, "budget and n_seeds must be at least 1"),
    ],
)
def test_a_study_that_contradicts_itself_is_refused(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **change)


MOVING = Behaviour(
    n_runs=5,
    mean_diversity=0.4,
    zero_diversity_share=0.0,
    temperature_low=0.05,
    temperature_high=1.9,
    parents_low=12.0,
    parents_high=55.0,
)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {},
            "T moved between 0.05 and 1.9, never at a clamp; D was 0.4 on average; "
            "effective parents 12 to 55 of 100.",
        ),
        (
            {"minimum_share": 0.97, "zero_diversity_share": 0.5},
            "This dial is dead: T was at its floor in 97 % of steps; D was 0.4 on "
            "average and 0 in 50 % of steps; effective parents 12 to 55 of 100.",
        ),
        (
            {"maximum_share": 1.0, "parents_low": math.nan},
            "This dial is dead: T was at its ceiling in all steps; D was 0.4 on average.",
        ),
        (
            {"minimum_share": 0.5, "maximum_share": 0.46, "parents_low": math.nan},
            "This dial is dead: T was at one of its bounds in 96 % of steps; D was 0.4 "
            "on average.",
        ),
        (
            {"zero_diversity_share": 1.0, "parents_low": math.nan},
            "This dial is dead: D was 0 in all steps, so T followed no diversity.",
        ),
        (
            {"minimum_share": 0.2, "maximum_share": 0.005, "parents_low": math.nan},
            "T moved between 0.05 and 1.9, at its floor in 20 % of steps and at its "
            "ceiling in <1 % of steps; D was 0.4 on average.",
        ),
        (
            {
                "temperature_high": 0.05,
                "zero_diversity_share": 1.0,
                "parents_high": 12.0,
            },
            "T stayed at 0.05; D was 0 in all steps; effective parents 12 of 100.",
        ),
        (
            {"temperature_low": math.nan, "zero_diversity_share": math.nan},
            "T was not recorded; D was not measured; effective parents 12 to 55 of 100.",
        ),
        (
            {"parents_low": 98.0, "parents_high": 99.5},
            "T moved between 0.05 and 1.9, never at a clamp; D was 0.4 on average; "
            "effective parents 98 to 99.5 of 100, so selection was nearly uniform.",
        ),
        ({"n_runs": 0}, "No run finished."),
    ],
)
def test_what_dials_did_is_said_by_rule(change: dict, sentence: str) -> None:
    arm = dataclasses.replace(MOVING, **change)
    assert sentences.behaviour(arm, 100) == sentence


def test_a_dial_that_is_dead_on_some_tasks_is_not_averaged_away() -> None:
    held = dataclasses.replace(MOVING, minimum_share=1.0)
    tasks = {"t1": held, "t2": MOVING, "t3": held}
    arm = dataclasses.replace(MOVING, minimum_share=2 / 3, tasks=tasks)
    assert sentences.behaviour(arm).startswith(
        "This dial is dead on 2 of 3 tasks (t1, t3). Over all tasks: T moved between "
    )
    assert "a: dial dead on 2 of 3 tasks (t1, t3)." in sentences.contrast(
        EFFECT, {"a": arm, "b": STILL}
    )
    everywhere = dataclasses.replace(held, tasks={"t1": held, "t2": held})
    assert sentences.behaviour(everywhere).startswith("This dial is dead: T was at its")
    nowhere = dataclasses.replace(MOVING, tasks={"t1": MOVING})
    assert sentences.behaviour(nowhere).startswith("T moved")


def test_effective_parents_are_bare_where_no_population_is_known() -> None:
    assert sentences.behaviour(MOVING).endswith("effective parents 12 to 55.")


EFFECT = Comparison(
    arm="a",
    base="b",
    effect=-0.5,
    tasks_fixed=Interval(-0.75, -0.25),
    tasks_random=Interval(-1.0, 0.25),
    better=0.625,
    correlation=None,
    identical=False,
    n_pairs=4,
    n_left_out=0,
    tasks=(TaskEffect(task="t", n_pairs=4, effect=-0.5, interval=Interval(-1, 0)),),
)
STILL = dataclasses.replace(MOVING, temperature_low=1.0, temperature_high=1.0)
HELD = dataclasses.replace(MOVING, minimum_share=1.0)
UNKNOWN = Behaviour(n_runs=0)


@pytest.mark.parametrize(
    ("arm", "base", "reason"),
    [
        (MOVING, STILL, " T was 0.05 to 1.9 against 1."),
        (STILL, STILL, " T was 1 in both."),
        (MOVING, UNKNOWN, ""),
        (HELD, STILL, " a: T was at its floor in all steps."),
        (
            *(HELD, HELD),
            " a: T was at its floor in all steps; b: T was at its floor in all steps.",
        ),
    ],
)
def test_why_a_contrast_came_out_is_said_by_rule(
    arm: Behaviour, base: Behaviour, reason: str
) -> None:
    dials = {"a": arm, "b": base}
    start = "The arm was better in 62 % of pairs, ties half."
    assert sentences.contrast(EFFECT, dials) == start + reason
    same = dataclasses.replace(EFFECT, identical=True)
    start = "Identical: every paired difference is zero."
    assert sentences.contrast(same, dials) == start + reason


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1234, "+0.123"),
        (-0.5, "\u22120.500"),
        (0.0, "0"),
        (-0.0, "0"),
        (-0.0002, "\u22122e\u221204"),
        (math.nan, "none"),
    ],
)
def test_differences_carry_their_sign_and_small_ones_are_not_zero(
    value: float, text: str
) -> None:
    assert sentences.signed(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "in no step"),
        (0.001, "in <1 % of steps"),
        (0.5, "in 50 % of steps"),
        (0.999, "in >99 % of steps"),
        (1.0, "in all steps"),
    ],
)
def test_only_exact_shares_are_called_all_or_none(share: float, text: str) -> None:
    assert sentences.steps(share) == text


def test_numbers_that_are_not_there_are_called_none() -> None:
    assert sentences.figures(math.nan) == "none"
    assert sentences.percent(math.nan) == "none"
    assert sentences.span(Interval(math.nan, math.nan)) == "none"
    assert sentences.span(Interval(-1.0, 0.25)) == "\u22121.000 to +0.250"


def test_pairs_left_out_are_counted_in_words() -> None:
    texts = [
        sentences.left_out(dataclasses.replace(EFFECT, n_left_out=n)) for n in range(3)
    ]
    assert texts == ["no pair left out", "1 pair left out", "2 pairs left out"]


def test_alternative_texts_name_the_ends_of_the_curves() -> None:
    lines = pd.DataFrame(
        {
            "arm": ["a", "a", "b", "b"],
            "evaluation": [1.0, 100.0, 1.0, 100.0],
            "centre": [0.0, -1.0, 0.0, -2.0],
        }
    )
    text = sentences.convergence("t", lines)
    assert text == (
        "Regret against evaluations on t. After 100 evaluations b is at 0.01, the "
        "lowest, and a at 0.1, the highest."
    )
    assert sentences.convergence("t", lines[:2]).endswith("a is at 0.1.")
    assert sentences.convergence("t", lines[:0]) == "No run finished on t."
    dials = lines.assign(quantity=["diversity", "diversity", "floor", "floor"])
    assert sentences.control("t", dials) == (
        "Control against evaluations on t: mean D between \u22121 and 0; at a clamp at "
        "times: none."
    )
    dials["centre"] = np.abs(dials["centre"])
    assert sentences.control("t", dials).endswith("at a clamp at times: b.")
    assert "t \u22120.500" in sentences.forest("Title", EFFECT)


def test_a_contrast_more_does_not_change_the_intervals_of_others(raw: Raw) -> None:
    tables = table.tidy(*raw)
    fewer = dataclasses.replace(SMALL, contrasts=SMALL.contrasts[1:])
    assert repr(page.find(fewer, tables).comparisons) == repr(
        page.find(SMALL, tables).comparisons[1:]
    )
