"""JSON Schemas of the files that describe papers and experiments."""

from typing import Any

from airwnd.reproduce.claims import ClaimsFile
from airwnd.reproduce.design import ExperimentFile
from airwnd.reproduce.paper import PaperFile
from airwnd.reproduce.reader import schema as schema_of

_FILES = {"experiment": ExperimentFile, "claims": ClaimsFile, "paper": PaperFile}


def schema(file: str) -> dict[str, Any]:
    """Return the schema of ``experiment.toml``, ``claims.toml`` or ``paper.toml``, named by its stem."""
    return schema_of(_FILES[file])
