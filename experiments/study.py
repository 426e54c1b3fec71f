"""A study: the question, the tasks, the arms and the seeds, read from ``conf/study``.

This is the only reader of a composed configuration. It becomes frozen dataclasses and
objects here, once; no ``DictConfig`` goes any further.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast

from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

import memory
from experiments.contracts import Proposer, Task, Weighting

_NAME = re.compile(r"[a-z0-9][a-z0-9_.+=,-]*", re.IGNORECASE)


class ConfigurationError(ValueError):
    """A configuration that cannot become a study; the message says what would do."""


@dataclass
class ContrastConfig:
    """One planned comparison, as a yaml says it."""

    arm: str = MISSING
    base: str = MISSING
    title: str = MISSING


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
    initial: int = 10
    salt: str = "boltzmem"
    contrasts: list[ContrastConfig] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Contrast:
    """One planned comparison: ``arm`` minus ``base``."""

    arm: str
    base: str
    title: str


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
    """

    name: str
    title: str
    settings: memory.Settings
    natural_diversity: bool
    stream_salt: str
    weighting: Weighting


@dataclass(frozen=True, slots=True)
class StudyTask:
    """A task with its label, its proposer and its natural metric."""

    label: str
    task: Task
    proposer: Proposer
    natural_diversity: memory.Diversity
    budget: int


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
        contrasts: The planned comparisons.
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

    @property
    def description(self) -> Any:  # noqa: ANN401
        """Everything that the study is, as plain data."""
        return memory.description(self, "study")


@contextmanager
def _hydra() -> Iterator[None]:
    """Opens ``conf`` for composing, wherever this is run from."""
    if GlobalHydra.instance().is_initialized():
        yield
        return
    with initialize_config_module("conf", version_base="1.3"):
        yield


class Composer:
    """Composes configurations from ``conf`` and from the user's own folder.

    Args:
        config_dir: Folder of the user's own arms, tasks and studies, laid out like
            ``conf``.

    Raises:
        ConfigurationError: The folder does not exist.
    """

    def __init__(self, config_dir: Path | None = None) -> None:
        self._search: list[str] = []
        self._folders: list[Traversable] = [files("conf")]
        if config_dir is not None:
            if not config_dir.is_dir():
                raise ConfigurationError(
                    f"--config-dir must be a folder, got {str(config_dir)!r}"
                )
            self._search = [f"hydra.searchpath=[file://{config_dir.resolve()}]"]
            self._folders.insert(0, config_dir)

    def compose(self, name: str, overrides: Sequence[str] = ()) -> DictConfig:
        """Returns the configuration ``name`` under ``overrides``, resolved.

        Raises:
            ConfigurationError: Hydra refuses it; the message carries the choices.
        """
        with _hydra():
            try:
                config = compose(name, overrides=[*self._search, *overrides])
                OmegaConf.resolve(config)
            except (HydraException, OmegaConfBaseException) as error:
                explained = _explained(error) + self._choices(name, str(error))
                raise ConfigurationError(explained) from error
        return config

    def _choices(self, name: str, message: str) -> str:
        """Returns the keys beside one that Hydra could not override, as a line."""
        found = re.search(r"Could not override '([^']+)'", message)
        if found is None:
            return ""
        *parents, _ = found[1].split(".")
        with _hydra():
            node = compose(name, overrides=self._search)
            for parent in parents:
                node = node.get(parent) if isinstance(node, DictConfig) else None
        if not isinstance(node, DictConfig):
            return ""
        keys = ", ".join(str(key) for key in node if not str(key).startswith("_"))
        return f"\n{'.'.join(parents) or 'The configuration'} has the keys {keys}."

    def comment(self, group: str, name: str) -> str:
        """Returns the one line that a yaml says of itself: its first comment."""
        for folder in self._folders:
            path = folder / group / f"{name}.yaml"
            if path.is_file():
                for line in path.read_text(encoding="utf-8").splitlines():
                    if line.startswith("#") and "@package" not in line:
                        return line.removeprefix("#").strip()
        return ""

    def require(self, group: str, name: object) -> None:
        """Refuses a ``name`` that ``group`` does not have, with the choices."""
        known = self.names(group)
        if name not in known:
            raise ConfigurationError(
                f"{group} must be one of {', '.join(known)}, got {name!r}"
            )

    def names(self, group: str) -> list[str]:
        """Returns the names of all configurations of ``group``, sorted."""
        found: dict[str, None] = {}
        for folder in self._folders:
            if (folder / group).is_dir():
                for path in (folder / group).iterdir():
                    if path.name.endswith(".yaml"):
                        found[path.name.removesuffix(".yaml")] = None
        return sorted(found)


