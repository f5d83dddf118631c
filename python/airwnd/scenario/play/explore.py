"""From the playground to the explorer of ``airwnd view``, and back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airwnd.results.run import RunData
from airwnd.scenario.play.showing import is_fragment
from airwnd.scenario.scenario import Scenario, as_toml
from airwnd.support.errors import InputError
from airwnd.view.page import html

#: Longest run for the explorer, in simulated seconds.
_LONGEST_S = 600
#: Configurations of a playground.
_MAX_SCENARIOS = 2


def explored(message: Mapping[str, Any]) -> str:
    """Run what a playground has shown, and return the explorer's page about it.

    Parameters
    ----------
    message
        ``scenarios``: one or two in TOML; ``seed``: their seed, ``null`` for their own; ``seconds``: the time
        that the playground has shown; ``fragment``: its state, to which the explorer leads back.
    """
    tomls, seconds, seed = (message.get(key) for key in ("scenarios", "seconds", "seed"))
    fragment = message.get("fragment", "")
    if not is_fragment(fragment):
        raise InputError("fragment: expected the part of the page's address from # on")
    if (
        not isinstance(tomls, list)
        or not 1 <= len(tomls) <= _MAX_SCENARIOS
        or not all(isinstance(t, str) for t in tomls)
    ):
        raise InputError("scenarios: expected one or two texts")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= _LONGEST_S:
        raise InputError(f"the explorer takes runs of at most {_LONGEST_S} s of simulated time; start again")
    if not (seed is None or (isinstance(seed, int) and 0 <= seed < 2**64)):
        raise InputError("seed: expected a whole number")
    duration = f"{max(1, round(seconds * 1000))}ms"
    scenarios = [Scenario.from_toml(toml).with_(duration=duration) for toml in tomls]
    runs = [scenario.run(seed=seed, series="20ms") for scenario in scenarios]
    names = ["playground"] if len(runs) == 1 else ["A", "B"]
    return html(dict(zip(names, runs, strict=True)), playground=f"./{fragment}")


def scenario_text(path: Path) -> str:
    """Return the scenario of a file, or of a run folder with its seed, in TOML."""
    if not path.is_dir():
        scenario = Scenario.load(path)
        text = path.read_text(encoding="utf-8")
        return text if not text.lstrip().startswith("{") else toml(scenario.resolved)
    run = RunData.load(path)
    return toml({**run.scenario, "seed": run.seed})


def toml(settings: Mapping[str, Any]) -> str:
    """Return a resolved scenario as TOML: single values first, then a section for each table.

    Examples
    --------
    >>> print(toml({"duration": "1s", "flow": [{"id": "a"}], "rlc": {"mode": "am"}}), end="")
    duration = "1s"
    rlc = {"mode" = "am"}
    <BLANKLINE>
    [[flow]]
    id = "a"
    """
    several = {key: value for key, value in settings.items() if _is_repeated(value)}
    lines = [
        f"{key} = {as_toml(value, key)}"
        for key, value in settings.items()
        if key not in several and value is not None
    ]
    for key, entries in several.items():
        for entry in entries:
            inner = [f"{name} = {as_toml(value, name)}" for name, value in entry.items() if value is not None]
            lines += ["", f"[[{key}]]", *inner]
    return "\n".join(lines) + "\n"


def _is_repeated(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)
