"""Temperature controllers, one per file."""
