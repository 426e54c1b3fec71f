"""The graded memory: the shell around a journal and its tiers.

It is the only place of the graded side that holds state between calls. It writes events
and folds what others wrote. It never waits: ``overdue`` says what to compress, the caller
compresses, ``compressed`` records; ``compress_overdue`` does all three for a caller that
may wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from memory.following import COMPACT_INTERVAL_ENTRIES
from memory.graded import codec, events
from memory.graded.answers import GradedStatus, Overdue, Recalled
from memory.graded.budget import context_ids, overdue_ids, too_large_ids
from memory.graded.compressors.extractive import Extractive
from memory.graded.contracts import CompressionFailed, Compressor, required
from memory.graded.messages import (
    Draft,
    Message,
    Outcome,
    Role,
    Text,
    ToolCall,
    ToolOutput,
)
from memory.graded.recall import Recall
from memory.graded.searching import Searcher, deep
from memory.graded.settings import GradedSettings
from memory.graded.tiers import Tier, Tiers
from memory.graded.words import is_visible
from memory.graded.working import in_thread
from memory.recollection import Recollection, seed_names
from memory.records import (
    LARGEST_INDEX,
    Provenance,
    Status,
    count,
    flag,
    real,
    utf8,
)
from memory.stores.journal import Journal

_TIERS = tuple(Tier)
#: Characters of a failure's reason that are kept.
_REASON_CHARACTERS = 1_000


class GradedMemory(Recollection[Tiers, Message]):
    """The messages of a conversation in three tiers: short, medium and long-term.

    New messages are short-term; summaries take the place of old ones in the medium term;
    what is committed is long-term. All of it lives in the journal, at the place that the
    caller opened it. Safe for use by several threads, and by several processes.

    Args:
        settings: The configuration; the defaults of ``GradedSettings`` if ``None``.
        journal: Where events live; a journal in this process's memory if ``None``.
        compressor: What ``compress_overdue`` asks for summaries; ``Extractive`` if
            ``None``.
        recall: How ``recall`` chooses; deterministic by default.
        seed: Name or names of the random numbers.
        stream: Name of this worker's own decisions; two workers need two names.
        scope: Key of this memory within the journal.
        compact_interval: Entries after which a worker that adds takes a snapshot, and
            discards what the retention rule forgot; never by itself if ``None``.

    Raises:
        ConfigurationMismatch: The journal holds this scope under other settings; the
            message names what differs.
        TypeError: An argument has the wrong type.
    """

    noun = "message"

    def __init__(
        self,
        settings: GradedSettings | None = None,
        journal: Journal | None = None,
        *,
        compressor: Compressor | None = None,
        recall: Recall | None = None,
        seed: int | str | Sequence[int | str] = 0,
        stream: str = "main",
        scope: str = "",
        compact_interval: int | None = COMPACT_INTERVAL_ENTRIES,
    ) -> None:
        if settings is not None and not isinstance(settings, GradedSettings):
            raise TypeError(
                f"settings must be GradedSettings or None, got {settings!r}"
            )
        if compressor is not None:
            required("compressor", compressor, "compress")
            flag("compressor.compresses", getattr(compressor, "compresses", None))
        if recall is not None:
            required("recall", recall, "choose")
        self.settings = GradedSettings() if settings is None else settings
        self.compressor: Compressor = (
            Extractive(counter=self.settings.counter)
            if compressor is None
            else compressor
        )
        self._recall = Recall() if recall is None else recall
        self._searcher: Searcher | None = None
        self._compressing = False
        self._next_decision = 0
        super().__init__(
            journal,
            described={"graded": self.settings.described()},
            key=("graded", *seed_names(seed)),
            stream=stream,
            scope=scope,
            compact_interval=compact_interval,
        )

    def add(self, message: Message | Draft) -> Message:
        """Adds a message to the short-term tier.

        Never compresses: what is overdue afterwards, ``overdue`` says. A message that
        cannot be counted or written is refused before anything has changed. The same
        message again changes nothing, in whatever tier it is by now, or in none.

        Args:
            message: A draft, which gets an id, or a message that has one.

        Returns:
            The message, as it is remembered.

        Raises:
            TypeError: It is neither, or a field has the wrong type.
            ValueError: It is of another scope or has a standing, it was removed or
                retracted, or its id is taken by another message.
        """
        if isinstance(message, Draft):
            return self._named(message)
        if not isinstance(message, Message):
            raise TypeError(f"message must be a Message or a Draft, got {message!r}")
        with self._lock:
            self._append(message)
        return message

    def extend(self, messages: Iterable[Message | Draft]) -> list[Message]:
        """Adds several messages, one after the other."""
        return [self.add(message) for message in messages]

    def remove(self, id: str, reason: str = "") -> tuple[str, ...]:
        """Takes a message out of its tier, and with a tool call its outputs.

        It stays readable until the retention rule forgets it.

        Returns:
            The ids of what was removed; none if it was in no tier, or if another worker
            was faster to take it out.
        """
        with self._lock:
            if utf8("id", id) not in self._tiers:
                return ()
            members = self._tiers.groups.members(id)
            return self._effect(
                lambda key: events.Removed(
                    self.scope, key, utf8("reason", reason), members
                )
            )

    def commit_to_long_term(self, *ids: str) -> tuple[str, ...]:
        """Moves messages to the long-term tier, and with tool calls their outputs.

        Outputs that come later follow their calls.

        Returns:
            The ids of what is in the long-term tier now that was not before.

        Raises:
            KeyError: An id is in no tier, or another worker was faster to take it out; the
                others are in the long-term tier then.
            TypeError: An id is not a string.
        """
        with self._lock:
            tiers = self._tiers
            for id_ in ids:
                tiers.place(utf8("id", id_))
            members = [one for id_ in ids for one in tiers.groups.members(id_)]
            moved = tuple(
                [
                    id_
                    for id_ in dict.fromkeys(members)
                    if tiers.tier(id_) is not Tier.LONG
                ]
            )
            if moved:
                moved = self._effect(
                    lambda key: events.Committed(self.scope, key, moved)
                )
            for id_ in ids:
                self._tiers.place(id_)
            return moved

    def set_task(self, id: str) -> None:
        """Names the message that is the current task and so stays in every context.

        Until one is named, the first message of the user is the task.

        Raises:
            KeyError: It is in no tier, or another worker was faster to take it out.
            TypeError: ``id`` is not a string.
        """
        with self._lock:
            self._tiers.place(utf8("id", id))
            self._event(lambda key: events.row(events.Tasked(self.scope, key, id)))
            self._tiers.place(id)

    def clear(self, *, everything: bool = False) -> None:
        """Empties the short and the medium-term tier; ``everything``: the long one too.

        What is in no tier stays readable until the retention rule forgets it.

        Raises:
            TypeError: ``everything`` is not a bool.
        """
        flag("everything", everything)
        with self._lock:
            self._event(
                lambda key: events.row(events.Cleared(self.scope, key, everything))
            )

    def tier(self, id: str) -> Tier | None:
        """Returns the tier that ``id`` is in; ``None`` if it is in none."""
        with self._lock:
            return self._tiers.tier(utf8("id", id))

    def messages(self, tier: Tier | str | None = None) -> list[Message]:
        """Returns the messages of a tier, the oldest first; of all tiers by default."""
        with self._lock:
            wanted = _TIERS if tier is None else (_tier(tier),)
            ids = [id_ for one in wanted for id_ in self._tiers.ids(one)]
            return self._all(ids)

    def size(self, tier: Tier | str | None = None) -> int:
        """Returns the number of messages in a tier; in all tiers by default."""
        with self._lock:
            return len(self._tiers) if tier is None else self._tiers.size(_tier(tier))

    def sources(self, id: str) -> list[Message]:
        """Returns what a summary was made of, as far as it is kept, the oldest first.

        Raises:
            KeyError: There is no such message, or it was forgotten.
        """
        with self._lock:
            made_of = self.get(id).provenance.inputs
            return [self._amended(one) for one in self._records(made_of)]

    def tainted(self) -> dict[str, tuple[str, ...]]:
        """Returns the summaries in a tier that were made of retracted messages.

        Each with the ids of those, through summaries of summaries too. It reads all that
        the summaries were made of.
        """
        with self._lock:
            found: dict[str, tuple[str, ...]] = {}
            for message in self.messages():
                if message.provenance.inputs and message.sender == _COMPRESSOR:
                    wrong = tuple(self._wrong(message))
                    if wrong:
                        found[message.id] = wrong
            return found

    def context(self, budget_tokens: int | None = None) -> list[Message]:
        """Returns what to show the model, each message once, within a budget of tokens.

        First the system messages, then the long, the medium and the short-term tier, each
        in the order of time. The long-term tier has a share of the budget for itself. See
        ``memory.graded.budget.context_ids`` for what goes first where the budget is
        short, and ``too_large`` in the status for what does not fit even alone.

        Args:
            budget_tokens: Most tokens, by the memory's counter; the threshold by default.

        Raises:
            TypeError: ``budget_tokens`` is not an integer.
            ValueError: It does not hold what is pinned.
        """
        budget = (
            self.settings.threshold_tokens if budget_tokens is None else budget_tokens
        )
        count("budget_tokens", budget)
        with self._lock:
            share = self.settings.long_share
            return self._all(context_ids(self._tiers, budget, share))

    def tokens(self, messages: Iterable[Message]) -> int:
        """Returns the tokens of ``messages`` by the memory's counter."""
        return sum([self.settings.counter.count(message) for message in messages])

    def search(
        self, text: str, limit: int = 10, *, compressed: bool = False
    ) -> list[Recalled]:
        """Returns at most ``limit`` messages that share words with ``text``, best first.

        Args:
            text: The words.
            limit: Most messages that are wanted, positive.
            compressed: Whether to look too into what the summaries in the tiers were made
                of, as far as it is kept; the reason then names the summary. It reads all
                of it at each search.

        Raises:
            ImportError: The library that searches is not installed.
            TypeError: An argument has the wrong type.
            ValueError: ``limit`` is not positive.
        """
        utf8("text", text)
        count("limit", limit, minimum=1)
        flag("compressed", compressed)
        with self._lock:
            if compressed:
                return self._found_deep(text, limit)
            alone = Recall(relevance=1.0, recency=0.0, short=0.0, medium=0.0, long=0.0)
            found = self._recalled(text, limit, alone, self._generator(0))
            return [one for one in found if one.reason.score > 0.0]

    def recall(
        self, question: str, size: int = 5, *, decision: int | None = None
    ) -> list[Recalled]:
        """Returns what answers a question, each with the reason it was recalled.

        Args:
            question: The question in words; the empty one recalls by recency and tier.
            size: Most messages that are wanted.
            decision: Index of the decision in this worker's stream, which names the
                random numbers of a recall at a temperature; the next one if ``None``.
                Nobody keeps account of decisions: a memory that is opened again begins
                at zero, and draws as before.

        Raises:
            ImportError: The library that searches is not installed.
            ValueError: ``size`` is not positive.
        """
        with self._lock:
            index = self._next_decision if decision is None else decision
            rng = self._generator(count("decision", index, 0, LARGEST_INDEX))
            found = self._recalled(question, size, self._recall, rng)
            if decision is None:
                self._next_decision = index + 1
            return found

    def overdue(self) -> Overdue | None:
        """Returns what to compress now, or ``None``: mostly there is nothing.

        ``None`` too after a failure, until enough messages have come.
        """
        with self._lock:
            if not self.compressor.compresses:
                return None
            ids = overdue_ids(self._tiers, self.settings)
            if not ids:
                return None
            messages = tuple(self._all(ids))
            return Overdue(ids, messages, self.settings.summary_tokens)

    def compressed(
        self, ids: Sequence[str], summary: str, *, operator: str = "", time: float = 0.0
    ) -> Message:
        """Puts a summary in the place of messages: one event, all of it or nothing.

        The messages stay readable as ``sources`` of the summary until the retention rule
        forgets them. Messages that were added meanwhile are not touched.

        Args:
            ids: Ids of the messages, in any order.
            summary: The summary, in words, within the ``summary_tokens`` of the settings.
            operator: Name of what made it.
            time: When, in the caller's unit.

        Returns:
            The summary as a message of the medium-term tier.

        Raises:
            CompressionFailed: Another worker changed one of the messages meanwhile.
            TypeError: An argument has the wrong type.
            ValueError: The messages are not there (any more), are pinned or are split from
                their tool calls, or the summary is empty, above its budget, or no smaller
                than they are.
        """
        given = _several(ids)
        if not is_visible(utf8("summary", summary)):
            raise ValueError(
                f"summary must not be empty, got {_shortened(repr(summary))}"
            )
        with self._lock:
            self.sync()
            objection = self._tiers.objection(given)
            if objection is not None:
                raise ValueError(objection)
            made_of = self._oldest_first(given)
            freed = sum([self._tiers.place(id_).tokens for id_ in made_of])
            message = self._new(
                lambda id_: Message(
                    id=id_,
                    scope=self.scope,
                    role=Role.ASSISTANT,
                    elements=(Text(summary),),
                    sender=_COMPRESSOR,
                    time=real("time", time),
                    provenance=Provenance(operator, inputs=made_of),
                ),
                lambda message: self._compressed_row(message, freed),
            )
            if message.id not in self._tiers:
                raise CompressionFailed(
                    "ids must stay as they were while they are compressed, another "
                    "worker changed one of them"
                )
            return message

    def compression_failed(self, reason: str) -> None:
        """Notes that a compressor failed: nothing changes but the next attempt's time.

        Of the reason, the first 1,000 characters are kept.
        """
        reason = _shortened(utf8("reason", reason))
        with self._lock:
            self._event(
                lambda key: events.row(events.Uncompressed(self.scope, key, reason))
            )

    async def compress_overdue(self) -> Message | None:
        """Compresses what is overdue, without holding up anybody meanwhile.

        The compressor works in a thread of its own; the memory stays open. Whatever the
        compressor raises is a failure: it is noted, see ``status``, and changes nothing.
        So is a caller who stops waiting; its compressor works on, and until it is done no
        other one begins.

        Returns:
            The summary; ``None`` where nothing was overdue, the compressor failed, its
            summary was refused or came too late, or another call is at it.
        """
        with self._lock:
            due = None if self._compressing else self.overdue()
            if due is None:
                return None
            compress = self.compressor.compress
            self._compressing = True
        job = in_thread(compress, due.messages, due.budget_tokens)
        try:
            try:
                summary = await asyncio.wrap_future(job)
            except asyncio.CancelledError:
                # Nothing must take the place of the cancellation.
                with suppress(Exception):
                    self.compression_failed("cancelled before there was a summary")
                raise
            except Exception as error:
                self.compression_failed(_reason(error))
                return None
            return self._summarised(due, summary)
        finally:
            job.add_done_callback(self._compressor_is_done)

    def status(self) -> GradedStatus:
        """Returns what there is and how compression goes."""
        with self._lock:
            tiers = self._tiers
            return GradedStatus(
                messages={tier: tiers.size(tier) for tier in Tier},
                tokens={tier: tiers.tokens(tier) for tier in Tier},
                task=tiers.task,
                question=tiers.question,
                overdue=self.compressor.compresses
                and bool(overdue_ids(tiers, self.settings)),
                open_calls=tiers.groups.n_open,
                orphans=tiers.groups.orphans,
                compressions=tiers.n_compressions,
                void=tiers.n_void,
                failures=tiers.failures,
                all_failures=tiers.n_failures,
                last_failure=tiers.last_failure,
                messages_to_wait=tiers.messages_to_wait,
                ledger=tiers.archive.ledger,
                too_large=too_large_ids(tiers, self.settings.threshold_tokens),
            )

    @property
    def _tiers(self) -> Tiers:
        return self._following.fold

    def _new_fold(self, document: dict[str, Any] | None) -> Tiers:
        tiers = Tiers(self.settings, self.scope)
        if document is not None:
            tiers.restore(document)
        return tiers

    def _decoded(self, body: bytes) -> Message:
        return codec.message(body)

    def _named(self, draft: Draft) -> Message:
        """Adds a draft under a new id."""
        with self._lock:
            return self._new(
                lambda id_: draft.message(id_, self.scope), self._added_row
            )

    def _append(self, message: Message) -> None:
        """Adds a message under its own id."""
        if message.scope != self.scope:
            raise ValueError(
                f"scope must be {self.scope!r}, this memory's own, got "
                f"{message.scope!r}"
            )
        if message.status is not Status.VALID:
            raise ValueError(
                f"status must be valid when a message is added, got {message.status!r}"
            )
        body = codec.body(message)
        self._require_new(message.id)
        key = self._key(message.id)
        if self._following.append(key, self._added_row(message), body):
            self._keep(message)
            return
        if self._following.journal.fetch([key])[0] != body:
            raise ValueError(
                f"id must be new or name the same message, got {message.id!r}, which "
                "another one has"
            )
        removed = self._tiers.archive.amendments(message.id)
        if removed:
            raise ValueError(
                f"id must name a message in use, got {message.id!r}, which was "
                f"{removed[0].kind}: add it under a new id"
            )

    def _new(
        self, make: Callable[[str], Message], row: Callable[[Message], bytes]
    ) -> Message:
        """Appends a message under a new id of this worker's."""
        while True:
            message = make(self._minted())
            key = self._key(message.id)
            if self._following.put(key, row(message), codec.body(message)):
                self._keep(message)
                return message
            self._following.sync()

    def _added_row(self, message: Message) -> bytes:
        calls: list[str] = []
        answers: list[str] = []
        progress: list[str] = []
        for element in message.elements:
            match element:
                case ToolCall(call_id):
                    calls.append(call_id)
                case ToolOutput(call_id, outcome=Outcome.IN_PROGRESS):
                    progress.append(call_id)
                case ToolOutput(call_id):
                    answers.append(call_id)
        return events.row(
            events.Added(
                self.scope,
                message.id,
                message.role,
                self.settings.counter.count(message),
                len(codec.body(message)),
                tuple(calls),
                tuple(answers),
                tuple(progress),
                self._dated(message),
            )
        )

    def _compressed_row(self, message: Message, freed: int) -> bytes:
        n_tokens = self.settings.counter.count(message)
        n_words = self.settings.counter.text(message.text)
        if n_tokens >= freed:
            raise ValueError(
                f"summary must be smaller than what it stands for, {freed} tokens, got "
                f"{n_tokens}"
            )
        if n_words > self.settings.summary_tokens:
            raise ValueError(
                f"summary must have at most {self.settings.summary_tokens} tokens, got "
                f"{n_words}"
            )
        return events.row(
            events.Compressed(
                self.scope,
                message.id,
                message.provenance.inputs,
                n_tokens,
                len(codec.body(message)),
                self._dated(message),
            )
        )

    def _dated(self, message: Message) -> float:
        """Returns the time of a message, where retention may ask for it."""
        return message.time if self._tiers.archive.accounts else 0.0

    def _wrong(self, message: Message) -> list[str]:
        """Returns the ids of retracted messages that ``message`` was made of."""
        return [
            source.id
            for source in self._ancestry(message)
            if self._amended(source).status is not Status.VALID
        ]

    def _ancestry(self, message: Message) -> Iterator[Message]:
        """Yields what ``message`` was made of, each once, summaries before their own."""
        seen: dict[str, None] = {}
        # No recursion: a memory that lives long has summaries of summaries of summaries.
        waiting = [message]
        while waiting:
            one = waiting.pop()
            if one is not message:
                yield one
            if one.sender == _COMPRESSOR:
                inputs = [id_ for id_ in one.provenance.inputs if id_ not in seen]
                seen.update(dict.fromkeys(inputs))
                waiting += reversed(self._records(inputs))

    def _all(self, ids: Sequence[str]) -> list[Message]:
        """Returns the messages called ``ids``, all of them, and keeps them at hand.

        Raises:
            KeyError: One is not there, or was forgotten.
        """
        found = self._records(ids)
        for message in found:
            self._known[message.id] = message
        self._let_go()
        if len(found) < len(ids):
            known = {message.id for message in found}
            self._record(next(id_ for id_ in ids if id_ not in known))
        return found

    def _summarised(self, due: Overdue, summary: str) -> Message | None:
        """Records a summary.

        ``None`` where its messages have changed meanwhile, which is noted, or where it is
        refused, which is noted as a failure of the compressor.
        """
        with self._lock:
            self.sync()
            if self._tiers.objection(due.ids) is not None:
                self._event(lambda key: events.row(events.Voided(self.scope, key)))
                return None
            operator = type(self.compressor).__name__
            try:
                return self.compressed(due.ids, summary, operator=operator)
            except CompressionFailed:
                return None
            except (TypeError, ValueError) as error:
                self.compression_failed(_encodable(str(error)))
                return None

    def _compressor_is_done(self, _: object) -> None:
        self._compressing = False

    def _effect(
        self, event: Callable[[str], events.Committed | events.Removed]
    ) -> tuple[str, ...]:
        """Appends an event; returns the ids that it has moved or taken out in truth."""
        keys: list[str] = []

        def row(key: str) -> bytes:
            keys.append(key)
            return events.row(event(key))

        self._event(row)
        return self._tiers.effects.get(keys[-1], ())

    def _oldest_first(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Returns ``ids`` in the order of time: a summary stands for what is older."""
        tiers = self._tiers

        def age(id: str) -> tuple[bool, int]:
            return tiers.tier(id) is not Tier.MEDIUM, tiers.place(id).order

        return tuple(sorted(ids, key=age))

    def _found_deep(self, text: str, limit: int) -> list[Recalled]:
        """Returns what is found in the tiers and behind the summaries in them."""
        found: dict[str, tuple[Message, Tier, str]] = {}
        for tier in Tier:
            for message in self._all(self._tiers.ids(tier)):
                found[message.id] = (message, tier, "")
                for source in self._behind(message):
                    found.setdefault(source.id, (source, tier, message.id))
        reasons = deep(
            {id_: one.text for id_, (one, _, _) in found.items()}, text, limit
        )
        return [
            Recalled(message, tier, reason._replace(summary=summary))
            for id_, reason in reasons.items()
            for message, tier, summary in [found[id_]]
        ]

    def _behind(self, message: Message) -> list[Message]:
        """Returns what a summary was made of in the end, without what is wrong."""
        return [
            source
            for source in self._ancestry(message)
            if not (source.sender == _COMPRESSOR and source.provenance.inputs)
            and self._amended(source).status is Status.VALID
        ]

    def _recalled(
        self, question: str, size: int, policy: Recall, rng: np.random.Generator
    ) -> list[Recalled]:
        utf8("question", question)
        # Made at the first question: a memory that is not searched keeps no index.
        searcher = self._searcher or Searcher(self._all)
        found = searcher.find(self._tiers, question, size, policy, rng)
        self._searcher = searcher
        messages = self._all([id_ for id_, _, _ in found])
        return [
            Recalled(message, tier, reason)
            for message, (_, tier, reason) in zip(messages, found, strict=True)
        ]

    def _generator(self, decision: int) -> np.random.Generator:
        return self._own.generator("selection", decision)


#: Sender of the summaries.
_COMPRESSOR = "compressor"


def _tier(tier: object) -> Tier:
    try:
        return Tier(tier)  # type: ignore[arg-type]
    except ValueError:
        raise ValueError(
            f"tier must be one of {', '.join(Tier)}, got {tier!r}"
        ) from None


def _several(ids: object) -> tuple[str, ...]:
    if isinstance(ids, str) or not isinstance(ids, Sequence):
        raise TypeError(f"ids must be a sequence of ids, got {ids!r}")
    return tuple([utf8("ids", id_) for id_ in ids])


def _reason(error: Exception) -> str:
    """Returns what is noted of a failure: its words only where they hold no secrets."""
    if isinstance(error, CompressionFailed):
        return _encodable(str(error))
    return type(error).__name__


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _shortened(text: str) -> str:
    if len(text) <= _REASON_CHARACTERS:
        return text
    return text[: _REASON_CHARACTERS - 1] + "\u2026"
