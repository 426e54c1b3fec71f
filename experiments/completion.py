"""Tab completion of the ``boltzmem`` command: verbs here, overrides by Hydra.

Install it for a shell with ``eval "$(boltzmem -sc install=bash)"`` (or zsh, fish).
Hydra completes groups, keys and options; it knows nothing of verbs and would take one for
an override, so the verb is taken out of the line before Hydra sees it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import hydra
from omegaconf import DictConfig

from experiments.commands.store import ACTIONS

FLAGS = ("-sc", "--shell-completion")


def answered(arguments: Sequence[str], verbs: Sequence[str]) -> bool:
    """Answers a request of a shell for completion, and returns whether it was one."""
    if not arguments or arguments[0] not in FLAGS:
        return False
    line = os.environ.get("COMP_LINE", "")
    words = line.split()
    if arguments[1:] and arguments[1].startswith("query=") and words:
        typing_verb = len(words) == 1 or (len(words) == 2 and not line.endswith(" "))
        if typing_verb:
            start = words[1] if len(words) == 2 else ""
            print(" ".join(verb for verb in verbs if verb.startswith(start)))
            return True
        if words[1] == "store":
            # Its words are actions, addresses and files, of which Hydra knows nothing.
            if len(words) == 2 or (len(words) == 3 and not line.endswith(" ")):
                start = words[2] if len(words) == 3 else ""
                print(" ".join(one for one in ACTIONS if one.startswith(start)))
            return True
        if words[1] in verbs:
            before = line.index(words[1], len(words[0]))
            after = before + len(words[1])
            line = line[:before].rstrip() + line[after:]
            os.environ["COMP_LINE"] = line
            os.environ["COMP_POINT"] = str(len(line))
    sys.argv = [sys.argv[0], *arguments]
    hydra.main(version_base="1.3", config_path="pkg://conf", config_name="config")(
        _nothing
    )()
    return True


def _nothing(config: DictConfig) -> None:
    """Is never called: Hydra answers the shell and runs no job."""
