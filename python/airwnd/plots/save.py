"""Figures as files."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwnd import style
from airwnd.errors import InputError
from airwnd.files import check_file, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Without a date, the same picture has the same bytes.
_METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None},
    ".png": {"Software": None},
}


def check(path: Path) -> None:
    """Check that a picture can be written, before anything is computed for it."""
    if path.suffix not in _METADATA:
        raise InputError(f"{path}: a picture's name ends in {', '.join(_METADATA)}")
    check_file(path)


def save(figure: "Figure", path: Path) -> None:
    """Write a figure in the format that the file's name asks for; the same each time."""
    check(path)
    stream = BytesIO()
    with style.styled():
        figure.savefig(stream, format=path.suffix[1:], metadata=_METADATA[path.suffix])
    write_atomically(path, stream.getvalue())
