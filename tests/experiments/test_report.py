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
from experiments.report import alternatives, page, sentences, words
from experiments.report.answers import answer
from experiments.report.findings import Dial, find
from experiments.report.inputs import (
    Contrast,
    Control,
    Episode,
    Leverage,
    Population,
    Secondary,
)
from experiments.report.measures import described, differ, size
from experiments.report.primary import primary
from experiments.statistics.aggregate import NO_INTERVAL, Behaviour, Interval
from experiments.statistics.control import Expected
from experiments.statistics.paired import Comparison, TaskEffect
from experiments.statistics.size import Size
from experiments.statistics.verdict import Outcome, Verdict
from tests.experiments import synthetic

Raw = tuple[pd.DataFrame, pd.DataFrame]
FAILED = ["trap_60-adaptive-1", "nk_32-fixed-0", "nk_32-fixed-1"]


class Outline(HTMLParser):
    """What a page is made of, and whether its elements close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br"):
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


SMALL = dataclasses.replace(
    synthetic.PAGE,
    n_seeds=4,
    controls=(Control("twin", "fixed", "A/A", "same"),),
    leverage={("stuck", "fixed"): Leverage(0.003, "nk_32")},
)


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
    tables = ("arms", "contrasts", "contrasts_by_task", "controls", "coverage")
    figures = ("contrasts", "control", "convergence", "profile", "runtime")
    assert {str(name) for name in names} == {
        *(f"{name}.csv" for name in (*tables, "profile", "runtime", "scores")),
        *(f"figures/{name}.{kind}" for name in figures for kind in ("svg", "pdf")),
        "report.html",
    }
    for name in names:
        one = (written.parent / name).read_bytes()
        assert one == (again.parent / name).read_bytes(), name
        assert b"elsewhere" not in one
        assert name.suffix == ".pdf" or b"\r" not in one
        assert b"CreationDate" not in one


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
    assert len(shown) == 2 * n_tasks + n_contrasts + 1 + 2
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
    assert text.count('<table class="stack') == 4


def test_the_question_comes_first_then_the_answers_then_the_controls(
    written: Path,
) -> None:
    said = Outline(text_of(written)).said()
    order = [
        SMALL.question,
        "5 arms, 3 tasks, 4 seeds, 500 evaluations a run",
        "Deviations from the registered plan: none.",
        "an adaptive temperature is",
        "Controls",
        "The words",
        "Which changes make a difference, and on which tasks?",
        "Which arm finds better solutions sooner?",
        "did the temperature follow?",
        "How many runs end how close",
        "How many targets are reached",
        "All numbers of the contrasts",
        "What each arm is, and what it did",
        "Which runs are behind this",
        "What was registered, and what deviated",
        SMALL.plan_hash,
        SMALL.reproduce,
    ]
    at = -1
    for one in order:
        at = said.index(one, at + 1)


def test_the_numbers_of_the_page_are_those_of_its_tables(written: Path) -> None:
    effects = pd.read_csv(written.parent / "contrasts.csv")
    said = Outline(text_of(written)).said()
    for row in effects.itertuples():
        assert words.signed(row.effect) in said
        assert f"regret {words.change(row.effect)}" in said
        interval = Interval(row.interval_random_low, row.interval_random_high)
        assert words.span(interval) in said
        assert words.changes(interval) in said
        assert row.verdict in said
    by_task = pd.read_csv(written.parent / "contrasts_by_task.csv")
    means = by_task.groupby(["arm", "base"])["effect"].mean()
    index = effects.set_index(["arm", "base"])["effect"]
    pd.testing.assert_series_equal(
        means, index.sort_index(), check_exact=False, atol=1e-5
    )


def test_an_arm_under_another_name_is_called_identical_and_tests_nothing(
    written: Path,
) -> None:
    effects = pd.read_csv(written.parent / "contrasts.csv").set_index("arm")
    assert effects.loc["twin", "identical"]
    assert not effects.loc["adaptive", "identical"]
    said = Outline(text_of(written)).said()
    assert said.count("Every paired difference is exactly 0") == 1
    assert "both drew the same random numbers, so it tested nothing" in said
    assert pd.read_csv(written.parent / "controls.csv")["passed"].all()


def test_a_dead_dial_is_named_instead_of_a_size_that_would_decide(
    written: Path,
) -> None:
    said = Outline(text_of(written)).said()
    text = "never differ by more than 0.3 % of probability (nk_32): this dial is dead"
    assert said.count(text) == 1


def test_failures_are_shown_counted_and_left_out_once(failing: Path) -> None:
    said = Outline(text_of(failing)).said()
    assert "3 of 60 runs did not finish." in said
    assert "The same with failed runs left out" in said
    assert "2 + 2 failed" in said
    assert "at line 1" in said
    assert "ValueError: bad <text>" not in said
    effects = pd.read_csv(failing.parent / "contrasts.csv")
    mine = effects[effects["arm"] == "adaptive"].set_index("failed_runs")
    assert mine.loc["count as worst", "n_pairs"] == 12
    assert mine.loc["left out", "n_pairs"] == 9
    assert mine.loc["count as worst", "effect"] != mine.loc["left out", "effect"]


def test_a_study_without_failures_has_no_second_table(written: Path) -> None:
    said = Outline(text_of(written)).said()
    assert "All 60 runs finished." in said
    assert "left out" not in said
    assert "second table" not in said
    assert "failed_runs" not in (written.parent / "contrasts.csv").read_text()


def test_an_arm_that_failed_everywhere_still_gives_a_page(
    raw: Raw, tmp_path: Path
) -> None:
    runs, trajectories = on_one_task(raw)
    cells = runs.loc[runs["arm"] == "fixed", "cell"].tolist()
    runs = synthetic.with_failures(runs, cells)
    said = Outline(text_of(page.write(ONE, runs, trajectories, tmp_path))).said()
    assert "No run finished." in said
    assert "no pair left" in said


def test_where_no_run_finished_there_are_words_and_no_empty_figures(
    raw: Raw, tmp_path: Path
) -> None:
    runs = synthetic.with_failures(raw[0], raw[0]["cell"].tolist())
    text = text_of(page.write(SMALL, runs, raw[1], tmp_path))
    assert "No run finished, so there is nothing to draw." in text
    assert "<figure" not in text
    assert list((tmp_path / "figures").iterdir()) == []
    said = Outline(text).said()
    assert "EQUIVALENT (identical)" not in said
    assert said.count("No pair of runs finished.") == len(SMALL.contrasts) - 1
    assert said.count("regret unknown") == len(SMALL.contrasts)


def test_a_task_on_which_nothing_finished_is_left_out_of_the_figures(
    raw: Raw, tmp_path: Path
) -> None:
    cells = raw[0].loc[raw[0]["task"] == "nk_32", "cell"].tolist()
    runs = synthetic.with_failures(raw[0], cells)
    text = text_of(page.write(SMALL, runs, raw[1], tmp_path))
    assert "Regret against evaluations on trap_60" in text
    assert "Regret against evaluations on nk_32" not in text


def test_one_task_one_seed_and_no_contrast_still_give_a_page(
    raw: Raw, tmp_path: Path
) -> None:
    runs, trajectories = on_one_task(raw)
    runs = runs[runs["seed"] == 0]
    trajectories = trajectories[trajectories["cell"].isin(runs["cell"])]
    tiny = dataclasses.replace(ONE, n_seeds=1, contrasts=(), plan_hash="")
    said = Outline(text_of(page.write(tiny, runs, trajectories, tmp_path))).said()
    assert "exploratory" in said
    assert "no plan was registered" in said
    assert not (tmp_path / "figures" / "contrasts.svg").exists()
    with_one = dataclasses.replace(tiny, contrasts=SMALL.contrasts[:1])
    said = Outline(text_of(page.write(with_one, runs, trajectories, tmp_path))).said()
    assert "one task says nothing about others" in said
    assert "1 task, 1 seed" in said


def test_a_single_arm_is_one_arm(raw: Raw, tmp_path: Path) -> None:
    runs = raw[0][raw[0]["arm"] == "fixed"]
    trajectories = raw[1][raw[1]["cell"].isin(runs["cell"])]
    alone = page.PageInput(
        name="synthetic",
        question="How does it do?",
        arms=SMALL.arms[:1],
        tasks=SMALL.tasks,
        budget=500,
        n_seeds=4,
        reproduce="make",
    )
    said = Outline(text_of(page.write(alone, runs, trajectories, tmp_path))).said()
    assert "1 arm, 3 tasks" in said
    assert "1 arms" not in said


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
    assert said.count("not measured") == len(ONE.arms) + 2


def test_what_was_measured_is_shown_where_arms_differ(raw: Raw, tmp_path: Path) -> None:
    runs, trajectories = on_one_task(raw)
    kept = np.where(runs["arm"] == "twin", 7_000.0, 98_000.0)
    path = page.write(ONE, runs.assign(kept_bytes=kept), trajectories, tmp_path / "a")
    said = Outline(text_of(path)).said()
    assert "Memory kept 98 kB in both." in said
    assert "Memory kept 7 kB against 98 kB." in said
    assert "Bytes of all records that the memory has not forgotten" in said
    arms = pd.read_csv(path.parent / "arms.csv").set_index("arm")
    assert arms.loc["twin", "kept_bytes"] == 7_000.0
    scores = pd.read_csv(path.parent / "scores.csv").set_index("arm")
    assert scores.loc["fixed", "kept_bytes"] == 98_000.0
    # Less than a hundredth is not worth a column.
    near = np.where(runs["arm"] == "twin", 98_100.0, 98_000.0)
    path = page.write(ONE, runs.assign(kept_bytes=near), trajectories, tmp_path / "b")
    assert "Memory kept" not in text_of(path)
    assert "kept_bytes" in (tmp_path / "b" / "arms.csv").read_text()


def test_nothing_is_said_of_what_was_not_measured(written: Path) -> None:
    assert "Memory kept" not in text_of(written)
    assert "kept_bytes" not in (written.parent / "arms.csv").read_text()


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0.0, "0 bytes"),
        (840.4, "840 bytes"),
        (999.9, "1 kB"),
        (2_512.0, "2.51 kB"),
        (97_600.0, "97.6 kB"),
        (153_400.0, "153 kB"),
        (3.4e6, "3.4 MB"),
        (1.264e9, "1,260 MB"),
        (math.nan, "none"),
    ],
)
def test_bytes_are_said_in_three_digits(n_bytes: float, text: str) -> None:
    assert size(n_bytes) == text


@pytest.mark.parametrize(
    ("means", "seen"),
    [
        ([], False),
        ([math.nan, math.nan], False),
        ([100.0, 100.9], False),
        ([100.0, 101.2], True),
        ([5.0, math.nan], True),
        ([0.0, 0.0], False),
        ([-0.5, 0.0], True),
    ],
)
def test_measures_that_differ_are_shown(means: list[float], seen: bool) -> None:
    assert differ(means) == seen


def test_a_measure_that_nobody_described_has_its_name() -> None:
    assert described("half_life").title == "Half life"
    assert described("half_life").text(0.25) == "0.25"


def test_populations_of_different_sizes_are_drawn_as_shares_of_their_own(
    raw: Raw, tmp_path: Path
) -> None:
    islands = {arm.name: Population(100, 25) for arm in ONE.arms}
    islands["fixed"] = Population(100, 100)
    runs, trajectories = on_one_task(raw)
    apart = dataclasses.replace(ONE, population=None, populations=islands)
    tables = table.tidy(runs, trajectories)

    def ends(study: page.PageInput) -> pd.Series:
        curves = find(study, tables).control
        parents = curves[curves["quantity"] == "effective_parents"]
        return parents.groupby("arm")["centre"].last()

    together = ends(ONE)
    assert ends(apart)["fixed"] == pytest.approx(together["fixed"])
    assert ends(apart)["adaptive"] == pytest.approx(4.0 * together["adaptive"])
    assert ends(dataclasses.replace(ONE, population=None)).empty
    said = Outline(text_of(page.write(apart, runs, trajectories, tmp_path))).said()
    assert "as a share of the population, or of the island that is drawn from" in said
    other = {arm.name: Population(50, 50) for arm in ONE.arms} | {
        "fixed": Population(100, 100)
    }
    apart = dataclasses.replace(apart, populations=other)
    said = Outline(text_of(page.write(apart, runs, trajectories, tmp_path))).said()
    assert "as a share of the arm's own population" in said


FINAL = dataclasses.replace(SMALL, metric="regret", margin=0.02)


def test_a_study_of_final_regret_speaks_of_points(raw: Raw, tmp_path: Path) -> None:
    path = page.write(FINAL, *raw, tmp_path)
    text = Outline(text_of(path)).said().replace("\u00a0", " ")
    runs = raw[0].groupby(["arm", "task"])["regret"].mean().groupby("arm").mean()
    effects = pd.read_csv(tmp_path / "contrasts.csv").set_index("arm")["effect"]
    arms = pd.read_csv(tmp_path / "arms.csv").set_index("arm")
    difference = runs["adaptive"] - runs["fixed"]
    assert effects["adaptive"] == pytest.approx(difference, abs=1e-6)
    assert arms.loc["fixed", "regret"] == pytest.approx(runs["fixed"], abs=1e-6)
    assert "area" not in arms
    way = "lower" if difference < 0.0 else "higher"
    assert f"final regret {words.points(difference)} {way}" in text
    for said in (
        "2 points either way",
        "\u00b10.02, 2 points of final regret",
        "Final regret, the primary metric",
        "Differences of final regret, arm minus base",
        "Final regret: 1 minus the best score at the end of a run",
        "The primary metric is regret at the end",
        "0.01 is a point",
    ):
        assert said in text, said
    for never in ("a factor of 1.", "mean of the logarithm along", "12 % of regret"):
        assert never not in text, never


def test_the_worst_task_of_final_regret_is_named_in_points(raw: Raw) -> None:
    points = primary("regret", 0.02).change
    tasks = tuple(
        TaskEffect(task=t, n_pairs=9, effect=e, interval=Interval(e - 0.01, e + 0.01))
        for t, e in (("t0", 0.125), ("t1", 0.0))
    )
    comparison = dataclasses.replace(VERDICT.comparison, tasks=tasks)
    mixed = dataclasses.replace(
        VERDICT, comparison=comparison, outcome=Outcome.EQUIVALENT
    )
    assert sentences.exceptions(mixed, 0.02, points) == (
        "On average, not everywhere: 12 points higher on t0."
    )


PLAYED = dataclasses.replace(
    ONE,
    metric="regret",
    margin=0.02,
    episode=synthetic.EPISODE,
    leverage={},
    controls=(),
)


@pytest.fixture(scope="module")
def played(raw: Raw, tmp_path_factory: pytest.TempPathFactory) -> Path:
    secondary = (
        Secondary("adaptive", "fixed", "Is it worse in tokens?", "tokens", 20.0),
        Secondary("adaptive", "fixed", "Is X worse than Y?", "consistency", 0.05),
        Secondary("adaptive", "fixed", "Does it keep?", "kept_bytes", 10.0),
    )
    study = dataclasses.replace(PLAYED, secondary=secondary)
    return page.write(
        study, *synthetic.of_trials(on_one_task(raw)), tmp_path_factory.mktemp("played")
    )


def test_a_page_of_episodes_speaks_of_their_score_and_of_no_search(
    raw: Raw, played: Path
) -> None:
    said = Outline(text_of(played)).said().replace("\u00a0", " ")
    accuracy = (
        1.0 - synthetic.of_trials(on_one_task(raw))[0].groupby("arm")["regret"].mean()
    )
    gain = accuracy["adaptive"] - accuracy["fixed"]
    way = "higher" if gain > 0.0 else "lower"
    assert f"accuracy {words.points(gain)} {way}" in said
    assert f"{100.0 * accuracy['adaptive']:.1f} %" in said
    for one in (
        "500 questions a run",
        "accuracy is the share of questions answered right, higher is better",
        "Differences of 1 \u2212 accuracy",
        "How does it go as a run goes on?",
        "What does it cost?",
        "Consistency 25 % against 100 %.",
        "Tokens 900 against 400.",
        "2 points of accuracy",
    ):
        assert one in said, one
    texts = [ONE.question, "an adaptive temperature", "a fixed one", ONE.reproduce]
    texts += [plan.title for plan in (*ONE.contrasts, *PLAYED.contrasts)]
    for text in (*texts, *[arm.description for arm in ONE.arms]):
        said = said.replace(text, "")
    for never in ("egret", "emperature", "iversity", "evaluation", "ptimum", "arents"):
        assert never not in said, never


def test_a_page_of_episodes_has_the_figures_and_tables_of_episodes(
    played: Path,
) -> None:
    figures = {path.name for path in (played.parent / "figures").iterdir()}
    names = ("contrasts", "course", "cost")
    assert figures == {f"{name}.{kind}" for name in names for kind in ("svg", "pdf")}
    arms = pd.read_csv(played.parent / "arms.csv")
    assert list(arms) == [
        *("arm", "n_runs", "n_finished", "regret", "interquartile_mean_score"),
        *("interval_iqm_low", "interval_iqm_high", "consistency", "tokens"),
    ]
    assert not (played.parent / "runtime.csv").exists()
    text = text_of(played)
    assert "Accuracy so far against questions on nk_32. After 500 questions" in text
    assert "Accuracy against tokens: " in text


def test_contrasts_of_measures_are_a_family_of_their_own(played: Path) -> None:
    said = Outline(text_of(played)).said().replace("\u00a0", " ")
    assert "Registered beside the primary metric, a family of its own" in said
    # One task says nothing about others, whatever it says about itself.
    assert "Tokens 500 higher (98.3 %: none; margin 20)." in said
    assert "whether X is worse than Y is INCONCLUSIVE" in said.replace("  ", " ")
    assert "Consistency 75 points lower (98.3 %: none; margin 5 points)." in said
    assert "Does it keep? Not measured." in said
    table_ = pd.read_csv(played.parent / "secondary.csv").set_index("measure")
    assert table_["effect"].to_dict() == {"tokens": 500.0, "consistency": -0.75}


def test_a_measure_may_be_better_the_higher_it_is() -> None:
    tasks = {name: synthetic.BIG_TASKS[name] for name in synthetic.BIG.tasks[:6]}
    runs, trajectories = synthetic.tables(2, tasks=tasks)
    noise = np.arange(len(runs)) % 3 / 100.0
    arm = (runs["arm"] == "adaptive").astype(float)
    runs = runs.assign(
        consistency=0.5 + 0.3 * arm + noise, tokens=500.0 + 300.0 * arm + noise
    )
    secondary = tuple(
        Secondary("adaptive", "fixed", "Is X better than Y?", measure, 0.01)
        for measure in ("consistency", "tokens")
    )
    study = dataclasses.replace(
        SMALL, secondary=secondary, alpha=0.25, tasks=tuple(tasks), leverage={}
    )
    found = find(study, table.tidy(runs, trajectories)).secondary
    assert [str(one.outcome) for one in found if one] == ["BETTER", "WORSE"]
    runs.loc[runs["arm"] == "fixed", "tokens"] = math.nan
    found = find(study, table.tidy(runs, trajectories)).secondary
    assert found[1] is None


def test_an_arm_whose_selection_reads_no_temperature_has_none(
    raw: Raw, tmp_path: Path
) -> None:
    runs, trajectories = on_one_task(raw)
    cold = dataclasses.replace(ONE, unheated=("adaptive",))
    found = find(cold, table.tidy(runs, trajectories))
    assert sentences.temperature(found.dials["adaptive"].behaviour) == ""
    assert sentences.temperature(found.dials["fixed"].behaviour) == "1"
    hot = found.control[found.control["quantity"] == "temperature"]
    assert set(hot["arm"]) == {"fixed"}
    said = Outline(text_of(page.write(cold, runs, trajectories, tmp_path))).said()
    assert "T 0.01 to" not in said


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.01, "1 point"),
        (-0.031, "3.1 points"),
        (0.125, "12 points"),
        (0.0996, "10 points"),
        (0.0001, "<0.1 points"),
        (math.nan, "none"),
    ],
)
def test_shares_are_said_in_points(share: float, text: str) -> None:
    assert words.points(share) == text


def test_an_interval_of_points_says_unit_and_way_once_where_they_agree() -> None:
    spoken, score = primary("regret", 0.02), primary("regret", 0.02, synthetic.EPISODE)
    ends = Interval(-0.05, -0.01)
    assert spoken.changes(ends) == "5 to 1 point lower"
    assert score.changes(ends) == "5 to 1 point higher"
    assert spoken.changes(Interval(-0.05, 0.02)) == "5 points lower to 2 points higher"
    assert score.changes(Interval(0.0, 0.02)) == "the same to 2 points lower"
    assert spoken.changes(Interval(0.0, 0.0)) == "the same"
    assert spoken.changes(NO_INTERVAL) == score.changes(NO_INTERVAL) == "none"
    assert score.mean(0.125) == "87.5 %"
    assert score.mean(math.nan) == score.change(math.nan) == "none"
    assert (spoken.change(0.0), score.change(-0.1)) == ("the same", "10 points higher")


def test_differences_of_measures_are_said_in_their_units() -> None:
    assert described("kept_bytes").change(-91_000.0) == "91 kB lower"
    assert described("consistency").change(-0.35) == "35 points lower"
    assert described("tokens").change(0.0) == "the same"
    assert described("overrating").text(-0.004) == "\u22120.4 points"
    assert described("tokens").changes(NO_INTERVAL) == "none"
    assert described("tokens").changes(Interval(3.0, 3.0)) == "3 higher"


def test_tasks_of_different_budgets_are_said_to_be(raw: Raw, tmp_path: Path) -> None:
    more = dataclasses.replace(ONE, budget=800)
    said = Outline(text_of(page.write(more, *on_one_task(raw), tmp_path))).said()
    assert "500 to 800 evaluations a run" in said


def test_deviations_and_parameters_stand_on_the_page(raw: Raw, tmp_path: Path) -> None:
    more = dataclasses.replace(
        ONE,
        deviations=("the margin was 0.1",),
        parameters={"fixed": ("temperature=fixed",), "stuck": ()},
        code_version="abc123",
    )
    said = Outline(text_of(page.write(more, *on_one_task(raw), tmp_path))).said()
    assert said.count("the margin was 0.1") == 2
    assert "registered plan: none" not in said
    assert "temperature=fixed" in said
    assert "abc123" in said
    assert "raw/manifest.json" in said


def test_groups_of_contrasts_have_figures_of_their_own(
    raw: Raw, tmp_path: Path
) -> None:
    groups = ("As shipped", "It's connected")
    contrasts = tuple(
        plan._replace(group=groups[index % 2])
        for index, plan in enumerate(SMALL.contrasts)
    )
    grouped = dataclasses.replace(ONE, contrasts=contrasts)
    text = text_of(page.write(grouped, *on_one_task(raw), tmp_path))
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"convergence_as_shipped.svg", "convergence_its_connected.pdf"} <= names
    said = Outline(text).said()
    for group in groups:
        assert said.count(group) >= 5
    assert "Grey: the other arms of the study" in said


def test_twenty_arms_and_more_stay_small_and_highlight_a_few(tmp_path: Path) -> None:
    tasks = {name: synthetic.BIG_TASKS[name] for name in synthetic.SWEEP.tasks[:2]}
    raw = synthetic.tables(2, tasks=tasks, kinds=synthetic.SWEEP_KINDS, study="sweep")
    sweep = dataclasses.replace(synthetic.SWEEP, tasks=tuple(tasks), n_seeds=2)
    path = page.write(sweep, *raw, tmp_path)
    assert path.stat().st_size < 250_000
    text = text_of(path)
    keys = re.findall(r'<ul class="key".*?</ul>', text, re.DOTALL)
    assert {key.count("<li>") for key in keys} == {6}
    assert text.count("Best first.") == 1


def test_names_are_escaped(raw: Raw, tmp_path: Path) -> None:
    odd = dataclasses.replace(ONE, question="Is <b>a</b> & b < c?")
    text = text_of(page.write(odd, *on_one_task(raw), tmp_path))
    assert "<h1>Is &lt;b&gt;a&lt;/b&gt; &amp; b &lt; c?</h1>" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "other"}, "runs must be of the study other, got synthetic"),
        ({"tasks": ("onemax_64", "trap_60")}, "must have the tasks of .* nk_32"),
        ({"arms": SMALL.arms[:4], "contrasts": (), "leverage": {}}, "arms of .* stuck"),
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
        ({"contrasts": (Contrast("fixed", "?", "t"),)}, "contrasts must name arms"),
        (
            {"controls": (Control("?", "fixed", "t", "same"),)},
            "controls must name arms",
        ),
        (
            {"controls": (Control("twin", "fixed", "t", "equal"),)},
            "expected must be one of same, identical, better, worse, got 'equal'",
        ),
        (
            {"controls": (Control("twin", "fixed", "t", "same", ("x",)),)},
            "controls must name tasks of the study, got 'x'",
        ),
        ({"leverage": {("fixed", "?"): (0.1, "nk_32")}}, "leverage must name arms"),
        ({"leverage": {("fixed", "twin"): (1.1, "nk_32")}}, "leverage must lie in"),
        ({"parameters": {"?": ()}}, "parameters must name arms"),
        ({"populations": {"?": (1, 1)}}, "populations must name arms"),
        ({"unheated": ("?",)}, "unheated must name arms"),
        (
            {"secondary": (Secondary("?", "fixed", "t", "tokens", 1.0),)},
            "secondary must name arms",
        ),
        ({"metric": "speed"}, "metric must be one of area, regret, got 'speed'"),
        (
            {"episode": Episode("accuracy", "question", "a share")},
            "metric must be regret of episodes, got 'area'",
        ),
        ({"margin": 0.0}, "margin must be positive and finite, got 0.0"),
        ({"alpha": 0.5}, "alpha must lie in"),
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
    ("change", "reason"),
    [
        ({}, ""),
        ({"minimum_share": 0.97}, "T was at its lower bound in 97 % of steps"),
        ({"maximum_share": 1.0}, "T was at its upper bound in all steps"),
        (
            {"minimum_share": 0.5, "maximum_share": 0.46},
            "T was at one of its bounds in 96 % of steps",
        ),
        (
            {"zero_diversity_share": 1.0},
            "D was 0 in all steps, so T followed no diversity",
        ),
        ({"zero_diversity_share": 1.0, "temperature_high": 0.05}, ""),
    ],
)
def test_a_dead_dial_is_recognised_by_rule(change: dict, reason: str) -> None:
    assert sentences.dead(dataclasses.replace(MOVING, **change)) == reason


def test_a_dial_that_is_dead_on_some_tasks_is_not_averaged_away() -> None:
    held = dataclasses.replace(MOVING, minimum_share=1.0)
    names = ("t1", "t2", "t3", "t4")
    tasks = dict(zip(names, (held, MOVING, held, held), strict=True))
    arm = dataclasses.replace(MOVING, minimum_share=0.75, tasks=tasks)
    assert sentences.dead_somewhere(arm) == "dead on 3 of 4 tasks (t1, t3, t4)"
    more = dataclasses.replace(arm, tasks={**tasks, "t5": held})
    assert sentences.dead_somewhere(more) == "dead on 4 of 5 tasks (t1, t3, \u2026)"
    assert sentences.dead_somewhere(dataclasses.replace(held, tasks=tasks)) == ""
    dials = {"a": Dial(arm), "b": Dial(STILL)}
    assert sentences.why(VERDICT, dials, None).startswith("a: dial dead on 3 of 4")


def test_what_dials_did_is_said_in_few_words() -> None:
    assert sentences.temperature(MOVING) == "0.05 to 1.9"
    assert sentences.temperature(STILL) == "1"
    assert sentences.temperature(UNKNOWN) == ""
    cut = dataclasses.replace(MOVING, minimum_share=0.2, maximum_share=0.005)
    assert sentences.bounds(cut) == "lower in 20 % of steps and upper in <1 % of steps"
    assert sentences.bounds(MOVING) == ""
    assert sentences.diversity(MOVING) == "0.4"
    assert sentences.diversity(UNKNOWN) == "not measured"
    some = dataclasses.replace(MOVING, zero_diversity_share=0.5)
    assert sentences.diversity(some) == "0.4; 0 in 50 % of steps"
    none = dataclasses.replace(MOVING, zero_diversity_share=1.0)
    assert sentences.diversity(none) == "0 in all steps"


@pytest.mark.parametrize(
    ("interval", "population", "text"),
    [
        (Interval(0.12, 0.55), 100, "12 to 55 %"),
        (Interval(0.5, 0.5), 100, "50 %"),
        (Interval(0.97, 1.0), 100, "97 to 100 %, nearly uniform"),
        (Interval(12.0, 55.5), None, "12 to 55.5"),
        (NO_INTERVAL, 100, ""),
    ],
)
def test_effective_parents_are_shares_where_the_population_is_known(
    interval: Interval, population: int | None, text: str
) -> None:
    assert sentences.parents(Dial(MOVING, interval), population) == text


def test_effective_parents_are_those_of_full_populations(raw: Raw) -> None:
    tables = table.tidy(*raw)
    small = dataclasses.replace(SMALL, contrasts=(), controls=())
    dial = find(small, tables).dials["fixed"]
    assert dial.full
    # T is 1 throughout, where the synthetic law always keeps the same share.
    assert dial.parents.low == pytest.approx(math.exp(-0.4))
    assert dial.parents.high == pytest.approx(math.exp(-0.4))
    bigger = dataclasses.replace(small, population=5_000)
    assert not find(bigger, tables).dials["fixed"].full


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
VERDICT = Verdict(
    comparison=EFFECT,
    outcome=Outcome.BETTER,
    equivalence=Interval(-0.9, 0.1),
    p=0.01,
    p_holm=0.02,
    a12=0.6,
)
WORSE = dataclasses.replace(VERDICT, outcome=Outcome.WORSE)
EQUIVALENT = dataclasses.replace(VERDICT, outcome=Outcome.EQUIVALENT)
IDENTICAL = dataclasses.replace(EQUIVALENT, identical=True)
OPEN = dataclasses.replace(
    VERDICT,
    outcome=Outcome.INCONCLUSIVE,
    reason="the interval holds zero and reaches beyond the margin",
    deciding=(Size(12, 45), Size(30, 1)),
)
SLIGHT = dataclasses.replace(VERDICT, negligible=True)
STILL = dataclasses.replace(MOVING, temperature_low=1.0, temperature_high=1.0)
HELD = dataclasses.replace(MOVING, minimum_share=1.0)
UNKNOWN = Behaviour(n_runs=5)


@pytest.mark.parametrize(
    ("title", "verdict", "sentence"),
    [
        ("Does X beat Y?", VERDICT, "Yes: X is BETTER than Y."),
        ("Does X beat Y?", WORSE, "No: X is WORSE than Y."),
        ("Does X beat Y?", EQUIVALENT, "No: X is EQUIVALENT to Y."),
        ("Does X beat Y?", IDENTICAL, "No: X is EQUIVALENT (identical) to Y."),
        (
            "Does X beat Y?",
            OPEN,
            "Undecided: whether X is better than Y is INCONCLUSIVE.",
        ),
        (
            "Does X beat Y?",
            SLIGHT,
            "Yes, negligibly: X is BETTER than Y, by a negligible amount.",
        ),
        ("Do X beat Y?", VERDICT, "Yes: X are BETTER than Y."),
        ("Is X worse than Y on Z?", WORSE, "Yes: X is WORSE than Y on Z."),
        ("Is X worse than Y?", VERDICT, "No: X is BETTER than Y."),
        ("Does X matter?", WORSE, "Yes: X matters; a is WORSE than b."),
        (
            "Does X matter on Z?",
            EQUIVALENT,
            "No: X does not matter on Z; a is EQUIVALENT to b.",
        ),
        ("Does X matter?", OPEN, "Undecided: whether X matters is INCONCLUSIVE."),
        ("Do X matter?", VERDICT, "Yes: X matter; a is BETTER than b."),
        ("Does X help?", VERDICT, "Yes: X helps; a is BETTER than b."),
        ("Does X help?", WORSE, "No: X hurts; a is WORSE than b."),
        ("Does X help?", EQUIVALENT, "No: X does not help; a is EQUIVALENT to b."),
        ("X against Y", VERDICT, "X against Y: a is BETTER than b."),
        ("X against Y", OPEN, "X against Y: a is INCONCLUSIVE against b."),
    ],
)
def test_a_question_is_answered_by_rule(
    title: str, verdict: Verdict, sentence: str
) -> None:
    assert answer(title, verdict).sentence == sentence


@pytest.mark.parametrize(
    ("arm", "base", "verdict", "leverage", "text"),
    [
        (MOVING, STILL, VERDICT, None, "T 0.05 to 1.9 against 1."),
        (STILL, STILL, VERDICT, None, "T 1 in both."),
        (MOVING, UNKNOWN, VERDICT, None, ""),
        (HELD, STILL, VERDICT, None, "a: T was at its lower bound in all steps."),
        (
            HELD,
            HELD,
            VERDICT,
            None,
            "In both arms T was at its lower bound in all steps.",
        ),
        (
            *(STILL, STILL, IDENTICAL, None),
            "Every paired difference is exactly 0; T 1 in both.",
        ),
        (
            *(STILL, STILL, OPEN, None),
            "Would decide: 12 tasks \u00d7 45 pairs or 30 tasks \u00d7 1 pair. "
            "T 1 in both.",
        ),
        (
            *(STILL, STILL, dataclasses.replace(OPEN, deciding=()), None),
            "No size that would decide is known: the interval holds zero and reaches "
            "beyond the margin. T 1 in both.",
        ),
        (
            *(STILL, STILL, OPEN, Leverage(0.003, "t")),
            "The two arms' laws of selection never differ by more than 0.3 % of "
            "probability (t): this dial is dead, no n decides it.",
        ),
        (
            *(STILL, STILL, OPEN, Leverage(0.0, "t")),
            "The two arms' laws of selection never differ at all: this dial is dead, no "
            "n decides it.",
        ),
        (
            *(STILL, STILL, VERDICT, Leverage(0.12, "t")),
            "Laws of selection differ by up to 12 % of probability (t); T 1 in both.",
        ),
        (Behaviour(n_runs=0), STILL, VERDICT, None, "a: no run finished."),
        (
            dataclasses.replace(MOVING, maximum_share=0.3, zero_diversity_share=0.1),
            *(STILL, VERDICT, None),
            "T 0.05 to 1.9 against 1; a at a bound in 30 % of steps; D = 0 in 10 % of "
            "steps of a.",
        ),
    ],
)
def test_why_a_contrast_came_out_is_said_by_rule(
    arm: Behaviour,
    base: Behaviour,
    verdict: Verdict,
    leverage: Leverage | None,
    text: str,
) -> None:
    dials = {"a": Dial(arm), "b": Dial(base)}
    assert sentences.why(verdict, dials, leverage) == text


def test_a_control_says_what_it_is_and_must_be() -> None:
    same = sentences.control(OPEN, Expected.SAME, passed=True)
    assert same == "INCONCLUSIVE, must be neither better nor worse"
    worse = sentences.control(VERDICT, Expected.WORSE, passed=False)
    assert worse == "BETTER, must be worse"
    text = sentences.control(IDENTICAL, Expected.IDENTICAL, passed=True)
    assert text == (
        "EQUIVALENT (identical), must be identical in every run: every paired "
        "difference is exactly 0"
    )
    text = sentences.control(EQUIVALENT, Expected.IDENTICAL, passed=False)
    assert text == "EQUIVALENT, must be identical in every run"


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (0.0, "the same"),
        (math.log10(0.97), "3 % lower"),
        (math.log10(1.034), "3.4 % higher"),
        (math.log10(0.88), "12 % lower"),
        (math.log10(0.4), "2.5 times lower"),
        (math.log10(2.0), "2.0 times higher"),
        (math.log10(150.0), "150 times higher"),
        (1e-6, "<0.1 % higher"),
        (math.nan, "none"),
    ],
)
def test_differences_are_said_in_units_of_people(effect: float, text: str) -> None:
    assert words.change(effect) == text


def test_an_interval_of_one_direction_says_it_once() -> None:
    ends = [math.log10(share) for share in (0.92, 0.98, 1.02, 3.0)]
    assert words.changes(Interval(ends[0], ends[1])) == "8 % to 2 % lower"
    assert words.changes(Interval(ends[0], ends[2])) == "8 % lower to 2 % higher"
    assert words.changes(Interval(ends[2], ends[3])) == "2 % higher to 3.0 times higher"
    assert words.changes(NO_INTERVAL) == "none"
    assert words.changes(Interval(0.0, 0.0)) == "the same"


def test_one_thing_is_singular() -> None:
    assert [words.several(n, "arm") for n in (0, 1, 4320)] == [
        *("0 arms", "1 arm", "4,320 arms")
    ]


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
    assert words.signed(value) == text


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
    assert words.steps(share) == text


def test_numbers_that_are_not_there_are_called_none() -> None:
    assert words.figures(math.nan) == "none"
    assert words.percent(math.nan) == "none"
    assert words.span(Interval(math.nan, math.nan)) == "none"
    assert words.span(Interval(-1.0, 0.25)) == "\u22121.000 to +0.250"


def test_alternative_texts_name_the_ends_of_the_curves() -> None:
    lines = pd.DataFrame(
        {
            "arm": ["a", "a", "b", "b"],
            "evaluation": [1.0, 100.0, 1.0, 100.0],
            "centre": [0.0, -1.0, 0.0, -2.0],
        }
    )
    text = alternatives.convergence("t", lines)
    assert text == (
        "Regret against evaluations on t. After 100 evaluations b is at 0.01, the "
        "lowest, and a at 0.1, the highest."
    )
    assert alternatives.convergence("t", lines[:2]).endswith("a is at 0.1.")
    dials = lines.assign(quantity=["diversity", "diversity", "floor", "floor"])
    assert alternatives.control("t", dials) == (
        "Dials against evaluations on t: mean diversity D between \u22121 and 0; T at a "
        "bound at times: none."
    )
    dials["centre"] = np.abs(dials["centre"])
    assert alternatives.control("t", dials).endswith("T at a bound at times: b.")
    text = alternatives.forest("Title", VERDICT)
    assert text.startswith("Title BETTER: mean paired difference \u22120.500")
    assert "t \u22120.500" in text


def test_a_contrast_more_does_not_change_the_intervals_of_others(raw: Raw) -> None:
    tables = table.tidy(*raw)
    fewer = dataclasses.replace(SMALL, contrasts=SMALL.contrasts[1:])
    few, all_ = (
        [verdict.comparison for verdict in find(study, tables).verdicts]
        for study in (fewer, SMALL)
    )
    assert repr(few) == repr(all_[1:])


def test_a_task_that_stands_apart_is_named_beside_an_average_that_does_not() -> None:
    def with_tasks(*effects: float, outcome: Outcome) -> Verdict:
        tasks = tuple(
            TaskEffect(
                task=f"t{k}",
                n_pairs=20,
                effect=effect,
                interval=Interval(effect - 0.01, effect + 0.01),
            )
            for k, effect in enumerate(effects)
        )
        comparison = dataclasses.replace(VERDICT.comparison, tasks=tasks)
        return dataclasses.replace(VERDICT, comparison=comparison, outcome=outcome)

    mixed = with_tasks(0.0, -0.125, 0.06, 0.04, outcome=Outcome.EQUIVALENT)
    assert sentences.exceptions(mixed, 0.05) == (
        "On average, not everywhere: 25 % lower on t1, 15 % higher on t2."
    )
    assert sentences.exceptions(mixed, 0.2) == ""
    clear = with_tasks(-0.125, -0.2, outcome=Outcome.BETTER)
    assert sentences.exceptions(clear, 0.05) == ""
    many = with_tasks(*[0.1 + k / 100 for k in range(5)], outcome=Outcome.INCONCLUSIVE)
    assert sentences.exceptions(many, 0.05).endswith("on t2 and 2 more.")
