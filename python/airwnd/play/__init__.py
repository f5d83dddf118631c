"""The cell in the browser: the page of ``make web`` and ``airwnd play``, and the engine behind the latter."""

from airwnd.play.page import html
from airwnd.play.server import Playground

__all__ = ["Playground", "html"]
