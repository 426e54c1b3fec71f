"""What figures show, for those who do not see them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from experiments.figures.style import Look
from experiments.report.words import NONE, figures, percent, signed, span
from experiments.statistics.verdict import Verdict


def convergence(task: str, curves: pd.DataFrame) -> str:
    """Returns what the curves of one task show.

    Args:
        task: Label of the task.
        curves: Its curves of log10 regret: arm, evaluation, centre.
    """
    last = curves.sort_values("evaluation").groupby("arm", sort=True).last()
    order = last["centre"].sort_values(kind="stable")
    best, worst = order.index[0], order.index[-1]
    text = (
        f"Regret against evaluations on {task}. After "
        f"{last['evaluation'].max():.0f} evaluations {best} is at "
        f"{figures(10.0 ** order.iloc[0])}"
    )
    if best == worst:
        return f"{text}."
    highest = figures(10.0 ** order.iloc[-1])
    return f"{text}, the lowest, and {worst} at {highest}, the highest."


def course(task: str, curves: pd.DataFrame, score: str, trial: str) -> str:
    """Returns what the curves of a task that plays its runs itself show.

    Args:
        task: Label of the task.
        curves: Its curves of the share so far: arm, evaluation, centre.
        score: Name of the share.
        trial: Name of a trial, in the singular.
    """
    last = curves.sort_values("evaluation").groupby("arm", sort=True).last()
    order = last["centre"].sort_values(kind="stable", ascending=False)
    text = (
        f"{score.capitalize()} so far against {trial}s on {task}. After "
        f"{last['evaluation'].max():.0f} {trial}s {order.index[0]} is at "
        f"{percent(float(order.iloc[0]))}"
    )
    if len(order) == 1:
        return f"{text}."
    lowest = percent(float(order.iloc[-1]))
    return f"{text}, the highest, and {order.index[-1]} at {lowest}, the lowest."


def cost(points: pd.DataFrame, score: str, cost: str) -> str:
    """Returns where each arm is in the picture of costs: arm, score, cost."""
    parts = [
        f"{arm} {percent(float(share))} at {figures(float(spent))}"
        for arm, share, spent in points.itertuples(index=False)
    ]
    return f"{score.capitalize()} against {cost}: {', '.join(parts)}."


def control(task: str, curves: pd.DataFrame) -> str:
    """Returns what diversity, temperature and parents did on one task.

    Args:
        task: Label of the task.
        curves: Its curves: quantity, arm, evaluation, centre.
    """
    parts = []
    for quantity, name, text in (
        ("diversity", "diversity D", figures),
        ("temperature", "temperature T", figures),
        ("effective_parents", "effective parents", percent),
    ):
        centres = curves.loc[curves["quantity"] == quantity, "centre"]
        if not centres.empty:
            low, high = text(centres.min()), text(centres.max())
            parts.append(f"mean {name} between {low} and {high}")
    clamped = curves[curves["quantity"].isin(("floor", "ceiling"))]
    held = sorted(clamped.loc[clamped["centre"] > 0.0, "arm"].unique())
    parts.append(f"T at a bound at times: {', '.join(held) or NONE}")
    return f"Dials against evaluations on {task}: {'; '.join(parts)}."


def forest(title: str, verdict: Verdict) -> str:
    """Returns what the forest of one contrast shows."""
    found = verdict.comparison
    tasks = ", ".join(f"{task.task} {signed(task.effect)}" for task in found.tasks)
    return (
        f"{title} {verdict.words}: mean paired difference {signed(found.effect)}, "
        f"95 % interval for tasks like these {span(found.tasks_random)}, for these tasks "
        f"{span(found.tasks_fixed)}. By task: {tasks}."
    )


def profile(curves: pd.DataFrame, arms: Mapping[str, Look]) -> str:
    """Returns what a performance profile shows: how many runs end below a tenth."""
    gaps = (curves["regret"] - 0.1).abs()
    at = curves[gaps == gaps.min()].set_index("arm")["share"]
    shares = [
        f"{arm} {percent(float(at[arm]))}"
        for arm, look in arms.items()
        if not look.context
    ]
    return f"Share of runs that end at a regret below 0.1: {', '.join(shares)}."


def runtime(curves: pd.DataFrame, arms: Mapping[str, Look]) -> str:
    """Returns what a runtime ECDF shows: how many targets are reached in the end."""
    most = curves.groupby("arm")["share"].max()
    shares = [
        f"{arm} {percent(float(most.get(arm, 0.0)))}"
        for arm, look in arms.items()
        if not look.context
    ]
    return f"Share of targets reached within the budget: {', '.join(shares)}."
