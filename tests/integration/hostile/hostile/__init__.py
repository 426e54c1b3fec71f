"""Tasks that misbehave."""
