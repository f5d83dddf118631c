"""Measurements of the running Linux kernel's TCP over an emulated path."""
