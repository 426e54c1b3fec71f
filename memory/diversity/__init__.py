"""Diversity metrics: how different the living are, one metric per file."""
