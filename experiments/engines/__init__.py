"""Engines that compute blocks of cells, one per file."""
