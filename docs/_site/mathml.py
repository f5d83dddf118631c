"""Equations as MathML, which browsers typeset themselves: no script and no network."""

from typing import TYPE_CHECKING, NoReturn

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


def _inline(translator: "HTML5Translator", node: "nodes.math") -> NoReturn:
    translator.body.append(convert(node.astext()))
    raise SkipNode


def _block(translator: "HTML5Translator", node: "nodes.math_block") -> NoReturn:
    latex = node.astext()
    if "\\\\" in latex and "\\begin" not in latex:
        latex = f"\\begin{{aligned}}{latex}\\end{{aligned}}"
    translator.body.append(f'<div class="equation">{convert(latex, display="block")}</div>')
    raise SkipNode


def setup(app: "Sphinx") -> dict[str, bool]:
    """Add the renderer that ``html_math_renderer`` selects."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
