"""TextShape: the double loop is the reference, LoongFlow's values are the anchor."""

from __future__ import annotations

import json
import random
import statistics
import tracemalloc
from collections.abc import Sequence
from dataclasses import fields
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import draws
from memory.diversity import text_shape
from memory.diversity.text_shape import TextShape, mean_pairwise_distance
from memory.policies import Tracker
from memory.randomness import KeyedRandom

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests/golden/diversity.json").read_text("utf-8"))
CASES = GOLDEN["cases"]
METRIC = TextShape()
# Three terms of a pair, each rounded to a multiple of 2^-44.
ROUNDING = 3 * 2.0**-45


def decoded(text: Any) -> str:
    if isinstance(text, dict):
        return "".join(part * times for part, times in text["seg"])
    return "" if text is None else text


def distance(a: str, b: str) -> float:
    def ratio(gap: int, x: int, y: int) -> float:
        return gap / max(1, x, y)

    lines = a.count("\n"), b.count("\n")
    sets = set(a), set(b)
    return (
        0.4 * ratio(abs(len(a) - len(b)), len(a), len(b))
        + 0.3 * ratio(abs(lines[0] - lines[1]), *lines)
        + 0.3 * ratio(len(sets[0] ^ sets[1]), len(sets[0]), len(sets[1]))
    )


def double_loop(texts: Sequence[str]) -> float:
    pairs = list(combinations(texts, 2))
    return sum(distance(a, b) for a, b in pairs) / len(pairs) if pairs else 0.0


def tracked(texts: Sequence[str], metric: TextShape = METRIC) -> Tracker:
    tracker = metric.tracker()
    for text in texts:
        tracker.append(metric.features(text))
    return tracker


def population(n: int, seed: int = 0) -> list[str]:
    source = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789é你😀"
    texts = []
    for _ in range(n):
        alphabet = [*source.sample(letters, 12), "\n"]
        texts.append("".join(source.choices(alphabet, k=source.randrange(200))))
    return texts


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20_251_130)


