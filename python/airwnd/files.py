"""Reading texts, writing files as a whole or not at all, and checks of where results go before long work."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from airwnd.errors import InputError

# The largest text that is read, in MiB.
_MOST_MIB = 256
# Written and removed again where results are to go: a full disk takes an empty file.
_PROBE = bytes(4096)


def read_text(path: Path, most_mib: int = _MOST_MIB) -> str:
    """Read a regular file in UTF-8 without its byte order mark, lines ended by a line feed.

    Devices and pipes have no end, or block.

    Raises
    ------
    InputError
        If it is no regular file, larger than `most_mib`, or not in UTF-8; one line.
    OSError
        If it cannot be read.
    """
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        raise InputError(f"{path}: is a folder; expected a file")
    if not stat.S_ISREG(about.st_mode):
        raise InputError(f"{path}: not a regular file")
    with path.open("rb") as file:
        # A file of the kernel's may have more than it says.
        data = file.read((most_mib << 20) + 1)
    if len(data) > most_mib << 20:
        raise InputError(f"{path}: larger than {most_mib} MiB")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: byte 0x{data[error.start]:02x} is not UTF-8") from None


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
