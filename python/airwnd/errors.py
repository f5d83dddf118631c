"""What can go wrong outside a scenario."""


class InputError(ValueError):
    """An input other than a scenario is wrong; the message is one line that says what and where.

    :class:`airwnd.ScenarioError` is for scenarios; both are :class:`ValueError`.
    """


class EngineError(RuntimeError):
    """An invariant of the engine was broken: a mistake of ours, not of the user."""
