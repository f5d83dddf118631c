"""Notebooks are stored with their outputs: ``make notebooks`` runs them and saves text and figures."""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
FOLDER = HERE.parent / "notebooks"


def run(path: Path) -> str:
    """Run a notebook and write it; the same packages always give the same bytes."""
    notebook = nbformat.read(path, as_version=4)
    metadata = dict(notebook.metadata)
    # Names and dates within SVG.
    os.environ |= {"MATPLOTLIBRC": str(HERE / "matplotlibrc"), "SOURCE_DATE_EPOCH": "0"}
    place = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(notebook, timeout=None, resources=place, record_timing=False).execute()
    notebook.metadata = nbformat.from_dict(metadata)  # without the version of the interpreter
    return nbformat.writes(notebook) + "\n"


def main() -> None:
    """Run all notebooks and save their outputs."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        path.write_text(run(path), encoding="utf-8")


if __name__ == "__main__":
    main()