# Few characters make ties of every kind; the others reach beyond each table.
texts_of_all_kinds = st.one_of(
    st.text("ab\n", max_size=6), st.text(st.characters(codec="utf-8"), max_size=12)
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_mean_is_the_one_of_loongflow(
    case: dict[str, Any], rng: np.random.Generator
) -> None:
    texts = [decoded(text) for text in case["texts"]]
    expected = pytest.approx(case["all_pairs"], rel=0, abs=GOLDEN["tolerance"])
    assert METRIC.measure(texts, rng) == expected
    assert tracked(texts).measure(rng) == expected
    assert tracked(texts, TextShape(sample_size=60)).measure(rng) == expected


@pytest.mark.parametrize(
    "case", [case for case in CASES if "pairs" in case], ids=lambda case: case["name"]
)
def test_the_distance_of_a_pair_is_the_one_of_loongflow_in_both_orders(
    case: dict[str, Any], rng: np.random.Generator
) -> None:
    for i, j, expected in case["pairs"]:
        pair = [decoded(case["texts"][i]), decoded(case["texts"][j])]
        forwards = METRIC.measure(pair, rng)
        assert forwards == pytest.approx(expected, rel=0, abs=GOLDEN["tolerance"])
        assert METRIC.measure(pair[::-1], rng) == forwards
        assert tracked(pair).measure(rng) == tracked(pair[::-1]).measure(rng)


@given(texts=st.lists(texts_of_all_kinds, max_size=12))
def test_the_mean_over_all_pairs_equals_the_double_loop(texts: list[str]) -> None:
    shapes = [METRIC.features(text) for text in texts]
    expected = pytest.approx(double_loop(texts), rel=0, abs=1e-12)
    assert mean_pairwise_distance(shapes) == expected


@given(texts=st.lists(texts_of_all_kinds, max_size=12), data=st.data())
def test_the_order_of_texts_changes_no_bit_of_the_mean(
    texts: list[str], data: st.DataObject
) -> None:
    shapes = [METRIC.features(text) for text in texts]
    shuffled = data.draw(st.permutations(shapes))
    assert mean_pairwise_distance(shuffled) == mean_pairwise_distance(shapes)


@given(
    history=st.lists(
        st.tuples(
            st.sampled_from(["append", "append", "replace", "remove"]),
            st.integers(0, 10**6),
            texts_of_all_kinds,
        ),
        max_size=40,
    ),
    data=st.data(),
)
@settings(deadline=None)
def test_a_tracker_equals_the_double_loop_and_forgets_its_history(
    history: list[tuple[str, int, str]], data: st.DataObject
) -> None:
    rng = np.random.default_rng(0)
    tracker, slots = METRIC.tracker(), list[str]()
    for change, place, text in history:
        if change == "append" or not slots:
            tracker.append(METRIC.features(text))
            slots.append(text)
        elif change == "replace":
            tracker.replace(place % len(slots), METRIC.features(text))
            slots[place % len(slots)] = text
        else:
            tracker.remove(place % len(slots))
            slots[place % len(slots)] = slots[-1]
            slots.pop()
    measured = tracker.measure(rng)
    assert measured == pytest.approx(double_loop(slots), rel=0, abs=ROUNDING + 1e-14)
    assert measured == tracked(data.draw(st.permutations(slots))).measure(rng)


def test_ten_thousand_changes_leave_no_drift(rng: np.random.Generator) -> None:
    texts = population(60)
    tracker, fresh = tracked(texts), tracked(texts)
    shapes = [METRIC.features(text) for text in population(100, seed=1)]
    for step in range(10_000):
        tracker.replace(step % 60, shapes[step * 7 % 100])
    assert tracker.measure(rng) != fresh.measure(rng)
    for slot, text in enumerate(texts):
        tracker.replace(slot, METRIC.features(text))
    assert tracker.measure(rng) == fresh.measure(rng)


def test_features_survive_json(rng: np.random.Generator) -> None:
    shape = METRIC.features("b\na\nb😀")
    assert shape == [6, 2, "\nab😀"]
    assert json.loads(json.dumps(shape)) == shape


def test_alphabets_of_thousands_of_characters_are_measured_exactly(
    rng: np.random.Generator,
) -> None:
    source = random.Random(3)
    letters = [chr(code) for code in range(0x3400, 0x9000)] + ["😀", "\n", "a"]
    texts = ["".join(source.choices(letters, k=k)) for k in range(0, 8_000, 400)]
    expected = double_loop(texts)
    assert METRIC.measure(texts, rng) == pytest.approx(expected, rel=0, abs=1e-12)
    assert tracked(texts).measure(rng) == pytest.approx(expected, rel=0, abs=1e-12)


def test_many_texts_of_a_large_alphabet_need_little_memory() -> None:
    width, n = 2_000, 1_000
    starts = np.arange(n) * 19
    shapes = [
        [width, 0, "".join(map(chr, range(0x1000 + start, 0x1000 + start + width)))]
        for start in starts.tolist()
    ]
    gaps = np.minimum(np.abs(starts[:, None] - starts), width)
    tracemalloc.start()
    measured = mean_pairwise_distance(shapes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert measured == pytest.approx(0.3 * 2 * gaps.sum() / (n * (n - 1)) / width)
    # One byte for each text and character of the alphabet would be 21 million.
    assert peak < 1e7


def test_texts_of_one_length_and_alphabet_have_no_diversity(
    rng: np.random.Generator,
) -> None:
    source = random.Random(0)
    texts = ["".join(source.choices("01", k=64)) for _ in range(50)]
    assert METRIC.measure(texts, rng) == 0.0
    assert tracked(texts).measure(rng) == 0.0


def test_diversity_exceeds_one_where_texts_share_nothing(
    rng: np.random.Generator,
) -> None:
    texts = ["abcdefghij", "\n" * 10_000 + "klmnopqrs"]
    assert METRIC.measure(texts, rng) == pytest.approx(1.2996, abs=1e-4)


@pytest.mark.parametrize(
    "metric", [METRIC, TextShape(2), TextShape(1, sample_pairs=True)], ids=repr
)
def test_fewer_than_two_texts_have_no_diversity_where_loongflow_raises(
    metric: TextShape, rng: np.random.Generator
) -> None:
    assert metric.measure([], rng) == 0.0
    assert metric.measure(["a\nb"], rng) == 0.0
    assert metric.tracker().measure(rng) == 0.0
    assert tracked(["a\nb"], metric).measure(rng) == 0.0


@pytest.mark.parametrize("case", GOLDEN["comparisons"])
def test_a_sample_of_fifty_texts_compares_at_most_1225_pairs(
    case: dict[str, int],
) -> None:
    metric = TextShape(sample_size=case["sample_size"])
    assert metric.n_pairs(case["n_texts"]) == case["n_pairs"]


def test_a_sample_of_fifty_pairs_compares_fifty_pairs() -> None:
    metric = TextShape(sample_size=50, sample_pairs=True)
    assert [metric.n_pairs(n) for n in (0, 1, 2, 10, 11, 1000)] == [0, 0, 1, 45, 50, 50]
    assert [METRIC.n_pairs(n) for n in (0, 1, 2, 10, 1000)] == [0, 0, 1, 45, 499_500]


def test_a_sample_of_texts_is_the_mean_over_all_its_pairs() -> None:
    texts = population(60)
    drawn = draws.sample(60, 50, np.random.default_rng(5))
    assert sorted({*drawn.tolist()}) == sorted(drawn.tolist())
    sampled = TextShape(sample_size=50).measure(texts, np.random.default_rng(5))
    expected = double_loop([texts[index] for index in drawn])
    assert sampled == pytest.approx(expected, rel=0, abs=1e-12)


def test_a_sample_of_pairs_is_the_mean_over_these_pairs() -> None:
    texts = population(60)
    drawn = draws.sample(60 * 59 // 2, 50, np.random.default_rng(5))
    pairs = [(i, j) for j in range(60) for i in range(j)]
    chosen = [pairs[index] for index in drawn]
    metric = TextShape(sample_size=50, sample_pairs=True)
    sampled = metric.measure(texts, np.random.default_rng(5))
    expected = statistics.fmean(distance(texts[i], texts[j]) for i, j in chosen)
    assert len(dict.fromkeys(chosen)) == 50
    assert sampled == pytest.approx(expected, rel=0, abs=1e-12)


def test_every_pair_has_one_index() -> None:
    first, second = text_shape._endpoints(np.arange(500 * 499 // 2))
    expected = [(i, j) for j in range(500) for i in range(j)]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected
    # The square root is off by nothing at the last pair of a million texts either.
    last = np.array([10**6 * (10**6 - 1) // 2 - 1])
    assert [end.tolist() for end in text_shape._endpoints(last)] == [
        [10**6 - 2],
        [10**6 - 1],
    ]


@pytest.mark.parametrize(
    "metric", [TextShape(8), TextShape(8, sample_pairs=True)], ids=repr
)
def test_a_sampled_estimate_is_unbiased(metric: TextShape) -> None:
    texts = population(30)
    # Slots of one kind stand together, so that a draw which prefers some is found out.
    texts.sort(key=len)
    tracker, keyed = tracked(texts, metric), KeyedRandom("unbiased")
    draws = [
        tracker.measure(keyed.generator("diversity", decision))
        for decision in range(4_000)
    ]
    error = statistics.stdev(draws) / len(draws) ** 0.5
    exact = double_loop(texts)
    assert abs(statistics.fmean(draws) - exact) < 4 * error
    # The test has power: a bias of two percent would be seen.
    assert 0.02 * exact > 4 * error


@pytest.mark.parametrize(
    "metric", [TextShape(8), TextShape(8, sample_pairs=True)], ids=repr
)
def test_equal_generators_give_equal_estimates(metric: TextShape) -> None:
    texts = population(40)
    seeds = [1, 1, 2]
    first, again, other = (
        metric.measure(texts, np.random.default_rng(seed)) for seed in seeds
    )
    assert first == again != other
    assert tracked(texts, metric).measure(np.random.default_rng(1)) == first


@pytest.mark.parametrize(
    "metric",
    [METRIC, TextShape(12), TextShape(66, sample_pairs=True), TextShape(500)],
    ids=repr,
)
def test_a_sample_that_holds_every_pair_is_exact_and_draws_nothing(
    metric: TextShape,
) -> None:
    texts, rng = population(12), np.random.default_rng(9)
    before = rng.bit_generator.state
    tracker = tracked(texts, metric)
    assert tracker.measure(rng) == tracked(texts[::-1]).measure(rng)
    assert metric.measure(texts, rng) == METRIC.measure(texts, rng)
    assert rng.bit_generator.state == before


def test_a_sampled_tracker_follows_its_slots() -> None:
    texts = population(30)
    metric = TextShape(5)
    tracker = tracked(["x", *texts[1:], "y"], metric)
    tracker.remove(30)
    tracker.replace(0, metric.features(texts[0]))
    for seed in range(20):
        assert tracker.measure(np.random.default_rng(seed)) == metric.measure(
            texts, np.random.default_rng(seed)
        )


def test_a_draw_without_replacement_reaches_every_order() -> None:
    rng = np.random.default_rng(1)
    seen = {tuple(draws.sample(3, 3, rng).tolist()) for _ in range(200)}
    assert sorted(seen) == [
        (0, 1, 2),
        (0, 2, 1),
        (1, 0, 2),
        (1, 2, 0),
        (2, 0, 1),
        (2, 1, 0),
    ]


def test_bits_are_counted_alike_by_every_numpy() -> None:
    words = np.random.default_rng(0).integers(2**63, size=(2, 3, 5), dtype=np.uint64)
    expected = [value.bit_count() for value in words.ravel().tolist()]
    assert text_shape._unpacked_bit_count(words).ravel().tolist() == expected
    assert text_shape._bit_count(words).ravel().tolist() == expected


def test_only_a_metric_with_a_sample_is_sampled() -> None:
    assert not METRIC.sampled
    assert TextShape(50).sampled
    assert TextShape(50, sample_pairs=True).sampled


@pytest.mark.parametrize(
    ("size", "pairs", "error", "message"),
    [
        (0, False, ValueError, "sample_size must be at least 2, got 0"),
        (1, False, ValueError, "sample_size must be at least 2, got 1"),
        (0, True, ValueError, "sample_size must be at least 1, got 0"),
        ("50", False, TypeError, "sample_size must be an integer, got '50'"),
        (True, False, TypeError, "sample_size must be an integer, got True"),
        (2.5, False, TypeError, r"sample_size must be an integer, got 2\.5"),
        (None, True, ValueError, "sample_pairs needs a sample_size, got None"),
        (50, "yes", TypeError, "sample_pairs must be a bool, got 'yes'"),
    ],
)
def test_a_bad_parameter_is_named(
    size: Any, pairs: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        TextShape(size, pairs)


def test_a_text_that_is_no_string_is_named(rng: np.random.Generator) -> None:
    with pytest.raises(TypeError, match=r"texts\[1\] must be a string, got None"):
        METRIC.measure(["a", None], rng)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="texts must be a sequence of strings"):
        METRIC.measure("abc", rng)
    with pytest.raises(TypeError, match="text must be a string, got 7"):
        METRIC.features(7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="text must be encodable as UTF-8"):
        METRIC.features("\ud800")


@pytest.mark.parametrize("slot", [-1, 2])
def test_a_slot_that_does_not_exist_is_refused(
    slot: int, rng: np.random.Generator
) -> None:
    tracker = tracked(["a", "bcd"])
    before = tracker.measure(rng)
    with pytest.raises(IndexError, match=rf"slot must lie in \[0, 2\), got {slot}"):
        tracker.replace(slot, METRIC.features("x"))
    with pytest.raises(IndexError, match=rf"slot must lie in \[0, 2\), got {slot}"):
        tracker.remove(slot)
    assert tracker.measure(rng) == before


def test_the_configuration_names_every_parameter_with_its_default() -> None:
    config = yaml.safe_load((ROOT / "conf/diversity/text_shape.yaml").read_text())
    assert config.pop("_target_") == "memory.diversity.text_shape.TextShape"
    assert config == {field.name: field.default for field in fields(TextShape)}
