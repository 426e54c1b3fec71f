"""The fold of the tiers: who is where, decided alike by every worker."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import codec
from memory.codec import CorruptEntry, UnknownEvent
from memory.graded.events import (
    Added,
    Cleared,
    Committed,
    Compressed,
    Own,
    Removed,
    Tasked,
    Uncompressed,
    Voided,
    row,
)
from memory.graded.groups import Groups
from memory.graded.messages import Role
from memory.graded.settings import GradedSettings
from memory.graded.tiers import ABANDONED_AFTER_MESSAGES, Tier, Tiers
from memory.retention.keep_living import KeepLiving


def added(id: str, role: str = "assistant", tokens: int = 10, **named: Any) -> Added:
    return Added("", id, Role(role), tokens, 7, **named)


def folded(*events: Own, settings: GradedSettings | None = None) -> Tiers:
    tiers = Tiers(settings or GradedSettings())
    for event in events:
        tiers.apply(tiers.seq + 1, row(event))
    return tiers


def test_a_new_message_is_short_term() -> None:
    tiers = folded(added("a"), added("b", tokens=5))
    assert tiers.ids(Tier.SHORT) == ("a", "b")
    assert tiers.tokens(Tier.SHORT) == 15
    assert tiers.tier("a") is Tier.SHORT
    assert len(tiers) == 2


def test_a_summary_takes_the_place_of_its_messages() -> None:
    tiers = folded(
        added("a"), added("b"), added("c"), Compressed("", "s", ("a", "b"), 4, 7)
    )
    assert tiers.ids(Tier.MEDIUM) == ("s",)
    assert tiers.ids(Tier.SHORT) == ("c",)
    assert (tiers.tokens(Tier.SHORT), tiers.tokens(Tier.MEDIUM)) == (10, 4)
    assert tiers.tier("a") is None


@pytest.mark.parametrize(
    ("between", "ids"),
    [
        (Removed("", "k", "", ("a",)), ("a", "b")),
        (Committed("", "k", ("a",)), ("a", "b")),
        (Cleared("", "k", False), ("a", "b")),
        (Compressed("", "other", ("a",), 1, 7), ("a", "b")),
        (Tasked("", "k", "a"), ("a", "b")),
    ],
)
def test_a_compression_of_what_has_changed_meanwhile_is_void(
    between: Own, ids: tuple[str, ...]
) -> None:
    before = [added("u", "user"), added("a"), added("b"), between]
    tiers = folded(*before, Compressed("", "s", ids, 3, 7))
    assert "s" not in tiers
    assert tiers.n_void == 1
    assert [tiers.ids(tier) for tier in Tier] == [
        folded(*before).ids(tier) for tier in Tier
    ]


def test_a_void_summary_is_forgotten_like_all_that_is_in_no_tier() -> None:
    settings = GradedSettings(retention=KeepLiving(0))
    tiers = folded(added("a"), Compressed("", "s", ("b",), 3, 50), settings=settings)
    assert tiers.archive.forgotten("s") is not None
    assert tiers.archive.kept_bytes == 7


def test_what_is_pinned_is_never_compressed() -> None:
    start = [added("s", "system"), added("t", "user"), added("q", "user"), added("a")]
    tiers = folded(*start)
    assert (tiers.task, tiers.question) == ("t", "q")
    for id_ in ("s", "t", "q"):
        assert tiers.objection((id_, "a")) == f"ids must not be pinned, got {id_!r}"
    assert tiers.objection(("a",)) is None


def test_a_new_question_lets_go_of_the_one_before() -> None:
    tiers = folded(added("t", "user"), added("q", "user"), added("r", "user"))
    assert [tiers.is_pinned(id_) for id_ in "tqr"] == [True, False, True]


def test_a_named_task_takes_over_until_it_is_gone() -> None:
    start = [added("t", "user"), added("q", "user"), added("a"), Tasked("", "k", "a")]
    tiers = folded(*start)
    assert (tiers.task, tiers.is_pinned("t")) == ("a", False)
    assert folded(*start, Removed("", "l", "", ("a",))).task == "t"
    assert folded(*start, Tasked("", "l", "nobody")).task == "a"


def test_outputs_sent_in_the_users_name_are_no_question() -> None:
    tiers = folded(
        added("t", "user"), added("c", calls=("1",)), added("o", "user", answers=("1",))
    )
    assert tiers.question == "t"


def test_a_call_and_its_outputs_go_together() -> None:
    start = [
        added("c", calls=("1", "2")),
        added("o1", "tool", answers=("1",)),
        added("x"),
        added("o2", "tool", answers=("2",)),
    ]
    tiers = folded(*start)
    assert tiers.groups.members("o2") == ("c", "o1", "o2")
    assert tiers.objection(("c", "o1")) == (
        "ids must hold tool calls with their outputs, got 'c' alone"
    )
    assert tiers.objection(("c", "o1", "o2")) is None
    moved = folded(*start, Committed("", "k", ("o1",)))
    assert moved.ids(Tier.LONG) == ("c", "o1", "o2")
    gone = folded(*start, Removed("", "k", "", ("o1",)))
    assert gone.ids(Tier.SHORT) == ("x",)


def test_an_unanswered_call_is_not_compressed() -> None:
    start = [added("c", calls=("1",)), added("p", "tool", progress=("1",))]
    tiers = folded(*start)
    assert tiers.groups.n_open == 1
    assert "unanswered" in str(tiers.objection(("c", "p")))
    tiers = folded(*start, added("o", "tool", answers=("1",)))
    assert tiers.groups.n_open == 0
    assert tiers.objection(("c", "p", "o")) is None


def test_an_output_answers_the_latest_call_of_its_id() -> None:
    tiers = folded(
        added("c1", calls=("call_0",)),
        added("o1", "tool", answers=("call_0",)),
        added("c2", calls=("call_0",)),
        added("o2", "tool", answers=("call_0",)),
    )
    assert tiers.groups.members("c1") == ("c1", "o1")
    assert tiers.groups.members("c2") == ("c2", "o2")


def test_an_output_without_its_call_is_an_orphan() -> None:
    tiers = folded(
        added("c", calls=("1",)),
        Removed("", "k", "", ("c",)),
        added("o", "tool", answers=("1",)),
    )
    assert tiers.groups.orphans == ("o",)
    assert (
        folded(
            added("o", "tool", answers=("1",)), Cleared("", "k", False)
        ).groups.orphans
        == ()
    )


def test_an_output_follows_its_call_to_the_long_term() -> None:
    tiers = folded(
        added("t", "user"),
        added("c", calls=("1",)),
        Committed("", "k", ("c",)),
        added("o", "tool", answers=("1",)),
        added("again", "tool", answers=("1",)),
    )
    assert tiers.ids(Tier.LONG) == ("c", "o", "again")
    tiers.apply(tiers.seq + 1, row(Cleared("", "l", False)))
    assert tiers.ids(Tier.LONG) == ("c", "o", "again")
    tiers.apply(tiers.seq + 1, row(Removed("", "m", "", ("c",))))
    assert len(tiers) == 0


def test_an_output_that_joins_calls_of_two_tiers_takes_all_to_the_long_term() -> None:
    tiers = folded(
        added("a", calls=("1",)),
        added("b", calls=("2",)),
        Committed("", "k", ("a",)),
        added("o", "tool", answers=("1", "2")),
    )
    assert tiers.ids(Tier.LONG) == ("a", "b", "o")


def test_an_output_that_came_first_stands_behind_its_call() -> None:
    tiers = folded(
        added("o", "tool", answers=("1",)), added("x"), added("c", calls=("1",))
    )
    assert tiers.ids(Tier.SHORT) == ("x", "c", "o")
    assert tiers.place("o").order == 3
    assert tiers.order == 4
    # One that was committed takes its call along.
    tiers = folded(
        added("o", "tool", answers=("1",)),
        Committed("", "k", ("o",)),
        added("c", calls=("1",)),
    )
    assert tiers.ids(Tier.LONG) == ("c", "o")


def test_a_call_is_given_up_after_a_while_or_when_the_user_goes_on() -> None:
    start = [added("t", "user"), added("c", calls=("1",))]
    then = [added(f"m{number}") for number in range(ABANDONED_AFTER_MESSAGES)]
    assert "unanswered" in str(folded(*start, *then[:-1]).objection(("c",)))
    assert folded(*start, *then).objection(("c",)) is None
    assert folded(*start, added("q", "user")).objection(("c",)) is None


def superseded(*events: Own, id: str, by: str) -> Tiers:
    tiers = folded(*events)
    event = codec.Superseded("", id, "k", "corrected", by)
    tiers.apply(tiers.seq + 1, codec.row(event))
    return tiers


def test_an_output_that_supersedes_another_takes_its_place() -> None:
    start = [
        added("c", calls=("1",)),
        added("o", "tool", answers=("1",)),
        added("right", "tool", answers=("1",)),
    ]
    tiers = superseded(*start, id="o", by="right")
    assert tiers.groups.members("c") == ("c", "right")
    assert tiers.ids(Tier.SHORT) == ("c", "right")
    # What is no output of the call takes no place: the call goes, the other one stays.
    tiers = superseded(*start[:2], added("x"), id="o", by="x")
    assert tiers.ids(Tier.SHORT) == ("x",)
    assert superseded(*start, id="c", by="right").ids(Tier.SHORT) == ("right",)


def test_summaries_that_come_too_late_again_and_again_are_waited_for() -> None:
    settings = GradedSettings(backoff_messages=2)
    late = [Voided("", f"k{number}") for number in range(4)]
    waits = [folded(*late[:n], settings=settings).messages_to_wait for n in range(5)]
    assert waits == [0, 0, 2, 4, 8]
    tiers = folded(added("a"), *late, Compressed("", "s", ("a",), 1, 7))
    assert (tiers.n_void, tiers.voids, tiers.messages_to_wait) == (4, 0, 0)


def test_what_its_own_reader_refuses_is_never_written() -> None:
    with pytest.raises(TypeError, match=r"tokens must be an integer, got 2\.0"):
        row(added("a", tokens=2.0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tokens must be at least 0, got -1"):
        row(added("a", tokens=-1))
    with pytest.raises(TypeError, match="everything must be"):
        row(Cleared("", "k", 1))  # type: ignore[arg-type]


def test_one_output_may_answer_calls_of_several_messages() -> None:
    groups = Groups()
    groups.add("a", ["1"], [], [])
    groups.add("b", ["2", "3"], [], [])
    groups.add("o", [], ["1", "2"], [])
    assert groups.members("a") == groups.members("b") == ("a", "b", "o")
    assert groups.n_open == 1
    groups.add("p", [], ["3"], [])
    assert groups.members("p") == ("a", "b", "o", "p")
    assert groups.n_open == 0
    groups.drop("b")
    assert groups.members("a") == ("a", "o")
    assert groups.orphans == ("p",)


def test_the_long_term_is_in_the_order_of_time_not_of_commitment() -> None:
    tiers = folded(
        added("a"), added("b"), Committed("", "k", ("b",)), Committed("", "l", ("a",))
    )
    assert tiers.ids(Tier.LONG) == ("a", "b")
    assert tiers.tokens(Tier.LONG) == 20


def test_clearing_keeps_the_long_term_unless_told() -> None:
    start = [added("a"), added("b"), Committed("", "k", ("a",))]
    assert folded(*start, Cleared("", "l", False)).ids(Tier.LONG) == ("a",)
    tiers = folded(*start, Cleared("", "l", True))
    assert len(tiers) == 0
    assert [tiers.tokens(tier) for tier in Tier] == [0, 0, 0]


def test_the_wait_after_failures_doubles_and_ends_with_a_summary() -> None:
    settings = GradedSettings(backoff_messages=2, largest_backoff_messages=6)
    fail = [Uncompressed("", f"k{number}", "down") for number in range(4)]
    waits = [folded(*fail[:n], settings=settings).messages_to_wait for n in range(5)]
    assert waits == [0, 2, 4, 6, 6]
    events: list[Own] = [*fail, added("a"), added("b")]
    assert folded(*events, settings=settings).messages_to_wait == 4
    tiers = folded(*events, Compressed("", "s", ("a",), 1, 7), settings=settings)
    assert (tiers.messages_to_wait, tiers.failures, tiers.n_failures) == (0, 0, 4)
    assert tiers.last_failure == "down"


def test_entries_of_other_scopes_only_count() -> None:
    tiers = folded(added("a"))
    tiers.apply(2, row(Added("other", "b", Role.USER, 5, 7)))
    tiers.apply(3, codec.row(codec.Configured("other", "x")))
    # A kind that only the other stack knows.
    tiers.apply(4, codec.row(codec.Rescored("other", "i", "k", "", 1.0)))
    assert (len(tiers), tiers.seq) == (1, 4)


def test_a_score_has_no_place_among_messages() -> None:
    with pytest.raises(UnknownEvent, match="kind 'rescored' of version 1"):
        folded(added("a")).apply(2, codec.row(codec.Rescored("", "a", "k", "", 1.0)))


@pytest.mark.parametrize(
    "fields",
    [
        ["added/1", "", "a", "boss", 3, 7],
        ["added/1", "", "a", "user", -3, 7],
        ["added/1", "", "a", "user", 3, 7, {"odd": 1}],
        ["added/1", "", "a", "user", 3, 7, {"calls": "x"}],
        ["compressed/1", "", "s", "a", 3, 7],
        ["cleared/1", "", "k", 1],
        ["voided/1", "", 3],
        ["removed/1", "", "k", "", [3]],
    ],
)
def test_a_row_that_no_release_wrote_is_refused(fields: list[Any]) -> None:
    with pytest.raises(CorruptEntry, match="entry 1 of the journal is corrupt"):
        Tiers(GradedSettings()).apply(1, json.dumps(fields).encode())


def test_an_entry_out_of_turn_is_refused() -> None:
    with pytest.raises(ValueError, match="seq must be 2, the next one, got 3"):
        folded(added("a")).apply(3, row(added("b")))


names = st.sampled_from("abcdef")
few = st.lists(names, max_size=3, unique=True).map(tuple)
calls = st.lists(st.sampled_from("12"), max_size=2, unique=True).map(tuple)
events = st.one_of(
    st.builds(
        Added,
        st.just(""),
        names,
        st.sampled_from(Role),
        st.integers(0, 9),
        st.integers(0, 9),
        calls=calls,
        answers=calls,
        progress=calls,
        time=st.floats(0, 9),
    ),
    st.builds(
        Compressed,
        st.just(""),
        st.sampled_from("xyz"),
        few,
        st.integers(0, 9),
        st.integers(0, 9),
        time=st.floats(0, 9),
    ),
    st.builds(Uncompressed, st.just(""), names, names),
    st.builds(Voided, st.just(""), names),
    st.builds(Committed, st.just(""), names, few),
    st.builds(Removed, st.just(""), names, names, few),
    st.builds(Tasked, st.just(""), names, names),
    st.builds(Cleared, st.just(""), names, st.booleans()),
)


@given(
    first=st.lists(events, max_size=20),
    then=st.lists(events, max_size=20),
    grace=st.one_of(st.none(), st.integers(0, 3)),
)
def test_a_fold_restored_from_its_document_goes_on_as_if_never_stopped(
    first: list[Own], then: list[Own], grace: int | None
) -> None:
    settings = (
        GradedSettings()
        if grace is None
        else GradedSettings(retention=KeepLiving(grace))
    )
    went_on = Tiers(settings)
    known: set[str] = set()

    def apply(tiers: Tiers, event: Own) -> None:
        # A journal takes each record once.
        if isinstance(event, Added | Compressed) and event.id in known:
            return
        tiers.apply(tiers.seq + 1, row(event))

    for event in first:
        apply(went_on, event)
        if isinstance(event, Added | Compressed):
            known.add(event.id)
    restored = Tiers(settings)
    restored.restore(json.loads(json.dumps(went_on.document())))
    assert restored.digest() == went_on.digest()
    for event in then:
        apply(went_on, event)
        apply(restored, event)
        if isinstance(event, Added | Compressed):
            known.add(event.id)
        assert restored.digest() == went_on.digest()
        places = {
            tier: [went_on.place(id_) for id_ in went_on.ids(tier)] for tier in Tier
        }
        for tier in Tier:
            assert went_on.tokens(tier) == sum(one.tokens for one in places[tier])
            orders = [one.order for one in places[tier]]
            assert orders == sorted(orders)
        for id_ in [one for tier in Tier for one in went_on.ids(tier)]:
            # A group is whole, and in one tier.
            assert all(
                went_on.tier(member) is went_on.tier(id_)
                for member in went_on.groups.members(id_)
            )
