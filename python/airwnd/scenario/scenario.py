"""Scenarios, checked when they are created."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

from airwnd import _native
from airwnd.plugins.permission import NO_CODE, PLUGIN_TIMEOUT_S, CodePolicy, applied
from airwnd.results.capture import Capture
from airwnd.results.radio_trace import RadioTrace
from airwnd.support.arguments import (
    CALLABLE,
    DURATION,
    FLAG,
    MAPPING,
    MEMORY,
    NONE,
    NUMBER,
    PAIR,
    PATH,
    POSITIVE,
    REAL,
    SEED,
    SEVERAL,
    TEXT,
    WHOLE,
    Kind,
    checked,
    instances,
    tuples_of,
)
from airwnd.support.errors import InputError
from airwnd.text.quantities import counted

if TYPE_CHECKING:
    import polars as pl

    from airwnd.results.raw import Raw
    from airwnd.scenario.radio_map import RadioMap
    from airwnd.scenario.run import Run


_FORMAT = Kind("'toml' or 'json'", lambda value: value in ("toml", "json"))
# Maximum number of flow ids shown in `repr`.
_MAX_SHOWN = 4
_RUN = {
    "seed": SEED | NONE,
    "series": DURATION | NONE,
    "progress": CALLABLE | NONE,
    "pcap": PATH | instances("a Capture", Capture) | NONE,
    "allocations": PAIR | NONE,
    "max_memory": MEMORY | NONE,
    "threads": POSITIVE | NONE,
    "radio_trace": PATH | instances("a RadioTrace", RadioTrace) | NONE,
}
_CODE = {"allow_code": FLAG, "plugin_timeout_s": REAL}


class Scenario:
    """A checked, immutable scenario; scenarios with equal resolved values are equal.

    Created by :meth:`load`, :meth:`from_toml` or :meth:`from_dict`; :meth:`with_` returns changed copies. A
    scenario is pickled as its text and changes, and checked again where it is unpickled.

    Parameters
    ----------
    text
        Text of the scenario, as in a file.
    origin
        Name of the scenario's source in messages, in place of a file name.
    format
        Format of `text`.
    overrides
        Changes, as for :meth:`override`.
    policy
        Whether Python code that the scenario names may be executed.
    piped
        Texts of pipes that the scenario names, by path. Others are read when the scenario is created; copies
        and worker processes have the texts, because a pipe can be read once.

    Raises
    ------
    ScenarioError
        If the scenario is invalid: one line with file, line, key and the allowed values.

    Examples
    --------
    >>> import airwnd
    >>> scenario = airwnd.Scenario.from_dict(
    ...     {
    ...         "duration": "2s",
    ...         "link": [{"rate": "10Mbps", "delay": "20ms"}],
    ...         "ue": [{}],
    ...         "flow": [{"rwnd": "drwa"}],
    ...     }
    ... )
    >>> scenario.run().duration_s
    2.0
    """

    __slots__ = ("_canonical", "_checked", "_format", "_origin", "_overrides", "_piped", "_policy", "_text")

    @checked(
        text=TEXT,
        origin=TEXT,
        format=_FORMAT,
        overrides=SEVERAL,
        policy=instances("a CodePolicy", CodePolicy),
        piped=MAPPING,
    )
    def __init__(  # noqa: PLR0913 (what a copy of a scenario needs)
        self,
        text: str,
        origin: str,
        format: Literal["toml", "json"],  # noqa: A002
        overrides: Iterable[tuple[str, str]] = (),
        policy: CodePolicy = NO_CODE,
        *,
        piped: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._text = text
        self._origin = origin
        self._format = format
        self._overrides = tuple(overrides)
        for each in self._overrides:
            PAIR.check("settings", each)
        self._policy = policy
        self._piped = dict(piped)
        with applied(policy):
            self._checked = _native.Scenario(
                text, origin, format, list(self._overrides), policy.timeout_s, self._read_pipe
            )
        self._canonical: str | None = None

    @classmethod
    @checked(path=PATH, **_CODE)
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        allow_code: bool = False,
        plugin_timeout_s: float = PLUGIN_TIMEOUT_S,
    ) -> Self:
        """Read a file.

        Parameters
        ----------
        path
            A UTF-8 file or pipe of at most 256 MiB, or ``"-"`` for standard input; JSON if the name ends in
            ``.json`` or the text begins with ``{``; otherwise TOML. File names in a scenario that is read
            from a descriptor, such as standard input, are relative to the current folder.
        allow_code
            Execute the Python files and modules whose classes the scenario names. They run with your user's
            permissions, both when the scenario is read and in its runs. If false, a scenario that names such
            code is refused. Classes registered with :func:`airwnd.register` need no permission. Changed
            copies, worker processes and Dask workers inherit the permission.
        plugin_timeout_s
            Wall-clock limit of each call of a plug-in, in seconds; ``math.inf``: no limit.

        Returns
        -------
        Scenario
            The scenario in the file.

        Raises
        ------
        ScenarioError
            If the scenario is invalid; the message names line, key and the allowed values.
        InputError
            If the input is a folder or a device, larger, not UTF-8, or of another format.
        OSError
            If the file cannot be read.
        """
        return cls(*source_of(path), policy=CodePolicy(allow_code, plugin_timeout_s))

    @classmethod
    @checked(text=TEXT, origin=TEXT, **_CODE)
    def from_toml(
        cls,
        text: str,
        origin: str = "scenario",
        *,
        allow_code: bool = False,
        plugin_timeout_s: float = PLUGIN_TIMEOUT_S,
    ) -> Self:
        """Read a scenario from TOML text.

        Parameters
        ----------
        text
            The scenario in TOML.
        origin
            Name of the scenario's source in messages, in place of a file name.
        allow_code, plugin_timeout_s
            As for :meth:`load`.

        Returns
        -------
        Scenario
            The scenario in the text.

        Raises
        ------
        ScenarioError
            If the scenario is invalid.
        """
        return cls(text, origin, "toml", policy=CodePolicy(allow_code, plugin_timeout_s))

    @classmethod
    @checked(settings=MAPPING, **_CODE)
    def from_dict(
        cls,
        settings: Mapping[str, Any],
        *,
        allow_code: bool = False,
        plugin_timeout_s: float = PLUGIN_TIMEOUT_S,
    ) -> Self:
        """Create a scenario from a dictionary.

        Parameters
        ----------
        settings
            Dictionary with the structure of a scenario file: a section is a dictionary, a repeated section
            (``[[flow]]``) a list of dictionaries, a quantity a text with its unit.
        allow_code, plugin_timeout_s
            As for :meth:`load`.

        Returns
        -------
        Scenario
            The scenario in the dictionary.

        Raises
        ------
        ScenarioError
            If the scenario is invalid.
        """
        policy = CodePolicy(allow_code, plugin_timeout_s)
        return cls(_json("settings", settings), "scenario", "json", policy=policy)

    @checked(changes=MAPPING | NONE)
    def with_(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> Self:
        """Return a copy with changed values.

        Parameters
        ----------
        changes, **more
            Values by dotted key, such as ``"rlc.queue.buffer"``, ``"ue[0].count"`` or
            ``"flow[download].cc"``. An entry of a list is selected by its index, ``id`` or ``name``. A
            quantity is a text with its unit: ``"10KiB"``.

        Returns
        -------
        Scenario
            The changed copy.

        Raises
        ------
        ScenarioError
            If a key does not exist or a value is not allowed.

        Examples
        --------
        >>> import airwnd
        >>> base = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml")
        >>> small = base.with_({"ue[0].count": 20, "rlc.queue.buffer": "10KiB"}, duration="1s")
        >>> small.resolved["duration"]
        '1s'
        """
        every = {**(changes or {}), **more}
        for key in every:
            TEXT.check("changes", key)
        return self.override((key, as_toml(value, key)) for key, value in every.items())

    @checked(settings=SEVERAL)
    def override(self, settings: Iterable[tuple[str, str]]) -> Self:
        """Return a copy with values changed as by ``airwnd run --set key=value``.

        Parameters
        ----------
        settings
            Pairs of a dotted key and a value, in TOML or as bare text: ``("rlc.queue.buffer", "10KiB")``.

        Returns
        -------
        Scenario
            The changed copy.

        Raises
        ------
        ScenarioError
            If a key does not exist or a value is not allowed.
        """
        overrides = (*self._overrides, *settings)
        return type(self)(self._text, self._origin, self._format, overrides, self._policy, piped=self._piped)

    def _read_pipe(self, path: str) -> str | None:
        """Return the text of a pipe; ``None``: nothing is there. `_native.Scenario` calls it."""
        from airwnd.support.files import is_pipe, read_text

        if path not in self._piped:
            if not is_pipe(Path(path)):
                return None
            try:
                self._piped[path] = read_text(Path(path), pipes=True)
            except OSError as error:
                raise InputError(f"{path}: {error.strerror}") from None
        return self._piped[path]

    @property
    def resolved(self) -> dict[str, Any]:
        """The complete scenario, with all defaults filled in."""
        found: dict[str, Any] = json.loads(self.canonical)
        return found

    @property
    def canonical(self) -> str:
        """:attr:`resolved` as one line of JSON: identical for equal scenarios."""
        if self._canonical is None:
            self._canonical = self._checked.to_json()
        return self._canonical

    @property
    def written(self) -> list[dict[str, Any]]:
        """The values that the source sets, in its order, each with ``key``, ``line`` and ``value``."""
        found: list[dict[str, Any]] = json.loads(self._checked.written())
        return found

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.resolved["name"])

    @property
    def seed(self) -> int:
        """Default seed of runs."""
        return int(self.resolved["seed"])

    @property
    def code(self) -> tuple[str, ...]:
        """Python code that runs execute, as ``"file.py:Class"`` or ``"package.module:Class"``."""
        return tuple(dict.fromkeys(name for name in self._checked.plugins() if ":" in name))

    @property
    def plugin_timeout_s(self) -> float:
        """Wall-clock limit of each call of a plug-in, in seconds."""
        return self._policy.timeout_s

    @checked(**_RUN)
    def run(  # noqa: PLR0913
        self,
        seed: int | None = None,
        series: str | None = None,
        progress: Callable[[float], object] | None = None,
        pcap: "Capture | str | os.PathLike[str] | None" = None,
        allocations: tuple[str, str] | None = None,
        *,
        max_memory: int | str | None = None,
        threads: int | None = None,
        radio_trace: "RadioTrace | str | os.PathLike[str] | None" = None,
    ) -> "Run":
        """Simulate the scenario once. The global interpreter lock is released; Ctrl-C ends the run.

        Parameters
        ----------
        seed
            Seed from 0 to 2**63 - 1; ``None``: the scenario's seed.
        series
            Sampling interval of the time series with its unit, as in ``"10ms"``; ``None``: no series.
        progress
            Called periodically with the finished fraction, 0 to 1. An exception that it raises ends the run.
        pcap
            Capture file for the packets at the server, for Wireshark; a :class:`Capture` selects other nodes.
            The file is readable however the run ends.
        allocations
            Begin and end of a window, relative to the end of the warm-up, as in ``("1s", "1.1s")``. The
            allocations of resource-block groups in the window are recorded in the run's `allocations`.
        max_memory
            Limit of the run's estimated memory: bytes, or a text as in ``"2GB"``; ``None``: 80 % of the free
            memory. A run that needs more ends with an error. Results do not depend on the limit.
        threads
            Number of threads that advance the cells, at most one per three cells; ``None``: one. Results do
            not depend on it.
        radio_trace
            Folder for a trace of MAC, RLC, PDCP and RRC as Parquet files; a :class:`RadioTrace` selects
            layers, UEs and a window. It is written during the run, and readable however the run ends.

        Returns
        -------
        Run
            The results; identical for the same seed on any machine.

        Raises
        ------
        InputError
            If `series` or `allocations` are not times with units, `pcap` names a node that does not exist, or
            the folder of `radio_trace` has other files.
        ScenarioError
            If the window of `allocations` or of `radio_trace` lies outside the run, or there are no cells; if
            the run needs more memory than `max_memory`, or if a plug-in fails.
        OSError
            If the capture cannot be written.
        EngineError
            If an invariant of the engine is violated.
        """
        from airwnd.scenario.run import Run

        seed = self.seed if seed is None else seed
        means: dict[str, Any] = {"max_memory": max_memory, "threads": threads, "radio_trace": radio_trace}
        raw = self.simulate(seed, series, progress, pcap, allocations, **means)
        return Run.of(self.resolved, raw)

    @checked(**{**_RUN, "seed": SEED})
    def simulate(  # noqa: PLR0913
        self,
        seed: int,
        series: str | None = None,
        progress: Callable[[float], object] | None = None,
        pcap: "Capture | str | os.PathLike[str] | None" = None,
        allocations: tuple[str, str] | None = None,
        *,
        max_memory: int | str | None = None,
        threads: int | None = None,
        radio_trace: "RadioTrace | str | os.PathLike[str] | None" = None,
    ) -> "Raw":
        """Simulate the scenario once and return the engine's output, without building data frames.

        Parameters
        ----------
        seed
            The seed, 0 to 2**63 - 1.
        series
            As for :meth:`run`.
        progress
            As for :meth:`run`.
        pcap
            As for :meth:`run`.
        allocations
            As for :meth:`run`.
        max_memory
            As for :meth:`run`.
        threads
            As for :meth:`run`.
        radio_trace
            As for :meth:`run`.

        Returns
        -------
        airwnd.results.engine.Raw
            Results as JSON text, and the recorded tables by column.

        Raises
        ------
        InputError
            If `series` is not a time with a unit.
        EngineError
            If an invariant of the engine is violated.
        """
        from airwnd.results.engine import Records, simulate

        records = Records(series, pcap, allocations, max_memory, threads, radio_trace)
        if not self._checked.plugins():
            return simulate(self._checked, seed, progress, records)
        from airwnd.plugins.registry import marked_interrupts

        with marked_interrupts():
            return simulate(self._checked, seed, progress, records)

    @checked(**{name: _RUN[name] for name in ("series", "max_memory", "radio_trace")}, seed=SEED)
    def open_session(
        self,
        seed: int,
        series: str | None = None,
        max_memory: int | str | None = None,
        *,
        radio_trace: "RadioTrace | str | os.PathLike[str] | None" = None,
    ) -> _native.Session:
        """Prepare a simulation in steps; :class:`airwnd.Session` is its interface.

        Parameters
        ----------
        seed
            The seed, 0 to 2**63 - 1.
        series
            As for :meth:`run`.
        max_memory
            As for :meth:`run`.
        radio_trace
            As for :meth:`run`.

        Returns
        -------
        airwnd._native.Session
            The session, at the beginning of the warm-up.

        Raises
        ------
        InputError
            If `series` is not a time with a unit.
        ScenarioError
            As for :meth:`run`.
        """
        from airwnd.results.engine import begin_session

        return begin_session(self._checked, seed, series, max_memory, radio_trace)

    @checked(**{name: _RUN[name] for name in ("series", "max_memory")}, seed=SEED, radio=FLAG)
    def open_path(
        self,
        seed: int,
        series: str | None = None,
        max_memory: int | str | None = None,
        *,
        radio: bool = False,
    ) -> _native.Path:
        """Prepare a network in virtual time; :class:`airwnd.Path` is its interface.

        Parameters
        ----------
        seed
            The seed, 0 to 2**63 - 1.
        series
            As for :meth:`run`.
        max_memory
            As for :meth:`run`.
        radio
            Whether to record MAC and RRC.

        Returns
        -------
        airwnd._native.Path
            The network, at the end of the warm-up.

        Raises
        ------
        InputError
            If `series` is not a time with a unit.
        ScenarioError
            If the network cannot be built.
        """
        from airwnd.results.engine import begin

        return begin(_native.Path, self._checked, seed, series, max_memory, radio=radio)

    @checked(request=MAPPING, update=CALLABLE, pcap=_RUN["pcap"])
    def link(
        self,
        request: Mapping[str, Any],
        update: Callable[[str], bool],
        pcap: "Capture | str | os.PathLike[str] | None" = None,
    ) -> "tuple[Raw, str]":
        """Run a session in real time with real programs; ``airwnd link`` is its interface.

        Parameters
        ----------
        request
            Commands, the other end and the records of the session, as written by
            ``airwnd.link.session.Session``.
        update
            Called about five times a second with a snapshot as JSON, whose content is that of
            ``airwnd.link.snapshot.Snapshot``. The session ends if it returns false.
        pcap
            As for :meth:`run`.

        Returns
        -------
        tuple[airwnd.results.engine.Raw, str]
            Results, and a summary of the session as JSON (``airwnd.link.snapshot.Summary``).

        Raises
        ------
        InputError
            If `pcap` names a node that does not exist.
        ScenarioError
            If the scenario cannot be run in real time, or the system lacks what a session needs; the message
            states the remedy.
        OSError
            If the capture cannot be written.
        EngineError
            If an invariant of the engine is violated.
        """
        from airwnd.results import engine

        return engine.link(self._checked, request, update, pcap)

    @checked(max_memory=MEMORY | NONE)
    def check_run(self, max_memory: int | str | None = None) -> None:
        """Check the conditions that a run checks at its start: capacity of the cells, and memory.

        Parameters
        ----------
        max_memory
            As for :meth:`run`.

        Raises
        ------
        ScenarioError
            If :meth:`run` with the scenario's seed would fail at its start.
        """
        from airwnd.support.memory import share

        self._checked.check_run(self.seed, share(1, max_memory), is_session=False)

    def check_session(self) -> None:
        """Check the conditions that ``airwnd link`` checks in the scenario: as for a run, but without flows.

        Raises
        ------
        ScenarioError
            If a session in the scenario with its seed would fail at its start.
        """
        from airwnd.support.memory import share

        self._checked.check_run(self.seed, share(1, None), is_session=True)

    @checked(seed=SEED | NONE)
    def link_budgets(self, seed: int | None = None) -> "pl.DataFrame":
        """Compute each UE's link budget at its initial position: the best case for link adaptation.

        No other UE or cell transmits, except for ``downlink_full_load_sinr_db``.

        Parameters
        ----------
        seed
            Seed of placement and shadowing; ``None``: the scenario's seed.

        Returns
        -------
        polars.DataFrame
            A row per UE: ``ue``, ``group``, ``x_m``, ``y_m``, serving ``cell``, ``rsrp_dbm``;
            SINR (dB), CQI and reach of both directions. Uplink SINR is given over the whole carrier
            (``uplink_sinr_db``) and on the narrowest grant (``uplink_narrow_sinr_db`` on
            ``uplink_narrow_prbs`` PRBs). ``uplink_cqi`` and ``uplink_mcs`` are those of the narrowest grant,
            and 0 if the UE is out of reach.

        Raises
        ------
        InputError
            If there are no sites.
        ScenarioError
            If a cell has more UEs than sounding offsets.

        Examples
        --------
        >>> import airwnd
        >>> scenario = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml")
        >>> scenario.link_budgets()["uplink_reach"].unique().to_list()
        ['reached']
        """
        from airwnd.results.frames import table_of

        found = self._checked.link_budgets(self.seed if seed is None else seed)
        if found is None:
            raise InputError(f"{self._origin}: there is no [[site]], so there are no radio links")
        return table_of(found)

    @checked(
        points=WHOLE,
        extent=tuples_of(REAL, 4, "four numbers, west, east, south and north end,") | NONE,
        height_m=NUMBER | NONE,
        seed=SEED | NONE,
    )
    def radio_map(
        self,
        points: int = 300,
        extent: tuple[float, float, float, float] | None = None,
        height_m: float | None = None,
        seed: int | None = None,
    ) -> "RadioMap":
        """Compute a radio map: SINR, RSRP and best cell over the plane.

        Parameters
        ----------
        points
            Number of points along the longer side, 2 to 5000; the spacing is the same in both directions.
        extent
            West, east, south and north end in metres; ``None``: an area with all sites and UEs.
        height_m
            Height of the points above ground, in metres; ``None``: that of the UEs in the first group.
        seed
            Seed of the placement of the UEs shown on the map; ``None``: the scenario's seed.

        Returns
        -------
        RadioMap
            The map; ``map.plot("sinr").figure.savefig("map.png")`` writes a picture.

        Raises
        ------
        InputError
            If there are no sites, or if `points`, `extent` or `height_m` is out of range.

        Examples
        --------
        >>> import airwnd
        >>> scenario = airwnd.Scenario.from_dict(
        ...     {"duration": "1s", "site": [{"sectors": 3, "antenna": "parabolic"}], "ue": [{}], "flow": [{}]}
        ... )
        >>> map = scenario.radio_map(points=5, extent=(-1000, 1000, -1000, 1000))
        >>> map.cell[2].tolist()  # from west to east through the mast
        [1, 1, 0, 0, 0]
        """
        from airwnd.scenario.radio_map import Grid, survey

        grid = Grid(points, extent, height_m)
        return survey(self._checked, self._origin, grid, self.seed if seed is None else seed)

    @checked(
        seeds=SEVERAL,
        jobs=POSITIVE | NONE,
        series=DURATION | NONE,
        max_memory=MEMORY | NONE,
        threads=POSITIVE | NONE,
    )
    def run_many(
        self,
        seeds: Iterable[int],
        jobs: int | None = None,
        series: str | None = None,
        max_memory: int | str | None = None,
        *,
        threads: int | None = None,
    ) -> "Sequence[Run]":
        """Simulate once per seed, in parallel; the runs are returned in the order of the seeds.

        Parameters
        ----------
        seeds
            Seeds from 0 to 2**63 - 1.
        jobs
            Number of concurrent runs; ``None``: as many as there are cores for the threads of each.
        series
            As for :meth:`run`.
        max_memory
            Memory limit of each run, as for :meth:`run`; ``None``: concurrent runs share 80 % of the free
            memory.
        threads
            Threads of each run, as for :meth:`run`.

        Returns
        -------
        Sequence[Run]
            One run per seed.

        Raises
        ------
        InputError
            If `series` is not a time with a unit.
        EngineError
            If an invariant of the engine is violated.
        """
        from airwnd.support.memory import share
        from airwnd.support.threads import concurrent, side_by_side

        seeds, jobs = list(seeds), concurrent(jobs, threads)
        each = share(min(jobs, len(seeds)), max_memory)
        runs = [partial(self.run, seed, series, max_memory=each, threads=threads) for seed in seeds]
        return side_by_side(runs, jobs)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as text; unpickling fails where a class or a link trace differs from the one here."""
        classes = list(_digests(self.resolved))
        recordings = [
            (f"link[{index}].digest", link["digest"])
            for index, link in enumerate(self.resolved["link"])
            if link["kind"] == "trace"
        ]
        pins = classes + recordings
        overrides = (*self._overrides, *pins)
        arguments = (self._text, self._origin, self._format, overrides, self._policy)
        return partial(type(self), piped=self._piped), arguments

    def __eq__(self, other: object) -> bool:
        return self.canonical == other.canonical if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.canonical)

    def __str__(self) -> str:
        changes = ", ".join(f"{key}={value}" for key, value in self._overrides)
        return f"{self.name} with {changes}" if changes else self.name

    def __repr__(self) -> str:
        resolved = self.resolved
        ues = sum(group["count"] for group in resolved["ue"])
        ids = [flow["id"] for flow in resolved["flow"]]
        flows = ", ".join(ids[:_MAX_SHOWN]) + (", ..." if len(ids) > _MAX_SHOWN else "")
        return (
            f"<Scenario {resolved['name']!r} from {self._origin}: {resolved['duration']}, "
            f"{counted(ues, 'UE')}, flows {flows}>"
        )

    def _repr_html_(self) -> str:
        from airwnd.results.cards import scenario_card

        return scenario_card(self.resolved)


