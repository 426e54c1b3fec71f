"""LoongFlow's options, checked, and the settings of ours that they stand for."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from memory.assignment.loongflow import LoongFlow as LoongFlowAssignment
from memory.interop.loongflow_grid import (
    METHODS,
    default_feature_bins,
    require_dimensions,
)
from memory.mapping.inverted import Inverted
from memory.profiles import upstream
from memory.records import count, flag, positive, within
from memory.scaling.rank import Rank
from memory.selection.boltzmann import Boltzmann
from memory.selection.loongflow import LoongFlow
from memory.settings import Settings
from memory.temperature.adaptive import Adaptive
from memory.topology.ring import Ring
from memory.weights.bounded import Bounded

Profile = Literal["repaired", "upstream"]
Binning = Literal["living", "running"]

#: Temperatures of ours, for scores scaled to ``[0, 1]``, where LoongFlow's is 1.
_BASE, _MINIMUM, _MAXIMUM = 0.1, 0.01, 0.5


class DefaultRate(float):
    """An exploration rate that was not given; it is equal to LoongFlow's."""

    __slots__ = ()


DEFAULT_RATE = DefaultRate(0.2)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of LoongFlow's memories, and those that bring its behaviour back.

    Args:
        num_islands: Number of islands.
        population_size: Largest number of the living.
        elite_archive_size: Largest number of elites; zero for none.
        migration_interval: Solutions between migrations; in ``upstream`` the growth of
            the largest island. Zero for never.
        migration_rate: Share of an island that migrates, in ``(0, 1]``.
        boltzmann_temperature: Factor of the temperatures, positive; 1 gives our default
            ones for ranked scores, in ``upstream`` LoongFlow's for raw ones.
        feature_bins: Bins per dimension; the root of the archive's size if ``None``.
        feature_dimensions: Some of complexity, diversity and score; all if ``None``.
        feature_scaling_method: ``"minmax"`` or ``"percentile"``.
        use_sampling_weight: Whether weights multiply the probabilities.
        sampling_weight_power: Exponent of the weights.
        output_path: Where checkpoints go by default.
        exploration_rate: Of a ``sample`` that names none, in ``[0, 1]``.
        profile: ``"upstream"`` brings LoongFlow's defects back, as far as they are rules.
        feature_binning: ``"living"`` divides the range of the living, ``"running"`` is
            LoongFlow's, by order of arrival; by default the one of the profile.
        zero_score_is_failure: Whether a score of zero has failed; by default as the
            profile says: LoongFlow drops it.
        settings: In place of everything that decides: islands, capacity, selection.

    Raises:
        TypeError: An option has the wrong type; the message names it.
        ValueError: An option is out of range.
    """

    num_islands: int = 3
    population_size: int = 100
    elite_archive_size: int = 50
    migration_interval: int = 10
    migration_rate: float = 0.2
    boltzmann_temperature: float = 1.0
    feature_bins: int | None = None
    feature_dimensions: list[str] | None = None
    feature_scaling_method: str = "minmax"
    use_sampling_weight: bool = True
    sampling_weight_power: float = 1.0
    output_path: str | None = "output"
    exploration_rate: float = 0.2
    profile: Profile = "repaired"
    feature_binning: Binning | None = None
    zero_score_is_failure: bool | None = None
    settings: Settings | None = None

    def __post_init__(self) -> None:
        count("num_islands", self.num_islands, minimum=1)
        count("population_size", self.population_size, minimum=1)
        if not self.as_upstream and self.population_size < self.num_islands:
            raise ValueError(
                "population_size must be at least num_islands, one for each, got "
                f"{self.population_size} for {self.num_islands}"
            )
        count("elite_archive_size", self.elite_archive_size)
        count("migration_interval", self.migration_interval)
        within("migration_rate", self.migration_rate, 0.0, 1.0)
        positive("boltzmann_temperature", self.boltzmann_temperature)
        within("exploration_rate", self.exploration_rate, 0.0, 1.0)
        flag("use_sampling_weight", self.use_sampling_weight)
        if self.feature_bins is not None:
            count("feature_bins", self.feature_bins, minimum=1)
        if self.feature_dimensions is not None:
            require_dimensions(self.feature_dimensions)
        if self.zero_score_is_failure is not None:
            flag("zero_score_is_failure", self.zero_score_is_failure)
        if self.settings is not None and not isinstance(self.settings, Settings):
            raise TypeError(f"settings must be Settings or None, got {self.settings!r}")
        _among("feature_scaling_method", self.feature_scaling_method, METHODS)
        _among("profile", self.profile, ("repaired", "upstream"))
        _among("feature_binning", self.feature_binning, ("living", "running", None))

    @property
    def as_upstream(self) -> bool:
        """Whether LoongFlow's own rules are wanted."""
        return self.profile == "upstream"

    @property
    def running(self) -> bool:
        """Whether bins depend on the order of arrival."""
        if self.feature_binning is None:
            return self.as_upstream
        return self.feature_binning == "running"

    @property
    def zero_fails(self) -> bool:
        """Whether a score of zero has failed."""
        zero_fails = self.zero_score_is_failure
        return self.as_upstream if zero_fails is None else zero_fails

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions of the grid."""
        wanted = self.feature_dimensions
        return require_dimensions(
            ["complexity", "diversity", "score"] if wanted is None else wanted
        )

    @property
    def bins(self) -> int:
        """Bins of each dimension of the grid."""
        if self.feature_bins is not None:
            return self.feature_bins
        return default_feature_bins(self.elite_archive_size, len(self.dimensions))

    def deciding(self) -> Settings:
        """Returns the settings that these options stand for.

        Selection has no exploration of its own there: the rate comes with each call.

        Raises:
            ValueError: Options contradict each other, as a population smaller than the
                number of its islands does.
        """
        if self.settings is not None:
            return self.settings
        if self.as_upstream:
            settings = upstream(
                self.num_islands,
                capacity=self.population_size,
                elite_size=self.elite_archive_size,
                migration_interval=self.migration_interval,
                migration_rate=self.migration_rate,
                base=self.boltzmann_temperature,
            )
            selection = LoongFlow(
                exploration=0.0,
                weighted=self.use_sampling_weight,
                power=self.sampling_weight_power,
                zero_weight_means_one=True,
            )
            return dataclasses.replace(settings, selection=selection)
        factor = self.boltzmann_temperature
        return Settings(
            capacity=self.population_size,
            elite_size=self.elite_archive_size,
            islands=self.num_islands,
            migration_interval=self.migration_interval,
            migration_rate=self.migration_rate,
            temperature=Adaptive(
                Inverted(),
                base=_BASE * factor,
                minimum=_MINIMUM * factor,
                maximum=_MAXIMUM * factor,
            ),
            scaling=Rank(),
            selection=Boltzmann(
                weighted=self.use_sampling_weight, power=self.sampling_weight_power
            ),
            weights=Bounded(),
            assignment=LoongFlowAssignment(
                n_per_island=max(1, self.population_size // self.num_islands)
            ),
            topology=Ring(both_ways=True),
        )


def _among(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}"
        )
