"""Shared code of the HTML pages: strict templates and data URLs."""

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def environment(package: str) -> "jinja2.Environment":
    """Return the template environment of a package; an undefined name in a template is an error."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def data_link(kind: str, content: bytes) -> str:
    """Return content as a data URL of media type `kind`."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
