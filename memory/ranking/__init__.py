"""Rankings: the score that a solution of several evaluations is ranked by, one per file."""
