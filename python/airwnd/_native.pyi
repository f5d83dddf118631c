from collections.abc import Callable
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ENGINE",
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
    ) -> tuple[str, dict[str, NDArray[np.uint64] | NDArray[np.float64] | list[str]]]: ...

def catalogue() -> str: ...
def schema() -> str: ...
def parse_span(text: str) -> int: ...
