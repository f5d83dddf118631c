"""Shared code for the manifests of result folders."""

import json
from collections.abc import Iterator
from typing import Any

FILE = "manifest.json"


def parsed(data: bytes) -> dict[str, Any]:
    """Parse a manifest.

    Raises
    ------
    ValueError
        If it is not a JSON object.
    """
    try:
        manifest = json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(manifest, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 (of the file, not of the argument)
    return manifest


def differences(there: Any, here: Any, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the settings in which two resolved scenarios differ: key, value in `there`, value in `here`.

    Examples
    --------
    >>> list(differences({"name": "a", "rlc": {"buffer": "1KiB"}}, {"name": "a", "rlc": {}}))
    [('rlc.buffer', '"1KiB"', 'not set')]
    """
    if isinstance(there, dict) and isinstance(here, dict):
        for name in {**there, **here}:
            yield from differences(there.get(name), here.get(name), f"{key}.{name}" if key else name)
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for index, pair in enumerate(zip(there, here, strict=True)):
            yield from differences(*pair, f"{key}[{index}]")
    elif there != here:
        yield key, _shown(there), _shown(here)


def _shown(value: Any) -> str:
    return "not set" if value is None else json.dumps(value)
