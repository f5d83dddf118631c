"""Reading text files and pipes, writing files atomically, and checking output paths before long work."""

import codecs
import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

from airwnd.support.errors import InputError

# Maximum size of a text file, in MiB.
_MAX_MIB = 256
# Read by its descriptor: a socket cannot be opened by these names.
_STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
# Folders whose entries are descriptors of the process that looks, not files of a folder.
_DESCRIPTORS = (Path("/dev/fd"), Path("/proc/self/fd"))
# Written to an output folder and removed again. It is not empty, because a full disk accepts empty files.
_PROBE = bytes(4096)


def read_text(path: Path, max_mib: int = _MAX_MIB, *, pipes: bool = False) -> str:
    """Read a UTF-8 file; strip the byte order mark and convert line ends to a line feed.

    Devices are refused, which may be endless. With `pipes` the path may be a pipe, which can be read once,
    and ``-`` is standard input, whatever that is.

    Raises
    ------
    InputError
        If the path is a folder, a device, or a pipe without `pipes`, or the text larger than `max_mib` or
        not UTF-8; the message is one line.
    OSError
        If the file cannot be read.
    """
    name = source_name(path) if pipes else str(path)
    with opened(path, pipes=pipes) as file:
        # A file in /proc may be longer than its size says, and a pipe has no size.
        data = file.read((max_mib << 20) + 1)
    if len(data) > max_mib << 20:
        raise InputError(f"{name}: larger than {max_mib} MiB")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{name}: is UTF-16, as of `>` in PowerShell; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}:{line}: byte 0x{data[error.start]:02x} is not UTF-8") from None
    return text.replace("\r\n", "\n")


def is_pipe(path: Path) -> bool:
    """Return whether reading a path may be possible only once: it exists, and is no file and no folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


def source_name(path: Path) -> str:
    """Return the name of an input in messages, and the origin of the file names in it.

    Names in a text from a descriptor are relative to the current folder, since it has no folder itself.

    Examples
    --------
    >>> source_name(Path("-")), source_name(Path("/dev/fd/63")), source_name(Path("in/bus.toml"))
    ('standard input', 'descriptor 63', 'in/bus.toml')
    """
    if str(path) in _STANDARD_INPUT:
        return "standard input"
    return f"descriptor {path.name}" if path.parent in _DESCRIPTORS else str(path)


def opened(path: Path, *, pipes: bool = False) -> BufferedReader:
    """Open a regular file, or with `pipes` also a pipe or ``-``, for reading.

    Raises
    ------
    InputError
        If the path is a folder, a device, or a pipe without `pipes`.
    OSError
        If the file cannot be opened; the error has its :func:`source_name`.
    """
    name = source_name(path) if pipes else str(path)
    is_standard = pipes and str(path) in _STANDARD_INPUT
    try:
        mode = (os.fstat(0) if is_standard else path.stat()).st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{name}: is a folder; expected a file")
        if not (is_standard or stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode))):
            raise InputError(f"{name}: not a regular file{' or a pipe' if pipes else ''}")
        return open(0, "rb", closefd=False) if is_standard else path.open("rb")
    except OSError as error:
        error.filename = name
        raise


def write_atomically(path: Path, contents: str | bytes | Iterable[bytes]) -> None:
    """Write a file atomically, also in parts: after an interruption it is complete or absent."""
    data = contents.encode() if isinstance(contents, str) else contents
    partial = partial_path(path)
    try:
        if isinstance(data, bytes):
            partial.write_bytes(data)
        else:
            with partial.open("wb") as file:
                file.writelines(data)
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
    probe = partial_path(folder / "probe")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(_PROBE)
    except OSError as error:
        # For a folder whose parents exist, only a file system such as /proc reports this error.
        is_fixed = error.errno == errno.ENOENT
        why = "its file system takes no new files" if is_fixed else error.strerror
        raise OSError(error.errno, f"cannot be written: {why}", str(folder)) from None
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
