import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import SimulationChoice
from tests.behaviour.command import ROOT, apportion, config, environment
from tests.behaviour.test_played_by_models import answered, text
from tests.llm_client.openai_server import OpenAIServer, serving

KILLS, CONCURRENCY = 8, 16


def counted(bodies):
    """How often each body came: that of two samples of one question is the same."""
    return Counter(json.dumps(body) for body in bodies)


@pytest.mark.slow
def test_killed_at_eight_moments_rewards_are_the_same_bytes_and_nothing_kept_is_paid_twice(tmp_path):
    chance = random.Random(5)
    write_corpus(
        SimulationChoice(("conceding",), ("used_bicycle",), pairs=5, rules=Rules(most_acts=8)), tmp_path / "play"
    )
    own = 'agents = { target = "base", partner = "react" }\nscorer = "paper"\n'

    def configured(url, output):
        written = text("savoir", url=url, savoir=own, llm=f"concurrency = {CONCURRENCY}\n")
        path = config(tmp_path, written.replace('output = "run"', f'output = "{output}"'))
        return path.rename(tmp_path / f"{output}.toml")

    with serving(OpenAIServer(answered, latency_s=0.02)) as server:
        done = apportion("run", "--only", "decompose", configured(server.url, "whole"))
        assert done.returncode == 0, done.stderr
        whole = counted(server.requests)
        assert whole.total() > 900
    with serving(OpenAIServer(answered, latency_s=0.05)) as server:
        path = configured(server.url, "killed")
        under_way = 0
        for _ in range(KILLS):
            before, last = len(server.requests), len(server.written) + chance.randrange(3 * CONCURRENCY)
            process = subprocess.Popen(
                [sys.executable, "-m", "apportion", "run", "--only", "decompose", str(path)],
                env=environment(), cwd=ROOT,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            while len(server.requests) == before or len(server.written) < last:
                assert process.poll() is None
                time.sleep(0.001)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            time.sleep(0.3)  # The server answers what it had, to nobody.
            under_way += CONCURRENCY
        done = apportion("run", "--only", "decompose", path)
        assert done.returncode == 0, done.stderr
        delivered = counted(server.requests)
    assert delivered.keys() == whole.keys()
    assert (tmp_path / "killed" / "rewards.parquet").read_bytes() == (
        tmp_path / "whole" / "rewards.parquet"
    ).read_bytes()
    again = (delivered - whole).total()
    assert 0 < again <= under_way, "no reply twice but those that were in flight at a kill"
    print(f"{KILLS} kills, {whole.total()} requests, {again} of them asked again, {under_way} in flight at most")
