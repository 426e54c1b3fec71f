"""Nothing is ever forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from memory.policies import Dead


@dataclass(frozen=True, slots=True)
class KeepAll:
    """The history keeps every record, and grows without bound."""

    keeps_all: ClassVar[bool] = True

    def forgets(self, dead: Dead) -> bool:
        """Returns ``False``."""
        return False
