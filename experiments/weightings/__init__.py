"""Weightings: what weight a new solution gets, one rule per file."""
