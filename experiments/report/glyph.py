"""A small picture of one effect, its interval and the margin, in a line of text."""

from __future__ import annotations

import math

from markupsafe import Markup

from experiments.figures.contrasts import COLOURS
from experiments.figures.style import variable
from experiments.statistics.verdict import Outcome, Verdict

_WIDTH, _HEIGHT = 180.0, 20.0


def glyph(verdict: Verdict, limit: float, margin: float) -> Markup:
    """Returns the picture, which repeats what is said beside it.

    Args:
        verdict: The verdict.
        limit: What both ends of the picture stand for, in units of the metric.
        margin: Half the width of the band in which a difference does not matter.
    """

    def x(value: float) -> str:
        clipped = max(-limit, min(limit, value))
        return f"{_WIDTH / 2.0 + (_WIDTH / 2.0 - 6.0) * clipped / limit:.1f}"

    middle = _HEIGHT / 2.0
    colour = f"var(--{variable(COLOURS[verdict.outcome])})"
    low, high = verdict.comparison.tasks_random
    wide = float(x(margin)) - float(x(-margin))
    parts = [
        f'<rect x="{x(-margin)}" y="0" width="{wide:.1f}" height="{_HEIGHT:g}" '
        'fill="var(--grid)"/>',
        f'<path d="M{x(0.0)} 0V{_HEIGHT:g}" stroke="var(--muted)"/>',
    ]
    if not math.isnan(low):
        parts.append(
            f'<path d="M{x(low)} {middle:g}H{x(high)}" stroke="{colour}" '
            'stroke-width="2.5"/>'
        )
        for end, beyond, side in ((low, low < -limit, 1), (high, high > limit, -1)):
            if beyond:
                parts.append(
                    f'<path d="M{x(end)} {middle:g}m{5 * side} -5l{-6 * side} 5l{6 * side}'
                    f' 5z" fill="{colour}"/>'
                )
    hollow = verdict.outcome is Outcome.INCONCLUSIVE
    parts.append(
        f'<path d="M{x(verdict.effect)} {middle - 6.0:g}l6 6l-6 6l-6 -6z" '
        f'fill="{"var(--page)" if hollow else colour}" stroke="{colour}" '
        'stroke-width="1.5"/>'
    )
    size = f"0 0 {_WIDTH:g} {_HEIGHT:g}"
    inside = "".join(parts)
    return Markup(
        f'<svg class="glyph" viewBox="{size}" aria-hidden="true">{inside}</svg>'
    )
