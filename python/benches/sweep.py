"""Overhead of a sweep: on one core and on two, with small and with tiny runs.

Run with ``python python/benches/sweep.py``, on an idle machine with two cores for reliable results.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence

from airwnd import Scenario
from airwnd.study.batch import Processes, Results, Store, Task, carry_out

WIRE = {
    "name": "bench",
    "link": [{"rate": "10Mbps", "delay": "20ms", "queue": 50}],
    "ue": [{}],
    "flow": [{}],
}


def main() -> None:
    """Print a line for each length of run and number of jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs: int = parser.parse_args().runs
    print("simulated  jobs  elapsed s  busy %   processor ms per run: simulation  overhead")
    for duration in ("200ms", "2s", "40s"):
        base = Scenario.from_dict({**WIRE, "duration": duration})
        settings = [base.with_({"link[0].queue": 10 + place}) for place in range(runs // 10)]
        tasks = [Task(scenario, seed) for seed in range(1, 11) for scenario in settings]
        alone_ms = _alone_ms(tasks)
        elapsed_s = []
        for jobs in (1, 2):
            results, processor_s = _sweep(tasks, jobs)
            elapsed_s.append(results.elapsed_s)
            busy = 100 * results.simulation_s / (jobs * results.elapsed_s)
            print(
                f"{duration:>9}  {jobs:4}  {results.elapsed_s:9.3f}  {busy:6.1f}  {alone_ms:32.3f}"
                f"  {1e3 * processor_s / runs - alone_ms:9.3f}"
            )
        print(f"{'':9}  speed of 2 jobs: {elapsed_s[0] / elapsed_s[1]:.2f} times that of 1")


def _alone_ms(tasks: Sequence[Task]) -> float:
    """Return the processor time of a run in this process, which depends little on other programs."""
    sample = tasks[:: max(1, len(tasks) // 100)]
    start = time.process_time()
    for task in sample:
        task.scenario.simulate(task.seed)
    return 1e3 * (time.process_time() - start) / len(sample)


def _sweep(tasks: Sequence[Task], jobs: int) -> tuple[Results, float]:
    with tempfile.TemporaryDirectory() as folder:
        before = _processor_s()
        results = carry_out(tasks, Store(folder), Processes(jobs))
        return results, _processor_s() - before


def _processor_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    main()
