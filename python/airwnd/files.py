"""Files: read if they are what a user means by one, written as a whole or not at all."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from airwnd.errors import InputError

# The most bytes of a text that is read.
_MOST_BYTES = 256_000_000


def read_text(path: Path) -> str:
    """Read a regular file in UTF-8, of 256 MB at most, without a byte order mark.

    Devices and pipes have no end, or block.

    Raises
    ------
    InputError
        If it is none; one line.
    OSError
        If it cannot be read.
    """
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(about.st_mode):
        raise InputError(f"{path}: not a regular file")
    with path.open("rb") as file:
        # A file of the kernel's may have more than it says.
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise InputError(f"{path}: more than {_MOST_BYTES // 1_000_000} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text in UTF-8") from None


def write_atomically(path: Path, contents: str | bytes) -> None:
    """Write a file so that it is there as a whole or not at all, whatever happens meanwhile."""
    data = contents.encode() if isinstance(contents, str) else contents
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)
        raise
