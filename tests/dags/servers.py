"""Airflow's and Prefect's own servers on loopback: one run of the demo's chats, its seconds, and the page's picture.

    .venv-airflow/bin/python -m tests.dags.servers airflow FOLDER [--picture docs/images/airflow.png]
    .venv-prefect/bin/python -m tests.dags.servers prefect FOLDER [--config CONFIG] [--shards 3]

FOLDER takes all that they write. Every process started here has ended when this ends.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PATIENCE_S = 600
WARM = {
    "AIRFLOW__SCHEDULER__MP_START_METHOD": "forkserver",
    "AIRFLOW__SCHEDULER__MP_FORKSERVER_PRELOAD": "apportion.dags.warm",
}
DEMO = """
corpus = "{demo}/corpus"
output = "run"
rating = "satisfaction"

[run]
recorded = "{demo}/llm_replies.jsonl"
skip_stages = ["features", "verbalize"]

[split]
train = 0.5
validation = 0.1
test = 0.25
policy = 0.15

[decompose]
method = "llm"
compare = ["uniform", "sentiment"]

[decompose.llm]
provider = "recorded"
model = "claude"

[train_reward]
backbone = "minilm"

[align]
policy = "tiny"
anyway = true
steps = 4

[align.tiny]
warmup_steps = 10
"""
"""The demo's chats without their films, which take minutes to read."""


def demo_config(folder: Path) -> Path:
    """A configuration of the demo's chats that runs in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "demo.toml"
    path.write_text(DEMO.format(demo=ROOT / "demo"))
    return path


def free_port() -> int:
    """A port of loopback that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def of_session(leader: int) -> Iterator[int]:
    """The processes of a session."""
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and int((folder / "stat").read_text().rsplit(")", 1)[1].split()[3]) == leader:
                yield int(folder.name)
        except OSError:  # It has ended meanwhile.
            continue


