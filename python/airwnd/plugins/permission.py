"""Permission to execute Python code that a scenario names."""

from dataclasses import dataclass

from airwnd.support.errors import InputError

#: Default wall-clock limit of a plug-in call, in seconds.
PLUGIN_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class CodePolicy:
    """Permission and time limit for the Python code that a scenario names.

    Attributes
    ----------
    allow
        Whether files and modules that define classes may be executed.
    timeout_s
        Wall-clock limit of each call into such code, in seconds; infinity: no limit.
    """

    allow: bool = False
    timeout_s: float = PLUGIN_TIMEOUT_S

    def __post_init__(self) -> None:
        if not self.timeout_s > 0:
            raise InputError(f"plugin timeout: {self.timeout_s:g} s is not above zero")


#: Code is checked but not executed.
NO_CODE = CodePolicy()
