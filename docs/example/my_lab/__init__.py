"""An example of somebody else's policies."""
