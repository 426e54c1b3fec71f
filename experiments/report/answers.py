"""The sentence that answers a question, by rule from question and verdict.

These questions are understood, each with anything after it up to the question mark:

- "Does A beat B?", "Do A beat B?"
- "Is A better than B?", "Is A worse than B?", and the same with "Are"
- "Does A matter?", "Do A matter?"
- "Does A help?", "Do A help?"

Any other title stands in front of a sentence that names arm and base.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from experiments.statistics.verdict import Outcome, Verdict

_BEAT = re.compile(r"(Does|Do) (?P<a>.+?) beat (?P<b>.+)\?")
_COMPARE = re.compile(r"(Is|Are) (?P<a>.+?) (?P<way>better|worse) than (?P<b>.+)\?")
_MATTER = re.compile(r"(Does|Do) (?P<a>.+?) (?P<way>matter|help)(?P<rest>\b.*)\?")
_PLURAL = ("Do", "Are")


class Answer(NamedTuple):
    """A sentence in parts, so that the verdict can stand out.

    Attributes:
        lead: "Yes", "No", "Undecided", or the title of what is no question of ours.
        before: What comes between lead and verdict.
        verdict: The verdict in words.
        after: What follows it.
    """

    lead: str
    before: str
    verdict: str
    after: str

    @property
    def sentence(self) -> str:
        """The whole."""
        return f"{self.lead}: {self.before} {self.verdict}{self.after}."


def answer(title: str, verdict: Verdict) -> Answer:
    """Returns the answer that a verdict gives to the question ``title``."""
    if found := _BEAT.fullmatch(title):
        return _compared(found, verdict, "better")
    if found := _COMPARE.fullmatch(title):
        return _compared(found, verdict, found["way"])
    if found := _MATTER.fullmatch(title):
        return _mattering(found, verdict)
    return Answer(title, f"{verdict.arm} is", *_ending(verdict, verdict.base))


def _ending(verdict: Verdict, base: str) -> tuple[str, str]:
    """Returns the verdict and how the sentence goes on: BETTER, than the base."""
    joins = {
        Outcome.BETTER: "than",
        Outcome.WORSE: "than",
        Outcome.EQUIVALENT: "to",
        Outcome.INCONCLUSIVE: "against",
    }
    after = f" {joins[verdict.outcome]} {base}"
    if verdict.negligible:
        return str(verdict.outcome), f"{after}, by a negligible amount"
    return verdict.words, after


def _lead(verdict: Verdict, *, yes: bool) -> str:
    if verdict.outcome is Outcome.INCONCLUSIVE:
        return "Undecided"
    if not yes:
        return "No"
    return "Yes, negligibly" if verdict.negligible else "Yes"


def _compared(found: re.Match[str], verdict: Verdict, way: str) -> Answer:
    wanted = Outcome.BETTER if way == "better" else Outcome.WORSE
    is_ = "are" if found[1] in _PLURAL else "is"
    lead = _lead(verdict, yes=verdict.outcome is wanted)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        asked = f"whether {found['a']} {is_} {way} than {found['b']} is"
        return Answer(lead, asked, verdict.words, "")
    return Answer(lead, f"{found['a']} {is_}", *_ending(verdict, found["b"]))


def _mattering(found: re.Match[str], verdict: Verdict) -> Answer:
    """Returns the answer to whether something matters, or helps."""
    helping = found["way"] == "help"
    better, worse = Outcome.BETTER, Outcome.WORSE
    yes = verdict.outcome in ((better,) if helping else (better, worse))
    lead = _lead(verdict, yes=yes)
    plural = found[1] in _PLURAL
    thing, rest = found["a"], found["rest"]
    if verdict.outcome is Outcome.INCONCLUSIVE:
        verb = found["way"] if plural else f"{found['way']}s"
        return Answer(lead, f"whether {thing} {verb}{rest} is", verdict.words, "")
    if yes:
        verb = found["way"] if plural else f"{found['way']}s"
    elif verdict.outcome is worse:
        verb = "hurt" if plural else "hurts"
    else:
        verb = f"{'do' if plural else 'does'} not {found['way']}"
    before = f"{thing} {verb}{rest}; {verdict.arm} is"
    return Answer(lead, before, *_ending(verdict, verdict.base))
