"""Algorithms written in Python: their base classes, and how they are found, checked and loaded."""
