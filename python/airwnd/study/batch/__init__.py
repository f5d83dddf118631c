"""Batches of runs, local or on a cluster, in which finished runs are never lost.

:func:`carry_out` looks up finished runs in a :class:`Store`, executes the missing ones with
:class:`Processes` or :class:`Dask`, and stores each run as soon as it is finished.

>>> import airwnd, tempfile
>>> from airwnd.study.batch import Processes, Store, Task, carry_out
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
    from airwnd.study.batch.carry import Results, carry_out
    from airwnd.study.batch.dask import Dask
    from airwnd.study.batch.processes import Processes
    from airwnd.study.batch.store import Store, Stored
    from airwnd.study.batch.task import Finished, Task
    from airwnd.study.batch.workers import Report, Workers

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
    "Dask": "airwnd.study.batch.dask",
    "Finished": "airwnd.study.batch.task",
    "Processes": "airwnd.study.batch.processes",
    "Report": "airwnd.study.batch.workers",
    "Results": "airwnd.study.batch.carry",
    "Store": "airwnd.study.batch.store",
    "Stored": "airwnd.study.batch.store",
    "Task": "airwnd.study.batch.task",
    "Workers": "airwnd.study.batch.workers",
    "carry_out": "airwnd.study.batch.carry",
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import on first use: a worker process must start fast and needs few of these modules."""
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
        raise AttributeError(f"module 'airwnd.study.batch' has no attribute {name!r}")
