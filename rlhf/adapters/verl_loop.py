"""verl's AgentLoop (0.9.1) over a recorded conversation: each turn's reward lies on its last token.

Every process loads it with ``VERL_USE_EXTERNAL_MODULES=apportion.rlhf.adapters.verl_loop``; it registers the estimator
of `apportion.rlhf.adapters.verl`. The file of ``actor_rollout_ref.rollout.agent.agent_loop_config_path`` names the
loop, with its ``source`` (a reward model) and the most turns::

    - {name: apportion, _target_: apportion.rlhf.adapters.verl_loop.DialogueLoop, source: MODEL, most_turns: 4}
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import torch
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
from verl.trainer.ppo.core_algos import register_adv_est
from verl.utils.profiler import simple_timer

from apportion.credit import at_last_token, turns_of
from apportion.rlhf.adapters.dialogue import Dialogue
from apportion.rlhf.adapters.scoring import scorer
from apportion.rlhf.adapters.verl import ESTIMATOR, turn_credit

register_adv_est(ESTIMATOR)(turn_credit)


class TurnRewardsOutput(AgentLoopOutput):  # type: ignore[misc]
    """A rollout with rewards by token: verl's own puts ``reward_score``, their sum, on the last one.

    They are read where the rollout is handed to the trainer (``trainer.use_v1``, the default).
    """

    token_rewards: list[float]

    def as_dict(self) -> dict[str, Any]:
        """As verl's, with ``rm_scores`` (float32 [shape=(T,)]) by turn."""
        found: dict[str, Any] = super().as_dict()
        found["rm_scores"] = torch.tensor(found.pop("token_rewards"), dtype=torch.float32)
        return found


class DialogueLoop(AgentLoopBase):  # type: ignore[misc]
    """The policy has the rest of a recorded conversation: rows of `apportion export --for verl`."""

    def __init__(self, *given: Any, source: str, most_turns: int | None = None, **others: Any) -> None:
        super().__init__(*given, **others)
        self._scorer, self._most_turns = scorer(source), most_turns

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> TurnRewardsOutput:
        """One conversation; ``row`` is one of the data set, with verl's ``raw_prompt``."""
        replies = (row.get("extra_info") or {}).get("replies")
        talk = Dialogue(self._scorer, row["raw_prompt"], [] if replies is None else replies, self._most_turns)
        tokens = await self.ct_build_initial_tokens(talk.messages)
        prompt, room, request = len(tokens), self.rollout_config.response_length, uuid4().hex
        mask: list[int] = []
        logprobs: list[float] | None = [] if sampling_params.get("logprobs") else None
        with_tokens, spent, steps = list[int](), dict[str, float](), dict[str, Any]()
        heard: str | None = ""
        while heard is not None and len(mask) < room:
            with simple_timer("generate_sequences", spent):
                said = await self.server_manager.generate(
                    request_id=request, prompt_ids=tokens, sampling_params=sampling_params
                )
            steps = {**said.extra_fields, **steps, **_last_step(said.extra_fields)}
            own = said.log_probs if logprobs is not None else None
            merged, mask, logprobs = await self.ct_merge_assistant_token(tokens, said.token_ids, mask, logprobs, own)
            with_tokens += [len(talk.rewards)] if said.token_ids else []
            tokens, text = merged.token_ids, self.tokenizer.decode(said.token_ids, skip_special_tokens=True)
            _, heard = await self.loop.run_in_executor(None, talk.say, text)
            if heard is not None:
                before = talk.messages[:-1]
                merged, mask, logprobs = await self.ct_merge_context_msg(before, talk.messages, tokens, mask, logprobs)
                tokens = merged.token_ids
        paid = at_last_token(talk.rewards, turns_of(mask[:room], with_tokens)).tolist()
        return TurnRewardsOutput(
            prompt_ids=tokens[:prompt],
            response_ids=tokens[prompt:][:room],
            response_mask=mask[:room],
            response_logprobs=logprobs[:room] if logprobs else None,
            reward_score=sum(paid),
            token_rewards=paid,
            num_turns=len(talk.messages),
            metrics=AgentLoopMetrics(**spent),
            extra_fields={**steps, "turn_rewards": talk.rewards, "turn_scores": talk.rewards, "tool_rewards": []},
        )


def _last_step(fields: dict[str, Any]) -> dict[str, Any]:
    """Of the weights that wrote the turns, verl keeps the first number and the last one."""
    return {name: fields[name] for name in ("max_global_steps",) if fields.get(name) is not None}
