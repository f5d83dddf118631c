"""Writing figures to files."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwnd.plots import style
from airwnd.support.errors import InputError
from airwnd.support.files import check_file, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Without a date, equal pictures have equal bytes.
_METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None},
    ".png": {"Software": None},
}


def check(path: Path) -> None:
    """Check, before computing anything, that a picture can be drawn and written."""
    style.require()
    if path.suffix not in _METADATA:
        raise InputError(f"{path}: the name of a picture must end in {', '.join(_METADATA)}")
    check_file(path)


def save(figure: "Figure", path: Path) -> None:
    """Write a figure in the format given by the suffix; equal figures give equal bytes."""
    check(path)
    stream = BytesIO()
    with style.styled():
        figure.savefig(stream, format=path.suffix[1:], metadata=_METADATA[path.suffix])
    write_atomically(path, stream.getvalue())
