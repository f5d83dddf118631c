from collections.abc import Callable, Sequence
from os import PathLike
from typing import Final, Literal, NoReturn, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ENGINE",
    "NOTHING",
    "VERSION",
    "Ack",
    "CallTimeout",
    "Congestion",
    "Connection",
    "Interrupted",
    "PanicException",
    "Scenario",
    "ScenarioError",
    "catalogue",
    "compats",
    "controls_of_marks",
    "end_when_stuck",
    "guard",
    "guard_commands",
    "link",
    "link_side",
    "panic_place",
    "parse_bytes",
    "parse_span",
    "presets",
    "resource_grid",
    "schema",
    "sections",
    "show_panics",
    "stacks",
    "tables",
]

VERSION: Final[str]
ENGINE: Final[str]
NOTHING: Final[int]

_Column: TypeAlias = NDArray[np.float64] | NDArray[np.uint32] | tuple[NDArray[np.uint32], list[str]]

class ScenarioError(ValueError): ...
class PanicException(BaseException): ...
class CallTimeout(BaseException): ...
class Interrupted(KeyboardInterrupt): ...

@final
class Ack:
    def __new__(
        cls,
        *,
        now_s: float = 0.0,
        acked_bytes: int = 0,
        rtt_s: float | None = None,
        srtt_s: float | None = None,
        min_rtt_s: float | None = None,
        one_way_delay_s: float | None = None,
        in_flight_bytes: int = 0,
        prior_in_flight_bytes: int = 0,
        lost_bytes: int = 0,
        marked_bytes: int = 0,
        delivered_bytes: int = 0,
        round: int = 0,
        cwnd_limited: bool = True,
        recovering: bool = False,
        delivery_rate_bps: int | None = None,
        app_limited: bool = False,
    ) -> Ack: ...
    @property
    def now_s(self) -> float: ...
    @property
    def acked_bytes(self) -> int: ...
    @property
    def rtt_s(self) -> float | None: ...
    @property
    def srtt_s(self) -> float | None: ...
    @property
    def min_rtt_s(self) -> float | None: ...
    @property
    def one_way_delay_s(self) -> float | None: ...
    @property
    def in_flight_bytes(self) -> int: ...
    @property
    def prior_in_flight_bytes(self) -> int: ...
    @property
    def lost_bytes(self) -> int: ...
    @property
    def marked_bytes(self) -> int: ...
    @property
    def recovering(self) -> bool: ...
    @property
    def delivery_rate_bps(self) -> int | None: ...
    @property
    def app_limited(self) -> bool: ...
    @property
    def delivered_bytes(self) -> int: ...
    @property
    def round(self) -> int: ...
    @property
    def cwnd_limited(self) -> bool: ...

@final
class Congestion:
    def __new__(
        cls,
        *,
        now_s: float = 0.0,
        signal: Literal["loss", "timeout", "repeated-timeout", "ecn"] = "loss",
        in_flight_bytes: int = 0,
    ) -> Congestion: ...
    @property
    def now_s(self) -> float: ...
    @property
    def signal(self) -> Literal["loss", "timeout", "repeated-timeout", "ecn"]: ...
    @property
    def in_flight_bytes(self) -> int: ...

@final
class Connection:
    def __new__(
        cls,
        *,
        mss_bytes: int = 1448,
        initial_window_bytes: int = 14480,
        initial_ssthresh_bytes: float = ...,
    ) -> Connection: ...
    @property
    def mss_bytes(self) -> int: ...
    @property
    def initial_window_bytes(self) -> int: ...
    @property
    def initial_ssthresh_bytes(self) -> float: ...

@final
class Scenario:
    def __new__(
        cls,
        text: str,
        origin: str,
        format: str,
        overrides: list[tuple[str, str]],
        allow_code: bool,
        call_limit_s: float,
        read_pipe: Callable[[str], str | None],
    ) -> Scenario: ...
    def plugins(self) -> list[str]: ...
    def check_code(self) -> None: ...
    def to_json(self) -> str: ...
    def check_nodes(self, words: list[str]) -> None: ...
    def check_run(self, seed: int, max_memory: int | None, *, is_session: bool) -> None: ...
    def cells(self) -> dict[str, _Column]: ...
    def link_budgets(self, seed: int) -> dict[str, _Column] | None: ...
    def ues(self, seed: int) -> dict[str, _Column]: ...
    def paths(self, seed: int, parts: int) -> dict[str, _Column]: ...
    def radio_map(
        self, x_m: Sequence[float], y_m: Sequence[float], height_m: float | None = None
    ) -> (
        tuple[
            NDArray[np.float64],
            NDArray[np.float64],
            NDArray[np.uint32],
            NDArray[np.float64],
            NDArray[np.float64],
        ]
        | None
    ): ...
    def run(
        self,
        seed: int,
        series_interval_ns: int | None,
        progress: Callable[[float], object] | None,
        pcap: tuple[PathLike[str], list[str], int | None] | None = None,
        allocations_ns: tuple[int, int] | None = None,
        max_memory: int | None = None,
        threads: int | None = None,
    ) -> tuple[str, dict[str, dict[str, _Column]]]: ...

def catalogue() -> str: ...
def presets() -> str: ...
def compats() -> str: ...
def controls_of_marks() -> list[str]: ...
def resource_grid(carrier: str, access: str) -> str: ...
def schema() -> str: ...
def sections() -> str: ...
def stacks() -> str: ...
def tables() -> str: ...
def parse_bytes(text: str) -> int: ...
def parse_rate(text: str) -> int: ...
def parse_span(text: str) -> int: ...
def link(
    scenario: Scenario, request: str, update: Callable[[str], bool]
) -> tuple[str, dict[str, dict[str, _Column]], str]: ...
def link_side(socket: int) -> NoReturn: ...
def guard(arguments: list[str]) -> int: ...
def guard_commands() -> str: ...
def end_when_stuck(code: int, message: bool) -> None: ...
def show_panics() -> None: ...
def panic_place() -> str | None: ...
