"""Figures, one per file: draw(table, axes)."""
