"""Token counters: how much of a model's context a message takes up."""
