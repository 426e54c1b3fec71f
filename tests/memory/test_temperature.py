"""Temperature controllers: golden numbers of the real LoongFlow, bounds, direction."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import EvolutionaryMemory, KeyedRandom, Settings, Signal
from memory.diversity.text_shape import TextShape
from memory.mapping.constant import Constant
from memory.mapping.inverted import Inverted
from memory.mapping.original import Original
from memory.mapping.sigmoid import Sigmoid
from memory.temperature.adaptive import Adaptive
from memory.temperature.annealed import Annealed
from memory.temperature.fixed import Fixed
from memory.temperature.yoked import Yoked

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "temperature.json").read_text("utf-8")
)
LOONGFLOW = {"base": 1.0, "minimum": 0.5, "maximum": 2.0}
UPSTREAM: dict[str, Any] = {
    "stateful": False,
    "clamp_first": True,
    "maximum_diversity": 1.3,
}
# The golden file gives temperatures for these names, but no texts.
WITHOUT_TEXTS = (
    "anagram",
    "code_var_renamed",
    "code_whitespace",
    "digits_grow",
    "json_docs",
    "multiline_12",
    "multiline_4",
    "one_outlier",
    "other_line_breaks",
    "sql",
    "superset_repeat",
    "surrogate_lone",
    "unicode_mixed",
    "unicode_norm_forms",
    "words_3",
)
# The golden temperatures of these were made from other random texts than the golden file
# holds under the name: their diversities differ by more than 0.01.
WITH_OTHER_TEXTS = (
    "csv_rows",
    "code_lengths",
    "big_random_unicode",
    "words_5",
    "words_7",
    "words_15",
)


def signal(diversity: float) -> Signal:
    return Signal(1, diversity, np.zeros(1))


def test_every_temperature_of_loongflow_is_reproduced() -> None:
    for current, diversity, minimum, maximum, base, expected in GOLDEN["rows"]:
        controller = Adaptive(
            Original(), base=base, minimum=minimum, maximum=maximum, **UPSTREAM
        )
        # The pure formula takes any current value; the door of ``select`` cannot hand it
        # a state that is not positive, because ``base`` must be.
        control = controller.control(current, signal(diversity))
        assert control.temperature == pytest.approx(expected, abs=1e-12)


def test_the_temperatures_of_loongflow_on_its_texts_are_reproduced() -> None:
    diversities = json.loads(
        (Path(__file__).parents[1] / "golden" / "diversity.json").read_text("utf-8")
    )
    texts = {case["name"]: case["texts"] for case in diversities["cases"]}
    rng = KeyedRandom("golden").generator("diversity", 0)
    checked = 0
    for name, initial, expected in GOLDEN["dynamic"]:
        if name in WITHOUT_TEXTS + WITH_OTHER_TEXTS:
            continue
        written = ["" if text is None else _expanded(text) for text in texts[name]]
        if len(written) > 50:
            continue  # upstream sampled these with its global stream
        diversity = TextShape(sample_size=50).measure(written, rng)
        controller = Adaptive(Original(), **LOONGFLOW | UPSTREAM | {"base": initial})
        control = controller.control(controller.initial, signal(diversity))
        assert control.temperature == pytest.approx(expected, abs=1e-12)
        checked += 1
    assert checked == 97


def _expanded(text: Any) -> str:
    if isinstance(text, str):
        return text
    return "".join(piece * times for piece, times in text["seg"])


@pytest.mark.parametrize("row", GOLDEN["table"])
def test_both_signs_match_the_worked_table(row: dict[str, float]) -> None:
    for name, mapping in (("original", Original()), ("inverted", Inverted())):
        controller = Adaptive(
            mapping,
            base=row["base_temp"],
            minimum=row["min_temp"],
            maximum=row["max_temp"],
            **UPSTREAM,
        )
        control = controller.control(row["current_temp"], signal(row["diversity"]))
        assert control.temperature == pytest.approx(row[name], abs=1e-12)


@pytest.mark.parametrize(
    ("mapping", "stateful", "key"),
    [
        (Original(), True, "original_stateful"),
        (Inverted(), True, "inverted_stateful"),
        (Original(), False, "upstream_stateless"),
    ],
)
def test_a_stateful_blend_smooths_and_a_stateless_one_does_not(
    mapping: Any, stateful: bool, key: str
) -> None:
    case = GOLDEN["stateful"]
    controller = Adaptive(mapping, **LOONGFLOW, clamp_first=True, stateful=stateful)
    state, found = controller.initial, []
    for diversity in case["diversity"]:
        temperature = controller.control(state, signal(diversity)).temperature
        found.append(temperature)
        if controller.stateful:
            state = temperature
    np.testing.assert_allclose(found, case[key], rtol=0, atol=1e-12)


@pytest.mark.parametrize("current", [0.0, -1.0, -3.0, math.nan])
def test_a_current_temperature_that_is_not_positive_is_refused(current: float) -> None:
    """Golden rows with a current of 0: reproduced above, refused at the door."""
    with pytest.raises(ValueError, match="base must be"):
        Adaptive(Original(), base=current)


@given(
    diversity=st.floats(0.0, 1.3),
    state=st.floats(1e-6, 1e6),
    blend=st.floats(0.0, 1.0),
    inverted=st.booleans(),
)
def test_bounds_hold_when_they_are_applied_last(
    diversity: float, state: float, blend: float, inverted: bool
) -> None:
    mapping = Inverted() if inverted else Original()
    controller = Adaptive(mapping, minimum=0.01, maximum=0.5, base=0.1, blend=blend)
    control = controller.control(state, signal(diversity))
    assert 0.01 <= control.temperature <= 0.5
    assert control.clamp == (control.temperature == 0.5) - (control.temperature == 0.01)
    assert control.used_diversity == min(diversity, 1.0)


def test_the_blend_leaves_the_bounds_where_they_are_applied_first() -> None:
    low = Adaptive(Original(), **LOONGFLOW | UPSTREAM | {"base": 0.1})
    assert low.control(0.1, signal(0.9)).temperature == pytest.approx(0.42)
    high = Adaptive(Original(), **LOONGFLOW | UPSTREAM | {"base": 10.0})
    assert high.control(10.0, signal(0.5)).temperature == pytest.approx(3.6)


@pytest.mark.parametrize("gain", [8.0, -8.0, 2000.0, -2000.0])
def test_a_sigmoid_is_no_straight_line_and_its_gain_has_a_sign(gain: float) -> None:
    mapping = Sigmoid(gain=gain)
    factors = np.array([mapping.factor(d) for d in np.linspace(0, 1, 101)])
    assert mapping.factor(0.5) == 1.0
    assert factors.min() >= 0.0
    assert factors.max() <= 2.0
    assert np.all(np.sign(gain) * np.diff(factors) >= 0.0)
    assert np.abs(np.diff(factors, 2)).max() > 1e-3
    expected = 2 / (1 + math.exp(-8.0 * (0.7 - 0.5)))
    assert Sigmoid(gain=8.0).factor(0.7) == pytest.approx(expected)


def population(mapping: Any, texts: list[str], **options: Any) -> EvolutionaryMemory:
    settings = Settings(temperature=Adaptive(mapping, **options))
    memory = EvolutionaryMemory(settings)
    for index, text in enumerate(texts):
        memory.remember(text, index / len(texts))
    return memory


CLONES = ["x = 1\n"] * 20 + ["y = 20\nz = 3\n"]
VARIED = ["x" * (1 + 7 * k) + "\n" * (k % 5) + chr(97 + k) for k in range(21)]


@pytest.mark.parametrize("stateful", [True, False])
def test_original_cools_a_collapsed_population_and_inverted_heats_it(
    stateful: bool,
) -> None:
    options = {
        "base": 1.0,
        "minimum": 0.01,
        "maximum": 10.0,
        "stateful": stateful,
    }
    temperatures = {
        (name, kind): population(mapping, texts, **options).select(measure=True).step
        for name, mapping in (("original", Original()), ("inverted", Inverted()))
        for kind, texts in (("clones", CLONES), ("varied", VARIED))
    }
    collapsed = temperatures["original", "clones"]
    varied = temperatures["original", "varied"]
    assert collapsed.diversity < 0.2 < 0.5 < varied.diversity
    assert collapsed.temperature < varied.temperature
    assert (
        temperatures["inverted", "clones"].temperature
        > temperatures["inverted", "varied"].temperature
    )
    constant = [
        population(Constant(), texts, **options).select().step.temperature
        for texts in (CLONES, VARIED)
    ]
    assert constant == [1.0, 1.0]


def test_a_fixed_temperature_stays() -> None:
    for texts in (CLONES, VARIED):
        memory = EvolutionaryMemory(Settings(temperature=Fixed(value=0.7)))
        for text in texts:
            memory.remember(text, 0.5)
        assert memory.select().step.temperature == 0.7


def test_annealing_advances_once_per_entry_that_changes_the_living() -> None:
    controller = Annealed(start=1.0, rate=0.5, minimum=0.1)
    memory = EvolutionaryMemory(Settings(temperature=controller))
    found = []
    for k in range(5):
        memory.remember(f"text {k}", float(k))
        memory.remember_failure("broken", "it did not run")
        memory.select()
        found.append(memory.select().step.temperature)
    assert found == [0.5, 0.25, 0.125, 0.1, 0.1]


def test_a_yoked_temperature_replays_a_schedule_and_keeps_its_last() -> None:
    memory = EvolutionaryMemory(Settings(temperature=Yoked([0.5, 0.2, 0.1])))
    found = []
    for k in range(5):
        memory.remember(f"text {k}", float(k))
        found.append(memory.select().step.temperature)
    assert found == [0.5, 0.2, 0.1, 0.1, 0.1]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Yoked([]), "schedule must not be empty"),
        (lambda: Yoked("0.1"), "schedule must be a list of numbers, got '0.1'"),
        (lambda: Yoked([0.1, 0.0]), r"schedule\[1\] must be positive"),
        (lambda: Fixed(value=0.0), "value must be positive and finite, got 0.0"),
        (lambda: Fixed(value=math.nan), "value must be a finite real number, got nan"),
        (lambda: Fixed(value="1"), "value must be a finite real number, got '1'"),
        (lambda: Fixed(value=True), "value must be a finite real number, got True"),
        (lambda: Annealed(rate=1.5), r"rate must lie in \[0, 1\], got 1.5"),
        (lambda: Annealed(start=0.1, minimum=0.2), "minimum must not exceed start"),
        (lambda: Adaptive(None), r"mapping must have a method factor"),
        (lambda: Adaptive(Original(), blend=-0.1), r"blend must lie in \[0, 1\]"),
        (lambda: Adaptive(Original(), minimum=0.0), "minimum must be positive"),
        (lambda: Adaptive(Original(), minimum=0.6), "maximum must be at least minimum"),
        (lambda: Adaptive(Original(), maximum=math.inf), "maximum must be a finite"),
        (lambda: Adaptive(Original(), stateful=1), "stateful must be true or false"),
        (lambda: Adaptive(Original(), maximum_diversity=2.0), "maximum_diversity must"),
        (lambda: Sigmoid(gain=0.0), "gain must not be zero"),
        (lambda: Sigmoid(midpoint=2), r"midpoint must lie in \[0, 1\], got 2"),
        (lambda: Constant(value=-1.0), r"value must lie in \[0, 2\], got -1.0"),
    ],
)
def test_a_bad_parameter_is_refused_by_name(build: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        build()


def test_a_temperature_exactly_at_a_bound_is_at_a_clamp() -> None:
    controller = Adaptive(Original(), base=0.1, minimum=0.1, maximum=0.2, blend=0.0)
    assert controller.control(0.1, signal(0.5)).clamp == -1
    assert controller.control(0.1, signal(1.0)).clamp == 1
    assert controller.control(0.1, signal(0.75)).clamp == 0
    assert (
        Annealed(start=0.4, rate=0.5, minimum=0.2).control(0.4, signal(0)).clamp == -1
    )
