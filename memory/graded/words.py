"""Words of a text, for search and for ranking sentences.

Letters and digits in runs, case and width folded. Chinese, Japanese and Thai write no
spaces: of their runs, each character and each pair of neighbours is a word.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_SPACELESS = (
    "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_RUNS = re.compile(rf"[{_SPACELESS}]+|[^\W_{_SPACELESS}]+")
_SPACELESS_RUN = re.compile(rf"[{_SPACELESS}]+")

_UNSEEN = ("Cc", "Cf", "Cn", "Mn", "Zl", "Zp", "Zs")
#: Letters and symbols that are drawn as nothing.
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"


def words(text: str) -> list[str]:
    """Returns the words of ``text`` in their order, repetitions included."""
    found: list[str] = []
    for run in _RUNS.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _SPACELESS_RUN.fullmatch(run):
            found.extend(run)
            found.extend(first + second for first, second in pairwise(run))
        else:
            found.append(run)
    return found


def is_visible(text: str) -> bool:
    """Returns whether there is anything to see: more than blanks, controls and fillers."""
    return any(
        unicodedata.category(letter) not in _UNSEEN and letter not in _FILLERS
        for letter in text
    )
