"""Survival rules: who leaves a full population, one per file."""
