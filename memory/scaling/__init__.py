"""Scalings of the scores before selection, one per file."""
