"""Bounds: the bins of one axis of a grid, one rule per file."""
