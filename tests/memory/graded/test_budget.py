"""What is compressed and what is shown, by hand and by property."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.graded.budget import context_ids, overdue_ids, too_large_ids
from memory.graded.events import (
    Added,
    Committed,
    Compressed,
    Own,
    Tasked,
    Uncompressed,
    row,
)
from memory.graded.settings import GradedSettings
from memory.graded.tiers import Tier, Tiers
from memory.graded.tokens.estimate import Estimate
from memory.policies import Dead
from memory.retention.keep_all import KeepAll
from tests.memory.graded.test_tiers import added, folded

SETTINGS = GradedSettings(
    threshold_tokens=100,
    recent_share=0.3,
    summary_share=0.1,
    medium_share=0.2,
    largest_input_share=10.0,
)


def many(n: int, first: int = 0, **named: Any) -> list[Own]:
    return [added(f"m{first + number}", **named) for number in range(n)]


def test_nothing_is_overdue_at_the_threshold() -> None:
    assert overdue_ids(folded(*many(10), settings=SETTINGS), SETTINGS) == ()


def test_above_it_all_but_the_newest_is_overdue() -> None:
    tiers = folded(*many(11), settings=SETTINGS)
    assert overdue_ids(tiers, SETTINGS) == tuple(f"m{i}" for i in range(8))


def test_the_pinned_and_the_open_are_left_alone() -> None:
    tiers = folded(
        added("s", "system"),
        added("t", "user"),
        added("c", calls=("1",)),
        *many(9),
        settings=SETTINGS,
    )
    assert overdue_ids(tiers, SETTINGS) == tuple(f"m{i}" for i in range(6))


def test_what_belongs_to_one_of_the_newest_is_left_alone() -> None:
    tiers = folded(
        added("c", calls=("1",)),
        *many(9),
        added("o", "tool", answers=("1",)),
        settings=SETTINGS,
    )
    assert overdue_ids(tiers, SETTINGS) == tuple(f"m{i}" for i in range(7))


def test_the_long_term_never_makes_anything_overdue() -> None:
    # Defect 82.
    tiers = folded(
        *many(24),
        Committed("", "k", tuple(f"m{i}" for i in range(15))),
        settings=SETTINGS,
    )
    assert (tiers.tokens(Tier.LONG), tiers.tokens(Tier.SHORT)) == (150, 90)
    assert overdue_ids(tiers, SETTINGS) == ()


def test_summaries_are_compressed_once_more_when_they_have_no_room() -> None:
    tiers = folded(
        *many(3),
        Compressed("", "s", ("m0", "m1", "m2"), 15, 7),
        *many(10, first=3),
        settings=SETTINGS,
    )
    assert overdue_ids(tiers, SETTINGS)[:2] == ("s", "m3")
    roomy = folded(
        *many(3),
        Compressed("", "s", ("m0", "m1", "m2"), 9, 7),
        *many(10, first=3),
        settings=SETTINGS,
    )
    assert overdue_ids(roomy, SETTINGS)[0] == "m3"


def test_what_frees_too_little_is_not_worth_a_compression() -> None:
    pinned = added("s", "system", tokens=500)
    assert overdue_ids(folded(pinned, *many(5), settings=SETTINGS), SETTINGS) == ()
    assert overdue_ids(folded(pinned, *many(6), settings=SETTINGS), SETTINGS) == (
        "m0",
        "m1",
        "m2",
    )


def test_after_a_failure_nothing_is_overdue_until_messages_have_come() -> None:
    # Defect 81.
    start = [*many(11), Uncompressed("", "k", "down")]
    assert overdue_ids(folded(*start, settings=SETTINGS), SETTINGS) == ()
    seven = [*start, *many(7, first=11)]
    assert overdue_ids(folded(*seven, settings=SETTINGS), SETTINGS) == ()
    eight = [*start, *many(8, first=11)]
    assert overdue_ids(folded(*eight, settings=SETTINGS), SETTINGS)


def test_the_context_begins_with_the_rules_and_ends_with_the_newest() -> None:
    # Defect 95: the order of time within each tier.
    tiers = folded(
        added("t", "user"),
        added("a"),
        added("s", "system"),
        *many(4),
        Compressed("", "sum", ("a", "m0"), 3, 7),
        Committed("", "k", ("m3",)),
        Committed("", "l", ("m1",)),
        added("q", "user"),
    )
    assert context_ids(tiers, 1000) == ["s", "m1", "m3", "sum", "t", "m2", "q"]


def test_what_does_not_fit_is_the_oldest_and_never_the_pinned() -> None:
    # Defect 86.
    tiers = folded(
        added("s", "system"), added("t", "user"), *many(9), added("q", "user")
    )
    assert context_ids(tiers, 55) == ["s", "t", "m7", "m8", "q"]
    assert context_ids(tiers, 30) == ["s", "t", "q"]
    with pytest.raises(ValueError, match="must hold what is pinned, 30 tokens, got 29"):
        context_ids(tiers, 29)


def test_a_call_is_shown_with_its_outputs_or_not_at_all() -> None:
    tiers = folded(
        added("t", "user"),
        added("c", calls=("1",)),
        added("x"),
        added("o", "tool", answers=("1",)),
    )
    assert context_ids(tiers, 40) == ["t", "c", "x", "o"]
    assert context_ids(tiers, 30) == ["t", "c", "o"]
    assert context_ids(tiers, 20) == ["t", "x"]
    assert context_ids(tiers, 19) == ["t"]


def test_an_orphan_is_not_shown() -> None:
    tiers = folded(
        added("t", "user"), added("o", "tool", answers=("gone",)), added("a")
    )
    assert context_ids(tiers, 100) == ["t", "a"]


def test_only_the_latest_output_of_a_call_is_shown() -> None:
    tiers = folded(
        added("t", "user"),
        added("c", calls=("1",)),
        *[added(f"p{i}", "tool", progress=("1",)) for i in range(50)],
        settings=SETTINGS,
    )
    assert context_ids(tiers, 100) == ["t", "c", "p49"]
    # What nobody sees makes nothing overdue.
    assert overdue_ids(tiers, SETTINGS) == ()
    tiers.apply(tiers.seq + 1, row(added("o", "tool", answers=("1",))))
    assert context_ids(tiers, 100) == ["t", "c", "o"]


def test_the_newest_stays_as_it_is_if_a_context_holds_it() -> None:
    tiers = folded(
        *many(9),
        added("c", calls=("1",)),
        added("o", "tool", tokens=60, answers=("1",)),
        settings=SETTINGS,
    )
    assert overdue_ids(tiers, SETTINGS) == tuple(f"m{i}" for i in range(9))
    assert context_ids(tiers, 100) == ["m6", "m7", "m8", "c", "o"]


def test_what_no_context_can_hold_does_not_empty_the_rest() -> None:
    tiers = folded(
        added("t", "user"),
        *many(5),
        added("c", calls=("1",)),
        added("o", "tool", tokens=600, answers=("1",)),
        settings=SETTINGS,
    )
    assert context_ids(tiers, 100) == ["t", *(f"m{i}" for i in range(5))]
    assert too_large_ids(tiers, 100) == ("c", "o")
    assert too_large_ids(tiers, 700) == ()
    assert {"c", "o"} <= set(overdue_ids(tiers, SETTINGS))


def test_the_long_term_has_a_share_of_the_context() -> None:
    facts = many(60)
    tiers = folded(
        *facts,
        Committed("", "k", tuple(f"m{i}" for i in range(60))),
        *many(30, first=60),
    )
    shown = context_ids(tiers, 200)
    assert shown[:5] == [f"m{i}" for i in range(55, 60)]
    assert len(shown) == 20
    assert context_ids(tiers, 200, 0.0) == [f"m{i}" for i in range(70, 90)]


def test_no_more_is_compressed_at_once_than_a_compressor_can_take() -> None:
    settings = dataclasses.replace(SETTINGS, largest_input_share=1.5)
    tiers = folded(*many(100), settings=settings)
    assert overdue_ids(tiers, settings) == tuple(f"m{i}" for i in range(15))


def test_a_message_that_is_too_large_to_compress_does_not_hold_up_the_others() -> None:
    settings = dataclasses.replace(SETTINGS, largest_input_share=1.0)
    start = [added("huge", tokens=500), *many(20)]
    tiers = folded(*start, settings=settings)
    assert overdue_ids(tiers, settings) == ("huge",)
    failed = [*start, Uncompressed("", "k", "too long"), *many(8, first=20)]
    tiers = folded(*failed, settings=settings)
    assert overdue_ids(tiers, settings) == tuple(f"m{i}" for i in range(10))


def test_given_up_calls_are_compressed() -> None:
    # They were kept for ever.
    calls = [added(f"m{i}", calls=(f"{i}",)) for i in range(100)]
    tiers = folded(*calls, settings=SETTINGS)
    assert overdue_ids(tiers, SETTINGS) == tuple(f"m{i}" for i in range(36))


tokens = st.integers(1, 30)
calls = st.lists(st.sampled_from("123"), max_size=2, unique=True).map(tuple)


@st.composite
def conversations(draw: st.DrawFn) -> list[Own]:
    events: list[Own] = []
    for number in range(draw(st.integers(1, 25))):
        role = draw(st.sampled_from(["user", "assistant", "system", "tool"]))
        named = {"calls" if role == "assistant" else "answers": draw(calls)}
        if role in ("user", "system"):
            named = {}
        events.append(
            Added("", f"m{number}", added("", role).role, draw(tokens), 7, **named)
        )
        if draw(st.integers(0, 5)) == 0:
            events.append(
                Committed("", f"k{number}", (f"m{draw(st.integers(0, number))}",))
            )
        if draw(st.integers(0, 9)) == 0:
            events.append(Tasked("", f"t{number}", f"m{draw(st.integers(0, number))}"))
    return events


@given(events=conversations(), budget=st.integers(0, 300))
def test_a_context_holds_its_budget(events: list[Own], budget: int) -> None:
    tiers = folded(*events)
    try:
        ids = context_ids(tiers, budget)
    except ValueError as error:
        needed = int(str(error).split(" tokens")[0].split()[-1])
        assert needed > budget
        return
    assert len(set(ids)) == len(ids)
    assert sum(tiers.place(id_).tokens for id_ in ids) <= budget
    for id_ in ids:
        for member in tiers.groups.members(id_):
            assert member in ids or not tiers.is_shown(member)
    assert all(id_ in ids for id_ in tiers.system)
    assert all(id_ in ids for id_ in (tiers.task, tiers.question) if id_)


@given(events=conversations())
def test_what_is_overdue_can_be_compressed_and_then_no_more_is(
    events: list[Own],
) -> None:
    tiers = folded(*events, settings=SETTINGS)
    ids = overdue_ids(tiers, SETTINGS)
    if not ids:
        return
    assert tiers.objection(ids) is None
    after: Tiers = folded(*events, Compressed("", "sum", ids, 10, 7), settings=SETTINGS)
    assert after.n_void == 0
    assert overdue_ids(after, SETTINGS) == ()


@given(events=conversations(), share=st.floats(0.1, 2.0))
def test_what_is_overdue_is_compressed_in_parts_until_nothing_is(
    events: list[Own], share: float
) -> None:
    settings = dataclasses.replace(SETTINGS, largest_input_share=share)
    tiers = folded(*events, settings=settings)
    size = len(tiers)
    while ids := overdue_ids(tiers, settings):
        assert tiers.objection(ids) is None
        tiers.apply(tiers.seq + 1, row(Compressed("", f"sum{size}", ids, 10, 7)))
        assert tiers.n_void == 0
        assert len(tiers) < size or len(ids) == 1
        size = len(tiers)
        if tiers.n_compressions > 50:
            raise AssertionError("it never ends")


class Forgets:
    """A rule that lacks a word."""

    def forgets(self, dead: Dead) -> bool:
        return False


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"threshold_tokens": 0}, "threshold_tokens must be at least 1"),
        ({"threshold_tokens": 5}, "summary_share must leave a summary at least one"),
        ({"recent_share": 0.8}, "must add up to less than 1"),
        ({"recent_share": 1.5}, r"recent_share must lie in \[0, 1\]"),
        ({"backoff_messages": 0}, "backoff_messages must be at least 1"),
        ({"long_share": 1.5}, r"long_share must lie in \[0, 1\]"),
        ({"largest_input_share": 0.0}, "largest_input_share must be"),
        (
            {"largest_backoff_messages": 3},
            "largest_backoff_messages must be at least 8",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(
    fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        GradedSettings(**fields)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"counter": 3}, "counter must be a policy"),
        ({"counter": Estimate}, "counter must be a policy"),
        ({"retention": None}, "retention must be a policy"),
        ({"retention": KeepAll}, "retention must be a policy"),
        ({"retention": Forgets()}, "retention must be a policy that says whether it"),
    ],
)
def test_policies_without_their_methods_are_refused(
    fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TypeError, match=reason):
        GradedSettings(**fields)
