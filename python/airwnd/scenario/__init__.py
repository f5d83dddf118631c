"""Scenarios, the runs and radio maps that they give, and cities from public data."""
