"""kill -9 at random moments of Airflow's task processes, or of Prefect's flow and its workers; counts what was lost.

    .venv-airflow/bin/python -m tests.dags.kills airflow FOLDER [--kills 20]
    .venv-prefect/bin/python -m tests.dags.kills prefect FOLDER

The run is `small_run`'s; its questions go to a server here, which counts them. Exit code 1: bytes differ from a local
run's, or a question was asked again although no kill had hit it on its way.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from apportion.pipeline.stages.registry import STAGES
from tests.dags import servers
from tests.dags.small_run import CONFIG, artifacts, write_corpus
from tests.llm_client.openai_server import OpenAIServer, serving
from tests.pipeline.llm_run import good

CONCURRENCY = 8
"""Requests that one killed process may have had on their way (decompose.llm.concurrency)."""
PATIENT_DAG = """
from datetime import timedelta
from apportion.dags.airflow_dag import build_dag
dag = build_dag(retries=100, retry_delay=timedelta(0))
"""


def config_that_asks(folder: Path, name: str, url: str) -> Path:
    """A run of the same corpus that asks the server at ``url``."""
    live = CONFIG.format(output=name).replace('provider = "recorded"', f'base_url = "{url}"')
    path = folder / f"{name}.toml"
    path.write_text(live.replace('recorded = "replies.jsonl"', ""))
    return path


def killed(named: str, session: int, chance: random.Random) -> bool:
    """Kill one process of a session whose command line holds ``named``; False where there is none."""
    found = []
    for process in servers.of_session(session):
        try:
            line = Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if named in line and "idle" not in line and "LocalExecutor" not in line and "tracker" not in line:
            found.append(process)
    if not found:
        return False
    try:
        os.kill(chance.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def under_airflow(folder: Path, url: str, kills: int, chance: random.Random) -> list[str]:
    """Runs until so many task processes were killed; returns the runs' names."""
    names: list[str] = []
    starts: list[str] = []
    done = 0
    dags = folder / "dags"
    dags.mkdir()
    (dags / "patient.py").write_text(PATIENT_DAG)
    with servers.airflow(folder, AIRFLOW__CORE__DAGS_FOLDER=str(dags)) as server:
        while done < kills:
            names.append(f"run{len(names)}")
            config, ended = config_that_asks(folder, names[-1], url), threading.Event()

            def run(config: Path = config, ended: threading.Event = ended) -> None:
                # The check of the input is not tried again: where it is killed, a person starts the run again.
                while server.run(config, 3)["state"] != "success":
                    starts.append(config.stem)
                ended.set()

            thread = threading.Thread(target=run)
            thread.start()
            while thread.is_alive():
                ended.wait(chance.uniform(0.2, 3))
                done += done < kills and killed("airflow worker -- ", server.process.pid, chance)
            assert ended.is_set(), f"{names[-1]} has failed"
    print(f"airflow: {done} task processes killed in {len(names)} runs, {len(starts)} of them started again")
    return names


def under_prefect(folder: Path, url: str, kills: int, chance: random.Random) -> list[str]:
    """The same for flows and their pools' processes; a flow that has died is started again."""
    names: list[str] = []
    done = starts = 0
    with servers.prefect(folder):
        while done < kills:
            names.append(f"run{len(names)}")
            config = config_that_asks(folder, names[-1], url)
            code = 1
            while code:
                command = [sys.executable, "-m", "apportion.dags.prefect_flow", str(config), "--shards", "3"]
                with servers.started(
                    [*command, "--workers", "2"], folder / f"flow{starts}.log", {**os.environ}
                ) as flow:
                    starts += 1
                    while flow.poll() is None:
                        time.sleep(chance.uniform(1, 12))
                        done += done < kills and killed("python", flow.pid, chance)
                    code = flow.returncode
    print(f"prefect: {done} processes killed in {len(names)} runs, {starts} starts")
    return names


def main() -> int:
    """Kill, then compare and count."""
    parser = argparse.ArgumentParser("python -m tests.dags.kills", description="kill -9 under an orchestrator.")
    parser.add_argument("orchestrator", choices=("airflow", "prefect"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True)
    write_corpus(folder / "corpus")
    with serving(OpenAIServer(answer=good, latency_s=0.05)) as server:
        run_locally(load_config(config_that_asks(folder, "local", server.url)), list(STAGES), quiet=True)
        expected, once = artifacts(folder / "local"), len(server.requests)
        under = under_airflow if options.orchestrator == "airflow" else under_prefect
        names = under(folder, server.url, options.kills, random.Random(options.seed))
    different = [name for name in names if artifacts(folder / name) != expected]
    again = len(server.requests) - once * (1 + len(names))
    print(f"a run asks {once} questions; {again} were asked again, since a kill had hit them on their way")
    print(f"runs with other artifacts than a local run's: {different or 'none'}")
    return 1 if different or not 0 <= again <= options.kills * CONCURRENCY else 0


if __name__ == "__main__":
    sys.exit(main())
