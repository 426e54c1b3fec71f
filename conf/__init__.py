"""Hydra configuration of the studies; a mirror of the rooms."""
