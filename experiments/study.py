"""A study: the question, the tasks, the arms and the seeds, read from ``conf/study``.

This is the only reader of a composed configuration. It becomes frozen dataclasses and
objects here, once; no ``DictConfig`` goes any further.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, cast

from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

import memory
from experiments.composition import (
    Composer,
    ConfigurationError,
    built,
    explained,
    plain,
    swept,
    updated,
)
from experiments.contracts import (
    MEASURES,
    Episode,
    Graded,
    Proposer,
    Task,
    Weighting,
)
from memory.graded.settings import GradedSettings

_NAME = re.compile(r"[a-z0-9][a-z0-9_.+=,-]*", re.IGNORECASE)


#: Keys of a memory's settings: rooms, each with one policy, and plain values.
ROOMS = (
    "diversity",
    "temperature",
    "scaling",
    "selection",
    "survival",
    "ranking",
    "weights",
    "assignment",
    "topology",
    "retention",
)
SCALARS = (
    "capacity",
    "elite_size",
    "islands",
    "quota",
    "migration_interval",
    "migration_unit",
    "migration_rate",
    "migration_relays",
    "deduplicate",
)

#: A margin of ten is a factor of 10^10 in regret, an alpha above a quarter no test.
MOST_MARGIN, MOST_ALPHA = 10.0, 0.25
#: Beyond this many seeds a study is a slip of the keyboard.
MOST_SEEDS = 100_000
#: Primary metrics: the anytime area in log10 of regret, or the regret at the end.
METRICS = ("area", "regret")
#: Keys of a graded memory's settings.
_GRADED = ("threshold_tokens", "recent_share", "summary_share", "medium_share")
#: What an arm may be given of another run: see ``Arm``.
REPLAYS = ("nothing", "schedule", "mean")
#: What a control may have to come out as.
EXPECTED = ("same", "identical", "worse", "better")


@dataclass
class ContrastConfig:
    """One planned comparison, as a yaml says it."""

    arm: str = MISSING
    base: str = MISSING
    title: str = MISSING
    group: str = ""


@dataclass
class ControlConfig:
    """One control, as a yaml says it: what must come out."""

    arm: str = MISSING
    base: str = MISSING
    title: str = MISSING
    expected: str = MISSING
    tasks: list[str] = field(default_factory=list)


@dataclass
class SecondaryConfig:
    """One planned comparison of a measure beside the primary metric, as a yaml says it."""

    arm: str = MISSING
    base: str = MISSING
    title: str = MISSING
    measure: str = MISSING
    margin: float = MISSING


@dataclass
class GridConfig:
    """Arms that are all combinations of some values of one arm's keys."""

    name: str = MISSING
    arm: str = MISSING
    over: dict[str, list[Any]] = MISSING


@dataclass
class StudyConfig:
    """The schema of ``conf/study/<name>.yaml``: a typo or a wrong type is refused."""

    name: str = MISSING
    question: str = MISSING
    tasks: dict[str, dict[str, Any]] = MISSING
    arms: list[str] = MISSING
    seeds: int = MISSING
    instances: list[int] = field(default_factory=lambda: [1])
    budget: int = MISSING
    initial: int = 20
    salt: str = "boltzmem"
    contrasts: list[ContrastConfig] = field(default_factory=list)
    controls: list[ControlConfig] = field(default_factory=list)
    secondary: list[SecondaryConfig] = field(default_factory=list)
    metric: str = "area"
    margin: float = 0.05
    alpha: float = 0.05
    grids: list[GridConfig] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Contrast:
    """One planned comparison: ``arm`` minus ``base``, its question, its group."""

    arm: str
    base: str
    title: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Control:
    """One control, tested apart: what must come out, and on which tasks (all if none)."""

    arm: str
    base: str
    title: str
    expected: str
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Secondary:
    """One planned comparison of a measure, with a margin of its own."""

    arm: str
    base: str
    title: str
    measure: str
    margin: float


