"""Mappings from diversity to a temperature factor, one per file."""
