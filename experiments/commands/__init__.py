"""The verbs of the command line, one per file: arguments(parser) and run(options)."""
