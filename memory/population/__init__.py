"""The pure core: what is alive, as a fold over journal entries."""
