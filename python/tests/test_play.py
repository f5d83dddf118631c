"""``airwnd play``: the engine behind the page, and who may reach it."""

import base64
import http.client
import json
import re
import signal
import subprocess
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import airwnd
from airwnd.scenario.play import Playground
from airwnd.scenario.play.engine import Engine
from airwnd.scenario.play.explore import scenario_text

from .command_line import Cli, command_words
from .waiting import running

CELL = 'duration = "2s"\n[[site]]\n[[ue]]\ncount = 2\n[[flow]]\nid = "bulk"\n'


@pytest.fixture
def playground() -> Iterator[Playground]:
    found = Playground()
    thread = threading.Thread(target=found.serve)
    thread.start()
    yield found
    found.close()
    thread.join()


def request(
    playground: Playground, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", int(playground.host.rpartition(":")[2]))
    sent = {"Host": playground.host, **({"Origin": f"http://{playground.host}"} if body else {}), **headers}
    connection.request(method, path, None if body is None else json.dumps(body), sent)
    response = connection.getresponse()
    found = response.status, response.read().decode()
    connection.close()
    return found


def ask(playground: Playground, **message: Any) -> dict[str, Any]:
    status, text = request(playground, "POST", f"/{playground.token}/engine", {"name": "a", **message})
    assert status == 200
    answer: dict[str, Any] = json.loads(text)
    return answer


def test_the_page_is_served_at_its_address_only(playground: Playground) -> None:
    status, page = request(playground, "GET", f"/{playground.token}/")
    assert status == 200
    assert "connect-src 'self'" in page
    assert "wasm" not in page.partition("</head>")[0]
    for path in ("/", "/engine", "/wrong/", f"/{playground.token}", f"/{playground.token}/other"):
        status, text = request(playground, "GET", path)
        assert (status, text) == (200, page) if path == f"/{playground.token}" else status == 404, path


def test_other_origins_and_names_are_refused(playground: Playground) -> None:
    engine = f"/{playground.token}/engine"
    task = {"task": "describe", "families": ["cc"]}
    assert request(playground, "POST", engine, task)[0] == 200
    assert request(playground, "POST", engine, task, Origin="http://evil.example")[0] == 404
    assert request(playground, "POST", engine, task, Origin="null")[0] == 404
    assert request(playground, "POST", "/wrong/engine", task)[0] == 404
    # A name of the Internet that leads to this machine.
    rebound = "evil.example:" + playground.host.rpartition(":")[2]
    assert request(playground, "POST", engine, task, Host=rebound)[0] == 404
    assert request(playground, "GET", f"/{playground.token}/", Host=rebound)[0] == 404
    assert request(playground, "POST", engine, task, **{"Content-Length": "99999999"})[0] == 413


def test_a_simulation_has_the_series_of_a_run(playground: Playground) -> None:
    begun = ask(playground, task="begin", toml=CELL, seed=7, interval=50, packetsOf=0)["result"]
    assert [flow["id"] for flow in begun["flows"]] == ["bulk-0", "bulk-1"]
    assert begun["tti"] == 1
    assert len(begun["ues"]) == 2 * 6
    ask(playground, task="watch", flows=["bulk-1"], columns=["throughput_kbps"])
    rows: list[float] = []
    stages: set[str] = set()
    for to in (0.3, 0.7, 5.0):
        done = ask(playground, task="advance", to=to)["result"]
        rows += done["series"]["bulk-1"]["throughput_kbps"]
        stages |= set(done["packets"]["stage"])
    assert done["ended"]
    assert stages >= {"sent", "queued", "block", "received"}
    series = airwnd.Scenario.from_toml(CELL).run(seed=7, series="50ms").series
    assert rows == series.filter(series["flow"] == "bulk-1")["throughput_kbps"].to_list()
    assert len(rows) == 40


def test_columns_that_do_not_exist_are_refused(playground: Playground) -> None:
    ask(playground, task="begin", toml=CELL, interval=50, packetsOf=None)
    missing = ask(playground, task="watch", flows=["bulk-1"])
    assert missing == {"error": "columns: expected a list of names"}
    for name in ("cwnd", "flow"):
        ask(playground, task="watch", flows=["bulk-1"], columns=[name])
        found = ask(playground, task="advance", to=0.3 if name == "cwnd" else 0.6)
        assert found == {"error": f"columns: the time series have no numbers `{name}`"}


def test_a_step_is_one_tti(playground: Playground) -> None:
    ask(playground, task="begin", toml=CELL, interval=50, packetsOf=None)
    done = ask(playground, task="advance", to=None, ttis=3)["result"]
    assert done["now"] == pytest.approx(0.003)
    assert done["packets"] == {}
    assert ask(playground, task="set", what="weight", target=1, value=2.0) == {"result": {}}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"task": "begin", "toml": "duration = [", "interval": 50}, "scenario:1: "),
        ({"task": "begin", "toml": CELL + "cuont = 2\n", "interval": 50}, "unknown key `cuont`"),
        ({"task": "begin", "toml": 3}, "toml: expected a text"),
        ({"task": "begin", "toml": CELL, "interval": -1}, "interval: expected a number from 1 to 10000"),
        ({"task": "begin", "toml": CELL, "interval": 50, "seed": 1e40}, "seed: expected a number"),
        ({"task": "advance", "name": "b", "to": 1}, "this simulation is no longer kept"),
        ({"task": "describe", "families": ["x"]}, "families: expected some of"),
        ({"task": "explore", "scenarios": [CELL], "seconds": 1e9}, "runs of at most 600 s"),
        ({"task": "explore", "scenarios": [], "seconds": 1}, "scenarios: expected one or two texts"),
        (
            {"task": "explore", "scenarios": [CELL], "seconds": 1, "fragment": "javascript:alert(1)"},
            "fragment: expected the part of the page's address from # on",
        ),
        ({"task": "run", "toml": CELL, "overrides": ["flow[0].cc", "cubicc"]}, "did you mean `cubic`?"),
    ],
)
def test_a_bad_request_is_one_line(playground: Playground, message: dict[str, Any], error: str) -> None:
    found = ask(playground, **message)["error"]
    assert error in found
    assert "\n" not in found


