"""The cell in the browser: the page of ``make web`` and ``airwnd play``, and the engine behind the latter."""

from airwnd.scenario.play.page import html
from airwnd.scenario.play.server import Playground

__all__ = ["Playground", "html"]
