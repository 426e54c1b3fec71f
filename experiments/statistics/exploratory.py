"""All pairs of arms: exploratory, never a verdict.

Friedman 1937 asks whether any arm stands out from the ranks within tasks; Wilcoxon 1945
then compares each pair of arms by signed ranks of task means, adjusted by Holm 1979. What
it shows is a question for the next plan, since no contrast was named before.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from experiments.statistics import holm
from experiments.statistics.blocks import checked


class Exploration(NamedTuple):
    """What all pairs of arms show.

    Attributes:
        friedman_p: P-value of Friedman's test over tasks; 1 where all arms are equal.
        pairs: Table of arm, base, effect (mean of task means of arm - base), p and
            p_holm.
    """

    friedman_p: float
    pairs: pd.DataFrame


def all_pairs(values: pd.DataFrame) -> Exploration:
    """Returns the comparison of all pairs of three arms or more.

    Args:
        values: Long table of arm, task, instance, seed and value.

    Raises:
        TypeError: As ``blocks.checked``.
        ValueError: As ``blocks.checked``, or there are fewer than three arms or two tasks.
    """
    table = checked(values)
    means = table.pivot_table(index="task", columns="arm", values="value")
    n_tasks, n_arms = means.shape
    if n_arms < 3 or n_tasks < 2:
        raise ValueError(
            f"values must hold 3 arms and 2 tasks, got {n_arms} and {n_tasks}"
        )
    columns = {str(arm): means[arm].to_numpy(np.float64) for arm in means.columns}
    level = all(np.ptp(row) == 0.0 for row in means.to_numpy())
    friedman = 1.0 if level else stats.friedmanchisquare(*columns.values()).pvalue
    rows = []
    for base, arm in combinations(columns, 2):
        gap = columns[arm] - columns[base]
        p = float(stats.wilcoxon(gap).pvalue) if gap.any() else 1.0
        rows.append({"arm": arm, "base": base, "effect": gap.mean(), "p": p})
    pairs = pd.DataFrame(rows)
    pairs["p_holm"] = holm.adjusted(pairs["p"].tolist())
    return Exploration(float(friedman), pairs)
