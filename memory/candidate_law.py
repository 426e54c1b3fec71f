"""The exact law of LoongFlow's list of candidates.

The exact law averages step 4 over all lists. Given the number ``j`` of elites among the
others, a list is a union of independent, uniformly random subsets of a few groups. Where
there are few lists they are enumerated; where there are many, the reciprocal of a list's
sum of factors ``S`` is written as the integral of ``exp(-t S)`` over ``t > 0``, which is
a product over the candidates, so that the average over subsets becomes an elementary
symmetric polynomial in ``exp(-t f)``. All terms are positive: nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import NamedTuple

import numpy as np

from memory.draws import Places
from memory.policies import Flags, Floats, Integers

# Up to this number of lists enumeration is the faster way.
ENUMERATED = 500

# A trapezoid rule in log t errs by about exp(-pi^2 / STEP), and the tails beyond its
# ends hold less than exp(-LEFT): 1e-14 either way.
STEP = 0.3
LEFT, RIGHT = 33.0, 3.7

# Exponents further apart than this do not compete: the lighter factor is below the
# rounding of the heavier.
GAP = 37.0

# Up to this range of exponents their differences are good to about 1e-10 as floats.
PLAIN_REACH = 1e6

# Bounds of the nodes, and of the numbers per group (32 MB), that are held at once.
NODES = 250
NUMBERS = 4_000_000


class Term(NamedTuple):
    """A part of the law of the candidate list.

    Attributes:
        probability: Probability of this part.
        groups: Pairs of members ``(g,)`` and ``k``: the list is the union, with
            repetitions, of independent and uniformly random ``k``-subsets.
    """

    probability: float
    groups: tuple[tuple[Places, int], ...]


def candidate_law(
    scores: Floats,
    weights: Floats,
    elites: Flags,
    temperature: float,
    *,
    exploration: float = 0.2,
    n_elite_candidates: int = 3,
    n_other_candidates: int = 2,
    power: float = 1.0,
    disjoint: bool = False,
    weighted: bool = True,
) -> Floats:
    """Returns the ``(n,)`` exact probabilities of LoongFlow's rule over ``n`` solutions.

    Everyone is listed here, whatever the weight, as upstream. A candidate whose weight
    is not positive has the factor zero; where all candidates of a list are such, the
    list falls back to a softmax of the scores at temperature one without weights.

    Args:
        scores: ``(n,)`` finite scores, at least one.
        weights: ``(n,)`` finite weights of either sign.
        elites: ``(n,)`` membership of the elite archive.
        temperature: Positive temperature, in units of score.
        exploration: Probability of a uniform choice, in ``[0, 1]``.
        n_elite_candidates: Number of candidates drawn from the elites.
        n_other_candidates: Number of candidates drawn from the others.
        power: Exponent of the weights, in ``[0, 1e300]``.
        disjoint: Whether the others exclude the elites.
        weighted: Whether the weights matter at all.
    """
    logs = np.zeros(scores.size)
    if weighted:
        positive = weights > 0.0
        logs[positive] = power * np.log(weights[positive])
        logs[~positive] = -math.inf
    terms = _terms(elites, n_elite_candidates, n_other_candidates, disjoint)
    n_lists = sum(
        math.prod(math.comb(members.size, k) for members, k in term.groups)
        for term in terms
    )
    law_of = enumerated if n_lists <= ENUMERATED else integrated
    chosen = law_of(scores, logs, temperature, terms)
    barren = [_restricted(term, logs == -math.inf) for term in terms]
    barren = [term for term in barren if term.probability > 0.0]
    if barren:
        chosen += law_of(scores, np.zeros(scores.size), 1.0, barren)
    if not abs(chosen.sum() - 1.0) < 1e-9:
        raise ArithmeticError(f"the law must sum to one, got {chosen.sum()!r}")
    return exploration / scores.size + (1.0 - exploration) * chosen


def _terms(elites: Flags, n_best: int, n_others: int, disjoint: bool) -> list[Term]:
    """Returns the law of the candidate list as a mixture."""
    best, rest = np.flatnonzero(elites), np.flatnonzero(~elites)
    if disjoint:
        k_best, k_rest = min(n_best, best.size), min(n_others, rest.size)
        missing = n_best + n_others - k_best - k_rest
        # A subset and its fill are one larger subset.
        if best.size > rest.size:
            k_best = min(k_best + missing, best.size)
        else:
            k_rest = min(k_rest + missing, rest.size)
        return [_term(1.0, (best, k_best), (rest, k_rest))]
    everyone = np.arange(elites.size)
    k_all = min(n_others, elites.size)
    if best.size >= n_best:
        # Nobody is left to fill with where the others run out.
        return [_term(1.0, (best, n_best), (everyone, k_all))]
    # All elites are listed, j of them twice; the fill comes from the rest, of which it
    # makes the subset larger.
    short = n_best - best.size
    n_ways = math.comb(elites.size, k_all)
    return [
        _term(
            math.comb(best.size, j) * math.comb(rest.size, k_all - j) / n_ways,
            (best, best.size),
            (best, j),
            (rest, min(k_all - j + short, rest.size)),
        )
        for j in range(max(0, k_all - rest.size), min(k_all, best.size) + 1)
    ]


def _term(probability: float, *groups: tuple[Places, int]) -> Term:
    return Term(probability, tuple((members, k) for members, k in groups if k > 0))


def _ladder(scores: Floats, logs: Floats, temperature: float) -> tuple[Places, Floats]:
    """Returns the places of the positive factors, the heaviest first, and the drops.

    Returns:
        ``(m,)`` places, and the ``(m - 1,)`` drops of the logarithm from one factor to
        the next, not negative.
    """
    live = np.flatnonzero(logs > -math.inf)
    values, powers = scores[live], logs[live]
    if live.size < 2:
        return live, np.zeros(0)
    with np.errstate(over="ignore", invalid="ignore"):
        exponents = (values - values.max()) / temperature + powers
        reach = np.ptp(exponents)
    if reach < PLAIN_REACH:
        order = np.lexsort((powers, values, exponents))[::-1]
        values, powers = values[order], powers[order]
        drops = (values[:-1] - values[1:]) / temperature - np.diff(powers)
        return live[order], np.maximum(drops, 0.0)
    # Floats would take lesser factors for equal beside a giant: exact numbers do not.
    heat = Fraction(temperature)
    exact = [
        Fraction(v) / heat + Fraction(p)
        for v, p in zip(values.tolist(), powers.tolist(), strict=True)
    ]
    order = np.array(sorted(range(live.size), key=exact.__getitem__, reverse=True))
    falling = [float(min(exact[i] - exact[j], PLAIN_REACH)) for i, j in pairwise(order)]
    return live[order], np.array(falling)


def enumerated(
    scores: Floats, logs: Floats, temperature: float, terms: list[Term]
) -> Floats:
    """Returns the ``(n,)`` law of the choice from the list, over all lists.

    Lists without a positive factor are left out: the sum is the probability of others.

    Args:
        scores: ``(n,)`` finite scores.
        logs: ``(n,)`` logarithms of the factors of the weights, minus infinity for none.
        temperature: Positive temperature, in units of score.
        terms: Law of the list.
    """
    order, _ = _ladder(scores, logs, temperature)
    rank = np.full(scores.size, scores.size)
    rank[order] = np.arange(order.size)
    values = np.where(logs > -math.inf, scores, -math.inf)
    law = np.zeros(scores.size)
    for probability, groups in terms:
        subsets = (combinations(members.tolist(), k) for members, k in groups)
        lists = np.array([sum(parts, ()) for parts in product(*subsets)], dtype=np.intp)
        probability /= len(lists)
        lists = lists[(rank[lists] < scores.size).any(axis=1)]
        # Relative to the heaviest of the list, nothing overflows and nothing vanishes.
        top = lists[np.arange(len(lists)), rank[lists].argmin(axis=1), np.newaxis]
        with np.errstate(over="ignore"):
            exponents = (values[lists] - values[top]) / temperature
        factors = np.exp(exponents + (logs[lists] - logs[top]))
        shares = factors / factors.sum(axis=1, keepdims=True)
        law += probability * np.bincount(lists.ravel(), shares.ravel(), scores.size)
    return law


def integrated(
    scores: Floats, logs: Floats, temperature: float, terms: list[Term]
) -> Floats:
    """Returns the ``(n,)`` law of the choice from the list, by quadrature.

    The factors are cut into layers that do not compete. The choice falls into a layer
    if and only if no heavier one is listed, and lighter candidates then do not count.
    Lists without a positive factor are left out: the sum is the probability of others.

    Args:
        scores: ``(n,)`` finite scores.
        logs: ``(n,)`` logarithms of the factors of the weights, minus infinity for none.
        temperature: Positive temperature, in units of score.
        terms: Law of the list.
    """
    law = np.zeros(scores.size)
    order, drops = _ladder(scores, logs, temperature)
    rank = np.full(scores.size, scores.size)
    rank[order] = np.arange(order.size)
    edges = [0, *(np.flatnonzero(drops > GAP) + 1).tolist(), order.size]
    for start, stop in pairwise(edges):
        exponents = -np.concatenate([[0.0], np.add.accumulate(drops[start : stop - 1])])
        for term in terms:
            for low, high, nodes in _windows(exponents, term):
                first, last = start + low, start + high
                law[order[first:last]] += _window_law(
                    exponents[low:high], nodes, term, rank, first
                )
    return law


def _restricted(term: Term, allowed: Flags) -> Term:
    """Returns the part of ``term`` whose lists hold only those allowed."""
    probability = term.probability
    groups = []
    for members, k in term.groups:
        inside = members[allowed[members]]
        probability *= math.comb(inside.size, k) / math.comb(members.size, k)
        groups.append((inside, k))
    return Term(probability, tuple(groups))


def _windows(exponents: Floats, term: Term) -> Iterator[tuple[int, int, Floats]]:
    """Yields the nodes in ``log t``, some at a time, and whom they can tell apart.

    At a node the factors before ``low`` are so heavy that no list with them counts, and
    those from ``high`` on are so light that they add nothing to a list.

    Args:
        exponents: ``(c,)`` logarithms of factors, falling from zero.
        term: Law of the list.

    Yields:
        ``low``, ``high`` and the ``(q,)`` nodes.
    """
    if exponents.size == 0:
        return
    n_listed = sum(k for _, k in term.groups)
    lightest = LEFT + math.log(n_listed)
    n_nodes = math.ceil((lightest + RIGHT - float(exponents[-1])) / STEP) + 1
    size = max(1, min(NODES, NUMBERS // (exponents.size * n_listed)))
    for start in range(0, n_nodes, size):
        steps = np.arange(start, min(start + size, n_nodes), dtype=np.float64)
        nodes = STEP * steps - lightest
        low, high = (-exponents).searchsorted([nodes[0] - RIGHT, nodes[-1] + lightest])
        if low < high:
            yield int(low), int(high), nodes


def _window_law(
    exponents: Floats, nodes: Floats, term: Term, rank: Integers, first: int
) -> Floats:
    """Returns what the nodes add to the law of the ``(c,)`` factors from ``first`` on."""
    law = np.zeros(exponents.size)
    available = _restricted(term, rank >= first)
    if available.probability == 0.0:
        return law
    rates = np.exp(exponents[:, np.newaxis] + nodes)
    decays = np.exp(-rates)
    owns, means, totals = [], [], []
    for members, k in available.groups:
        own = rank[members] - first
        own = own[own < exponents.size]
        mean, total = _subset_means(decays[own], members.size - own.size, k)
        owns.append(own)
        means.append(mean)
        totals.append(total)
    for index, own in enumerate(owns):
        others = np.ones(nodes.size)
        for total in totals[:index] + totals[index + 1 :]:
            others *= total
        law[own] += (rates[own] * decays[own] * means[index] * others).sum(axis=1)
    return law * (STEP * available.probability)


def _subset_means(values: Floats, n_ones: int, k: int) -> tuple[Floats, Floats]:
    """Returns means over the random ``k``-subsets of ``values`` and of so many ones.

    The polynomials are those of a binomial scheme with a success rate near ``k / g``,
    which keeps them between zero and one at any size.

    Args:
        values: ``(c, q)`` values of ``c`` members at ``q`` nodes, in ``[0, 1]``.
        n_ones: Number of further members, whose value is one.
        k: Size of the subsets, at least one.

    Returns:
        ``(c, q)`` mean, over all subsets, of the product of the others where the member
        is in the subset and zero where it is not; ``(q,)`` mean of the product.
    """
    n, n_nodes = values.shape
    rate = (k + 0.5) / (n + n_ones + 1)
    scaled = rate * values
    polynomial = np.zeros((k + 1, n_nodes))
    polynomial[:] = _binomial(n_ones, k, rate)[:, np.newaxis]
    before = np.empty((n, k, n_nodes))
    for i in range(n):
        before[i] = polynomial[:k]
        raised = before[i] * scaled[i]
        polynomial *= 1.0 - rate
        polynomial[1:] += raised
    norm = _binomial(n + n_ones, k, rate)[k]
    total = polynomial[k] / norm
    after = np.zeros((k, n_nodes))
    after[0] = 1.0
    without = np.empty((n, n_nodes))
    for i in range(n - 1, -1, -1):
        without[i] = np.einsum("jq,jq->q", before[i], after[::-1])
        raised = after[:-1] * scaled[i]
        after *= 1.0 - rate
        after[1:] += raised
    return without * (rate / norm), total


def _binomial(n: int, k: int, rate: float) -> Floats:
    """Returns ``(k + 1,)`` probabilities of ``0 .. k`` successes in ``n`` trials."""
    law = np.zeros(k + 1)
    for j in range(min(n, k) + 1):
        law[j] = math.exp(
            math.log(math.comb(n, j)) + j * math.log(rate) + (n - j) * math.log1p(-rate)
        )
    return law
