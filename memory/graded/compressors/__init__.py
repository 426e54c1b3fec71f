"""Compressors: many messages to one summary within a budget of tokens."""
