"""Folder locks that prevent concurrent writes by several processes."""

import errno
import fcntl
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from airwnd.support.errors import InputError

_NAME = ".lock"


@contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock an existing folder; the kernel releases the lock when the process ends for any reason.

    Parameters
    ----------
    folder
        Folder to lock. The lock is advisory: other programs can still write.
    wait
        Wait until the folder is free instead of raising an error.

    Raises
    ------
    InputError
        If another process has locked the folder; the message names the process and its machine.
    OSError
        If the folder cannot be written.
    """
    file = _acquired(folder / _NAME, folder, wait=wait)
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        file.flush()
        yield
    finally:
        # Removed while still locked: a process that has just opened the file detects that it was removed.
        with suppress(OSError):
            (folder / _NAME).unlink()
        file.close()


def _acquired(path: Path, folder: Path, *, wait: bool) -> IO[bytes]:
    while True:
        file = path.open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().decode(errors="replace") or "another process"
            file.close()
            raise InputError(
                f"{folder}: in use by {holder}; wait until it ends, or choose another folder"
            ) from None
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}:
                file.close()
                raise
            warnings.warn(
                f"{folder}: its file system has no locks; make sure that no other process uses the folder",
                stacklevel=4,
            )
            return file
        if _is_there(file, path):
            return file
        file.close()


def _is_there(file: IO[bytes], path: Path) -> bool:
    """Return whether a path still refers to an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
