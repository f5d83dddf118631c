"""Errors, checks of arguments, files, locks, threads and memory: what every other part uses."""
