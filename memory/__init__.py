"""boltzmem: an evolutionary memory whose parent selection can be replayed."""

from memory.codec import CorruptEntry, UnknownEvent
from memory.control import Step, checked_law, control_step, effective_parents
from memory.evolution import ConfigurationMismatch, EvolutionaryMemory, Parent
from memory.policies import (
    Control,
    Diversity,
    Mapping,
    Pick,
    Scaling,
    Selection,
    Signal,
    Survival,
    Temperature,
    Tracker,
    View,
    view,
)
from memory.population.state import Population
from memory.profiles import upstream
from memory.randomness import KeyedRandom, key_of
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

__all__ = [
    "Appended",
    "ConfigurationMismatch",
    "Control",
    "CorruptEntry",
    "Diversity",
    "Draw",
    "Entry",
    "EvolutionaryMemory",
    "Fixed",
    "InMemoryJournal",
    "Journal",
    "JournalRewound",
    "JournalTrimmed",
    "JournalUnavailable",
    "JournalUnreadable",
    "KeyedRandom",
    "Mapping",
    "Parent",
    "Pick",
    "Population",
    "PopulationSize",
    "Provenance",
    "Record",
    "Scaling",
    "Selection",
    "Settings",
    "Signal",
    "Solution",
    "Status",
    "Step",
    "Survival",
    "Temperature",
    "Tracker",
    "UnknownEvent",
    "View",
    "Yoked",
    "checked_law",
    "control_step",
    "count",
    "description",
    "differences",
    "effective_parents",
    "fingerprint",
    "flag",
    "key_of",
    "list_populations",
    "open_journal",
    "positive",
    "purge",
    "real",
    "upstream",
    "utf8",
    "view",
    "within",
]
