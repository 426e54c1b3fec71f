"""What to compress, and what to show the model: pure functions of the tiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from memory.graded.settings import GradedSettings
from memory.graded.tiers import Tier, Tiers

#: A compression must free at least this many times what its summary may take: less would
#: call the compressor again and again for nothing.
_WORTHWHILE = 2


def overdue_ids(tiers: Tiers, settings: GradedSettings) -> tuple[str, ...]:
    """Returns the ids that are overdue for compression, the oldest first; mostly none.

    Where the short and the medium-term tier are above the threshold, these are the
    messages of the short-term tier but for the newest, the pinned, and those that belong
    to a tool call that waits for its output or to one of the newest; where the summaries
    have no room for one more, the summaries as well. They are at most as much as may be
    compressed at once. Neither the long-term tier nor what no context shows counts.
    """
    total = tiers.tokens(Tier.SHORT) + tiers.tokens(Tier.MEDIUM)
    if total <= settings.threshold_tokens or tiers.messages_to_wait:
        return ()
    hidden = [id_ for id_ in tiers.groups.outdated if tiers.tier(id_) is Tier.SHORT]
    if total - _tokens(tiers, hidden) <= settings.threshold_tokens:
        return ()
    chosen = _old(tiers, settings)
    room = settings.medium_tokens - settings.summary_tokens
    if tiers.tokens(Tier.MEDIUM) > room:
        summaries = tiers.ids(Tier.MEDIUM)
        chosen = [*(id_ for id_ in summaries if not tiers.is_pinned(id_)), *chosen]
    worthwhile = _WORTHWHILE * settings.summary_tokens
    chosen = _bounded(tiers, chosen, settings.input_tokens, worthwhile)
    if _freed(tiers, chosen) <= worthwhile:
        return ()
    return tuple(chosen)


def context_ids(
    tiers: Tiers, budget_tokens: int, long_share: float = 0.25
) -> list[str]:
    """Returns the ids of what the model is shown, within a budget of tokens.

    First the system messages, then the long, the medium and the short-term tier, each in
    the order of time. What is pinned is always there; then the newest message of the
    short-term tier, if the budget holds it; then the newest of the long-term tier within
    its share. What is left is filled with the newest of the short, the medium and the
    long-term tier, each up to the first that does not fit; what no context of this budget
    could hold is passed over.

    Calls of tools come with their outputs or not at all, and of the outputs of a call only
    the latest comes; outputs whose calls are gone are left out.

    Raises:
        ValueError: What is pinned does not fit into the budget.
    """
    chosen: dict[str, None] = {}
    left = budget_tokens
    for id_ in tiers.pinned:
        left -= _take(tiers, id_, chosen)
    if left < 0:
        raise ValueError(
            f"budget_tokens must hold what is pinned, {budget_tokens - left} tokens, got "
            f"{budget_tokens}"
        )
    largest = left
    newest = _newest(tiers)
    if newest is not None and _cost(tiers, newest, chosen) <= left:
        left -= _take(tiers, newest, chosen)
    share = min(left, int(long_share * budget_tokens))
    left -= _fill(tiers, Tier.LONG, share, share, chosen)
    for tier in (Tier.SHORT, Tier.MEDIUM, Tier.LONG):
        left -= _fill(tiers, tier, left, largest, chosen)
    return _in_order(tiers, chosen)


def too_large_ids(tiers: Tiers, budget_tokens: int) -> tuple[str, ...]:
    """Returns the ids of what no context of a budget can hold, what is pinned besides."""
    chosen: dict[str, None] = {}
    left = budget_tokens
    for id_ in tiers.pinned:
        left -= _take(tiers, id_, chosen)
    return tuple(
        [
            id_
            for tier in Tier
            # No message is larger than the whole tier.
            if tiers.tokens(tier) > left
            for id_ in tiers.ids(tier)
            if id_ not in chosen
            and tiers.is_shown(id_)
            and _cost(tiers, id_, chosen) > left
        ]
    )


def _old(tiers: Tiers, settings: GradedSettings) -> list[str]:
    """Returns what of the short-term tier may be compressed, the oldest first."""
    recent = _recent(tiers, settings)
    old: list[str] = []
    judged: dict[str, bool] = {}
    for id_ in tiers.ids(Tier.SHORT):
        if id_ not in judged:
            members = tiers.groups.members(id_)
            may_go = not any(one in recent for one in members) and _may_go(tiers, id_)
            judged.update(dict.fromkeys(members, may_go))
        if judged[id_]:
            old.append(id_)
    return old


def _recent(tiers: Tiers, settings: GradedSettings) -> dict[str, None]:
    """Returns what stays as it is: the newest, whatever it takes if a context holds it."""
    recent: dict[str, None] = {}
    newest = _newest(tiers)
    if newest is not None:
        room = settings.threshold_tokens - _tokens(tiers, tiers.pinned)
        if _cost(tiers, newest, {}) <= room:
            recent.update(dict.fromkeys(tiers.groups.members(newest)))
    kept = 0
    for id_ in reversed(tiers.ids(Tier.SHORT)):
        if not tiers.is_shown(id_):
            continue
        kept += tiers.place(id_).tokens
        if kept > settings.recent_tokens:
            break
        if id_ not in recent:
            recent.update(dict.fromkeys(tiers.groups.members(id_)))
    return recent


def _bounded(
    tiers: Tiers, chosen: Sequence[str], most: int, worthwhile: int
) -> list[str]:
    """Returns the first of ``chosen`` that are compressed at once, groups undivided.

    A group that is too large even alone comes last where it comes at all: it is passed
    over after a failure, which may have been for its sake.
    """
    taken: dict[str, None] = {}
    left = most
    for id_ in chosen:
        if id_ in taken:
            continue
        members = tiers.groups.members(id_)
        cost = _tokens(tiers, members)
        if cost > most:
            if tiers.failures:
                continue
            if _freed(tiers, taken) <= worthwhile:
                taken.update(dict.fromkeys(members))
            break
        if cost > left:
            break
        taken.update(dict.fromkeys(members))
        left -= cost
    return [id_ for id_ in chosen if id_ in taken]


def _may_go(tiers: Tiers, id: str) -> bool:
    """Returns whether ``id`` and all that belong to it may be compressed."""
    return not tiers.is_open(id) and all(
        tiers.tier(member) is Tier.SHORT and not tiers.is_pinned(member)
        for member in tiers.groups.members(id)
    )


def _newest(tiers: Tiers) -> str | None:
    """Returns the newest of the short-term tier that is shown and not pinned anyway."""
    for id_ in reversed(tiers.ids(Tier.SHORT)):
        if tiers.is_shown(id_) and not tiers.is_pinned(id_):
            return id_
    return None


def _fill(
    tiers: Tiers, tier: Tier, room: int, largest: int, chosen: dict[str, None]
) -> int:
    """Chooses the newest of a tier, up to the first that does not fit into ``room``.

    Those above ``largest`` are passed over.

    Returns:
        Their tokens.
    """
    left = room
    for id_ in reversed(tiers.ids(tier)):
        if id_ in chosen or not tiers.is_shown(id_):
            continue
        cost = _cost(tiers, id_, chosen)
        if cost > largest:
            continue
        if cost > left:
            break
        left -= _take(tiers, id_, chosen)
    return room - left


def _cost(tiers: Tiers, id: str, chosen: dict[str, None]) -> int:
    """Returns the tokens of ``id`` and of what is shown with it, as far as not chosen."""
    return _tokens(tiers, [one for one in _shown(tiers, id) if one not in chosen])


def _take(tiers: Tiers, id: str, chosen: dict[str, None]) -> int:
    """Chooses ``id`` and what is shown with it; returns their tokens."""
    cost = _cost(tiers, id, chosen)
    chosen.update(dict.fromkeys(_shown(tiers, id)))
    return cost


def _shown(tiers: Tiers, id: str) -> list[str]:
    """Returns what is shown together with ``id``, itself included."""
    return [one for one in tiers.groups.members(id) if tiers.is_shown(one)]


def _freed(tiers: Tiers, ids: Iterable[str]) -> int:
    """Returns the tokens that contexts win by the compression of ``ids``."""
    return _tokens(tiers, [id_ for id_ in ids if not tiers.groups.is_outdated(id_)])


def _tokens(tiers: Tiers, ids: Iterable[str]) -> int:
    return sum([tiers.place(id_).tokens for id_ in ids])


def _in_order(tiers: Tiers, chosen: dict[str, None]) -> list[str]:
    system = [id_ for id_ in tiers.system if id_ in chosen]
    rest = chain.from_iterable(
        _of_tier(tiers, tier, chosen) for tier in (Tier.LONG, Tier.MEDIUM, Tier.SHORT)
    )
    first = dict.fromkeys(system)
    return [*first, *(id_ for id_ in rest if id_ not in first)]


def _of_tier(tiers: Tiers, tier: Tier, chosen: dict[str, None]) -> Sequence[str]:
    """Returns what is chosen of a tier, the oldest first."""
    ids = [id_ for id_ in chosen if tiers.tier(id_) is tier]
    return sorted(ids, key=lambda id_: tiers.place(id_).order)
