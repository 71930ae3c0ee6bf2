"""Atropos 0.4.0's own server takes a group, and a trainer gets it with the advantages of its tokens."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("atroposlib", reason="needs the trainers' environment: `make test-trainers`")

from atroposlib.api.server import ScoredData, app
from fastapi.testclient import TestClient

from apportion.rlhf.adapters.atropos import IGNORED
from tests.docs.pages import fenced
from tests.rlhf.adapters.recorded import CREDIT, PROMPT, ROLLOUTS, said, write

pytestmark = pytest.mark.trainers
RUN = {
    "wandb_group": "", "wandb_project": "", "batch_size": 2, "max_token_len": 64, "checkpoint_dir": "",
    "save_checkpoint_interval": 1, "starting_step": 0, "num_steps": 1,
}  # fmt: skip
ENV = {"max_token_length": 64, "desired_name": "talk", "weight": 1.0, "group_size": 2}


def test_a_group_goes_through_the_server(tmp_path: Path) -> None:
    tokens = [[5, 6, 7, 8, 9, 10]] * 2
    masks = [[IGNORED, 6, 7, IGNORED, IGNORED, 10], [IGNORED, 6, IGNORED, 8, 9, 10]]
    completions = [said(*texts) for texts in ROLLOUTS]
    names: dict[str, Any] = {"prompts": [PROMPT] * 2, "completions": completions, "tokens": tokens, "masks": masks}
    _, _, block, _ = fenced("docs/guides/trainers.md", "python")
    exec(block.replace("MODEL", write(tmp_path)), names)
    group = names["group"]
    assert ScoredData(**group).advantages == group["advantages"]
    client = TestClient(app)
    assert client.post("/register", json=RUN).status_code == 200
    assert client.get("/batch").status_code == 200  # a trainer has come
    env = client.post("/register-env", json=ENV).json()["env_id"]
    assert client.post("/scored_data", json={**group, "env_id": env}).json()["status"] == "received"
    (taken,) = client.get("/batch").json()["batch"]
    (a, b), (c, d) = CREDIT
    assert taken["advantages"] == [[0, a, a, 0, 0, b], [0, c, 0, d, d, d]]
    assert taken["scores"] == [1.5, 1.0] and taken["messages"][0] == [*PROMPT, *completions[0]]