@contextmanager
def started(command: list[str], log: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a session of its own; all its processes are ended with it."""
    with log.open("w") as file:
        server = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True, cwd=ROOT
        )
    try:
        yield server
    finally:
        for process in [*of_session(server.pid)]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        server.wait()


def wait_for(what: Callable[[], Any], every_s: float = 0.5) -> Any:
    """What ``what`` gives, once it gives something and raises no OSError; TimeoutError after `PATIENCE_S`."""
    ends_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends_s:
        try:
            if given := what():
                return given
        except OSError:
            pass
        time.sleep(every_s)
    raise TimeoutError(f"nothing came within {PATIENCE_S} s; the logs are in the folder that was given")


class Airflow:
    """A running `airflow standalone`: its address, and the calls of its API."""

    def __init__(self, url: str, process: subprocess.Popen[bytes]) -> None:
        self.url, self.process, self._token = url, process, ""

    def call(self, path: str, data: object = None, method: str | None = None) -> Any:
        """One request to the API."""
        if not self._token:
            with urllib.request.urlopen(f"{self.url}/auth/token", timeout=PATIENCE_S) as answer:
                self._token = json.load(answer)["access_token"]
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(f"{self.url}/api/v2/{path}", body, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def run(self, config: Path, shards: int, every_s: float = 0.5) -> dict[str, Any]:
        """Run the DAG once and wait for its end; returns what Airflow knows of the run."""
        asked = {"logical_date": None, "conf": {"config": str(config), "shards": shards}}
        wait_for(lambda: self.call("dags/apportion"))
        place = f"dags/apportion/dagRuns/{self.call('dags/apportion/dagRuns', asked)['dag_run_id']}"
        ended = ("success", "failed")
        return wait_for(lambda: (run := self.call(place))["state"] in ended and run, every_s)


@contextmanager
def airflow(folder: Path, **settings: str) -> Iterator[Airflow]:
    """`airflow standalone` with its page on loopback, which asks for no password."""
    home, port = (folder / "airflow").resolve(), free_port()
    home.mkdir(parents=True)
    url = f"http://127.0.0.1:{port}"
    own = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "PYTHONPATH": str(ROOT),
        "PATH": f"{BIN}:{os.environ['PATH']}",
    }
    environment = {**os.environ, **own, **WARM, **settings}
    with started([str(BIN / "airflow"), "standalone"], home / "standalone.log", environment) as process:
        served = Airflow(url, process)
        wait_for(lambda: served.call("dags/apportion"))
        yield served


@contextmanager
def prefect(folder: Path) -> Iterator[str]:
    """Prefect's server and a worker on loopback, with the flow as the deployment ``apportion/demo``; its address."""
    home, port = (folder / "prefect").resolve(), free_port()
    home.mkdir(parents=True)
    url = f"http://127.0.0.1:{port}"
    own = {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": f"{url}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PYTHONPATH": str(ROOT),
        "PATH": f"{BIN}:{os.environ['PATH']}",
    }
    os.environ.update(own)
    command = [str(BIN / "prefect"), "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with started(command, home / "server.log", dict(os.environ)):
        wait_for(lambda: urllib.request.urlopen(f"{url}/api/health", timeout=30).read())
        from prefect import flow

        for arguments in (["work-pool", "create", "local", "--type", "process"],):
            subprocess.run([str(BIN / "prefect"), *arguments], check=True, capture_output=True)
        source = flow.from_source(str(ROOT), entrypoint="dags/prefect_flow.py:apportion")
        source.deploy("demo", work_pool_name="local", print_next_steps=False, ignore_warnings=True)
        worker = [str(BIN / "prefect"), "worker", "start", "--pool", "local"]
        with started(worker, home / "worker.log", dict(os.environ)):
            yield url


def run_prefect(config: Path, shards: int) -> Any:
    """Run the deployment once and wait for its end; returns what Prefect knows of the run."""
    from prefect.deployments import run_deployment

    parameters = {"config": str(config), "shards": shards}
    return run_deployment("apportion/demo", parameters=parameters, timeout=PATIENCE_S, poll_interval=0.5)


def picture(url: str, place: Path, width: int = 1280, height: int = 720) -> None:
    """What Chromium shows at ``url``, as a PNG."""
    from playwright.sync_api import sync_playwright

    from tests.viewer.browser.conftest import chromium

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        page.goto(url, timeout=PATIENCE_S * 1000)
        page.wait_for_load_state("networkidle", timeout=PATIENCE_S * 1000)
        page.wait_for_timeout(5000)
        page.screenshot(path=place)
        browser.close()


def main() -> int:
    """Run the demo once under one of them; 1 where that fails."""
    parser = argparse.ArgumentParser("python -m tests.dags.servers", description="The demo under a real server.")
    parser.add_argument("orchestrator", choices=("airflow", "prefect"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", type=Path, help="another run than the demo's chats")
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--picture", type=Path, help="where to leave a picture of the run's page")
    options = parser.parse_args()
    config = (options.config or demo_config(options.folder)).resolve()
    if options.orchestrator == "airflow":
        with airflow(options.folder) as server:
            began_s = time.monotonic()
            run = server.run(config, options.shards)
            state, took_s = run["state"], time.monotonic() - began_s
            if options.picture:
                picture(f"{server.url}/dags/apportion/runs/{run['dag_run_id']}", options.picture)
    else:
        with prefect(options.folder) as url:
            began_s = time.monotonic()
            run = run_prefect(config, options.shards)
            state, took_s = run.state.name.lower(), time.monotonic() - began_s
            if options.picture:
                picture(f"{url}/runs/flow-run/{run.id}", options.picture)
    print(f"{options.orchestrator}: {state}, {took_s:.1f} s; load of the machine {os.getloadavg()[0]:.1f}")
    return 0 if state in ("success", "completed") else 1


if __name__ == "__main__":
    sys.exit(main())
