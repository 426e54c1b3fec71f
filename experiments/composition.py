"""Composes configurations through Hydra, and says what would do where it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path
from typing import Any, cast

from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError


class ConfigurationError(ValueError):
    """A configuration that cannot become a study; the message says what would do."""


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
        ConfigurationError: The folder does not exist, or holds a name of ours.
    """

    def __init__(self, config_dir: Path | None = None) -> None:
        self._search: list[str] = []
        self._composed: dict[tuple[str, ...], DictConfig] = {}
        self._folders: list[Traversable] = [files("conf")]
        if config_dir is not None:
            if not config_dir.is_dir():
                raise ConfigurationError(
                    f"--config-dir must be a folder, got {str(config_dir)!r}"
                )
            place = quoted(f"file://{config_dir.resolve()}")
            self._search = [f"hydra.searchpath=[{place}]"]
            self._folders.insert(0, config_dir)
            _refuse_shadows(config_dir)

    def compose(self, name: str, overrides: Sequence[str] = ()) -> DictConfig:
        """Returns the configuration ``name`` under ``overrides``, not yet resolved.

        Raises:
            ConfigurationError: Hydra refuses it; the message carries the choices.
        """
        key = (name, *overrides)
        if key in self._composed:
            return self._composed[key]
        with _hydra():
            try:
                config = compose(name, overrides=[*self._search, *overrides])
            except (
                HydraException,
                OmegaConfBaseException,
                YAMLError,
                UnicodeDecodeError,
            ) as error:
                message = explained(error) + self._choices(name, overrides, str(error))
                raise ConfigurationError(message) from error
        self._composed[key] = config
        return config

    def node(
        self, group: str, name: object, values: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        """Returns one configuration of ``group`` alone, some of its keys set.

        A key may be dotted (``task.dimension`` of a wrapped task), or choose what is
        wrapped (``task@task.task: bbob``, ``proposer@proposer.mutation: bit_flip``).

        Raises:
            ConfigurationError: There is no such configuration, or no such key.
        """
        self.require(group, name)
        # A key such as task@task.task chooses a configuration, not a value of this one.
        changes = [
            f"{key}={value}" if "@" in key else f"{group}.{key}={quoted(value)}"
            for key, value in (values or {}).items()
        ]
        config = self.compose("single", [f"+{group}={name}", *changes])
        return cast(dict[str, Any], plain(config)[group])

    def _choices(self, name: str, overrides: Sequence[str], message: str) -> str:
        """Returns the keys beside one that Hydra could not override, as a line."""
        found = re.search(r"Could not override '([^']+)'", message)
        if found is None:
            return ""
        *parents, _ = found[1].split(".")
        # What chooses other groups must stand, or other keys than the user's are named.
        groups = [t for t in overrides if "." not in t.partition("=")[0]]
        with _hydra():
            node = compose(name, overrides=[*self._search, *groups])
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
                text = path.read_bytes().decode(errors="replace")
                for line in text.splitlines():
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


def _refuse_shadows(folder: Path) -> None:
    """Refuses a folder with a name of ours: Hydra would silently read ours instead."""
    ours = files("conf")
    for path in sorted(folder.rglob("*.yaml")):
        name = path.relative_to(folder)
        if ours.joinpath(*name.parts).is_file():
            raise ConfigurationError(
                f"{path} has the name of a configuration of ours, which would be read "
                "instead: give it another"
            )


def explained(error: Exception) -> str:
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


def plain(config: DictConfig) -> dict[str, Any]:
    """Returns a composed configuration as plain data, interpolations resolved.

    Raises:
        ConfigurationError: An interpolation leads nowhere.
    """
    try:
        return cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
    except OmegaConfBaseException as error:
        raise ConfigurationError(explained(error)) from error


def updated(config: DictConfig, values: Mapping[str, object]) -> DictConfig:
    """Returns a copy of ``config`` with some keys set; each must be there already.

    Raises:
        ConfigurationError: A key is not there; the message names the keys that are.
    """
    copy = config.copy()
    OmegaConf.set_struct(copy, True)
    for key, value in values.items():
        try:
            OmegaConf.update(copy, key, value, merge=False)
        except (OmegaConfBaseException, ValueError) as error:
            parent = OmegaConf.select(copy, key.rpartition(".")[0] or "@")
            keys = parent if isinstance(parent, DictConfig) else copy
            known = ", ".join(str(key) for key in keys if not str(key).startswith("_"))
            raise ConfigurationError(
                f"there is no key {key!r}; beside it there are {known}"
            ) from error
    return copy


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
            f"{name}: {explained(cast(Exception, cause))}"
        ) from error


def quoted(value: object) -> str:
    """Returns ``value`` as the right-hand side of an override."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{k}:{quoted(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(quoted, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def swept(overrides: Sequence[str]) -> list[list[str]]:
    """Returns the plain overrides of every combination of a sweep, in order.

    ``a=1,2 b=3,4`` makes four lists; ``choice``, ``range`` and their like work as in
    Hydra.

    Raises:
        ConfigurationError: An override cannot be parsed or its sweep not be expanded.
    """
    axes: list[list[str]] = []
    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
        for override in parsed:
            if override.is_sweep_override():
                key = override.get_key_element()
                axes.append([f"{key}={v}" for v in override.sweep_string_iterator()])
            else:
                axes.append([str(override.input_line)])
    except (HydraException, NotImplementedError, AssertionError) as error:
        raise ConfigurationError(f"the sweep cannot be expanded: {error}") from error
    return [list(combination) for combination in product(*axes)]
