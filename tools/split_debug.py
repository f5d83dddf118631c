"""Moves the debug information of a wheel's extension modules to files next to the wheel.

    python tools/split_debug.py WHEEL --objcopy OBJCOPY

The installed module is then much smaller. `WHEEL.MODULE.debug.gz` beside the wheel has its line tables.
Unpacked as `MODULE.debug` into the folder of the installed module, backtraces and debuggers find it by
the name and the checksum that the module holds.
"""

import argparse
import gzip
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path


def split(wheel: Path, objcopy: str) -> list[Path]:
    """Strip the modules of a wheel in place, and return the files with their debug information.

    Raises
    ------
    SystemExit
        If the wheel has no module with debug information.
    """
    with tempfile.TemporaryDirectory(dir=wheel.parent) as name:
        run([sys.executable, "-I", "-m", "wheel", "unpack", "--dest", name, wheel])
        (unpacked,) = Path(name).iterdir()
        modules = [path for path in unpacked.rglob("*.so") if b".debug_line" in path.read_bytes()]
        if not modules:
            raise SystemExit(f"{wheel}: no module with debug information")
        found = [_split(module, wheel, objcopy) for module in modules]
        wheel.unlink()
        # It also writes the digests of the changed files.
        run([sys.executable, "-I", "-m", "wheel", "pack", "--dest-dir", wheel.parent, unpacked])
    return found


def _split(module: Path, wheel: Path, objcopy: str) -> Path:
    # The debug link holds the checksum of the file, and its name without a folder.
    debug = module.with_name(f"{module.name}.debug")
    run([objcopy, "--only-keep-debug", module, debug])
    run([objcopy, "--strip-all", f"--add-gnu-debuglink={debug}", module])
    packed = wheel.with_name(f"{wheel.stem}.{debug.name}.gz")
    packed.write_bytes(gzip.compress(debug.read_bytes(), mtime=0))
    debug.unlink()
    return packed


def run(command: Sequence[object]) -> None:
    """Run a command quietly; its errors are shown."""
    subprocess.run([str(each) for each in command], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--objcopy", default="objcopy", help="objcopy of LLVM or of GNU")
    given = parser.parse_args()
    for path in split(given.wheel, given.objcopy):
        print(path)
