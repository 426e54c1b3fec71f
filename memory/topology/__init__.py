"""Topologies: where the migrants of an island go, one per file."""
