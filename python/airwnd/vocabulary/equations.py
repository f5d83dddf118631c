"""Equations in the LaTeX of doc comments, as plain text for a terminal."""

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text

# Around a fraction, until its neighbours show whether it needs parentheses.
_OPEN, _CLOSE = "\x01", "\x02"
_FRACTION = re.compile(rf"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_SCRIPT = re.compile(r"([_^])\{([^{}]*)\}")
_GROUP = re.compile(r"\{([^{}]*)\}")

# Characters that may stand next to a fraction without parentheses around it.
_BEFORE = ("", "=", "←", "+", "−", "<", ">", "≤", "≥", "(", ",")
_AFTER = ("", "+", "−", "<", ">", "≤", "≥", ")", ",", ";")


def plain(latex: str) -> str:
    r"""Write a display equation as lines of text.

    Parameters
    ----------
    latex
        Lines of LaTeX: fractions, roots, sub- and superscripts, Greek letters, ``cases``.

    Returns
    -------
    str
        A line for each line of the equation (``\\``) and each case.
    """
    if r"\begin{cases}" in latex:
        head, _, rest = latex.partition(r"\begin{cases}")
        body, _, tail = rest.partition(r"\end{cases}")
        first, *others = [_line(row.replace("&", r",\ ")) for row in re.split(r"\\\\", body) if row.strip()]
        start = f"{_line(head)} " if head.strip() else ""
        lines = [start + first, *(" " * len(start) + other for other in others)]
        return "\n".join([*lines, *([_line(tail)] if tail.strip(" .,\n") else [])])
    rows = re.split(r"\\\\", re.sub(r"\\begin\{aligned\}|\\end\{aligned\}", "", latex))
    return "\n".join(_line(row) for row in rows if row.strip())


def _line(latex: str) -> str:
    text = _converter().latex_to_text(latex.replace("&", " "))
    while _SCRIPT.search(text):
        text = _SCRIPT.sub(_script, text)
    while _GROUP.search(text):
        text = _GROUP.sub(r"\1", text)
    while found := _FRACTION.search(text):
        before, after = text[: found.start()].rstrip(), text[found.end() :].lstrip()
        alone = before[-1:] in _BEFORE and after[:1] in _AFTER
        text = text[: found.start()] + (found[1] if alone else f" ({found[1]}) ") + text[found.end() :]
    # The space behind the name of a Greek letter ends the name.
    text = re.sub(r"\s*([=←≤≥·×]|[-+<>](?= ))\s*", r" \1 ", text)
    return re.sub(r"(?<=\() | (?=[),;^.])", "", " ".join(text.split()))


def _script(found: re.Match[str]) -> str:
    mark, inner = found[1], found[2].strip()
    return f"{mark}{inner}" if re.fullmatch(r"\w+|[-−]?[\d.]+", inner) else f"{mark}({inner})"


@cache
def _converter() -> "LatexNodes2Text":
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

    def fraction(node: Any, l2tobj: Any) -> str:
        above, below = (_term(l2tobj.node_arg_to_text(node, place)) for place in (0, 1))
        return f"{_OPEN}{above} / {below}{_CLOSE}"

    def root(node: Any, l2tobj: Any) -> str:
        degree, inside = (l2tobj.node_arg_to_text(node, place) for place in (0, 1))
        return f"{ {'': '√', '3': '∛'}[degree] }({inside})"

    def same(node: Any, l2tobj: Any) -> str:
        text: str = l2tobj.node_arg_to_text(node, 0)
        return text

    database = get_default_latex_context_db()
    database.add_context_category(
        "airwnd",
        prepend=True,
        macros=[
            MacroTextSpec("frac", fraction),
            MacroTextSpec("sqrt", root),
            *(MacroTextSpec(name, same) for name in ("mathrm", "mathit", "text")),
            MacroTextSpec(
                "bar", lambda node, l2tobj: f"{same(node, l2tobj).strip('{}')}\N{COMBINING OVERLINE}"
            ),
            *(MacroTextSpec(name, simplify_repl="") for name in ("left", "right", "bigl", "bigr")),
        ],
    )
    return LatexNodes2Text(
        latex_context=database, math_mode="text", keep_braced_groups=True, keep_braced_groups_minlen=0
    )


def _term(text: str) -> str:
    """Put parentheses around what a fraction bar would hold together."""
    text = text.strip()
    return text if re.fullmatch(r"[\w'^.]+(_\{?[\w ]+\}?)?|\([^()]*\)|\w+\([^()]*\)", text) else f"({text})"
