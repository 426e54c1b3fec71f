"""The elite archive: LoongFlow's rule."""

from __future__ import annotations

import numpy as np

from memory.policies import Flags, Floats, Integers


def admit(
    newcomer: int, scores: Floats, seqs: Integers, elites: Flags, size: int
) -> None:
    """Updates ``elites`` in place for the arrival of ``newcomer``.

    While there is room the newcomer enters. A full archive takes it only if it is strictly
    better than the lowest elite, who leaves; among equals the oldest leaves.

    Args:
        newcomer: Index of the newcomer.
        scores: ``(n,)`` raw scores of the living and the newcomer.
        seqs: ``(n,)`` their places in the journal.
        elites: ``(n,)`` flags, changed in place.
        size: Largest number of elites.

    References:
        LoongFlow, ``in_memory.py``, revision 3c1edc12.
    """
    members = np.flatnonzero(elites)
    if members.size < size:
        elites[newcomer] = True
        return
    if size == 0:
        return
    of_members = scores[members]
    low = of_members.min()
    if scores[newcomer] > low:
        lowest = members[of_members == low]
        elites[lowest[seqs[lowest].argmin()]] = False
        elites[newcomer] = True
