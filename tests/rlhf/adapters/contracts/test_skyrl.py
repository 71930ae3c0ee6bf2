"""skyrl-gym 0.4.0 registers, makes and steps the environment."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("skyrl_gym", reason="needs the trainers' environment: `make test-trainers`")

import skyrl_gym
from skyrl_gym.envs.registration import deregister

from tests.docs.pages import fenced
from tests.rlhf.adapters.recorded import HEARD, PROMPT, ROLLOUTS, write

pytestmark = pytest.mark.trainers


@pytest.mark.parametrize(("texts", "rewards"), ROLLOUTS.items())
def test_each_step_is_paid_as_its_turn(texts: tuple[str, ...], rewards: tuple[float, ...], tmp_path: Path) -> None:
    _, block, *_ = fenced("docs/guides/trainers.md", "python")
    exec(block.replace("MODEL", write(tmp_path)), {})
    try:
        extras: dict[str, Any] = {"extra_info": {"replies": [HEARD]}}
        env = skyrl_gym.make("apportion", env_config={}, extras=extras)
        asked, _ = env.init(PROMPT)
        steps = [env.step(text) for text in texts]
    finally:
        deregister("apportion")
    assert asked == PROMPT and env.max_turns == 2
    assert [step["reward"] for step in steps] == list(rewards) and [step["done"] for step in steps] == [False, True]
    assert steps[0]["observations"] == [{"role": "user", "content": HEARD}] and steps[1]["observations"] == []
    assert env.aggregate_metrics([env.get_metrics()]) == {"turns": 2.0, "turn_reward": sum(rewards) / 2}
