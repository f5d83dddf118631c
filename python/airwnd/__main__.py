"""``python -m airwnd``."""

from airwnd.cli import main

main()
