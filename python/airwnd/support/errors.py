"""Errors other than those of scenarios."""


class InputError(ValueError):
    """Invalid input other than a scenario; the message is one line that names the input and the problem.

    :class:`airwnd.ScenarioError` reports errors in scenarios. Both are subclasses of :class:`ValueError`.
    """


class EngineError(RuntimeError):
    """A violated invariant of the engine: a bug in airwnd, not an error of the user."""
