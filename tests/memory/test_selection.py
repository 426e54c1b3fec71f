"""All selection policies: laws are tested exactly, draws statistically."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from memory.draws import inverse, shuffled
from memory.policies import Selection, View, view
from memory.randomness import KeyedRandom
from memory.selection.boltzmann import Boltzmann
from memory.selection.greedy import Greedy
from memory.selection.loongflow import LoongFlow
from memory.selection.top_k import TopK
from memory.selection.uniform import Uniform

# A correct sampler fails a test at this level once in a million keys, and the key is
# fixed: a red test means the law has changed, never bad luck.
SIGNIFICANCE = 1e-6
DRAWS = 20_000

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "selection.json").read_text()
)
CASES = {case["id"]: case for case in GOLDEN["policies"]}

POLICIES: dict[str, Selection] = {
    "boltzmann": Boltzmann(),
    "boltzmann_exploring": Boltzmann(exploration=0.3),
    "boltzmann_weighted": Boltzmann(exploration=0.1, weighted=True, power=0.5),
    "uniform": Uniform(),
    "greedy": Greedy(),
    "top_k": TopK(k=3),
    "loongflow": LoongFlow(),
    "loongflow_disjoint": LoongFlow(exploration=0.0, disjoint=True),
    "loongflow_long": LoongFlow(0.0, 5, 4, power=2.0),
    "loongflow_unweighted": LoongFlow(exploration=0.1, weighted=False),
}
# Scores on a grid, so that a whole shift is exact.
grid_scores = st.integers(-640, 640).map(lambda tick: tick / 64)
temperatures = st.floats(1e-3, 1e3)
every_policy = pytest.mark.parametrize("name", POLICIES)


@st.composite
def views(draw: st.DrawFn, most: int = 12) -> View:
    n = draw(st.integers(1, most))
    weights = draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)
    )
    weights[draw(st.integers(0, n - 1))] = 1.0
    return view(
        draw(st.lists(grid_scores, min_size=n, max_size=n)),
        weights,
        draw(st.lists(st.booleans(), min_size=n, max_size=n)),
    )


def frequencies(
    policy: Selection, seen: View, temperature: float, key: str
) -> np.ndarray:
    """Returns how often each was chosen in so many decisions of their own."""
    random = KeyedRandom(key)
    chosen = [
        policy.draw(seen, temperature, random.generator("selection", decision)).place
        for decision in range(DRAWS)
    ]
    return np.bincount(chosen, minlength=seen.scores.size)


def goodness_of_fit(counts: np.ndarray, law: np.ndarray) -> float:
    """Returns the p-value of counts under a law; zero if they are impossible."""
    if counts[law == 0.0].any():
        return 0.0
    expected = law * counts.sum()
    rare = expected < 5.0
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0.0
    observed, expected = observed[kept], expected[kept]
    if observed.size == 1:
        return 1.0
    # The rare ones together may still be too few for the approximation.
    if expected[-1] < 5.0:
        observed = np.append(observed[:-2], observed[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    return float(
        stats.chisquare(observed, expected * (observed.sum() / expected.sum())).pvalue
    )


# Two of the ten are not eligible, scores tie and elites are not the best throughout.
TEN = view(
    np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 3.0, 3.5, 4.0, 5.0]),
    np.array([1.0, 2.0, 0.0, 0.5, 1.0, 4.0, 1.0, 1.0, 0.0, 0.25]),
    np.array([0, 1, 1, 0, 0, 0, 1, 1, 1, 1], dtype=bool),
)
FEW_ELITES = TEN._replace(elites=np.arange(10) == 7)
MANY_ELITES = TEN._replace(elites=np.arange(10) != 7)
FEW = view([0.0, 1.0, 2.0], [1.0, 3.0, 1.0], [True, False, False])

DRAWN: dict[str, tuple[Selection, View]] = {
    **{name: (policy, TEN) for name, policy in POLICIES.items()},
    "top_k_tie": (TopK(k=2), view([1.0, 3.0, 2.0, 2.0, 2.0])),
    "greedy_tie": (Greedy(), view([1.0, 3.0, 3.0], [1.0, 1.0, 0.5])),
    "loongflow_few_elites": (LoongFlow(0.0), FEW_ELITES),
    "loongflow_no_elites": (LoongFlow(0.0), TEN._replace(elites=np.zeros(10, bool))),
    "loongflow_fill_from_elites": (LoongFlow(0.0, disjoint=True), MANY_ELITES),
    "loongflow_fill_from_others": (LoongFlow(0.0, disjoint=True), FEW_ELITES),
    "loongflow_groups_of_one_size": (LoongFlow(0.0, 5, 1, disjoint=True), TEN),
    "loongflow_few": (LoongFlow(), FEW),
    "loongflow_zero_is_one": (LoongFlow(0.0, zero_weight_means_one=True), TEN),
    "loongflow_only_others": (LoongFlow(0.1, 0, 3), TEN),
}


@pytest.mark.parametrize("name", DRAWN)
def test_the_draw_follows_the_law(name: str) -> None:
    policy, seen = DRAWN[name]
    counts = frequencies(policy, seen, 0.7, name)
    law = policy.probabilities(seen, 0.7)
    assert goodness_of_fit(counts, law) > SIGNIFICANCE


@pytest.mark.parametrize(
    "policy",
    [
        Boltzmann(),
        Boltzmann(exploration=0.2),
        Boltzmann(weighted=True),
        LoongFlow(exploration=0.0),
        LoongFlow(exploration=0.0, disjoint=True),
    ],
)
def test_the_same_test_rejects_a_temperature_wrong_by_a_fifth(
    policy: Selection,
) -> None:
    seen = view(np.linspace(0.0, 5.0, 8), None, np.arange(8) % 2 == 0)
    counts = frequencies(policy, seen, 1.0, "power")
    assert goodness_of_fit(counts, policy.probabilities(seen, 1.0)) > SIGNIFICANCE
    assert goodness_of_fit(counts, policy.probabilities(seen, 1.2)) < SIGNIFICANCE


@every_policy
@settings(max_examples=30, deadline=None)
@given(seen=views(), temperature=temperatures)
def test_the_law_sums_to_one_over_the_eligible(
    name: str, seen: View, temperature: float
) -> None:
    law = POLICIES[name].probabilities(seen, temperature)
    assert law.shape == seen.scores.shape
    assert law.min() >= 0.0
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert not law[seen.weights == 0.0].any()


@every_policy
@settings(max_examples=30, deadline=None)
@given(seen=views(), temperature=temperatures)
def test_a_higher_score_is_never_less_likely_among_equals(
    name: str, seen: View, temperature: float
) -> None:
    law = POLICIES[name].probabilities(seen, temperature)
    for weight in np.unique(seen.weights):
        for elite in (False, True):
            alike = (seen.weights == weight) & (seen.elites == elite)
            ranked = law[alike][np.argsort(seen.scores[alike], kind="stable")]
            assert np.all(np.diff(ranked) >= -1e-12)


@every_policy
@settings(max_examples=30, deadline=None)
@given(seen=views(), temperature=temperatures, shift=st.integers(-1000, 1000))
def test_a_shift_of_all_scores_changes_nothing(
    name: str, seen: View, temperature: float, shift: int
) -> None:
    policy = POLICIES[name]
    moved = seen._replace(scores=seen.scores + shift)
    np.testing.assert_allclose(
        policy.probabilities(moved, temperature),
        policy.probabilities(seen, temperature),
        atol=1e-12,
    )


@every_policy
@settings(max_examples=30, deadline=None)
@given(seen=views(), temperature=temperatures, data=st.data())
def test_the_law_does_not_depend_on_the_order(
    name: str, seen: View, temperature: float, data: st.DataObject
) -> None:
    order = np.array(data.draw(st.permutations(range(seen.scores.size))))
    permuted = View(*(column[order] for column in seen[:4]))
    np.testing.assert_allclose(
        POLICIES[name].probabilities(permuted, temperature),
        POLICIES[name].probabilities(seen, temperature)[order],
        atol=1e-12,
    )


@every_policy
@settings(max_examples=20, deadline=None)
@given(seen=views(), temperature=temperatures, decision=st.integers(0, 10**6))
def test_equal_generators_draw_equal_parents_that_the_law_allows(
    name: str, seen: View, temperature: float, decision: int
) -> None:
    policy, random = POLICIES[name], KeyedRandom("equal")
    picks = [
        policy.draw(seen, temperature, random.generator("selection", decision))
        for _ in range(2)
    ]
    assert picks[0] == picks[1]
    assert policy.probabilities(seen, temperature)[picks[0].place] > 0.0


@pytest.mark.parametrize(
    "policy",
    [
        Boltzmann(exploration=1.0),
        Boltzmann(exploration=0.5, weighted=False),
        Uniform(),
        Greedy(),
        TopK(k=9),
        LoongFlow(exploration=1.0),
        LoongFlow(exploration=0.5, weighted=False),
    ],
)
def test_a_weight_of_zero_means_never_even_under_exploration(
    policy: Selection,
) -> None:
    seen = view([9.0, 1.0, 2.0, 9.0], [0.0, 1.0, 2.0, 0.0], [True, True, False, False])
    law = policy.probabilities(seen, 1.0)
    assert law[[0, 3]].tolist() == [0.0, 0.0]
    rng = np.random.default_rng(3)
    drawn = {policy.draw(seen, 1.0, rng).place for _ in range(300)}
    assert drawn == set(np.flatnonzero(law).tolist())


@every_policy
def test_nobody_eligible_is_an_error(name: str) -> None:
    policy, seen = POLICIES[name], view([1.0, 2.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="at least one weight must be positive"):
        policy.probabilities(seen, 1.0)
    with pytest.raises(ValueError, match="at least one weight must be positive"):
        policy.draw(seen, 1.0, np.random.default_rng(1))


@every_policy
@pytest.mark.parametrize(
    ("temperature", "error"),
    [
        (0.0, ValueError),
        (-1.0, ValueError),
        (math.nan, ValueError),
        (math.inf, ValueError),
        ("hot", TypeError),
        (True, TypeError),
        (None, TypeError),
    ],
)
def test_a_bad_temperature_is_named(
    name: str, temperature: Any, error: type[Exception]
) -> None:
    policy = POLICIES[name]
    with pytest.raises(error, match="temperature must be"):
        policy.probabilities(TEN, temperature)
    with pytest.raises(error, match="temperature must be"):
        policy.draw(TEN, temperature, np.random.default_rng(1))


@every_policy
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": np.append(np.zeros(9), math.nan)}, "scores must be finite"),
        ({"scores": np.append(np.zeros(9), -math.inf)}, "scores must be finite"),
        ({"scores": np.append(np.zeros(9), math.inf)}, "scores must be finite"),
        ({"scores": np.zeros(0)}, "view must hold"),
        ({"weights": np.ones(9)}, "view must hold"),
        ({"weights": np.append(np.ones(9), -1.0)}, "weights must be finite"),
        ({"weights": np.append(np.ones(9), math.nan)}, "weights must be finite"),
        ({"weights": np.append(np.ones(9), math.inf)}, "weights must be finite"),
    ],
)
def test_a_view_made_by_hand_is_checked(
    name: str, change: dict[str, np.ndarray], message: str
) -> None:
    policy, seen = POLICIES[name], TEN._replace(**change)
    with pytest.raises(ValueError, match=message):
        policy.probabilities(seen, 1.0)
    with pytest.raises(ValueError, match=message):
        policy.draw(seen, 1.0, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("make", "parameter", "value", "error"),
    [
        (Boltzmann, "exploration", 1.5, ValueError),
        (Boltzmann, "exploration", -0.1, ValueError),
        (Boltzmann, "exploration", math.nan, ValueError),
        (Boltzmann, "exploration", "0.2", TypeError),
        (Boltzmann, "exploration", True, TypeError),
        (Boltzmann, "power", -1, ValueError),
        (Boltzmann, "power", math.inf, ValueError),
        (Boltzmann, "power", 1e301, ValueError),
        (Boltzmann, "weighted", 1, TypeError),
        (TopK, "k", 0, ValueError),
        (TopK, "k", -3, ValueError),
        (TopK, "k", 2.0, TypeError),
        (TopK, "k", True, TypeError),
        (LoongFlow, "exploration", 1.5, ValueError),
        (LoongFlow, "exploration", math.nan, ValueError),
        (LoongFlow, "exploration", "0.2", TypeError),
        (LoongFlow, "n_elite_candidates", -1, ValueError),
        (LoongFlow, "n_elite_candidates", 3.0, TypeError),
        (LoongFlow, "n_other_candidates", -1, ValueError),
        (LoongFlow, "n_other_candidates", "2", TypeError),
        (LoongFlow, "power", -1, ValueError),
        (LoongFlow, "power", math.nan, ValueError),
        (LoongFlow, "weighted", "yes", TypeError),
        (LoongFlow, "disjoint", 0, TypeError),
        (LoongFlow, "zero_weight_means_one", None, TypeError),
    ],
)
def test_a_bad_parameter_is_named(
    make: Any, parameter: str, value: object, error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"{parameter} must"):
        make(**{parameter: value})


def test_whole_numbers_are_taken_as_floats() -> None:
    assert Boltzmann(exploration=0, power=2) == Boltzmann(exploration=0.0, power=2.0)
    assert type(LoongFlow(exploration=1).exploration) is float


def test_a_float_of_numpy_is_a_temperature() -> None:
    law = Boltzmann().probabilities(TEN, np.float64(0.5))
    np.testing.assert_array_equal(law, Boltzmann().probabilities(TEN, 0.5))


@pytest.mark.parametrize(
    "case", [c for c in CASES if CASES[c]["policy"] == "boltzmann"]
)
def test_boltzmann_matches_the_golden_softmax(case: str) -> None:
    inputs, expected = CASES[case]["inputs"], CASES[case]["expected"]["p"]
    law = Boltzmann().probabilities(view(inputs["scores"]), CASES[case]["params"]["T"])
    np.testing.assert_allclose(law, expected, atol=1e-9)


@pytest.mark.parametrize(
    "case", [c for c in CASES if CASES[c]["policy"] == "boltzmann_weighted"]
)
def test_weighted_boltzmann_matches_upstream_once_its_zero_is_read_as_one(
    case: str,
) -> None:
    inputs, params = CASES[case]["inputs"], CASES[case]["params"]
    weights = [weight or 1.0 for weight in inputs["sample_weight"]]
    policy = Boltzmann(weighted=True, power=params["sampling_weight_power"])
    law = policy.probabilities(view(inputs["scores"], weights), params["T"])
    np.testing.assert_allclose(law, CASES[case]["expected"]["p"], atol=1e-9)


@pytest.mark.parametrize(
    "case", [c for c in CASES if CASES[c]["policy"] == "minmax_softmax"]
)
def test_boltzmann_on_min_max_scores_is_the_sampler_of_levi(case: str) -> None:
    scores = np.array(CASES[case]["inputs"]["scores"])
    scaled = (scores - scores.min()) / np.ptp(scores)
    law = Boltzmann().probabilities(view(scaled), CASES[case]["params"]["T"])
    np.testing.assert_allclose(law, CASES[case]["expected"]["p"], atol=1e-9)


@pytest.mark.parametrize("policy", [Uniform(), Greedy()])
def test_the_baselines_match_the_golden_laws(policy: Selection) -> None:
    case = CASES[type(policy).__name__.lower()]
    law = policy.probabilities(view(case["inputs"]["scores"]), 1.0)
    np.testing.assert_allclose(law, case["expected"]["p"], atol=1e-9)


def test_cold_boltzmann_is_uniform_over_the_best() -> None:
    law = Boltzmann().probabilities(view([3.0, 1.0, 3.0, 2.0]), 1e-300)
    np.testing.assert_array_equal(law, [0.5, 0.0, 0.5, 0.0])


def test_cold_weighted_boltzmann_shares_the_best_by_weight() -> None:
    seen = view([3.0, 1.0, 3.0, 2.0], [1.0, 50.0, 3.0, 50.0])
    law = Boltzmann(weighted=True).probabilities(seen, 1e-300)
    np.testing.assert_allclose(law, [0.25, 0.0, 0.75, 0.0], rtol=1e-12)


def test_hot_boltzmann_is_uniform_or_goes_by_weight() -> None:
    seen = view([3.0, 1.0, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0])
    hot = Boltzmann(weighted=False).probabilities(seen, 1e300)
    np.testing.assert_allclose(hot, 0.25, rtol=1e-12)
    hot = Boltzmann(weighted=True, power=2.0).probabilities(seen, 1e300)
    np.testing.assert_allclose(hot, np.array([1, 4, 9, 16]) / 30, rtol=1e-12)


def test_exploration_mixes_the_softmax_with_the_uniform_law() -> None:
    plain = Boltzmann().probabilities(view([0.0, 1.0]), 1.0)
    mixed = Boltzmann(exploration=0.2).probabilities(view([0.0, 1.0]), 1.0)
    np.testing.assert_allclose(mixed, 0.1 + 0.8 * plain, rtol=1e-12)


@every_policy
@pytest.mark.parametrize("temperature", [5e-324, 1e-300, 1.0, 1e300])
def test_extreme_scores_weights_and_temperatures_give_a_law(
    name: str, temperature: float
) -> None:
    seen = view(
        [-1.7e308, -1e300, 0.0, 1e-300, 1.0, 1e300, 1.7e308],
        [1e300, 1e-300, 1.0, 5e-324, 1.7e308, 1.0, 1e-300],
        [True, False, True, False, True, True, False],
    )
    law = POLICIES[name].probabilities(seen, temperature)
    assert law.min() >= 0.0
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    rng = np.random.default_rng(4)
    assert all(
        law[POLICIES[name].draw(seen, temperature, rng).place] for _ in range(50)
    )


@pytest.mark.parametrize("policy", [Uniform(), Greedy(), TopK(k=3)])
def test_temperature_does_not_matter_to_ranks(policy: Selection) -> None:
    cold, hot = (policy.probabilities(TEN, t) for t in (1e-9, 1e9))
    np.testing.assert_array_equal(cold, hot)


def test_top_k_shares_the_slots_at_its_border() -> None:
    law = TopK(k=3).probabilities(view([5.0, 1.0, 2.0, 2.0, 4.0, 2.0]), 1.0)
    third = 1 / 3
    np.testing.assert_allclose(law, [third, 0, third / 3, third / 3, third, third / 3])


def test_top_k_of_a_small_population_is_uniform() -> None:
    law = TopK(k=5).probabilities(view([5.0, 1.0, 2.0], [1.0, 0.0, 1.0]), 1.0)
    np.testing.assert_allclose(law, [0.5, 0.0, 0.5])


def test_top_one_is_greedy() -> None:
    seen = view([5.0, 1.0, 5.0, 2.0])
    np.testing.assert_array_equal(
        TopK(k=1).probabilities(seen, 1.0), Greedy().probabilities(seen, 1.0)
    )


def test_only_loongflow_lacks_a_closed_form() -> None:
    closed = {name for name, policy in POLICIES.items() if policy.closed_form}
    assert closed == {name for name in POLICIES if not name.startswith("loongflow")}


class Scripted:
    """A generator that returns prescribed numbers and keeps count."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = numbers
        self.used = 0

    def random(self) -> float:
        self.used += 1
        return self.numbers[self.used - 1]