@dataclass(frozen=True, slots=True)
class Arm:
    """One configuration of the memory under comparison.

    Attributes:
        name: Its name in tables and figures.
        title: What differs, in one line.
        settings: The memory's settings, but for the metric of a natural arm.
        natural_diversity: Whether each task is measured by its own natural metric.
        stream_salt: Part of the key of its random numbers; empty shares them.
        weighting: What weight a new solution gets.
        replay: What of another run of this very arm its runs are given instead of a
            controller: nothing, its ``schedule`` of temperatures, or their ``mean``.
        graded: The graded memory of an arm for tasks that play an episode, which read
            nothing else of it; ``None`` for tasks that are searched.
    """

    name: str
    title: str
    settings: memory.Settings
    natural_diversity: bool
    stream_salt: str
    weighting: Weighting
    replay: str = "nothing"
    graded: Graded | None = None


@dataclass(frozen=True, slots=True)
class StudyTask:
    """A task with its label, and its proposer and natural metric if it is searched."""

    label: str
    task: Task | Episode
    proposer: Proposer | None
    natural_diversity: memory.Diversity | None
    budget: int

    @property
    def episode(self) -> Episode | None:
        """The task, if it plays a run itself."""
        return cast(Episode, self.task) if _plays(self.task) else None

    @property
    def searched(self) -> tuple[Task, Proposer, memory.Diversity]:
        """The task, its proposer and its natural metric, if it is searched."""
        if self.proposer is None or self.natural_diversity is None:
            raise ValueError(f"{self.label} plays a run itself, it is not searched")
        return cast(Task, self.task), self.proposer, self.natural_diversity


@dataclass(frozen=True, slots=True)
class Study:
    """A whole study.

    Attributes:
        name: Its name, and that of its folder.
        question: What it asks, in one sentence.
        tasks: The tasks.
        arms: The arms.
        seeds: The seeds, each an independent repetition.
        instances: The instances of each task.
        initial: Random texts that every run begins with, in evaluations.
        salt: Part of the key of all random numbers.
        contrasts: The planned comparisons: one family.
        controls: What must come out if the study can see anything.
        secondary: Planned comparisons of measures: a family of their own.
        metric: The primary metric, one of ``METRICS``.
        margin: Difference of the primary metric below which arms are equivalent.
        alpha: Level of the family.
    """

    name: str
    question: str
    tasks: tuple[StudyTask, ...]
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    instances: tuple[int, ...]
    initial: int
    salt: str
    contrasts: tuple[Contrast, ...]
    controls: tuple[Control, ...]
    secondary: tuple[Secondary, ...]
    metric: str
    margin: float
    alpha: float

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """The tasks that play a run themselves: all of a study's, or none."""
        return tuple(task.episode for task in self.tasks if task.episode is not None)

    @property
    def description(self) -> Any:  # noqa: ANN401
        """Everything that the study is, as plain data; its parts by their labels."""
        plain = memory.description(self, "study")
        plain["tasks"] = {task["label"]: task for task in plain["tasks"]}
        plain["arms"] = {arm["name"]: arm for arm in plain["arms"]}
        return plain


def arm_of(config: DictConfig, name: str, title: str) -> Arm:
    """Returns the arm that a composed configuration describes.

    Raises:
        ConfigurationError: A value is refused; the message names its key.
    """
    values = plain(config)
    policies = {room: built(values[room], f"arm {name}: {room}") for room in ROOMS}
    try:
        settings = memory.Settings(
            **{key: values[key] for key in SCALARS},
            axes=_axes(values["axes"], f"arm {name}: axes"),
            **policies,
        )
        return Arm(
            name=name,
            title=title,
            settings=settings,
            natural_diversity=memory.flag(
                "natural_diversity", values["natural_diversity"]
            ),
            stream_salt=memory.utf8("stream_salt", values["stream_salt"]),
            weighting=built(values["weighting"], f"arm {name}: weighting"),
            replay=_replay(values["replay"]),
            graded=_graded(values, policies["retention"], f"arm {name}"),
        )
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"arm {name}: {error}") from error


def _axes(entries: object, where: str) -> tuple[memory.Axis, ...]:
    """Returns the axes of a grid from their entries, one mapping each under its name."""
    if not isinstance(entries, Mapping):
        raise TypeError(f"axes must be a mapping from names to axes, got {entries!r}")
    axes = []
    for label, entry in entries.items():
        parts = ("descriptor", "bounds")
        if not isinstance(entry, Mapping) or set(entry) != set(parts):
            raise ValueError(
                f"axes.{label} must have the keys descriptor and bounds, got {entry!r}"
            )
        axes.append(
            memory.Axis(
                *[built(entry[part], f"{where}.{label}.{part}") for part in parts]
            )
        )
    return tuple(axes)


