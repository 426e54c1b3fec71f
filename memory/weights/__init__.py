"""Weights: what becomes of the users' weights before selection, one rule per file."""
