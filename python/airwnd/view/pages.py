"""Shared code of the HTML pages: strict templates and data URLs."""

import base64
import hashlib
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import jinja2
    from markupsafe import Markup


def environment(package: str) -> "jinja2.Environment":
    """Return the template environment of a package; an undefined name in a template is an error."""
    import jinja2

    found = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.globals["policy"] = _policy
    return found


def sealed(render: "Callable[[str], str]") -> str:
    """Return a page that executes its own scripts only, should a text of a run ever get unescaped into it.

    Parameters
    ----------
    render
        Renders the page with the number that its scripts and its policy have. The number is a digest of the
        page, so that no text in it can know the number, and equal pages are equal files.
    """
    unknown = secrets.token_hex(16)
    page = render(unknown)
    digest = hashlib.sha256(page.replace(unknown, "").encode()).hexdigest()
    return page.replace(unknown, digest)


def _policy(number: str) -> "Markup":
    from markupsafe import Markup

    directives = (
        "default-src 'none'",
        # Scripts with the number may load others: modules, and the library of the charts. None evaluates
        # texts, but the automation of browsers does.
        f"script-src 'nonce-{number}' 'strict-dynamic' 'unsafe-eval'",
        "style-src 'unsafe-inline'",
        # Pages are opened from disk as well as from servers.
        "img-src 'self' file: data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    text = "; ".join(directives)
    return Markup('<meta http-equiv="Content-Security-Policy" content="{}">').format(Markup(text))  # noqa: S704 (escaped by format)


def data_link(kind: str, content: bytes) -> str:
    """Return content as a data URL of media type `kind`."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
