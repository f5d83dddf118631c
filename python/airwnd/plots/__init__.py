"""Pictures of runs and scenarios, drawn with Matplotlib: one file for each kind."""
