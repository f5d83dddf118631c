"""Files that are there as a whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path


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
