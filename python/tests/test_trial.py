"""Trials: a connection of two endpoints over several seeds, with assertions on the results."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from airwnd import Endpoint, InputError, Path, Scenario, Trial
from airwnd.study.statistics import interval
from airwnd.study.trial import Report, _Connection

LOSSY = {
    "name": "lossy",
    "duration": "1s",
    "core": {"server_rate": "0bps", "server_delay": "0ms"},
    "link": [
        {"rate": "10Mbps", "delay": "20ms", "queue": 100, "loss": {"kind": "packet-error", "rate": 0.02}}
    ],
    "ue": [{"name": "phone"}],
}


class Sender(Endpoint):
    """Send two packets every 5 ms."""

    next_s = 0.0

    def transmit(self, now_s: float) -> Iterable[bytes]:
        if now_s < self.next_s:
            return []
        self.next_s += 0.005
        return [bytes(1000)] * 2

    def receive(self, now_s: float, data: bytes, ecn: int) -> None:
        """Ignore a packet; none arrives."""

    def timeout(self) -> float:
        return self.next_s


class Receiver(Endpoint):
    """Count what arrives."""

    def transmit(self, now_s: float) -> Iterable[bytes]:  # noqa: ARG002 (the signature is given)
        return []

    def receive(self, now_s: float, data: bytes, ecn: int) -> None:  # noqa: ARG002 (the signature is given)
        self.received_bytes += len(data)


def download(_: int) -> tuple[Endpoint, Endpoint]:
    return Receiver(), Sender()


@pytest.fixture(scope="module")
def report() -> Report:
    return Trial(Scenario.from_dict(LOSSY), seeds=4).run(download)


def test_the_results_are_those_of_a_path_with_each_seed(report: Report) -> None:
    found = {}
    for seed in (1, 2, 3, 4):
        path = Path(Scenario.from_dict(LOSSY), seed)
        flow = path.run(*download(seed), 1.0, ue="phone")
        # A packet of 1028 bytes at 10 Mbit/s, and 20 ms.
        assert path.min_delay_s(flow, to_ue=True) == pytest.approx(0.020_822, abs=5e-5)
        assert path.min_delay_s(flow, to_ue=False) is None
        found[seed] = path.finish().flows.row(0, named=True)
    assert report.values("goodput_kbps") == {seed: row["goodput_kbps"] for seed, row in found.items()}
    assert len(set(report.values("goodput_kbps").values())) > 1
    assert report.values("loss_percent") == {
        seed: 100 * row["packets_dropped"] / row["packets_sent"] for seed, row in found.items()
    }
    least, p95 = report.values("delay_ms_min"), report.values("delay_ms_p95")
    assert report.values("queueing_delay_ms_p95") == {seed: p95[seed] - least[seed] for seed in found}
    assert [run.seed for run in report.runs] == [1, 2, 3, 4]
    assert report.values(lambda run: run.duration_s) == dict.fromkeys(found, 1.0)


def test_intervals_are_those_of_the_reproductions(report: Report) -> None:
    values = list(report.values("goodput_kbps").values())
    assert report.interval("goodput_kbps") == interval(values, (0, math.inf))
    assert math.isinf(Trial(Scenario.from_dict(LOSSY), [7, 9]).run(download).interval("loss_percent").high)


def test_an_upload_is_measured_in_its_direction() -> None:
    trial = Trial(Scenario.from_dict(LOSSY), 1, duration_s=0.2, ue="phone-0")
    found = trial.run(lambda _: (Sender(), Receiver()))
    assert found.values("goodput_kbps")[1] > 2500
    assert found.values("delay_ms_min")[1] == pytest.approx(20.822, abs=0.05)


def measured(*values: float) -> Report:
    """Return a report whose measure `goodput` has the given values."""
    runs: Any = values
    return Report({seed: _Connection(run, "real-0", math.nan) for seed, run in enumerate(runs, 1)})


def goodput(run: Any) -> float:
    return float(run)


def test_an_assertion_holds_if_the_whole_interval_does() -> None:
    # As the Rust crate's: 9, 10 and 11 have a standard error of sqrt(1/3), and t is 4.303.
    report = measured(9, 10, 11)
    report.assert_at_least(goodput, 7.5)
    report.assert_at_most(goodput, 12.5)
    with pytest.raises(AssertionError) as undecided:
        report.assert_at_least(goodput, 9.5)
    assert "the mean keeps it by 0.500 (5.263 %), the interval does not: more seeds decide" in str(
        undecided.value
    )
    with pytest.raises(AssertionError) as missed:
        report.assert_at_least(goodput, 12.5)
    assert str(missed.value) == (
        "goodput should be at least 12.50, but is 10.00 (95 % interval 7.516 to 12.48, 3 seeds): "
        "the mean misses it by 2.500 (20.00 %); by seed: 1: 9.000, 2: 10.00, 3: 11.00"
    )


@pytest.mark.parametrize(
    ("values", "call", "message"),
    [
        (
            (1, math.nan, 1),
            lambda report: report.assert_at_least(goodput, 0),
            "a seed has no value; by seed: 1: 1.000, 2: nan",
        ),
        ((1, math.nan, 1), lambda report: report.assert_at_most(goodput, 9), "a seed has no value"),
        ((1, 1), lambda report: report.assert_at_most(goodput, 9), "an interval needs 3 seeds"),
        ((1, 2, 3), lambda report: report.assert_at_most(goodput, 0), "the mean misses it by 2.000; by seed"),
        (
            (1500, 1500, 1500),
            lambda report: report.assert_at_most(goodput, 100),
            "but is 1500 (95 % interval 1500 to 1500",
        ),
    ],
)
def test_a_message_states_why(
    values: tuple[float, ...], call: Callable[[Report], None], message: str
) -> None:
    with pytest.raises(AssertionError) as failed:
        call(measured(*values))
    assert message in str(failed.value)


def test_a_message_has_the_unit_of_the_column(report: Report) -> None:
    with pytest.raises(AssertionError, match=r"goodput should be at least 9000 kbit/s, but is 3\d+ kbit/s"):
        report.assert_at_least("goodput_kbps", 9000)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("goodput", "flows have no column `goodput`; did you mean `goodput_kbps`"),
        ("cc", "measure: flows.cc is a text, not a number"),
        (5, "measure: expected a text or a function, found 5"),
    ],
)
def test_a_wrong_measure_has_one_line(report: Report, measure: Any, message: str) -> None:
    with pytest.raises(InputError) as raised:
        report.assert_at_most(measure, 1)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_error_names_its_seed() -> None:
    class Broken(Sender):
        def timeout(self) -> float:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        Trial(Scenario.from_dict(LOSSY), [6]).run(lambda _: (Receiver(), Broken()))
    assert raised.value.__notes__ == ["seed 6"]
