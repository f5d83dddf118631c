from collections.abc import Callable
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ENGINE",
    "NOTHING",
    "VERSION",
    "PanicException",
    "Scenario",
    "ScenarioError",
    "catalogue",
    "parse_span",
    "schema",
]

VERSION: Final[str]
ENGINE: Final[str]
NOTHING: Final[int]

_Column: TypeAlias = NDArray[np.float64] | NDArray[np.uint32] | tuple[NDArray[np.uint32], list[str]]

class ScenarioError(ValueError): ...
class PanicException(BaseException): ...

@final
class Scenario:
    def __new__(cls, text: str, origin: str, format: str, overrides: list[tuple[str, str]]) -> Scenario: ...
    def to_json(self) -> str: ...
    def run(
        self,
        seed: int,
        series_interval_ns: int | None,
        progress: Callable[[float], object] | None,
    ) -> tuple[str, dict[str, _Column], dict[str, _Column]]: ...

def catalogue() -> str: ...
def schema() -> str: ...
def parse_span(text: str) -> int: ...
