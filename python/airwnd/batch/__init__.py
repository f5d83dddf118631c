"""Batches of runs, local or on a cluster, in which finished runs are never lost.

:func:`carry_out` looks up finished runs in a :class:`Store`, executes the missing ones with
:class:`Processes` or :class:`Dask`, and stores each run as soon as it is finished.

>>> import airwnd, tempfile
>>> from airwnd.batch import Processes, Store, Task, carry_out
>>> base = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml").with_(duration="100ms")
>>> tasks = [Task(base, seed) for seed in (1, 2)]
>>> with tempfile.TemporaryDirectory() as folder:
...     results = carry_out(tasks, Store(folder), Processes(jobs=2))
...     again = carry_out(tasks, Store(folder), Processes(jobs=2))
...     [run.outcome["seed"] for run in results], results.reused, again.reused
([1, 2], 0, 2)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airwnd.batch.carry import Results, carry_out
    from airwnd.batch.dask import Dask
    from airwnd.batch.processes import Processes
    from airwnd.batch.store import Store, Stored
    from airwnd.batch.task import Finished, Task
    from airwnd.batch.workers import Report, Workers

__all__ = [
    "Dask",
    "Finished",
    "Processes",
    "Report",
    "Results",
    "Store",
    "Stored",
    "Task",
    "Workers",
    "carry_out",
]

_HOME = {
    "Dask": "airwnd.batch.dask",
    "Finished": "airwnd.batch.task",
    "Processes": "airwnd.batch.processes",
    "Report": "airwnd.batch.workers",
    "Results": "airwnd.batch.carry",
    "Store": "airwnd.batch.store",
    "Stored": "airwnd.batch.store",
    "Task": "airwnd.batch.task",
    "Workers": "airwnd.batch.workers",
    "carry_out": "airwnd.batch.carry",
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import on first use: a worker process must start fast and needs few of these modules."""
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
        raise AttributeError(f"module 'airwnd.batch' has no attribute {name!r}")