def _explained(error: Exception) -> str:
    """Returns the message of a Hydra error with what its causes add."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        lines.extend(
            line.rstrip()
            for line in str(cause).splitlines()
            if line.strip() and line.rstrip() not in lines
        )
        cause = cause.__cause__
    return "\n".join(lines)


def _plain(config: DictConfig) -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))


def built(node: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401
    """Returns the object that a plain configuration node describes.

    Raises:
        ConfigurationError: Its class refuses it; the message names the node.
    """
    try:
        return instantiate(dict(node))
    except HydraException as error:
        cause = error.__cause__ or error
        raise ConfigurationError(
            f"{name}: {_explained(cast(Exception, cause))}"
        ) from error


def arm_of(config: DictConfig, name: str, title: str) -> Arm:
    """Returns the arm that a composed configuration describes.

    Raises:
        ConfigurationError: A value is refused; the message names its key.
    """
    plain = _plain(config)
    rooms = ("diversity", "temperature", "scaling", "selection", "survival")
    policies = {room: built(plain[room], f"arm {name}: {room}") for room in rooms}
    try:
        settings = memory.Settings(
            capacity=plain["capacity"], elite_size=plain["elite_size"], **policies
        )
        return Arm(
            name=name,
            title=title,
            settings=settings,
            natural_diversity=memory.flag(
                "natural_diversity", plain["natural_diversity"]
            ),
            stream_salt=memory.utf8("stream_salt", plain["stream_salt"]),
            weighting=built(plain["weighting"], f"arm {name}: weighting"),
        )
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"arm {name}: {error}") from error


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
    proposer_name = values.pop("proposer", None)
    try:
        composer.require("task", family)
        node = composer.compose(
            f"task/{family}",
            [f"task.{key}={_quoted(value)}" for key, value in values.items()],
        )
        task = cast(Task, built(_plain(node)["task"], where))
        proposer_name = proposer_name or task.natural_proposer
        composer.require("proposer", proposer_name)
        proposer = _plain(composer.compose(f"proposer/{proposer_name}"))["proposer"]
        metric = _plain(composer.compose(f"diversity/{task.natural_diversity}"))
        return StudyTask(
            label=label,
            task=task,
            proposer=cast(Proposer, built(proposer, where)),
            natural_diversity=built(metric["diversity"], where),
            budget=memory.count(f"{where}.budget", own_budget, minimum=2),
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from error
    except (TypeError, ValueError) as error:
        raise ConfigurationError(str(error)) from error


def _quoted(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _schema(node: DictConfig) -> StudyConfig:
    try:
        merged = OmegaConf.merge(OmegaConf.structured(StudyConfig), node)
        return cast(StudyConfig, OmegaConf.to_object(merged))
    except OmegaConfBaseException as error:
        known = ", ".join(f.name for f in dataclasses.fields(StudyConfig))
        raise ConfigurationError(
            f"study: {_explained(error)}\nA study has the keys {known}."
        ) from error


#: Top-level keys that make an arm; overriding one makes an arm of the command line.
_ARM_KEYS = re.compile(
    r"[+~]*(arm|profile|capacity|elite_size|natural_diversity|stream_salt|diversity|"
    r"mapping|temperature|scaling|selection|survival|weighting)\b"
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
    of_arm = [text for text in overrides if _ARM_KEYS.match(text)]
    base = composer.compose("config", overrides)
    unknown = [key for key in base if not _KEYS.fullmatch(str(key))]
    if unknown:
        raise ConfigurationError(
            f"the configuration has no key {unknown[0]!r}: an added key would be read by "
            "nobody"
        )
    config = _schema(base.study)
    if of_arm:
        name = ",".join(of_arm)
        arms = [arm_of(base, name, "as given on the command line")]
        contrasts: list[ContrastConfig] = []
    else:
        arms = [_arm_named(composer, name) for name in config.arms]
        contrasts = config.contrasts
    return _study(config, composer, arms, contrasts)


def _arm_named(composer: Composer, name: str) -> Arm:
    config = composer.compose("config", [f"arm={name}"])
    return arm_of(config, name, composer.comment("arm", name))


def _study(
    config: StudyConfig,
    composer: Composer,
    arms: Sequence[Arm],
    contrasts: Sequence[ContrastConfig],
) -> Study:
    if not _NAME.fullmatch(config.name):
        raise ConfigurationError(
            f"study.name must be made of letters, digits and _.-, got {config.name!r}"
        )
    names = [arm.name for arm in arms]
    _refuse_repeats("study.arms", names)
    for contrast in contrasts:
        for role, arm in (("arm", contrast.arm), ("base", contrast.base)):
            if arm not in names:
                raise ConfigurationError(
                    f"study.contrasts: {role} must be one of {', '.join(names)}, "
                    f"got {arm!r}; study.contrasts=[] drops all contrasts"
                )
    try:
        seeds = memory.count("study.seeds", config.seeds, minimum=1)
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
    for task in tasks:
        if task.budget <= initial:
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
        contrasts=tuple(Contrast(c.arm, c.base, c.title) for c in contrasts),
    )


def _refuse_repeats(name: str, values: Sequence[str]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise ConfigurationError(f"{name} must differ, got {value!r} twice")
