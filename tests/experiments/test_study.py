"""A study is composed, or refused before anything runs with what would do."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.cells import cells_of, code_version, names_of, settings_of
from experiments.composition import ConfigurationError
from experiments.study import cheap, load, load_sweep
from memory import upstream
from memory.diversity.hamming import Hamming
from memory.diversity.text_shape import TextShape
from memory.graded.settings import GradedSettings


def test_the_upstream_profile_is_loongflow_as_shipped() -> None:
    (arm,) = load(["profile=upstream", "study=smoke"]).arms
    assert arm.settings == upstream()


def test_an_override_of_the_memory_makes_a_study_of_one_arm_named_by_it() -> None:
    study = load(["study=smoke", "temperature=adaptive", "temperature.blend=0.5"])
    (arm,) = study.arms
    assert arm.name == "temperature=adaptive,temperature.blend=0.5"
    assert arm.settings.temperature.blend == 0.5
    assert study.contrasts == ()


def test_an_override_of_the_study_keeps_its_arms() -> None:
    study = load(["study=smoke", "study.seeds=7", "study.budget=99"])
    assert len(study.arms) == 2
    assert study.seeds == tuple(range(1, 8))
    assert {task.budget for task in study.tasks} == {99}


@pytest.mark.parametrize(
    ("overrides", "messages"),
    [
        (["study=nope"], ["study/nope", "default", "smoke"]),
        (["study.seds=3"], ["study.seds", "seeds"]),
        (["study.seeds=many"], ["seeds", "'many'", "Integer"]),
        (["study.seeds=0"], ["study.seeds must be at least 1, got 0"]),
        (["study.seeds=2.5"], ["seeds", "2.5"]),
        (["study.budget=20"], ["budget must exceed study.initial, got 20 <= 20"]),
        (["study.instances=[0]"], ["study.instances must be at least 1, got 0"]),
        (["study.instances=[1,1]"], ["study.instances must differ"]),
        (["study.instances=[]"], ["one arm and one instance, got 12, 16 and 0"]),
        (["study.arms=[ranked_fixed,ranked_fixed]"], ["study.arms must differ"]),
        (["study.arms=[hot]"], ["arm must be one of", "ranked_fixed", "got 'hot'"]),
        (
            ["study.arms=[ranked_fixed]"],
            ["must be one of ranked_fixed", "study.contrasts=[]"],
        ),
        (["study.name=../x"], ["study.name must be made of letters"]),
        (["study.margin=400"], ["study.margin must lie in [1e-06, 10]", "400"]),
        (["study.alpha=0.5"], ["study.alpha must lie in [0.001, 0.25]", "0.5"]),
        (
            ["study.contrasts=[{arm: uniform, base: uniform, title: a}]"],
            ["study.contrasts: arm and base must differ, got 'uniform' twice"],
        ),
        (
            [
                "study.contrasts=[{arm: uniform, base: ranked_cold, title: a},"
                "{arm: ranked_cold, base: uniform, title: b}]"
            ],
            ["a pair of arms may be compared once"],
        ),
        (
            ["study.grids=[{name: g, arm: uniform, over: {temperature.value: []}}]"],
            ["study.grids.g: every key of over needs a value"],
        ),
        (["temperature=adaptve"], ["temperature/adaptve", "adaptive", "annealed"]),
        (["temperature.valu=1"], ["temperature.valu", "has the keys value"]),
        (["temperature.value=hot"], ["value must be a finite real number, got 'hot'"]),
        (["temperature.value=-1"], ["value must be positive and finite, got -1"]),
        (["temperature.value=true"], ["value must be a finite real number, got True"]),
        (["selection.exploration=2"], [r"exploration must lie in [0, 1], got 2"]),
        (["capacity=0"], ["capacity must be at least 1, got 0"]),
        (["capacity=many"], ["capacity must be an integer, got 'many'"]),
        (["natural_diversity=yes please"], ["natural_diversity must be true or false"]),
        (["+hat=1"], ["no key 'hat'"]),
        (["study.tasks.x={task: pbo}"], ["study.tasks.x", "has the keys"]),
        (
            ["+study.tasks.x={task: nope}"],
            ["study.tasks.x: task must be one of", "expression", "got 'nope'"],
        ),
        (
            ["+study.tasks.x={task: pbo, proposer: nope}"],
            ["study.tasks.x: proposer must be one of bit_flip", "got 'nope'"],
        ),
        (["+study.tasks.x={dimension: 4}"], ["study.tasks.x must name its task"]),
        (
            ["+study.tasks.x={task: pbo, dimensio: 4}"],
            ["study.tasks.x", "dimensio", "has the keys function, dimension"],
        ),
        (
            ["+study.tasks.x={task: pbo, function: TwoMax}"],
            ["study.tasks.x", "function must be one of OneMax"],
        ),
        (
            ["+study.tasks.x={task: pbo, dimension: big}"],
            ["study.tasks.x", "dimension must be an integer, got 'big'"],
        ),
        (["study.metric=speed"], ["study.metric must be one of area, regret", "speed"]),
        (
            ["study.metric=regret", "study.margin=2"],
            ["study.margin must lie in [1e-06, 1]"],
        ),
        (
            ["recall=recall"],
            ["arm recall=recall must choose no recall or compressor, which no task"],
        ),
        (
            ["+study.tasks.x={task: needles}"],
            ["must all be searched or all play their runs themselves, got x"],
        ),
        (
            ["study=recall_facts", "study.metric=area"],
            ["study.metric must be regret where tasks play their runs themselves"],
        ),
        (
            ["study=recall_facts", "+study.tasks.x={task: needles}"],
            ["must have one kind of score, got accuracy, retention"],
        ),
        (
            ["study=recall_facts", "temperature=fixed"],
            ["arm temperature=fixed must choose a recall or a compressor"],
        ),
        (
            ["study=recall_facts", "study.tasks.plain.n_facts=0"],
            ["n_facts"],
        ),
        (
            ["study=recall_facts", "+study.tasks.plain.proposer=bit_flip"],
            ["plays its runs itself and takes no proposer, got 'bit_flip'"],
        ),
        (
            ["study=compression", "arm=extractive_600", "graded.recent_share=0.9"],
            ["recent_share, summary_share and medium_share must add up to less"],
        ),
        (
            ["study=retention", "study.secondary.0.measure=speed"],
            ["study.secondary: measure must be one of kept_bytes", "got 'speed'"],
        ),
        (
            ["study=retention", "study.secondary.0.margin=0"],
            ["study.secondary: margin must be positive"],
        ),
        (
            ["study=retention", "study.secondary.0.arm=nobody"],
            ["study.secondary: arm must be one of", "got 'nobody'"],
        ),
        (["a b c"], ["a b c"]),
        (["temperature.value="], ["value must be a finite real number, got ''"]),
    ],
)
def test_what_is_wrong_is_refused_with_what_would_do(
    overrides: list[str], messages: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(overrides)
    for message in messages:
        assert message in str(caught.value)


def test_a_graded_memory_is_composed_from_its_rooms_and_keys() -> None:
    study = load(["study=compression"])
    graded = {arm.name: arm.graded for arm in study.arms}
    tight, wide = graded["truncation_300"], graded["nothing_1200"]
    assert tight is not None
    assert wide is not None
    assert tight.settings.threshold_tokens == 300
    assert (type(tight.compressor).__name__, type(wide.compressor).__name__) == (
        *("Truncation", "Nothing"),
    )
    (drawn,) = load(["study=recall_facts", "arm=recall_drawn_01"]).arms
    assert drawn.graded is not None
    assert drawn.graded.recall.temperature == 0.1
    assert drawn.graded.settings == GradedSettings()
    assert study.metric == "regret"
    assert len(study.episodes) == len(study.tasks)
    assert load(["study=smoke"]).episodes == ()
    with pytest.raises(ValueError, match="plain plays a run itself"):
        _ = load(["study=recall_facts"]).tasks[0].searched


def test_tasks_and_arms_that_differ_in_name_alone_are_refused() -> None:
    twice = load(
        [
            "study=smoke",
            "+study.tasks.again={task: pbo, function: OneMax, dimension: 20}",
        ]
    )
    with pytest.raises(
        ConfigurationError, match=r"onemax_20 and .* on again, which are"
    ):
        cells_of(twice)


@pytest.mark.parametrize(
    "name", ["islands", "retention", "recall_facts", "compression"]
)
def test_a_study_stays_a_study_where_it_is_cheap(name: str) -> None:
    small = cheap(load([f"study={name}"]))
    cells = cells_of(small)
    assert len(cells) == len(small.tasks) * len(small.arms) * 3


def test_a_users_own_folder_may_add_arms_tasks_and_studies(tmp_path: Path) -> None:
    for group in ("arm", "study"):
        (tmp_path / group).mkdir()
    (tmp_path / "arm" / "icy.yaml").write_text(
        "# @package _global_\n# Very cold.\ntemperature:\n  value: 0.001\n"
    )
    (tmp_path / "study" / "mine.yaml").write_text(
        "# Mine.\nname: mine\nquestion: Is ice better?\n"
        "tasks:\n  a: {task: pbo, function: OneMax, dimension: 10}\n"
        "arms: [icy, ranked_fixed]\nseeds: 2\nbudget: 50\n"
    )
    study = load(["study=mine"], tmp_path)
    assert [arm.name for arm in study.arms] == ["icy", "ranked_fixed"]
    assert study.arms[0].title == "Very cold."
    with pytest.raises(ConfigurationError, match="--config-dir must be a folder"):
        load([], tmp_path / "none")


def test_a_natural_arm_is_measured_by_the_metric_of_each_task() -> None:
    study = load(["study=smoke", "natural_diversity=true"])
    metrics = [settings_of(study.arms[0], task).diversity for task in study.tasks]
    assert metrics == [Hamming(), TextShape()]


def test_a_cell_is_named_by_what_it_reads_and_by_nothing_else() -> None:
    base = cells_of(load(["study=smoke"]))
    more = cells_of(
        load(["study=smoke", "study.seeds=5", "study.question=Other?", "study.name=x"])
    )
    assert {cell.id for cell in base} < {cell.id for cell in more}
    budget = cells_of(load(["study=smoke", "study.budget=61"]))
    assert not {cell.id for cell in base} & {cell.id for cell in budget}
    # A fixed temperature reads no mapping.
    mapped = cells_of(load(["study=smoke", "temperature=fixed", "mapping=original"]))
    plain = cells_of(load(["study=smoke", "temperature=fixed", "mapping=inverted"]))
    assert [cell.id for cell in mapped] == [cell.id for cell in plain]
    assert len({cell.id for cell in base}) == len(base) == 2 * 3 * 2


def test_the_arms_of_a_block_stand_together_and_share_their_names() -> None:
    study = load(["study=smoke"])
    cells = cells_of(study)
    blocks = [cell.block for cell in cells]
    assert blocks[0::2] == blocks[1::2]
    assert names_of(study, cells[0]) == names_of(study, cells[1])
    assert names_of(study, cells[0]) != names_of(study, cells[2])


def test_a_salt_gives_an_arm_random_numbers_of_its_own() -> None:
    salted = load(["study=smoke", "stream_salt=again"])
    plain = load(["study=smoke", "temperature=fixed"])
    a, b = cells_of(salted)[0], cells_of(plain)[0]
    assert a.id != b.id
    assert names_of(salted, a) == (*names_of(plain, b), "again")


def test_a_cheap_study_is_small_in_everything_but_its_arms() -> None:
    study = load(["study=default"])
    small = cheap(study)
    assert small.name == "default-cheap"
    assert small.arms == study.arms
    assert len(small.seeds) == 3
    assert max(task.budget for task in small.tasks) == 100
    assert [task.label for task in small.tasks] == [t.label for t in study.tasks]
    assert small.tasks[0].task.dimension < study.tasks[0].task.dimension
    assert not {c.id for c in cells_of(small)} & {c.id for c in cells_of(study)}


def test_the_code_version_covers_every_source_that_makes_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = code_version()
    code_version.cache_clear()
    assert code_version() == first
    read = Path.read_bytes
    for name in (
        "cells.py",
        "loop.py",
        "expressions.py",
        "tasks/pbo.py",
        "proposers/bit_flip.py",
        "weightings/lineage.py",
        "population/state.py",
        "selection/loongflow.py",
    ):

        def changed(path: Path, name: str = name) -> bytes:
            return read(path) + (b"#" if path.as_posix().endswith(name) else b"")

        monkeypatch.setattr(Path, "read_bytes", changed)
        code_version.cache_clear()
        assert code_version() != first, name
    monkeypatch.undo()
    code_version.cache_clear()


@pytest.mark.parametrize("key", ["arms", "contrasts", "controls", "secondary"])
def test_a_sweep_refuses_what_names_other_arms_than_its_own(key: str) -> None:
    overrides = ["study=smoke", "temperature=fixed,adaptive", f"study.{key}=[]"]
    with pytest.raises(ConfigurationError, match="makes arms of its own"):
        load_sweep(overrides)
