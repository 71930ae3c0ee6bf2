"""OpenRLHF 0.11.2 itself asks a server for the rewards of its rollouts."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.viewer.scoring.served import chat, scores_served, tiny_model

pytest.importorskip("openrlhf", reason="needs the trainers' environment: `make test-trainers`")

pytestmark = pytest.mark.trainers


@pytest.mark.parametrize("token", [None, "s3cret-of-sixteen"])
def test_its_client_is_paid_what_the_model_says(tmp_path, token):
    model = tiny_model(tmp_path / "bert")
    talks = [chat("hotel ?", "yes good", "train ?", f"no w{i} .") for i in range(8)]
    with scores_served(model, token=token) as (address, serving):
        serving.batches.start()
        called = address.replace("//", f"//any:{token}@") if token else address
        command = [sys.executable, str(Path(__file__).with_name("openrlhf_client.py")), f"{called}/openrlhf"]
        done = subprocess.run(command, input=json.dumps(talks), capture_output=True, text=True, check=True)
    paid = json.loads(done.stdout.splitlines()[-1])
    said = [[("AB"[i % 2], one["content"]) for i, one in enumerate(talk)] for talk in talks]
    expected = model.score_last(said)
    np.testing.assert_allclose([one["reward"] for one in paid], expected.advantage[:, None], atol=1e-6)
    logged = [one["extra_logs"]["turn_reward"] for one in paid]
    np.testing.assert_allclose(logged, expected.reward[:, None], atol=1e-6)
    assert all(0 <= score <= 1 for one in paid for score in one["scores"])
