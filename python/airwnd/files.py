"""Reading text files, writing files atomically, and checking output paths before long work."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from airwnd.errors import InputError

# Maximum size of a text file, in MiB.
_MOST_MIB = 256
# Written to an output folder and removed again. It is not empty, because a full disk accepts empty files.
_PROBE = bytes(4096)


def read_text(path: Path, most_mib: int = _MOST_MIB) -> str:
    """Read a regular UTF-8 file; strip the byte order mark and convert line ends to a line feed.

    Devices and pipes are refused: they may be endless, or block.

    Raises
    ------
    InputError
        If the file is not regular, larger than `most_mib`, or not UTF-8; the message is one line.
    OSError
        If the file cannot be read.
    """
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        raise InputError(f"{path}: is a folder; expected a file")
    if not stat.S_ISREG(about.st_mode):
        raise InputError(f"{path}: not a regular file")
    with path.open("rb") as file:
        # A file in /proc may be longer than its size says.
        data = file.read((most_mib << 20) + 1)
    if len(data) > most_mib << 20:
        raise InputError(f"{path}: larger than {most_mib} MiB")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: byte 0x{data[error.start]:02x} is not UTF-8") from None


def write_atomically(path: Path, contents: str | bytes) -> None:
    """Write a file atomically: after an interruption it is complete or absent."""
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
    """Return a hidden path next to a file or folder, unique across processes and machines."""
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}.partial")


def remove_partial_files(folder: Path) -> None:
    """Remove partial files of killed processes below a folder that no other process uses."""
    for path in folder.rglob(".*.partial"):
        path.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Create a folder if it is missing, and check that files can be written in it.

    Raises
    ------
    InputError
        If the path is a file.
    OSError
        If the folder cannot be created or written; the error names it.
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
    """Check, before long work, that a file can be written; its folder is not created.

    Raises
    ------
    InputError
        If the path is a folder, or its parent folder is missing.
    OSError
        If the parent folder cannot be written.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; expected the name of a file")
    if path.exists() and not path.is_file():
        # A device or a pipe is written directly, without a partial file next to it.
        return
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first")
    check_folder(path.parent)
