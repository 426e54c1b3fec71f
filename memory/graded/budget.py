"""What to compress, and what to show the model: pure functions of the tiers."""

from __future__ import annotations

from collections.abc import Sequence
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
    to an unanswered tool call or to one of the newest; where the summaries have no room
    for one more, the summaries as well. The long-term tier does not count.
    """
    total = tiers.tokens(Tier.SHORT) + tiers.tokens(Tier.MEDIUM)
    if total <= settings.threshold_tokens or tiers.messages_to_wait:
        return ()
    chosen = _old(tiers, settings.recent_tokens)
    room = settings.medium_tokens - settings.summary_tokens
    if tiers.tokens(Tier.MEDIUM) > room:
        summaries = tiers.ids(Tier.MEDIUM)
        chosen = [*(id_ for id_ in summaries if not tiers.is_pinned(id_)), *chosen]
    freed = sum([tiers.place(id_).tokens for id_ in chosen])
    if freed <= _WORTHWHILE * settings.summary_tokens:
        return ()
    return tuple(chosen)


def context_ids(tiers: Tiers, budget_tokens: int) -> list[str]:
    """Returns the ids of what the model is shown, within a budget of tokens.

    First the system messages, then the long, the medium and the short-term tier, each in
    the order of time. What is pinned is always there; then the budget is filled with the
    newest of the short, the medium and the long-term tier, each up to the first that does
    not fit. Calls of tools come with their outputs or not at all; outputs whose calls are
    gone are left out.

    Raises:
        ValueError: What is pinned does not fit into the budget.
    """
    chosen: dict[str, None] = {}
    left = budget_tokens
    pinned = [*tiers.system, *(id_ for id_ in (tiers.task, tiers.question) if id_)]
    for id_ in pinned:
        left -= _take(tiers, id_, chosen)
    if left < 0:
        raise ValueError(
            f"budget_tokens must hold what is pinned, {budget_tokens - left} tokens, got "
            f"{budget_tokens}"
        )
    for tier in (Tier.SHORT, Tier.MEDIUM, Tier.LONG):
        for id_ in reversed(tiers.ids(tier)):
            if id_ in chosen or tiers.groups.is_orphan(id_):
                continue
            if _cost(tiers, id_, chosen) > left:
                break
            left -= _take(tiers, id_, chosen)
    return _in_order(tiers, chosen)


def _old(tiers: Tiers, recent_tokens: int) -> list[str]:
    """Returns what of the short-term tier may be compressed, the oldest first."""
    ids = tiers.ids(Tier.SHORT)
    recent: dict[str, None] = {}
    kept = 0
    for id_ in reversed(ids):
        kept += tiers.place(id_).tokens
        if kept > recent_tokens:
            break
        recent.update(dict.fromkeys(tiers.groups.members(id_)))
    return [id_ for id_ in ids if id_ not in recent and _may_go(tiers, id_)]


def _may_go(tiers: Tiers, id: str) -> bool:
    """Returns whether ``id`` and all that belong to it may be compressed."""
    return not tiers.groups.is_open(id) and all(
        tiers.tier(member) is Tier.SHORT and not tiers.is_pinned(member)
        for member in tiers.groups.members(id)
    )


def _cost(tiers: Tiers, id: str, chosen: dict[str, None]) -> int:
    """Returns the tokens of ``id`` and of what belongs to it, as far as not chosen."""
    members = [one for one in tiers.groups.members(id) if one not in chosen]
    return sum([tiers.place(member).tokens for member in members])


def _take(tiers: Tiers, id: str, chosen: dict[str, None]) -> int:
    """Chooses ``id`` and what belongs to it; returns their tokens."""
    cost = _cost(tiers, id, chosen)
    chosen.update(dict.fromkeys(tiers.groups.members(id)))
    return cost


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