def test_old_simulations_are_not_kept() -> None:
    engine = Engine()
    for name in "abcde":
        engine.answer({"task": "begin", "name": name, "toml": CELL, "interval": 50})
    with pytest.raises(airwnd.InputError, match="no longer kept"):
        engine.answer({"task": "advance", "name": "a", "to": 0.1})
    assert engine.answer({"task": "advance", "name": "e", "to": 0.1})["now"] == pytest.approx(0.1)


def test_a_run_opens_in_the_explorer(playground: Playground) -> None:
    message = {"scenarios": [CELL, CELL], "seed": 3, "seconds": 0.2, "fragment": "#cc=bbr&b.cc=cubic"}
    found = ask(playground, task="explore", **message)["result"]
    status, page = request(playground, "GET", f"/{playground.token}/{found['page']}")
    assert status == 200
    assert "<title>A, B" in page
    assert '<a href="./#cc=bbr&amp;b.cc=cubic">back to the playground</a>' in page


def test_a_page_of_the_explorer_has_the_command_of_the_playground(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "cell.toml").write_text(CELL, encoding="utf-8")
    cli("run", "cell.toml", "--series", "50ms", "--out", "a run", cwd=tmp_path)
    cli("view", "a run", "--no-open", cwd=tmp_path)
    assert "<code>airwnd play &#39;a run&#39;</code>" in (tmp_path / "a run.html").read_text(encoding="utf-8")


