"""Every decision owns its random numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from memory import KeyedRandom, key_of
from memory.randomness import PURPOSES


def test_a_decision_can_be_repeated_alone() -> None:
    first = KeyedRandom("study", 1)
    numbers = [first.generator("selection", k).random(3) for k in range(50)]
    again = KeyedRandom("study", 1).generator("selection", 17).random(3)
    np.testing.assert_array_equal(again, numbers[17])


def test_a_decision_that_draws_more_does_not_shift_the_next() -> None:
    lavish, frugal = KeyedRandom("a"), KeyedRandom("a")
    lavish.generator("mutation", 1).random(1000)
    lavish.generator("mutation", 1).standard_normal(3)
    lavish.generator("mutation", 1).integers(0, 2**31, 1, dtype=np.uint32)
    np.testing.assert_array_equal(
        lavish.generator("mutation", 2).random(5),
        frugal.generator("mutation", 2).random(5),
    )


def test_a_fresh_philox_of_numpy_gives_the_same_numbers() -> None:
    ours = KeyedRandom("a").generator("diversity", 9, substream=4)
    counter = [0, 4, 9, PURPOSES.index("diversity")]
    theirs = np.random.Generator(np.random.Philox(key=key_of("a"), counter=counter))
    np.testing.assert_array_equal(ours.random(9), theirs.random(9))


def test_no_two_decisions_share_their_numbers() -> None:
    seen = {
        KeyedRandom(*names).generator(purpose, decision, part).random()
        for names in (("a", "bc"), ("ab", "c"), ("abc",), ("a", 1), ("a", "1"))
        for purpose in PURPOSES
        for decision in range(3)
        for part in range(2)
    }
    assert len(seen) == 5 * len(PURPOSES) * 3 * 2


def test_the_first_numbers_of_decisions_are_uniform() -> None:
    random = KeyedRandom("uniform")
    numbers = [random.generator("selection", k).random() for k in range(20_000)]
    assert stats.kstest(numbers, "uniform").pvalue > 1e-6


def test_an_identifier_is_128_bits_of_its_decision() -> None:
    names = [KeyedRandom("a").identifier(k) for k in range(100)]
    assert len(set(names)) == 100
    assert all(len(name) == 32 and int(name, 16) >= 0 for name in names)
    assert KeyedRandom("a").identifier(3) == names[3]


def test_an_unknown_purpose_is_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match=r"purpose must be one of instance, .* 'luck'"):
        KeyedRandom("a").generator("luck", 0)


@pytest.mark.parametrize("name", [1.0, True, None, b"a"])
def test_a_name_must_be_a_string_or_an_integer(name: object) -> None:
    with pytest.raises(TypeError, match="names of a key must be strings or integers"):
        KeyedRandom(name)  # type: ignore[arg-type]