def source_of(path: str | os.PathLike[str]) -> tuple[str, str, Literal["toml", "json"]]:
    """Read the text of a scenario, and return it with its name in messages and its format."""
    from airwnd.support.files import read_text, source_name

    path = Path(path)
    text = read_text(path, pipes=True)
    # A pipe has no suffix. No text in TOML begins with a brace.
    has_brace = text.lstrip().startswith("{")
    if path.suffix == ".toml" and has_brace:
        raise InputError(f"{path}: is JSON; give it a name that ends in .json")
    if path.suffix in {".yaml", ".yml"} and not has_brace:
        raise InputError(f"{path}: a scenario is TOML or JSON, not YAML")
    is_json = path.suffix == ".json" or has_brace
    return text, source_name(path), "json" if is_json else "toml"


def as_toml(value: object, name: str = "value") -> str:
    """Format a value for ``--set``; `name` names it in messages."""
    if isinstance(value, Mapping):
        items = ", ".join(f"{_json(name, key)} = {as_toml(item, name)}" for key, item in value.items())
        return "{" + items + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(as_toml(item, name) for item in value) + "]"
    return _json(name, value)


def _digests(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys and digests of the classes in a resolved scenario."""
    if isinstance(value, Mapping):
        if value.get("kind") == "python":
            yield f"{key}.sha256", value["sha256"]
        for name, each in value.items():
            yield from _digests(each, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _digests(each, f"{key}[{index}]")


def _json(name: str, value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain_number)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name}: {error}") from None


def _plain_number(value: object) -> int | float:
    """Convert a number, such as one of NumPy, to a Python number."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(
        "expected a number, a truth value, a text, a list or a dictionary, found an object of type "
        f"{type(value).__name__}"
    )
