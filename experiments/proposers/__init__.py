"""Variation operators, text in and text out, one per file."""
