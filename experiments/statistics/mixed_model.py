"""The linear mixed model of a full factorial study, with tasks as groups.

The model has effects-coded factors, their registered two-way interactions and a random
intercept for each task (Pinheiro and Bates 2000, "Mixed-effects models in S and S-PLUS").
In a balanced table its estimates are differences of means and its tests those of a block
design. Its Wald statistics are referred to F with ``(tasks - 1) (arms - 1)`` degrees of
freedom, because the normal law that statsmodels offers is too sure with few tasks.
"""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from statsmodels.formula.api import mixedlm
from statsmodels.tools.sm_exceptions import ConvergenceWarning

from experiments.statistics import holm

Floats = NDArray[np.float64]

# Tasks that differ no more than noise does put the variance of the intercept at zero, the
# edge of its range; the fixed effects are then those of a model without it.
_BOUNDARY = ("The MLE may be on the boundary", "The random effects covariance matrix")


class Term(NamedTuple):
    """A main effect or an interaction.

    Attributes:
        name: "temperature", or "temperature x scaling".
        degrees: Its degrees of freedom.
        statistic: Its F statistic; NaN if nothing is left to compare it with.
        p: P-value of that; NaN likewise.
        p_holm: The same adjusted over the registered interactions; NaN for main effects,
            which are judged by their contrasts.
        share: Its share of the variance between arms within tasks: descriptive, a
            feature of the levels chosen as much as of the factor.
    """

    name: str
    degrees: int
    statistic: float
    p: float
    p_holm: float
    share: float


def terms(
    numbers: Floats,
    factors: tuple[str, ...],
    interactions: tuple[tuple[str, str], ...],
) -> tuple[Term, ...]:
    """Returns the main effects, then the interactions.

    Args:
        numbers: ``(n, l_1, l_2, ...)`` means, tasks first, then levels of factors.
        factors: Names of the factors, in the order of axes.
        interactions: Registered pairs of factors.
    """
    index = {name: axis for axis, name in enumerate(factors)}
    axes: list[tuple[int, ...]] = [(axis,) for axis in range(len(factors))]
    axes += [(index[one], index[two]) for one, two in interactions]
    within = numbers - numbers.mean(axis=tuple(range(1, numbers.ndim)), keepdims=True)
    total = float((within**2).sum())
    # What rounding leaves of arms that are all equal is no variance.
    if total <= 1e-20 * float((numbers**2).sum()):
        within, total = np.zeros_like(within), 0.0
    squares = [_sum_of_squares(within, part) for part in axes]
    degrees = [math.prod(numbers.shape[1 + axis] - 1 for axis in part) for part in axes]
    found = _wald(numbers, axes, total - sum(squares), total)
    rest = (numbers.shape[0] - 1) * (numbers[0].size - 1)
    ps = [
        float(stats.f.sf(statistic, df, rest)) if math.isfinite(statistic) else math.nan
        for statistic, df in zip(found, degrees, strict=True)
    ]
    n_main = len(factors)
    tested = [p for p in ps[n_main:] if math.isfinite(p)]
    adjusted = iter(holm.adjusted(tested))
    return tuple(
        Term(
            " x ".join(factors[axis] for axis in part),
            df,
            statistic,
            p,
            next(adjusted) if place >= n_main and math.isfinite(p) else math.nan,
            square / total if total > 0.0 else 0.0,
        )
        for place, (part, df, statistic, p, square) in enumerate(
            zip(axes, degrees, found, ps, squares, strict=True)
        )
    )


def _sum_of_squares(within: Floats, part: tuple[int, ...]) -> float:
    """Returns the sum of squares of a main effect or two-way interaction."""

    def means(kept: tuple[int, ...]) -> Floats:
        others = tuple(
            axis for axis in range(within.ndim) if axis - 1 not in kept or axis == 0
        )
        marginal: Floats = within.mean(axis=others, keepdims=True)
        return marginal

    effect = means(part)
    if len(part) == 2:
        effect = effect - means(part[:1]) - means(part[1:])
    return float((effect**2).sum() * within.size / effect.size)


def _wald(
    numbers: Floats, axes: list[tuple[int, ...]], rest: float, total: float
) -> list[float]:
    """Returns the F statistic of each term, NaN if the terms explain everything."""
    if rest <= 1e-12 * total or total == 0.0:
        return [math.nan] * len(axes)
    cells = list(product(*(range(size) for size in numbers.shape)))
    columns = ["task", *(f"f{axis}" for axis in range(numbers.ndim - 1))]
    table = pd.DataFrame(cells, columns=columns)
    # Scale and origin play no part in F, but do in the optimiser's tolerances.
    table["y"] = (numbers - numbers.mean()).ravel() / math.sqrt(rest / numbers.size)
    formulas = [":".join(f"C(f{axis}, Sum)" for axis in part) for part in axes]
    with warnings.catch_warnings():
        for message in _BOUNDARY:
            warnings.filterwarnings(
                "ignore", message=message, category=ConvergenceWarning
            )
        model = mixedlm("y ~ " + " + ".join(formulas), table, groups="task")
        fit = model.fit(reml=True)
        tests = fit.wald_test_terms(scalar=True).table
    return [
        float(tests.loc[formula, "statistic"])
        / float(tests.loc[formula, "df_constraint"])
        for formula in formulas
    ]
