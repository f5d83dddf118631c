"""Engines with plug-ins in Rust: another library as the module ``airwnd._native``.

The package imports this module first: it imports only what the interpreter has loaded already.
"""

import os
import sys
from importlib.machinery import ExtensionFileLoader
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from pathlib import Path
    from types import ModuleType

VARIABLE = "AIRWND_ENGINE"
"""Environment variable with the file of the library; processes of sweeps and clusters inherit it."""
_MODULE = "airwnd._native"


class _Loader(ExtensionFileLoader):
    """Loads the library, whose file is part of the engine's identity: results of engines are never mixed."""

    def exec_module(self, module: "ModuleType") -> None:
        import hashlib
        from importlib.metadata import version
        from pathlib import Path

        super().exec_module(module)
        expected = version("airwnd")
        if expected != module.VERSION:
            raise ImportError(
                f"{self.path}: the engine has version {module.VERSION}, and this is airwnd {expected}"
            )
        digest = hashlib.sha256(Path(self.path).read_bytes()).hexdigest()
        vars(module)["ENGINE"] += f"+{digest[:16]}"


class _Finder:
    """Finds the module in a file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def find_spec(
        self,
        fullname: str,
        path: "Sequence[str] | None",  # noqa: ARG002 (importlib's signature)
        target: "ModuleType | None" = None,  # noqa: ARG002 (importlib's signature)
    ) -> "ModuleSpec | None":
        if fullname != _MODULE:
            return None

        from importlib.util import spec_from_loader
        from pathlib import Path

        if not Path(self._file).is_file():
            raise ImportError(f"{self._file}: no such file; {VARIABLE} names the library of an engine")
        return spec_from_loader(_MODULE, _Loader(_MODULE, self._file))


def select() -> None:
    """Load ``airwnd._native`` from the library that the environment variable names, if it is set.

    The import of the module fails with an :class:`ImportError` if there is no such file, or it is no engine
    of this version.
    """
    if file := os.environ.get(VARIABLE):
        sys.meta_path.insert(0, _Finder(file))


def restart(file: "Path") -> None:
    """Run this command again with an engine, unless it runs with it already.

    Parameters
    ----------
    file
        File of the library.
    """
    chosen = str(file.resolve())
    if os.environ.get(VARIABLE) != chosen:
        os.environ[VARIABLE] = chosen
        sys.stdout.flush()
        words = [sys.executable, "-P", *sys.orig_argv[1:]]
        os.execv(words[0], words)  # noqa: S606 (this interpreter again)
