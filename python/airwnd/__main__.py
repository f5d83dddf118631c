"""The command ``airwnd``, also as ``python -m airwnd``."""

import sys


def main() -> None:
    """Run the command line, unless the engine that the user chose cannot be loaded."""
    try:
        from airwnd import cli
    except ImportError as error:
        sys.exit(_refuse(error))
    cli.main()


def _refuse(error: ImportError) -> int:
    """Report in one line that a module cannot be imported, and return the exit code of bad input."""
    sys.stderr.write(f"airwnd: {' '.join(str(error).split())}\n")
    return 2


if __name__ == "__main__":
    main()
