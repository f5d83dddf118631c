"""Files that are there as a whole or not at all, and checks before work whose result goes to a file."""

import os
from contextlib import suppress
from pathlib import Path

from airwnd.errors import InputError

# Written and removed again where results are to go: a full disk takes an empty file.
_PROBE = bytes(4096)


def write_atomically(path: Path, contents: str | bytes) -> None:
    """Write a file so that it is there as a whole or not at all, whatever happens meanwhile."""
    data = contents.encode() if isinstance(contents, str) else contents
    partial = partial_path(path)
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(partial)):
            error.filename = str(path)
        raise


def partial_path(path: Path) -> Path:
    """Give a hidden path beside a file or folder that no other process uses, on this machine or another."""
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}.partial")


def remove_partial_files(folder: Path) -> None:
    """Remove what killed processes have left below a folder that no other process uses."""
    for path in folder.rglob(".*.partial"):
        path.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Make a folder, if it is missing, and check that files can be written in it.

    Raises
    ------
    InputError
        If it is a file.
    OSError
        If it cannot be made or written; the error names it.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; expected a folder")
    folder.mkdir(parents=True, exist_ok=True)
    probe = partial_path(folder / "probe")
    try:
        probe.write_bytes(_PROBE)
    except OSError as error:
        error.filename = str(folder)
        raise
    finally:
        with suppress(OSError):
            probe.unlink()


def check_file(path: Path) -> None:
    """Check that a file can be written, before work is done for it; its folder is not made.

    Raises
    ------
    InputError
        If it is a folder, or its folder is missing.
    OSError
        If its folder cannot be written.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; expected the name of a file")
    if path.exists() and not path.is_file():
        # A device or a pipe takes what is written; there is no file beside it.
        return
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first")
    check_folder(path.parent)
