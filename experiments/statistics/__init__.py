"""Statistics of paired runs: numbers in, numbers out."""
