"""Reading run folders for a page, with a name for each run."""

from collections.abc import Sequence
from pathlib import Path

from airwnd.results.run import RunData
from airwnd.support.errors import InputError


def load(folders: Sequence[Path]) -> dict[str, RunData]:
    """Read runs with time series; each is named by its folder, with enough of the path to be unique."""
    labels = _labels([folder.resolve() for folder in folders])
    return {label: _load(folder) for label, folder in zip(labels, folders, strict=True)}


def _load(folder: Path) -> RunData:
    run = RunData.load(folder)
    if run.series.is_empty():
        raise InputError(
            f"{folder}: a run without time series; `airwnd run FILE --series 10ms --out FOLDER` writes one "
            "that has them"
        )
    return run


def _labels(folders: Sequence[Path]) -> list[str]:
    for depth in range(1, max(len(folder.parts) for folder in folders) + 1):
        labels = ["/".join(folder.parts[-depth:]) for folder in folders]
        if len(set(labels)) == len(labels):
            return labels
    raise InputError(f"{_twice(folders)}: named twice")


def _twice(folders: Sequence[Path]) -> Path:
    return next(folder for index, folder in enumerate(folders) if folder in folders[:index])
