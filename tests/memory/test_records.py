"""Records refuse what they cannot stand for, and name the field."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from memory import Draw, Provenance, Solution, Status


def solution(**fields: Any) -> Solution:
    return Solution(**{"id": "a", "text": "x", "score": 1.0, **fields})


@pytest.mark.parametrize("score", [0, 0.0, -5, -0.25, 1e-300, 10**300, np.float32(0.5)])
def test_every_finite_number_is_a_score(score: Any) -> None:
    made = solution(score=score)
    assert type(made.score) is float
    assert made.score == float(score)
    assert made.status is Status.VALID


@pytest.mark.parametrize(
    "score",
    [
        True,
        False,
        np.True_,
        "0.9",
        None,
        math.nan,
        math.inf,
        -math.inf,
        10**400,
        1j,
        Decimal("NaN"),
        [1.0],
        np.array(0.5),
    ],
)
def test_what_is_not_a_finite_number_is_no_score(score: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^score must be a finite real"):
        solution(score=score)


def test_a_fraction_is_a_real_number() -> None:
    assert solution(score=Fraction(1, 4)).score == 0.25


def test_a_failed_solution_has_no_score() -> None:
    assert solution(score=None, status="failed").status is Status.FAILED
    with pytest.raises(ValueError, match=r"score must be None where status is failed"):
        solution(score=0.0, status=Status.FAILED)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("id", "", "id must not be empty"),
        ("id", 7, "id must be a string, got 7"),
        ("id", "\ud800", "id must be encodable"),
        ("text", b"x", "text must be a string"),
        ("text", "\udfff", "text must be encodable"),
        ("scope", None, "scope must be a string"),
        ("time", math.nan, "time must be a finite real number"),
        ("time", True, "time must be a finite real number"),
        ("weight", -1.0, "weight must not be negative, got -1.0"),
        ("weight", math.inf, "weight must be a finite real number"),
        ("weight", None, "weight must be a finite real number, got None"),
        ("generation", -1, "generation must be at least 0, got -1"),
        ("generation", 1.0, "generation must be an integer, got 1.0"),
        ("generation", True, "generation must be an integer, got True"),
        ("parent_ids", "abc", "parent_ids must be a tuple of ids"),
        ("parent_ids", ("a",), "parent_ids must not name the solution itself"),
        ("parent_ids", ("b", "b"), "parent_ids must differ"),
        ("parent_ids", ("",), "parent_ids must not hold an empty id"),
        ("parent_ids", (1,), "parent_ids must be a string"),
        ("status", "dead", "status must be one of valid, failed, retracted"),
        ("instance_scores", (1.0, math.nan), r"instance_scores\[1\] must be a finite"),
        ("instance_scores", 1.0, "instance_scores must be a tuple of numbers"),
        ("metadata", [1], "metadata must be a mapping"),
        ("metadata", {1: "a"}, "a key of metadata must be a string"),
        ("metadata", {"a": []}, r"metadata\['a'\] must be a string"),
        ("metadata", {"a": math.inf}, r"metadata\['a'\] must be a finite"),
        ("provenance", "me", "provenance must be a Provenance"),
        ("provenance", Provenance(operator=3), "provenance.operator must be a string"),
        ("provenance", Provenance(draw=(1, 2, 3)), "provenance.draw must be a Draw"),
        (
            "provenance",
            Provenance(draw=Draw("s", -1, 0)),
            "provenance.draw.decision must be at least 0",
        ),
    ],
)
def test_a_bad_field_is_refused_by_name(field: str, value: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        solution(**{field: value})


def test_a_solution_cannot_be_changed_through_what_it_was_made_of() -> None:
    facts = {"tokens": 12}
    made = solution(metadata=facts, parent_ids=["p"])
    facts["tokens"] = 0
    assert made.metadata["tokens"] == 12
    assert made.parent_ids == ("p",)
    with pytest.raises(TypeError):
        made.metadata["tokens"] = 0  # type: ignore[index]
    with pytest.raises(AttributeError):
        made.score = 2.0  # type: ignore[misc]


def test_a_score_of_zero_is_shown() -> None:
    assert "score=0.0" in repr(Solution(id="z", text="t", score=0.0))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"generation": 10**5_000}, "generation must be at most .* hundreds of digits"),
        ({"metadata": {"n": 10**5_000}}, "metadata.* integer of at most 4096 bits"),
    ],
)
def test_an_integer_too_long_to_print_is_refused_by_name(
    fields: dict, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Solution(id="z", text="t", score=0.0, **fields)


def test_instance_scores_may_be_an_array() -> None:
    scores = np.array([1.0, 2.0])
    assert Solution(
        id="z", text="t", score=0.0, instance_scores=scores
    ).instance_scores == (
        1.0,
        2.0,
    )
