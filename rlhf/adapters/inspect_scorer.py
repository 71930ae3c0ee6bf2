"""Inspect (inspect-ai 0.3.285): a scorer of dialogues, with the value of each turn beside that of the whole.

In a task, ``scorer=turn_values("runs/…/llm-seed0")``; of a log that is there, ``score(log, turn_values(…))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Any

from anyio.to_thread import run_sync
from inspect_ai.scorer import Reference, Score, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from apportion.rlhf.adapters import scoring
from apportion.rlhf.adapters.scoring import Message

_one_at_a_time = Lock()


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]
def turn_values(source: str) -> Any:
    """The sum of the advantages of what the model said (as `GRPOReward`), by a reward model or the record of a run.

    A score's metadata holds ``turn_values``, one a turn, and ``scanner_references``, by which Inspect's viewer links
    the turns' cites ([M2]: the second message) in the explanation to their messages. What the task itself had said in
    the assistant's place before the model spoke is no turn. A sample in which it said nothing is left unscored.

    ``source``: As in `apportion.rlhf.adapters.scoring.scorer`; read when the first sample is scored.
    """

    async def score(state: TaskState, target: Target) -> Score:
        # The reward model reads one dialogue at a time; other samples go on meanwhile.
        return await run_sync(partial(_score, source, state.messages))

    return score


def _score(source: str, messages: Sequence[Any]) -> Score:
    said = [number for number, one in enumerate(messages) if one.role == "assistant" and one.source != "input"]
    first = said[0] if said else len(messages)
    given = [_message(one) for one in messages]
    with _one_at_a_time:
        (found,) = scoring.scorer(source).turns([given[:first]], [given[first:]])
    if not found.advantage:
        return Score.unscored(reason="nothing said", explanation="The model said nothing.")
    own = [number for number in range(first, len(messages)) if messages[number].role == "assistant"]
    last = dict(zip(found.of_message, own, strict=True))  # By turn its last message.
    cites = [f"[M{last[turn] + 1}]" for turn in range(len(found.advantage))]
    references = [
        Reference(type="message", cite=cite, id=messages[last[turn]].id).model_dump() for turn, cite in enumerate(cites)
    ]
    told = ", ".join(f"{cite} {value:+.3g}" for cite, value in zip(cites, found.advantage, strict=True))
    return Score(
        value=sum(found.advantage),
        explanation=f"Value by turn: {told}",
        metadata={"turn_values": list(found.advantage), "scanner_references": references},
    )


def _message(one: Any) -> Message:
    """A message of Inspect's as chats have it; what a model reasons first is none of its words."""
    called = getattr(one, "tool_calls", None) or ()
    calls = [{"function": {"name": call.function, "arguments": call.arguments}} for call in called]
    return {"role": one.role, "content": one.text, "name": getattr(one, "function", None), "tool_calls": calls}
