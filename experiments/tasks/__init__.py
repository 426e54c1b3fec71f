"""Optimisation tasks with known optima, one family per file."""
