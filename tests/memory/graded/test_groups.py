"""What belongs together: calls and outputs, in whatever order they come."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from memory.graded.groups import Groups


def test_an_output_of_calls_that_belong_together_already_counts_each_once() -> None:
    groups = Groups()
    groups.add("a", ["1"], [], [])
    groups.add("b", ["2", "3"], [], [])
    groups.add("o", [], ["1", "2", "3"], [])
    assert groups.members("b") == ("a", "b", "o")
    for id_ in ("a", "b", "o"):
        groups.drop(id_)
    assert groups.members("a") == ("a",)
    assert groups.n_open == 0


def test_of_several_calls_of_one_id_the_first_is_answered_first() -> None:
    groups = Groups()
    groups.add("a", ["c"], [], [])
    groups.add("b", ["c"], [], [])
    groups.add("p", [], ["c"], [])
    groups.add("q", [], ["c"], [])
    assert groups.members("a") == ("a", "p")
    assert groups.members("b") == ("b", "q")
    # Once all are answered, one more belongs to the latest.
    groups.add("r", [], ["c"], [])
    assert groups.members("b") == ("b", "q", "r")


def test_an_output_that_comes_before_its_call_waits_for_it() -> None:
    groups = Groups()
    groups.add("o", [], ["c"], [])
    groups.add("later", [], ["c"], [])
    assert groups.orphans == ("o", "later")
    assert groups.add("a", ["c"], [], []) == ("o",)
    assert groups.members("o") == ("a", "o")
    assert (groups.n_open, groups.orphans) == (0, ("later",))
    assert groups.add("b", ["c"], [], []) == ("later",)


def test_a_late_output_is_not_taken_for_that_of_a_later_call_of_the_same_id() -> None:
    groups = Groups()
    groups.add("a", ["c"], [], [])
    groups.drop("a")
    groups.add("late", [], ["c"], [])
    assert groups.add("b", ["c"], [], []) == ()
    assert groups.orphans == ("late",)
    assert groups.unanswered("b") == ("b",)


def test_the_latest_output_of_a_call_takes_the_place_of_those_before() -> None:
    groups = Groups()
    groups.add("a", ["c", "d"], [], [])
    groups.add("p", [], [], ["c"])
    groups.add("q", [], [], ["c", "d"])
    assert groups.outdated == ("p",)
    groups.add("o", [], ["c"], [])
    # It still says the latest of the other call.
    assert groups.outdated == ("p",)
    groups.add("e", [], ["d"], [])
    groups.add("slow", [], [], ["d"])
    assert groups.outdated == ("p", "q", "slow")
    groups.drop("o")
    assert groups.outdated == ("p", "slow")
    assert groups.unanswered("e") == ("a",)


def test_an_output_takes_the_place_of_another_of_the_same_calls_only() -> None:
    groups = Groups()
    groups.add("a", ["c"], [], [])
    groups.add("wrong", [], ["c"], [])
    groups.add("b", ["c"], [], [])
    groups.add("right", [], ["c"], [])
    groups.add("other", [], ["x"], [])
    assert not groups.replace("wrong", "other")
    assert not groups.replace("a", "right")
    assert not groups.replace("wrong", "nobody")
    assert groups.replace("wrong", "right")
    groups.drop("wrong")
    assert groups.members("a") == ("a", "right")
    assert groups.members("b") == ("b",)
    assert groups.unanswered("b") == ("b",)


names = st.sampled_from("123")
few = st.lists(names, max_size=2)
deeds = st.lists(
    st.one_of(
        st.tuples(st.just("add"), few, few, few),
        st.tuples(st.just("drop"), st.integers(0, 20)),
        st.tuples(st.just("replace"), st.integers(0, 20), st.integers(0, 20)),
    ),
    max_size=25,
)


@given(deeds=deeds)
def test_groups_are_whole_whatever_is_done_and_survive_their_document(
    deeds: list[tuple[object, ...]],
) -> None:
    groups = Groups()
    there: list[str] = []
    for number, (deed, *arguments) in enumerate(deeds):
        if deed == "add":
            groups.add(f"m{number}", *arguments)  # type: ignore[arg-type]
            there.append(f"m{number}")
        elif there:
            chosen = [there[int(str(one)) % len(there)] for one in arguments]
            if deed == "replace" and (
                chosen[0] == chosen[1] or not groups.replace(*chosen)
            ):
                continue
            groups.drop(chosen[0])
            there.remove(chosen[0])
        for id_ in there:
            members = groups.members(id_)
            assert id_ in members
            assert len(set(members)) == len(members)
            assert all(one in there for one in members)
            assert all(groups.members(one) == members for one in members)
            shown = [one for one in members if not groups.is_outdated(one)]
            assert shown
        open_ = [id_ for id_ in there if id_ in groups.unanswered(id_)]
        assert (groups.n_open > 0) == bool(open_)
        restored = Groups()
        document = json.loads(json.dumps(groups.document()))
        restored.restore(document)
        assert json.loads(json.dumps(restored.document())) == document
        for id_ in there:
            assert restored.members(id_) == groups.members(id_)
            assert restored.unanswered(id_) == groups.unanswered(id_)
        assert restored.outdated == groups.outdated
        assert restored.orphans == groups.orphans
        assert restored.n_open == groups.n_open
