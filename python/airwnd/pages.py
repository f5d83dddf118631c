"""What all pages have in common: strict templates, and links to data that lies in the page itself."""

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def environment(package: str) -> "jinja2.Environment":
    """Read the templates of a package; a name that they do not know is an error."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def data_link(kind: str, content: bytes) -> str:
    """Give contents of a media type as a link that needs no file."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