def test_a_run_for_the_page_has_the_results_of_a_run(playground: Playground) -> None:
    overrides = ["flow[0].cc", "bbr", "ue[0].count", "3"]
    found = ask(playground, task="run", toml=CELL, overrides=overrides, seed=7, interval=50)["result"]
    run = airwnd.Scenario.from_toml(CELL).override([("flow[0].cc", "bbr"), ("ue[0].count", "3")])
    expected = run.run(seed=7, series="50ms")
    assert json.loads(found["outcome"]) == expected.outcome
    assert found["series"]["time_s"] == expected.series["time_s"].to_list()
    assert found["events"]["event"] == expected.events["event"].to_list()


@pytest.mark.parametrize(
    ("name", "fragment"),
    [("cc/bbr", "#cc=bbr"), ("codel", "#queue=codel"), ("linux", None), ("ue.mobility", None)],
)
def test_explain_leads_to_the_playground(cli: Cli, name: str, fragment: str | None) -> None:
    (topic,) = [each for each in json.loads(cli("explain", name, "--json").stdout) if "toml" in each]
    found = topic["playground"]
    if fragment:
        assert found == fragment
    else:
        packed = found.removeprefix("#toml=")
        text = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))).decode()
        assert topic["toml"] in text
        airwnd.Scenario.from_toml(text)
    assert f"Live in a browser: `airwnd play --show {topic['name']}`" in cli("explain", name).stdout.replace(
        "\n  ", " "
    )


def test_a_key_that_names_a_file_has_no_live_scenario(cli: Cli) -> None:
    assert "Live in a browser" not in cli("explain", "ue.replay.path").stdout
    done = cli("play", "--no-open", "--show", "ue.replay.path")
    assert (done.returncode, done.stderr) == (
        2,
        "airwnd: --show ue.replay.path: no scenario of the page has it alone\n",
    )


def test_claims_of_an_experiment_are_judged_behind_the_page(tmp_path: Path) -> None:
    with running(
        command_words("play", "--no-open", "nr/senders"), tmp_path, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        found = re.fullmatch(r"page: http://(127\.0\.0\.1:\d+)(/[\w-]+/)\n", process.stdout.readline())
        assert found
        connection = http.client.HTTPConnection(found[1])
        connection.request("GET", found[2])
        page = connection.getresponse().read().decode()
        connection.close()
        process.send_signal(signal.SIGINT)
    assert "connect-src 'self'" in page
    assert '"remote": true' in page


def test_an_experiment_that_is_measured_is_one_line(cli: Cli) -> None:
    done = cli("play", "--no-open", "stacks/bus")
    assert (done.returncode, done.stderr) == (
        2,
        "airwnd: stacks/bus: its claims cannot be judged in a page: it is measured on real machines, "
        "not simulated\n",
    )
    assert "a paper; give one of its experiments" in cli("play", "--no-open", "nr").stderr


def test_a_run_opens_in_the_playground(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cell.toml"
    file.write_text(CELL, encoding="utf-8")
    assert scenario_text(file) == CELL
    folder = tmp_path / "run"
    cli("run", file, "--seed", "5", "--out", folder)
    text = scenario_text(folder)
    assert airwnd.Scenario.from_toml(text).resolved == {
        **airwnd.Scenario.from_toml(CELL).resolved,
        "seed": 5,
    }
    page = Playground(scenario=text)
    assert json.dumps(text).replace("<", "\\u003c")[1:40] in page.pages[""]
    page._server.server_close()


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    with running(command_words("play", "--no-open"), tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"page: http://(127\.0\.0\.1:\d+)(/[\w-]+/)\n", line)
        assert found, line
        connection = http.client.HTTPConnection(found[1])
        connection.request("GET", found[2])
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "ended\n"
        assert process.wait() == 0


def test_a_port_in_use_is_one_line(playground: Playground, cli: Cli) -> None:
    port = playground.host.rpartition(":")[2]
    done = cli("play", "--no-open", "--port", port)
    assert (done.returncode, done.stderr) == (2, f"airwnd: port {port}: Address already in use\n")


def test_a_missing_scenario_is_one_line(cli: Cli) -> None:
    done = cli("play", "--no-open", "missing.toml")
    assert done.returncode == 2
    assert done.stderr.startswith("airwnd: missing.toml: ")
