"""Whole configurations of other systems, as settings of ours."""

from __future__ import annotations

from memory.diversity.text_shape import TextShape
from memory.mapping.original import Original
from memory.scaling.raw import Raw
from memory.selection.loongflow import LoongFlow
from memory.settings import Settings
from memory.temperature.adaptive import Adaptive


def upstream() -> Settings:
    """Returns LoongFlow as shipped, on one island; ``profile=upstream`` of the studies.

    Its numbers are reproduced exactly; its defects that are refused at the door (a
    negative weight, a score of ``None``) or that lose solutions (a score of zero) are not.
    """
    return Settings(
        capacity=100,
        elite_size=50,
        diversity=TextShape(sample_size=50),
        temperature=Adaptive(
            Original(),
            base=1.0,
            minimum=0.5,
            maximum=2.0,
            blend=0.2,
            stateful=False,
            clamp_first=True,
            maximum_diversity=1.3,
        ),
        scaling=Raw(),
        selection=LoongFlow(exploration=0.2, zero_weight_means_one=True),
    )
