"""Whether Python code that a scenario names may be executed."""

from dataclasses import dataclass

from airwnd.errors import InputError

#: Time that a call of a plug-in may take by default, in seconds.
PLUGIN_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class CodePolicy:
    """What a scenario may do with the Python code that it names.

    Attributes
    ----------
    allow
        Whether files and modules with congestion controls may be executed.
    timeout_s
        Wall-clock time that each call of such code may take, in seconds; infinity: no limit.
    """

    allow: bool = False
    timeout_s: float = PLUGIN_TIMEOUT_S

    def __post_init__(self) -> None:
        if not self.timeout_s > 0:
            raise InputError(f"plugin timeout: {self.timeout_s:g} s is not above zero")


#: Code is checked, but not executed.
NO_CODE = CodePolicy()
