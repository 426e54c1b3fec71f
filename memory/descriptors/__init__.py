"""Descriptors: numbers that say what kind of solution a text is, one per file."""
