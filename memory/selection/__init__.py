"""Parent-selection policies, one per file: an exact law and a keyed draw."""
