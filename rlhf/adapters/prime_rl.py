"""prime-rl (source of August 2026; not on PyPI): exact advantages by token, or scores for its pull request 3282.

Its algorithms are chosen by name; put this one in the place of one before its orchestrator starts::

    from prime_rl.orchestrator import algo
    algo.ALGORITHM_CLASSES["grpo"] = turn_credit_of(algo.GRPOAlgorithm, "runs/default/reward_models/llm-seed0")
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from apportion.credit import state_scores
from apportion.reward_model.trl_reward import TurnRewards
from apportion.rlhf.adapters.scoring import Message, Scorer, scorer, token_advantages


def turn_credit_of(base: Any, source: str, gamma: float = 1.0) -> Any:
    """A subclass of prime-rl's ``GRPOAlgorithm`` (``base``) with credit by turn, in place of its own advantages.

    ``source``: As in `apportion.rlhf.adapters.scoring.scorer`. ``gamma``: The discount from turn to turn. A group of
    one trace, compared with nothing, gets 0. A trace is read as one conversation: one that forks is not meant.
    """

    class TurnCredit(base):  # type: ignore[misc]
        async def score_group(self, episodes: Sequence[Any]) -> None:
            from prime_rl.orchestrator.algo.base import iter_trainable_traces
            from prime_rl.orchestrator.algo.routing import assign_advantages

            traces = [trace for _, trace in iter_trainable_traces(episodes)]
            for trace, values in zip(traces, turn_advantages(scorer(source), traces, gamma), strict=True):
                assign_advantages(trace, values)

    return TurnCredit


def turn_advantages(judge: Scorer, traces: Sequence[Any], gamma: float = 1.0) -> list[list[float]]:
    """The advantages of each trace's sampled tokens, in their order, as ``assign_advantages`` takes them."""
    if len(traces) < 2:
        return [[0.0] * sum(sum(node.mask) for node in trace.nodes) for trace in traces]
    turns = judge.turns(*zip(*(_split(trace) for trace in traces), strict=True))
    turn_of = [
        np.repeat(np.asarray(of_node, dtype=np.int64), [sum(node.mask) for node in trace.nodes])
        for of_node, trace in ((_turn_of_node(of, trace), trace) for of, trace in zip(turns, traces, strict=True))
    ]
    return [of.tolist() for of in token_advantages([of.paid for of in turns], turn_of, gamma)]


def turn_rewards(judge: Scorer, trace: Any) -> list[float]:
    """``trace.info["turn_rewards"]``: a state score after each sampled turn, of which prime-rl credits differences.

    The first turn's credit is lost thereby, which is warned of. `turn_advantages` loses nothing.
    """
    asked, said = _split(trace)
    (turns,) = judge.turns([asked], [said])
    if turns.advantage and turns.advantage[0]:
        warnings.warn(
            f"prime-rl credits differences of turn_rewards: the first turn's {turns.advantage[0]:g} is lost. Use "
            "turn_credit_of, which hands advantages over.",
            stacklevel=2,
        )
    scores, of_node = state_scores(turns.paid), _turn_of_node(turns, trace)
    return [float(scores[turn]) for turn, node in zip(of_node, trace.nodes, strict=True) if node.sampled]


def _turn_of_node(turns: TurnRewards, trace: Any) -> list[int]:
    """The turn of each node: of the assistant's message that it is, or that came last."""
    first = len(_split(trace)[0])
    said = [at >= first and _message(node)["role"] == "assistant" for at, node in enumerate(trace.nodes)]
    return [(turns.of_message or (0,))[max(0, number - 1)] for number in accumulate(map(int, said))]


def _split(trace: Any) -> tuple[list[Message], list[Message]]:
    """The messages before the model's first one, and those from there on."""
    messages = [_message(node) for node in trace.nodes]
    first = next((at for at, node in enumerate(trace.nodes) if node.sampled), len(messages))
    return messages[:first], messages[first:]


def _message(node: Any) -> Message:
    found: Message = node.message if isinstance(node.message, dict) else node.message.model_dump()
    return found
