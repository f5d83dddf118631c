"""JSON Schemas of the files that describe papers and experiments."""

from typing import Any

from airwnd.study.reader import schema as schema_of
from airwnd.study.reproduce.claims import ClaimsFile
from airwnd.study.reproduce.design import ExperimentFile
from airwnd.study.reproduce.paper import PaperFile

_FILES = {"experiment": ExperimentFile, "claims": ClaimsFile, "paper": PaperFile}


def schema(file: str) -> dict[str, Any]:
    """Return the schema of ``experiment.toml``, ``claims.toml`` or ``paper.toml``, named by its stem."""
    return schema_of(_FILES[file])