def _graded(values: Mapping[str, Any], retention: Any, where: str) -> Graded | None:  # noqa: ANN401
    """Returns the graded memory of an arm that chooses a recall or a compressor."""
    chosen = {
        part: built(values[part], f"{where}: {part}")
        for part in ("recall", "compressor")
        if values.get(part) is not None
    }
    if not chosen:
        return None
    settings = GradedSettings(
        **{key: values["graded"][key] for key in _GRADED}, retention=retention
    )
    return Graded(settings, **chosen)


def _plays(task: object) -> bool:
    return callable(getattr(task, "play", None))


def _replay(value: object) -> str:
    if value not in REPLAYS:
        raise ValueError(f"replay must be one of {', '.join(REPLAYS)}, got {value!r}")
    return str(value)


def _task_of(
    composer: Composer, label: str, entry: Mapping[str, Any], budget: int
) -> StudyTask:
    """Returns one task of a study from its entry in the yaml."""
    values = dict(entry)
    where = f"study.tasks.{label}"
    if "task" not in values:
        raise ConfigurationError(f"{where} must name its task, got {dict(entry)!r}")
    family = values.pop("task")
    own_budget = values.pop("budget", budget)
    proposer_entry = values.pop("proposer", None)
    try:
        task = built(composer.node("task", family, values), where)
        checked = memory.count(f"{where}.budget", own_budget, minimum=2)
        if _plays(task):
            if proposer_entry is not None:
                raise ConfigurationError(
                    f"{family} plays its runs itself and takes no proposer, got "
                    f"{proposer_entry!r}"
                )
            return StudyTask(label, task, None, None, checked)
        proposer = composer.node("proposer", *_proposer_of(proposer_entry, task, where))
        metric = composer.node("diversity", task.natural_diversity)
        return StudyTask(
            label=label,
            task=task,
            proposer=cast(Proposer, built(proposer, where)),
            natural_diversity=built(metric, where),
            budget=checked,
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from error
    except (TypeError, ValueError) as error:
        raise ConfigurationError(str(error)) from error


def _proposer_of(
    entry: object, task: Task, where: str
) -> tuple[object, dict[str, object]]:
    """Returns name and values of a task's proposer: a name, or a mapping with one."""
    if entry is None:
        return task.natural_proposer, {}
    if isinstance(entry, Mapping):
        values = {str(key): value for key, value in entry.items()}
        if "proposer" not in values:
            raise ConfigurationError(
                f"{where}.proposer must name its proposer, got {dict(entry)!r}"
            )
        return values.pop("proposer"), values
    return entry, {}


def _schema(node: object) -> StudyConfig:
    if not isinstance(node, DictConfig):
        raise ConfigurationError(f"study must be a study, got {node!r}")
    known = ", ".join(f.name for f in dataclasses.fields(StudyConfig))
    needed = [
        f.name
        for f in dataclasses.fields(StudyConfig)
        if f.default is MISSING and f.name not in node
    ]
    if needed:
        raise ConfigurationError(
            f"study: {', '.join(needed)} must be given; a study has the keys {known}"
        )
    try:
        merged = OmegaConf.merge(OmegaConf.structured(StudyConfig), node)
        return cast(StudyConfig, OmegaConf.to_object(merged))
    except OmegaConfBaseException as error:
        raise ConfigurationError(
            f"study: {explained(error)}\nA study has the keys {known}."
        ) from error


#: Top-level keys that make an arm; overriding one makes an arm of the command line.
_ARM_KEYS = re.compile(
    r"[+~]*(?:/?(?:descriptors|bounds)@)?(arm|profile|natural_diversity|stream_salt|"
    rf"mapping|weighting|replay|axes|recall|compressor|graded|"
    rf"{'|'.join((*SCALARS, *ROOMS))})\b"
)
_KEYS = re.compile(_ARM_KEYS.pattern + "|study")


def load(overrides: Sequence[str] = (), config_dir: Path | None = None) -> Study:
    """Returns the study that the overrides choose.

    Args:
        overrides: Hydra overrides such as ``study=smoke`` and ``study.seeds=5``. One that
            changes the memory (``temperature=adaptive``) replaces the study's arms by a
            single arm, named by those overrides.
        config_dir: Folder of the user's own configurations.

    Raises:
        ConfigurationError: Something is unknown, of the wrong type or impossible; the
            message names it and what would do.
    """
    composer = Composer(config_dir)
    base = _checked(composer.compose("config", overrides))
    config = _schema(base.get("study"))
    if named := _arm_name(overrides):
        arms = [_command_line_arm(composer, base, named, overrides)]
        return _study(config, composer, arms, [])
    arms = [_arm_named(composer, name) for name in config.arms]
    for grid in config.grids:
        arms += _grid(composer, grid)
        if not arms or not all(grid.over.values()):
            raise ConfigurationError(
                f"study.grids.{grid.name}: every key of over needs a value, got "
                f"{dict(grid.over)!r}"
            )
    planned = (config.contrasts, config.controls, config.secondary)
    return _study(config, composer, arms, *planned)


#: What a cheap study is cut down to, where it is larger.
CHEAP_SEEDS, CHEAP_BUDGET, CHEAP_INITIAL = 3, 100, 10


def cheap(study: Study) -> Study:
    """Returns ``study`` at its cheap setting: small tasks, few seeds, small budgets.

    It shows that every part runs; what it finds is no answer.
    """
    return dataclasses.replace(
        study,
        name=f"{study.name}-cheap",
        seeds=study.seeds[:CHEAP_SEEDS],
        initial=min(study.initial, CHEAP_INITIAL),
        tasks=tuple(
            dataclasses.replace(
                task, task=task.task.cheap(), budget=min(task.budget, CHEAP_BUDGET)
            )
            for task in study.tasks
        ),
    )


def shown(overrides: Sequence[str], config_dir: Path | None = None) -> str:
    """Returns the composed configuration as yaml, as Hydra's ``--cfg job`` does."""
    return OmegaConf.to_yaml(Composer(config_dir).compose("config", overrides))


def load_sweep(
    overrides: Sequence[str], config_dir: Path | None = None
) -> list[tuple[Study, list[str]]]:
    """Returns the studies of a sweep, each with the overrides that make it.

    A sweep over the memory (``temperature=fixed,adaptive mapping=original,inverted``)
    makes the arms of one study, so that they are paired and compared; a sweep over the
    study (``study=smoke,default``) makes several studies.

    Raises:
        ConfigurationError: Something is unknown, of the wrong type or impossible.
    """
    composer = Composer(config_dir)
    of_arm = [text for text in overrides if _ARM_KEYS.match(text)]
    of_study = [text for text in overrides if text not in of_arm]
    combinations = swept(of_arm) if of_arm else []
    for text in of_study:
        if of_arm and re.match(
            r"\+*study\.(arms|contrasts|controls|secondary)\b", text
        ):
            raise ConfigurationError(
                "a sweep over the memory makes arms of its own, each compared with the "
                f"first, so it cannot have {text!r}"
            )
    studies = []
    for outer in swept(of_study):
        if not of_arm:
            studies.append((load(outer, config_dir), outer))
            continue
        arms: list[Arm] = []
        for inner in combinations:
            base = _checked(composer.compose("config", [*outer, *inner]))
            name = _arm_name(_that_vary(inner, combinations)) or _arm_name(inner)
            arm = _command_line_arm(composer, base, name, inner)
            # A fixed temperature reads no mapping: what differs in nothing is one arm.
            if not any(_same(arm, other) for other in arms):
                arms.append(arm)
        contrasts = [
            ContrastConfig(arm.name, arms[0].name, f"{arm.name} against {arms[0].name}")
            for arm in arms[1:]
        ]
        config = _schema(composer.compose("config", outer).get("study"))
        studies.append((_study(config, composer, arms, contrasts), [*outer, *of_arm]))
    return studies


def _that_vary(
    inner: Sequence[str], combinations: Sequence[Sequence[str]]
) -> list[str]:
    """Returns the overrides that are not the same in all combinations."""
    return [text for text in inner if not all(text in other for other in combinations)]


def _same(arm: Arm, other: Arm) -> bool:
    renamed = dataclasses.replace(arm, name=other.name, title=other.title)
    return bool(memory.description(renamed) == memory.description(other))


def _arm_name(overrides: Sequence[str]) -> str:
    """Returns the name of the arm that overrides make, empty if they make none."""
    of_arm = [text for text in overrides if _ARM_KEYS.match(text)]
    if len(of_arm) == 1 and of_arm[0].startswith("arm="):
        return of_arm[0].removeprefix("arm=")
    return ",".join(of_arm)


def _command_line_arm(
    composer: Composer, base: DictConfig, name: str, overrides: Sequence[str]
) -> Arm:
    title = composer.comment("arm", name)
    if not title:
        title = "As given on the command line: " + " ".join(
            text for text in overrides if _ARM_KEYS.match(text)
        )
    return arm_of(base, name, title)


def _checked(config: DictConfig) -> DictConfig:
    unknown = [key for key in config if not _KEYS.fullmatch(str(key))]
    if unknown:
        raise ConfigurationError(
            f"the configuration has no key {unknown[0]!r}: an added key would be read by "
            "nobody"
        )
    return config


def _arm_named(composer: Composer, name: str) -> Arm:
    composer.require("arm", name)
    config = composer.compose("config", [f"arm={name}"])
    return arm_of(config, name, composer.comment("arm", name))


def _grid(composer: Composer, grid: GridConfig) -> list[Arm]:
    """Returns the arms of a grid, composing once for each combination of groups."""
    where = f"study.grids.{grid.name}"
    groups = {key: values for key, values in grid.over.items() if composer.names(key)}
    values = {key: found for key, found in grid.over.items() if key not in groups}
    arms: list[Arm] = []
    try:
        for choice in product(*groups.values()):
            chosen = [f"{key}={one}" for key, one in zip(groups, choice, strict=True)]
            base = _checked(composer.compose("config", [f"arm={grid.arm}", *chosen]))
            for combination in product(*values.values()):
                settings = dict(zip(values, combination, strict=True))
                label = [*map(str, choice)] + [
                    f"{key.rpartition('.')[2]}={'none' if one is None else one}"
                    for key, one in settings.items()
                ]
                name = f"{grid.name}/{','.join(label)}"
                title = f"{grid.arm} with " + ", ".join(label)
                arms.append(arm_of(updated(base, settings), name, title))
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from error
    return arms


def _study(
    config: StudyConfig,
    composer: Composer,
    arms: Sequence[Arm],
    contrasts: Sequence[ContrastConfig],
    controls: Sequence[ControlConfig] = (),
    secondary: Sequence[SecondaryConfig] = (),
) -> Study:
    if not _NAME.fullmatch(config.name):
        raise ConfigurationError(
            f"study.name must be made of letters, digits and _.-, got {config.name!r}"
        )
    names = [arm.name for arm in arms]
    _refuse_repeats("study.arms", names)
    families: dict[str, Sequence[_Planned]] = {
        "contrasts": contrasts,
        "controls": controls,
        "secondary": secondary,
    }
    for key, planned in families.items():
        for one in planned:
            for role, arm in (("arm", one.arm), ("base", one.base)):
                if arm not in names:
                    raise ConfigurationError(
                        f"study.{key}: {role} must be one of {', '.join(names)}, got "
                        f"{arm!r}; study.{key}=[] drops all of them"
                    )
    _refuse_odd_pairs("contrasts", contrasts)
    _refuse_odd_pairs("controls", controls)
    for measure in dict.fromkeys(one.measure for one in secondary):
        mine = [one for one in secondary if one.measure == measure]
        _refuse_odd_pairs("secondary", mine)
    for control in controls:
        if control.expected not in EXPECTED:
            raise ConfigurationError(
                f"study.controls: expected must be one of {', '.join(EXPECTED)}, got "
                f"{control.expected!r}"
            )
        for label in control.tasks:
            if label not in config.tasks:
                raise ConfigurationError(
                    "study.controls: tasks must be among "
                    f"{', '.join(config.tasks)}, got {label!r}"
                )
    try:
        most = MOST_MARGIN if config.metric == "area" else 1.0
        compared = tuple(map(_secondary, secondary))
        margin = memory.within("study.margin", config.margin, 1e-6, most)
        alpha = memory.within("study.alpha", config.alpha, 0.001, MOST_ALPHA)
        seeds = memory.count("study.seeds", config.seeds, 1, MOST_SEEDS)
        initial = memory.count("study.initial", config.initial, minimum=1)
        instances = tuple(
            memory.count("study.instances", instance, minimum=1)
            for instance in config.instances
        )
    except (TypeError, ValueError) as error:
        raise ConfigurationError(str(error)) from error
    _refuse_repeats("study.instances", [str(instance) for instance in instances])
    tasks = tuple(
        _task_of(composer, label, entry, config.budget)
        for label, entry in config.tasks.items()
    )
    if not tasks or not arms or not instances:
        raise ConfigurationError(
            "a study needs at least one task, one arm and one instance, got "
            f"{len(tasks)}, {len(arms)} and {len(instances)}"
        )
    _check_episodes(config, tasks, arms)
    for task in tasks:
        if task.episode is None and task.budget <= initial:
            raise ConfigurationError(
                f"study.tasks.{task.label}: budget must exceed study.initial, got "
                f"{task.budget} <= {initial}"
            )
    return Study(
        name=config.name,
        question=config.question,
        tasks=tasks,
        arms=tuple(arms),
        seeds=tuple(range(1, seeds + 1)),
        instances=instances,
        initial=initial,
        salt=config.salt,
        contrasts=tuple(Contrast(c.arm, c.base, c.title, c.group) for c in contrasts),
        controls=tuple(
            Control(c.arm, c.base, c.title, c.expected, tuple(c.tasks))
            for c in controls
        ),
        secondary=compared,
        metric=config.metric,
        margin=margin,
        alpha=alpha,
    )


def _check_episodes(
    config: StudyConfig, tasks: Sequence[StudyTask], arms: Sequence[Arm]
) -> None:
    """Refuses arms that a task cannot read, and a metric that means nothing to it."""
    if config.metric not in METRICS:
        raise ConfigurationError(
            f"study.metric must be one of {', '.join(METRICS)}, got {config.metric!r}"
        )
    playing = [task.label for task in tasks if task.episode is not None]
    if playing and len(playing) < len(tasks):
        raise ConfigurationError(
            "study.tasks must all be searched or all play their runs themselves, got "
            f"{playing[0]} beside others"
        )
    if playing and config.metric != "regret":
        raise ConfigurationError(
            f"study.metric must be regret where tasks play their runs themselves, as "
            f"{playing[0]} does, got {config.metric!r}"
        )
    speeches = {task.episode.speech: None for task in tasks if task.episode is not None}
    if len(speeches) > 1:
        raise ConfigurationError(
            "study.tasks must have one kind of score, got "
            f"{', '.join(speech.score for speech in speeches)}"
        )
    for arm in arms:
        if bool(playing) != (arm.graded is not None):
            rule = (
                "must choose a recall or a compressor" if playing else "must choose no"
            )
            what = "" if playing else " recall or compressor, which no task here reads"
            raise ConfigurationError(f"arm {arm.name} {rule}{what}")


#: What names an arm and what it is compared with.
_Planned = ContrastConfig | ControlConfig | SecondaryConfig


def _secondary(config: SecondaryConfig) -> Secondary:
    if config.measure not in MEASURES:
        raise ConfigurationError(
            f"study.secondary: measure must be one of {', '.join(MEASURES)}, got "
            f"{config.measure!r}"
        )
    margin = memory.positive("study.secondary: margin", config.margin)
    return Secondary(config.arm, config.base, config.title, config.measure, margin)


def _refuse_odd_pairs(key: str, planned: Sequence[_Planned]) -> None:
    """Refuses an arm compared with itself, and a pair that is compared twice."""
    seen: list[set[str]] = []
    for one in planned:
        pair = {one.arm, one.base}
        if len(pair) < 2:
            raise ConfigurationError(
                f"study.{key}: arm and base must differ, got {one.arm!r} twice"
            )
        if pair in seen:
            raise ConfigurationError(
                f"study.{key}: a pair of arms may be compared once, got {one.arm!r} "
                f"and {one.base!r} twice"
            )
        seen.append(pair)


def _refuse_repeats(name: str, values: Sequence[str]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise ConfigurationError(f"{name} must differ, got {value!r} twice")
