"""TRL's GRPO with credit by turn: advantages over tokens (B, T), in place of one a completion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from trl import GRPOTrainer

from apportion.credit import leave_one_out, spread_credit
from apportion.foundation.errors import InputError
from apportion.reward_model.trl_reward import TurnRewards


class TurnCreditGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """`trl.GRPOTrainer` that adds to every token of a turn the advantage of that turn in its group.

    That is the return from the turn on, less the mean of what the group's other rollouts get from there on
    (`apportion.credit.leave_one_out`), in the units of the turn rewards. What `reward_funcs` say of whole completions
    counts as in TRL; where turns alone are to pay, give it one that returns 0 or None.

    - ``turn_rewards``: Called as a reward function is; the rewards of the turns of each completion, e.g.
      ``GRPOReward(model).turns``. An assistant message is a run of tokens that the policy wrote: TRL says which those
      are where it calls tools, and a ``rollout_func`` by its ``env_mask``.
    - ``turn_weight``: What that is multiplied by; 0 trains as TRL does, to the bit. ``turn_gamma``: The discount from
      turn to turn; 0 credits a turn with its own reward alone.

    Raises InputError: a loss of whole sequences (``importance_sampling_level``), whose tokens have no advantages. A
    completion with more such runs than assistant messages raises ValueError in its step.
    """

    def __init__(
        self,
        *given: Any,
        turn_rewards: Callable[..., list[TurnRewards]],
        turn_weight: float = 1.0,
        turn_gamma: float = 1.0,
        **others: Any,
    ) -> None:
        super().__init__(*given, **others)
        if turn_weight and self.importance_sampling_level != "token":
            raise InputError(
                f"importance_sampling_level = {self.importance_sampling_level!r}: credit by turn weighs tokens. "
                "Set it to 'token'."
            )
        self.turn_rewards, self.turn_weight, self.turn_gamma = turn_rewards, turn_weight, turn_gamma
        self._turns: list[TurnRewards] = []

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> Any:
        """Also where prompts and completions are at hand as they were said."""
        if self.turn_weight:
            columns = {
                name: [row[name] for row in inputs] for name in inputs[0] if name not in ("prompt", "completion")
            }
            given = {**columns, "completion_ids": completion_ids_list, "trainer_state": self.state}
            self._turns = self.turn_rewards(prompts=prompts, completions=completions, **given)
        return super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)

    def _generate_and_score_completions(self, inputs: Any) -> Mapping[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        size = self.num_generations if self.model.training else self.num_generations_eval
        if not self.turn_weight or size < 2:  # One alone, as an evaluation may have it, is compared with nothing.
            return output
        # The groups of all processes: which ones share one is TRL's matter.
        rewards: list[tuple[float, ...]] = gather_object([of.paid for of in self._turns])
        groups = [rewards[start : start + size] for start in range(0, len(rewards), size)]
        credit = [of for group in groups for of in leave_one_out(group, self.turn_gamma)]
        first = self.accelerator.process_index * len(self._turns)
        said = output["completion_mask"] * output.get("tool_mask", 1)
        rows = [
            spread_credit(paid, turns.turn_of(mask))
            for paid, turns, mask in zip(credit[first:], self._turns, said.cpu().numpy(), strict=False)
        ]
        whole = output["advantages"]
        by_token = torch.from_numpy(np.stack(rows)).to(whole)
        output["advantages"] = whole.unsqueeze(1) + self.turn_weight * by_token
        return output
