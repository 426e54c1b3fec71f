"""Whole configurations of other systems, as settings of ours."""

from __future__ import annotations

from memory.assignment.loongflow import LoongFlow as LoongFlowAssignment
from memory.diversity.text_shape import TextShape
from memory.mapping.original import Original
from memory.records import count
from memory.scaling.raw import Raw
from memory.selection.loongflow import LoongFlow
from memory.settings import Settings
from memory.temperature.adaptive import Adaptive
from memory.topology.ring import Ring


def upstream(
    islands: int = 1,
    *,
    capacity: int = 100,
    elite_size: int = 50,
    migration_interval: int = 10,
    migration_rate: float = 0.2,
    base: float = 1.0,
    exploration: float = 0.2,
    weighted: bool = True,
    power: float = 1.0,
) -> Settings:
    """Returns LoongFlow as shipped; ``profile=upstream`` of the studies has one island.

    Its numbers are reproduced exactly: temperatures, laws of selection, who is placed
    where, who migrates and who leaves. Its defects that are refused at the door (a
    negative weight, a score of ``None``) or that lose solutions (a score of zero) are not,
    and where there are several islands their elites are their own: LoongFlow draws from
    those of all. Its grid, which decides nothing but some elites, is
    ``memory.interop.loongflow_grid``.

    Args:
        islands: Number of islands; LoongFlow's own default is 3.
        capacity: Its ``population_size``.
        elite_size: Its ``elite_archive_size``.
        migration_interval: By how much the largest island grows between migrations.
        migration_rate: Share of an island that migrates.
        base: Its ``boltzmann_temperature``.
        exploration: Probability of a uniform choice.
        weighted: Whether weights multiply the probabilities.
        power: Exponent of the weights.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument is out of range.
    """
    count("islands", islands, minimum=1)
    count("capacity", capacity, minimum=1)
    return Settings(
        capacity=capacity,
        elite_size=elite_size,
        islands=islands,
        quota=False,
        migration_interval=migration_interval,
        migration_unit="largest_island",
        migration_rate=migration_rate,
        migration_relays=True,
        diversity=TextShape(sample_size=50),
        temperature=Adaptive(
            Original(),
            base=base,
            minimum=0.5,
            maximum=2.0,
            blend=0.2,
            stateful=False,
            clamp_first=True,
            maximum_diversity=1.3,
        ),
        scaling=Raw(),
        selection=LoongFlow(
            exploration=exploration,
            weighted=weighted,
            power=power,
            zero_weight_means_one=True,
        ),
        assignment=LoongFlowAssignment(n_per_island=max(1, capacity // islands)),
        topology=Ring(both_ways=True),
    )
