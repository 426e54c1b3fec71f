"""The rule of LoongFlow: golden laws, three ways to the same law, its flatness."""

from __future__ import annotations

import json
import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory import candidate_law as candidate_law_module
from memory.candidate_law import candidate_law, enumerated, integrated
from memory.policies import View, view
from memory.selection.boltzmann import Boltzmann
from memory.selection.loongflow import LoongFlow

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "selection.json").read_text()
)
RULE = {case["name"]: case for case in GOLDEN["loongflow_rule"]}
CASES = {case["id"]: case for case in GOLDEN["policies"]}

# A score of None, or a negative weight: upstream takes them, our door does not.
REFUSED = (
    "six_negative_scores",
    "three_negative_weight",
    "two_all_negative_weights_fallback",
)


def as_upstream(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns scores, weights and elites as upstream reads them.

    A score of None is zero; a weight of zero is one.
    """
    scores = np.array([score or 0.0 for score in case["scores"]], dtype=np.float64)
    weights = np.array([weight or 1.0 for weight in case["weights"]], dtype=np.float64)
    elites = np.zeros(scores.size, bool)
    elites[case["elites"]] = True
    return scores, weights, elites


def golden_law(case: dict[str, Any]) -> np.ndarray:
    scores, weights, elites = as_upstream(case)
    return candidate_law(
        scores,
        weights,
        elites,
        case["temperature"],
        exploration=case["exploration_rate"],
        power=case["sampling_weight_power"],
        weighted=case["use_sampling_weight"],
    )


@pytest.mark.parametrize("name", RULE)
def test_the_pure_formula_reproduces_every_golden_law(name: str) -> None:
    np.testing.assert_allclose(golden_law(RULE[name]), RULE[name]["exact"], atol=1e-9)


@pytest.mark.parametrize("name", RULE)
def test_upstream_draws_lie_within_four_sigma_of_our_law(name: str) -> None:
    case, law = RULE[name], golden_law(RULE[name])
    sigma = np.sqrt(law * (1.0 - law) / case["draws"])
    deviation = np.abs(law - case["empirical"])
    assert np.all(deviation <= 4.0 * sigma + 1e-12)


@pytest.mark.parametrize("name", [name for name in RULE if name not in REFUSED])
def test_the_policy_reproduces_every_golden_law_it_admits(name: str) -> None:
    case = RULE[name]
    _, _, elites = as_upstream(case)
    policy = LoongFlow(
        exploration=case["exploration_rate"],
        weighted=case["use_sampling_weight"],
        power=case["sampling_weight_power"],
        zero_weight_means_one=True,
    )
    law = policy.probabilities(
        view(case["scores"], case["weights"], elites), case["temperature"]
    )
    np.testing.assert_allclose(law, case["exact"], atol=1e-9)


@pytest.mark.parametrize("name", REFUSED)
def test_the_door_refuses_what_upstream_repairs(name: str) -> None:
    case = RULE[name]
    with pytest.raises(ValueError, match="must be"):
        view(case["scores"], case["weights"])


@pytest.mark.parametrize(
    ("case", "elites", "temperature", "disjoint", "expected"),
    [
        ("loongflow-full-pipeline", "abcd", None, False, "p_exact_by_enumeration"),
        (
            "loongflow-upstream-elite-overlap",
            "cd",
            0.6,
            False,
            "p_exact_by_enumeration",
        ),
        ("loongflow-intent-disjoint", "cd", 0.6, True, "p"),
    ],
)
def test_the_whole_rule_matches_the_golden_policies(
    case: str, elites: str, temperature: float | None, disjoint: bool, expected: str
) -> None:
    golden = CASES[case]
    seen = view(golden["inputs"]["scores"], None, [name in elites for name in "abcd"])
    rate = golden["params"]["exploration_rate"]
    law = LoongFlow(exploration=rate, disjoint=disjoint).probabilities(
        seen, temperature or golden["expected"]["temperature"]
    )
    np.testing.assert_allclose(law, golden["expected"][expected], atol=1e-9)


EDGES = CASES["loongflow-edge-scores"]["expected"]


@pytest.mark.parametrize("edge", EDGES)
def test_edge_scores_match_once_they_are_read_as_upstream_reads_them(edge: str) -> None:
    # None is zero. A NaN makes upstream fall back to temperature one, NaN read as zero;
    # an infinity does too, read as 1e10. The temperature is one already.
    read = {None: 0.0, "nan": 0.0, "inf": 1e10}
    scores = [read.get(score, score) for score in EDGES[edge]["scores"]]
    law = LoongFlow(exploration=0.0).probabilities(view(scores), 1.0)
    np.testing.assert_allclose(np.sort(law), EDGES[edge]["sorted_p"], atol=1e-9)


@pytest.mark.parametrize(
    "row", GOLDEN["pressure_table"], ids=lambda row: row["temperature"]
)
def test_candidates_make_temperature_nearly_irrelevant(row: dict[str, Any]) -> None:
    scores = np.arange(1, 101) / 100
    seen = view(scores, None, np.arange(100) >= 50)
    temperature = min(float(row["temperature"]), 1e15)
    policies = {"loongflow": LoongFlow(), "boltzmann": Boltzmann(exploration=0.2)}
    for name, policy in policies.items():
        law = policy.probabilities(seen, temperature)
        measured = {
            "effective_number": math.exp(-(law * np.log(law)).sum()),
            "p_best": law[-1],
            "p_best_ten": law[-10:].sum(),
            "mean_score": law @ scores,
        }
        for column, printed in row[name].items():
            unit = 10.0 ** -len(printed.partition(".")[2])
            # One entry, .685, was rounded twice: .68449, .6845, .685.
            assert abs(measured[column] - float(printed)) < 0.52 * unit, (name, column)


def brute_force(seen: View, temperature: float, policy: LoongFlow) -> np.ndarray:
    """Returns the law from all ordered draws of elites, others and fill."""
    n = seen.scores.size
    best = [i for i in range(n) if seen.elites[i]]
    others = [i for i in range(n) if not (policy.disjoint and seen.elites[i])]
    wanted = policy.n_elite_candidates + policy.n_other_candidates
    law, shares = np.zeros(n), {}
    firsts = list(permutations(best, min(policy.n_elite_candidates, len(best))))
    seconds = list(permutations(others, min(policy.n_other_candidates, len(others))))
    for first in firsts:
        for second in seconds:
            listed = [*first, *second]
            group = best if len(best) > len(others) else others
            free = [i for i in group if i not in listed]
            fills = list(permutations(free, min(wanted - len(listed), len(free))))
            for fill in fills:
                entries = tuple(sorted([*listed, *fill]))
                ways = len(firsts) * len(seconds) * len(fills)
                shares[entries] = shares.get(entries, 0.0) + 1.0 / ways
    for entries, probability in shares.items():
        values = seen.scores[list(entries)]
        factors = np.exp((values - values.max()) / temperature)
        if policy.weighted:
            factors = factors * seen.weights[list(entries)] ** policy.power
        for i, factor in zip(entries, factors, strict=True):
            law[i] += probability * factor / factors.sum()
    return policy.exploration / n + (1.0 - policy.exploration) * law


def test_both_laws_equal_the_brute_force_over_ordered_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(20_251_130)
    for _ in range(300):
        n = int(rng.integers(1, 7))
        sizes = (0, 0)
        while sum(sizes) == 0:
            sizes = tuple(rng.integers(0, 5 if n < 6 else 3, 2).tolist())
        policy = LoongFlow(
            0.1, *sizes, weighted=n % 2 == 0, power=1.5, disjoint=rng.random() < 0.5
        )
        seen = view(rng.normal(size=n), rng.exponential(size=n), rng.random(n) < 0.5)
        temperature = float(10.0 ** rng.uniform(-1.5, 1.5))
        expected = brute_force(seen, temperature, policy)
        for limit in (math.inf, -1):
            monkeypatch.setattr(candidate_law_module, "ENUMERATED", limit)
            law = policy.probabilities(seen, temperature)
            np.testing.assert_allclose(law, expected, atol=1e-9, err_msg=repr(policy))


@pytest.mark.parametrize("temperature", [5e-324, 1e-6, 1e-3, 0.02, 0.5, 1e9])
@pytest.mark.parametrize("disjoint", [False, True])
def test_quadrature_equals_enumeration_at_any_temperature(
    temperature: float, disjoint: bool
) -> None:
    rng = np.random.default_rng(5)
    scores = np.round(rng.normal(size=14), 1)
    logs = rng.normal(scale=3.0, size=14)
    # Weights that are not positive, and lists that hold nothing else.
    logs[[1, 2, 3, 5, 8, 11]] = -math.inf
    terms = candidate_law_module._terms(np.arange(14) < 6, 3, 2, disjoint)
    listed = enumerated(scores, logs, temperature, terms)
    smooth = integrated(scores, logs, temperature, terms)
    np.testing.assert_allclose(smooth, listed, atol=1e-12)
    # Three of the four barren elites of six, and two of the barren others.
    barren = 4 / 20 * (1 / 28 if disjoint else 15 / 91)
    assert listed.sum() == pytest.approx(1.0 - barren, abs=1e-12)


@pytest.mark.parametrize("limit", [math.inf, -1])
def test_lists_without_a_positive_weight_fall_back_to_temperature_one(
    limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate_law_module, "ENUMERATED", limit)
    scores, weights = np.array([0.0, 1.0, 2.0]), np.array([-1.0, 0.0, 1.0])
    law = candidate_law(
        scores,
        weights,
        np.zeros(3, bool),
        0.01,
        exploration=0.0,
        n_elite_candidates=0,
        n_other_candidates=2,
    )
    # Of the three pairs one is barren; the other two hold the only weight.
    logistic = 1.0 / (1.0 + math.e)
    expected = [logistic / 3, (1.0 - logistic) / 3, 2 / 3]
    np.testing.assert_allclose(law, expected, atol=1e-12)


def test_cold_candidates_still_leave_the_best_one_time_in_thirteen() -> None:
    seen = view(np.arange(100) / 100, None, np.arange(100) >= 50)
    law = LoongFlow(exploration=0.0).probabilities(seen, 1e-300)
    assert law[-1] == pytest.approx(1.0 - (47 / 50) * (98 / 100), abs=1e-12)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)


def test_cold_candidates_share_a_tie_at_the_top() -> None:
    scores = np.append(np.arange(38.0), [50.0, 50.0])
    seen = view(scores, None, np.arange(40) >= 20)
    law = LoongFlow(exploration=0.0).probabilities(seen, 1e-300)
    missed = (18 * 17 * 16) / (20 * 19 * 18) * (38 * 37) / (40 * 39)
    assert law[-1] == pytest.approx(law[-2], abs=1e-14)
    assert law[-2:].sum() == pytest.approx(1.0 - missed, abs=1e-12)


def test_hot_candidates_are_chosen_by_their_places_in_the_list() -> None:
    elites = np.arange(40) >= 20
    law = LoongFlow(exploration=0.0).probabilities(
        view(np.arange(40.0), None, elites), 1e300
    )
    np.testing.assert_allclose(law, 0.6 * elites / 20 + 0.4 / 40, rtol=1e-9)


def test_clusters_far_apart_keep_their_inner_law() -> None:
    # Two clusters, 1e6 temperatures apart: the lower one is chosen if no one of the
    # upper is listed, and then as if the upper did not exist.
    scores = np.append(np.linspace(0.0, 1.0, 30), np.linspace(1e6, 1e6 + 1.0, 10))
    policy = LoongFlow(0.0, 0, 3)
    law = policy.probabilities(view(scores), 1.0)
    alone = policy.probabilities(view(scores[:30]), 1.0)
    missed = (30 * 29 * 28) / (40 * 39 * 38)
    np.testing.assert_allclose(law[:30], missed * alone, rtol=1e-9)


@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("temperature", [1e-4, 0.6])
def test_the_law_of_a_large_population_sums_to_one(n: int, temperature: float) -> None:
    seen = view(np.arange(n) / n, None, np.arange(n) >= n - 50)
    law = LoongFlow().probabilities(seen, temperature)
    assert law.min() >= 0.2 / n * (1 - 1e-12)
    assert law.sum() == pytest.approx(1.0, abs=1e-11)


def test_half_of_a_large_population_may_be_listed() -> None:
    seen = view(np.arange(400) / 400, None, np.arange(400) >= 200)
    law = LoongFlow(0.0, 100, 100).probabilities(seen, 0.3)
    assert law.sum() == pytest.approx(1.0, abs=1e-11)
    assert np.all(np.diff(law[:200]) > 0.0)


def test_everyone_listed_is_boltzmann() -> None:
    seen = view([0.1, 0.5, 0.3, 0.9], [1.0, 2.0, 3.0, 4.0])
    listed = LoongFlow(0.2, 0, 4).probabilities(seen, 0.5)
    whole = Boltzmann(exploration=0.2, weighted=True).probabilities(seen, 0.5)
    np.testing.assert_allclose(listed, whole, rtol=1e-12)


def test_a_weight_of_zero_means_one_only_where_asked() -> None:
    seen = view([1.0, 1.0], [0.0, 0.05])
    never = LoongFlow(exploration=0.0)
    upstream = LoongFlow(exploration=0.0, zero_weight_means_one=True)
    np.testing.assert_array_equal(never.probabilities(seen, 1.0), [0.0, 1.0])
    # An unset weight beats the smallest set one twenty to one.
    law = upstream.probabilities(seen, 1.0)
    assert law[0] / law[1] == pytest.approx(20.0)


def test_disjoint_groups_are_less_elitist() -> None:
    seen = view(np.arange(1, 101) / 100, None, np.arange(100) >= 50)
    shipped = LoongFlow().probabilities(seen, 1.0)[50:].sum()
    repaired = LoongFlow(disjoint=True).probabilities(seen, 1.0)[50:].sum()
    assert repaired < shipped - 0.1


class Recorder:
    """A generator that keeps the numbers it gave."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.numbers: list[float] = []

    def random(self) -> float:
        self.numbers.append(self.rng.random())
        return self.numbers[-1]


def test_the_pick_keeps_the_last_number_used() -> None:
    seen = view(np.arange(10.0), None, np.arange(10) >= 5)
    explored = []
    for seed in range(40):
        rng: Any = Recorder(seed)
        pick = LoongFlow(exploration=0.5).draw(seen, 1.0, rng)
        assert pick.u == rng.numbers[-1]
        assert len(rng.numbers) == (2 if pick.explored else 7)
        assert pick.explored == (rng.numbers[0] < 0.5)
        explored.append(pick.explored)
    assert len(set(explored)) == 2


def test_no_candidates_at_all_is_an_error() -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        LoongFlow(n_elite_candidates=0, n_other_candidates=0)


def test_elites_of_another_length_are_an_error() -> None:
    seen = view([1.0, 2.0])._replace(elites=np.ones(3, bool))
    with pytest.raises(ValueError, match="view must hold as many elites"):
        LoongFlow().probabilities(seen, 1.0)


@pytest.mark.parametrize("giant", [1e17, 5e17, 1e18, 1e300])
@pytest.mark.parametrize("temperature", [1e-300, 1.0, 1e306, 1e308])
def test_a_giant_score_leaves_the_order_of_the_others_alone(
    giant: float, temperature: float
) -> None:
    scores = np.concatenate([[giant], np.linspace(0, 1, 39)])
    weights = 10.0 ** np.linspace(8, -8, 40)
    elites = np.arange(40) < 20
    seen = view(scores, weights, elites)
    law = LoongFlow(exploration=0.0).probabilities(seen, temperature)
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    if temperature == 1.0:
        # Without the giant in the list the others compete as if it were not there.
        alone = view(scores[1:], weights[1:], elites[1:])
        policy = LoongFlow(exploration=0.0, disjoint=True)
        both = policy.probabilities(seen, 1.0)[1:]
        expected = policy.probabilities(alone, 1.0)
        np.testing.assert_array_equal(np.argsort(both[19:]), np.argsort(expected[19:]))
