"""Many runs: over seeds, over a grid of values, of the experiments of a paper."""
