"""SkyRL (skyrl-gym 0.4.0): an environment whose steps are the turns of a conversation, each with its own reward.

SkyRL's generator puts a step's reward on that turn's last token. Rows: `apportion export --for skyrl`::

    skyrl_gym.register("apportion", "apportion.rlhf.adapters.skyrl:DialogueEnv", {"source": "runs/…/llm-seed0"})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from apportion.rlhf.adapters.dialogue import Dialogue
from apportion.rlhf.adapters.scoring import Message, scorer


class DialogueEnv(BaseTextEnv):  # type: ignore[misc]
    """The policy has the rest of a recorded conversation; ``extras["max_turns"]`` may end it sooner.

    ``source``: As in `apportion.rlhf.adapters.scoring.scorer`; given to ``register``. ``extras``: The other columns of
    the row: ``extra_info["replies"]`` is what the other side says.
    """

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None, *, source: str) -> None:
        super().__init__()
        extras = extras or {}
        replies = (extras.get("extra_info") or {}).get("replies")
        self._replies: Sequence[str] = [] if replies is None else replies
        self.max_turns = int(extras.get("max_turns") or len(self._replies) + 1)
        self._scorer = scorer(source)

    def init(self, prompt: Sequence[Message]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Begin: the messages that the policy answers."""
        self._talk = Dialogue(self._scorer, prompt, self._replies, self.max_turns)
        return list(self._talk.messages), {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """One turn of the policy: its reward, and what the other side answers."""
        self.turns += 1
        reward, heard = self._talk.say(action)
        observations = [] if heard is None else [self._talk.messages[-1]]
        return BaseTextEnvStepOutput(observations=observations, reward=reward, done=heard is None, metadata={})

    def get_metrics(self) -> dict[str, Any]:
        """Turns and their rewards, which SkyRL averages."""
        rewards = self._talk.rewards
        return {"turns": len(rewards), "turn_reward": sum(rewards) / max(1, len(rewards))}
