"""Atropos (0.4.0): a group's rollouts as its API takes them, with advantages by token. Nothing of it is imported.

In an environment's ``collect_trajectories``: ``return scored_group(...), []``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from apportion.rlhf.adapters.scoring import Message, Scorer, token_advantages

IGNORED = -100
"""In Atropos' masks: a token that is not trained; elsewhere stands the token itself."""


def scored_group(
    judge: Scorer,
    prompts: Sequence[Sequence[Message]],
    completions: Sequence[Sequence[Message]],
    tokens: Sequence[Sequence[int]],
    masks: Sequence[Sequence[int]],
    gamma: float = 1.0,
) -> dict[str, Any]:
    """A ``ScoredDataGroup`` of one prompt's G >= 2 rollouts: ``scores`` are sums, ``advantages`` by turn at each token.

    - ``judge``: Of `apportion.rlhf.adapters.scoring.scorer`. ``prompts``, ``completions``: Messages; an assistant
      message of a completion is one run of tokens that are trained.
    - ``tokens``, ``masks``: As Atropos has them [shape=(T,)]. ``gamma``: The discount from turn to turn.

    Raises ValueError: fewer than two rollouts, runs that are not one an assistant message.
    """
    turns = judge.turns(prompts, completions)
    for number, (of, mask) in enumerate(zip(turns, masks, strict=True)):
        trained = np.concatenate([[False], np.asarray(mask) != IGNORED])
        runs, said = int((trained[1:] & ~trained[:-1]).sum()), len(of.of_message)
        if runs < said:  # Else a later turn would get the credit of an earlier one.
            raise ValueError(
                f"rollout {number}: {runs} runs of trained tokens, {said} assistant messages. Tokenize it with "
                "train_on_all_assistant_turns=True."
            )
    turn_of = [of.turn_of(np.asarray(mask) != IGNORED) for of, mask in zip(turns, masks, strict=True)]
    advantages = token_advantages([of.paid for of in turns], turn_of, gamma)
    return {
        "tokens": [list(of) for of in tokens],
        "masks": [list(of) for of in masks],
        "scores": [sum(of.paid) for of in turns],
        "advantages": [of.tolist() for of in advantages],
        "messages": [[*map(dict, asked), *map(dict, said)] for asked, said in zip(prompts, completions, strict=True)],
    }
