"""NeMo-RL (source of August 2026; PyPI has a stub): an environment that pays each turn of a conversation.

NeMo-RL sums the rewards of the turns in its rollout. Rows: `apportion export --for nemo-rl`::

    DialogueEnvironment = ray.remote(environment_of(EnvironmentInterface))   # of nemo_rl.environments.interfaces
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from apportion.rlhf.adapters.dialogue import Dialogue
from apportion.rlhf.adapters.scoring import Message, scorer


def environment_of(base: Any) -> Any:
    """A subclass of NeMo-RL's ``EnvironmentInterface`` (``base``), made with ``source``: a reward model's folder."""

    class DialogueEnvironment(base):  # type: ignore[misc]
        def __init__(self, source: str) -> None:
            self._scorer = scorer(source)

        def step(self, message_log_batch: Sequence[Sequence[Message]], metadata: Sequence[Any]) -> Any:
            """The last message of each log is the policy's; ``metadata`` holds the ``replies`` that are left."""
            from nemo_rl.environments.interfaces import EnvironmentReturn

            heard, paid = list[str | None](), list[float]()
            for log, known in zip(message_log_batch, metadata, strict=True):
                messages = [{"role": one["role"], "content": one["content"]} for one in log]
                talk = Dialogue(self._scorer, messages[:-1], _left(known))
                reward, answer = talk.say(messages[-1]["content"])
                paid.append(reward)
                heard.append(answer)
            return EnvironmentReturn(
                observations=[{"role": "user", "content": answer or ""} for answer in heard],
                metadata=[{**(known or {}), "replies": _left(known)[1:]} for known in metadata],
                next_stop_strings=[None] * len(heard),
                rewards=torch.tensor(paid),
                terminateds=torch.tensor([answer is None for answer in heard]),
                answers=None,
            )

        def global_post_process_and_metrics(self, batch: Any) -> tuple[Any, dict[str, Any]]:
            """The batch as it is; NeMo-RL has the rewards already."""
            return batch, {}

    return DialogueEnvironment


def _left(known: Mapping[str, Any] | None) -> list[str]:
    return list((known or {}).get("replies") or [])
