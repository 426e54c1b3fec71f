"""How long the history keeps the dead."""

from __future__ import annotations

import math
from typing import Any

import pytest

from memory.policies import Dead, Retention
from memory.retention.keep_all import KeepAll
from memory.retention.keep_living import KeepLiving
from memory.retention.max_age import MaxAge
from memory.retention.max_bytes import MaxBytes

LONG_DEAD = Dead(entries=10**9, time=1e12, dead_bytes=10**12, living_bytes=10**12)
JUST_DEAD = Dead(entries=0, time=0.0, dead_bytes=0, living_bytes=0)


def test_keep_all_forgets_nothing_and_says_so() -> None:
    assert not KeepAll().forgets(LONG_DEAD)
    assert KeepAll.keeps_all


@pytest.mark.parametrize("rule", [KeepLiving(), MaxAge(), MaxBytes()])
def test_the_others_forget_in_time_and_say_so(rule: Retention) -> None:
    assert not rule.keeps_all
    assert rule.forgets(LONG_DEAD)


def test_keep_living_forgets_at_death_or_after_the_grace() -> None:
    assert KeepLiving().forgets(JUST_DEAD)
    found = [KeepLiving(grace=2).forgets(JUST_DEAD._replace(entries=n)) for n in (0, 1)]
    assert found == [False, False]
    assert KeepLiving(grace=2).forgets(JUST_DEAD._replace(entries=2))


def test_max_age_counts_entries_since_the_death() -> None:
    rule = MaxAge(3)
    assert not rule.forgets(LONG_DEAD._replace(entries=3))
    assert rule.forgets(JUST_DEAD._replace(entries=4))


def test_max_age_counts_time_in_the_unit_of_the_caller() -> None:
    rule = MaxAge(1.5, unit="time")
    assert not rule.forgets(LONG_DEAD._replace(time=1.5))
    assert rule.forgets(JUST_DEAD._replace(time=1.6))
    # Records that carry no time are as old as each other.
    assert not rule.forgets(LONG_DEAD._replace(time=0.0))
    assert not MaxAge(0, unit="time").forgets(JUST_DEAD)


@pytest.mark.parametrize(
    ("dead_bytes", "living_bytes", "expected"),
    [(60, 40, False), (61, 40, True), (1, 100, True), (100, 0, False), (101, 0, True)],
)
def test_max_bytes_counts_the_dead_and_the_living(
    dead_bytes: int, living_bytes: int, expected: bool
) -> None:
    dead = Dead(0, 0.0, dead_bytes, living_bytes)
    assert MaxBytes(100).forgets(dead) is expected


def test_asked_until_it_says_no_max_bytes_forgets_no_more_than_it_must() -> None:
    sizes, rule = [30, 20, 10, 5], MaxBytes(60)
    while sizes and rule.forgets(Dead(0, 0.0, sum(sizes), 40)):
        sizes.pop(0)
    assert sizes == [10, 5]


@pytest.mark.parametrize(
    ("make", "message", "error"),
    [
        (lambda: KeepLiving(-1), "grace must be at least 0, got -1", ValueError),
        (lambda: KeepLiving(1.0), "grace must be an integer, got 1.0", TypeError),
        (lambda: MaxAge(-1), "age must not be negative, got -1.0", ValueError),
        (lambda: MaxAge(math.inf), "age must be a finite real number", ValueError),
        (lambda: MaxAge("1"), "age must be a finite real number", TypeError),
        (lambda: MaxAge(1, "days"), "unit must be entries or time, got 'd", ValueError),
        (lambda: MaxBytes(-1), "n_bytes must be at least 0, got -1", ValueError),
        (lambda: MaxBytes(1e9), "n_bytes must be an integer", TypeError),
    ],
)
def test_a_bad_parameter_is_named(
    make: Any, message: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=message):
        make()
