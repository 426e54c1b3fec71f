"""Retention rules: how long the history keeps the dead, one per file."""
