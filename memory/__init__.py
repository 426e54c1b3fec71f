"""boltzmem: an evolutionary memory whose parent selection can be replayed."""

from memory.archive import Amendment, Forgotten, Total
from memory.asynchronous import AsyncMemory
from memory.checkpoints import (
    CheckpointUnreadable,
    load_checkpoint,
    read_checkpoint,
    save_checkpoint,
)
from memory.codec import CorruptEntry, UnknownEvent
from memory.control import Step, checked_law, control_step, effective_parents
from memory.evolution import (
    Evaluations,
    EvolutionaryMemory,
    Explanation,
    Parent,
)
from memory.following import ConfigurationMismatch, configurations, purge_scope
from memory.graded.answers import GradedStatus, Overdue, Recalled
from memory.graded.contracts import CompressionFailed, Compressor, TokenCounter
from memory.graded.memory import GradedMemory
from memory.graded.messages import Message, Role
from memory.graded.recall import Recall
from memory.graded.settings import GradedSettings
from memory.graded.tiers import Tier
from memory.grid import Axis
from memory.lineage import Lineage
from memory.opening import open_graded_memory, open_memory
from memory.policies import (
    Assignment,
    Bounds,
    Candidates,
    Control,
    Dead,
    Descriptor,
    Diversity,
    Mapping,
    Pick,
    Ranking,
    Retention,
    Scaling,
    Selection,
    Signal,
    Survival,
    Temperature,
    Topology,
    Tracker,
    View,
    Weights,
    view,
)
from memory.population.state import Population
from memory.profiles import upstream
from memory.randomness import KeyedRandom, key_of
from memory.recollection import Recollection
from memory.records import (
    Draw,
    Provenance,
    Record,
    Solution,
    Status,
    count,
    flag,
    positive,
    real,
    utf8,
    within,
)
from memory.settings import Settings, description, differences, fingerprint
from memory.stores.dump import Dump, Snapshot
from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import (
    Appended,
    Entry,
    Journal,
    JournalRewound,
    JournalTrimmed,
    JournalUnavailable,
    JournalUnreadable,
    PopulationSize,
)
from memory.stores.urls import list_populations, open_journal, purge
from memory.temperature.fixed import Fixed
from memory.temperature.yoked import Yoked
from memory.texts import normalised
from memory.validity import Validity, validity

__all__ = [
    "Amendment",
    "Appended",
    "Assignment",
    "AsyncMemory",
    "Axis",
    "Bounds",
    "Candidates",
    "CheckpointUnreadable",
    "CompressionFailed",
    "Compressor",
    "ConfigurationMismatch",
    "Control",
    "CorruptEntry",
    "Dead",
    "Descriptor",
    "Diversity",
    "Draw",
    "Dump",
    "Entry",
    "Evaluations",
    "EvolutionaryMemory",
    "Explanation",
    "Fixed",
    "Forgotten",
    "GradedMemory",
    "GradedSettings",
    "GradedStatus",
    "InMemoryJournal",
    "Journal",
    "JournalRewound",
    "JournalTrimmed",
    "JournalUnavailable",
    "JournalUnreadable",
    "KeyedRandom",
    "Lineage",
    "Mapping",
    "Message",
    "Overdue",
    "Parent",
    "Pick",
    "Population",
    "PopulationSize",
    "Provenance",
    "Ranking",
    "Recall",
    "Recalled",
    "Recollection",
    "Record",
    "Retention",
    "Role",
    "Scaling",
    "Selection",
    "Settings",
    "Signal",
    "Snapshot",
    "Solution",
    "Status",
    "Step",
    "Survival",
    "Temperature",
    "Tier",
    "TokenCounter",
    "Topology",
    "Total",
    "Tracker",
    "UnknownEvent",
    "Validity",
    "View",
    "Weights",
    "Yoked",
    "checked_law",
    "configurations",
    "control_step",
    "count",
    "description",
    "differences",
    "effective_parents",
    "fingerprint",
    "flag",
    "key_of",
    "list_populations",
    "load_checkpoint",
    "normalised",
    "open_graded_memory",
    "open_journal",
    "open_memory",
    "positive",
    "purge",
    "purge_scope",
    "read_checkpoint",
    "real",
    "save_checkpoint",
    "upstream",
    "utf8",
    "validity",
    "view",
    "within",
]
