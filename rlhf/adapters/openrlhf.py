"""OpenRLHF (0.11.2): the file of ``--reward.remote_url FILE.py``. Nothing of OpenRLHF is imported.

The file holds two lines::

    from apportion.rlhf.adapters.openrlhf import reward_function
    reward_func = reward_function("runs/default/reward_models/llm-seed0")

It reads rows of `apportion export --for openrlhf`: ``--data.input_key input --data.label_key label
--data.apply_chat_template``. OpenRLHF pays one sum a rollout: there is no credit by turn.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from apportion.foundation.errors import InputError
from apportion.llm_client.prompts.strict_json import answer_of
from apportion.rlhf.adapters.scoring import scorer

ENDS = ("<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "<end_of_turn>", "<|end|>", "</s>")
"""How chat templates end an answer: special tokens stay in OpenRLHF's texts."""

RewardFunction = Callable[[Sequence[str], Sequence[str], Sequence[str]], dict[str, Any]]


def reward_function(source: str | Path, ends: Sequence[str] = ENDS) -> RewardFunction:
    """A ``reward_func(queries, prompts, labels)`` that gives ``rewards`` (float32 [shape=(B,)]), one a query.

    ``source``: As in `apportion.rlhf.adapters.scoring.scorer`. ``ends``: What ends an answer in its text; one that says
    nothing gets 0. OpenRLHF logs what is raised, and such a rollout has no reward.

    Raises InputError, when it is called: a label without a prompt, a query that does not begin with its prompt.
    """
    judge = scorer(source)

    def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
        answers = [_answer(query, prompt, ends) for query, prompt in zip(queries, prompts, strict=True)]
        turns = judge.turns([_messages(label) for label in labels], answers)
        paid = [sum(of.advantage) if said else 0.0 for of, said in zip(turns, answers, strict=True)]
        return {"rewards": torch.tensor(paid)}  # A list would become a row of a matrix there.

    return reward_func


def _messages(label: str) -> list[dict[str, Any]]:
    try:
        return list(json.loads(label)["prompt"])
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"label {str(label)[:80]!r}: no JSON with a prompt. Write the rows with `apportion export --for openrlhf`, "
            "and add --data.label_key label."
        ) from None


def _answer(query: str, prompt: str, ends: Sequence[str]) -> str:
    """What is said after the prompt, whose beginning OpenRLHF has cut off where it was too long.

    Tokenizers write letters with marks in a form of their own, so both are compared in one.
    """
    query, prompt = unicodedata.normalize("NFC", query), unicodedata.normalize("NFC", prompt)
    start = next((start for start in range(len(prompt)) if query.startswith(prompt[start:])), None)
    if start is None:
        raise InputError(f"query {query[:80]!r}: it does not begin with its prompt {prompt[:80]!r}, or the end of it.")
    answer = query[len(prompt) - start :]
    return answer_of(answer[: min((answer.find(end) for end in ends if end in answer), default=len(answer))])