LARGEST = 1.0 - 2.0**-53


@pytest.mark.parametrize(
    "policy", [Boltzmann(), Boltzmann(exploration=0.3), Uniform(), Greedy(), TopK(k=3)]
)
def test_closed_forms_use_one_number_and_keep_it(policy: Selection) -> None:
    for number in (0.0, 0.29, 0.3, 0.7, LARGEST):
        rng: Any = Scripted(number)
        assert policy.draw(TEN, 0.5, rng).u == number
        assert rng.used == 1


def test_boltzmann_explores_below_the_exploration_rate_only() -> None:
    policy, seen = Boltzmann(exploration=0.3), view([0.0, 0.0, 0.0])
    numbers = [0.0, 0.15, math.nextafter(0.3, 0.0), 0.3, LARGEST]
    picks = [policy.draw(seen, 1.0, Scripted(number)) for number in numbers]  # type: ignore[arg-type]
    assert [pick.explored for pick in picks] == [True, True, True, False, False]
    assert [pick.place for pick in picks] == [0, 1, 2, 0, 2]


def test_the_largest_number_never_selects_a_factor_of_zero() -> None:
    for size in range(1, 60):
        factors = np.append(np.full(size, 0.1), [0.0, 0.0])
        assert inverse(factors, LARGEST) == size - 1
        assert inverse(factors, 1.0) == size - 1
    assert inverse(np.array([0.0, 0.0, 1.0]), 0.0) == 2


def test_a_shuffle_is_a_permutation_and_each_is_equally_likely() -> None:
    random, orders = KeyedRandom("shuffle"), {}
    for decision in range(DRAWS):
        order = tuple(shuffled(4, random.generator("selection", decision)))
        orders[order] = orders.get(order, 0) + 1
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    assert len(orders) == math.factorial(4)
    assert stats.chisquare(list(orders.values())).pvalue > SIGNIFICANCE
