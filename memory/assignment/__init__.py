"""Assignment rules: the island of a solution for which none was named, one per file."""
