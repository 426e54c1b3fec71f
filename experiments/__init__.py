"""The ablation harness: studies of parent selection, run, measured and reported."""
