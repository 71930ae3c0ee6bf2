"""Who pays the turns of a conversation: a reward model, or the record of a run; and advantages of a group by token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

from numpy.typing import ArrayLike, NDArray

from apportion.corpus.files.textfile import read_jsonl
from apportion.credit import leave_one_out, spread_credit
from apportion.foundation.errors import InputError
from apportion.reward_model.trl_reward import Completion, GRPOReward, TurnRewards

Message = Mapping[str, Any]
Key = tuple[tuple[str, str], ...]
COLUMNS = ("prompt", "answers", "turn_rewards")


class Scorer(Protocol):
    """Pays the turns of conversations."""

    def turns(self, prompts: Sequence[Completion], completions: Sequence[Completion]) -> list[TurnRewards]:
        """The rewards of the turns of each completion (B of them), text or messages; raises InputError."""


class RecordedRewards:
    """The rewards that a run gave the turns of its corpus: for conversations that are recorded, not for new ones.

    ``rows``: As `apportion export --for` writes them: ``prompt`` (messages), ``answers`` (what the credited speaker
    said from there on) and ``turn_rewards``. Where several have the same words, their mean counts. Raises InputError: a
    row without these.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        paid: dict[Key, list[float]] = {}
        for number, row in enumerate(rows, 1):
            for name in COLUMNS:
                if not isinstance(row.get(name), Sequence) or (name != "prompt" and not row[name]):
                    raise InputError(
                        f"row {number}: no {name}; `apportion export --for` writes {', '.join(COLUMNS)} in every row."
                    )
            said = (*_spoken(row["prompt"]), ("assistant", row["answers"][0]))
            paid.setdefault(said, []).append(float(row["turn_rewards"][0]))
        self._paid = {said: fmean(rewards) for said, rewards in paid.items()}

    def turns(self, prompts: Sequence[Completion], completions: Sequence[Completion]) -> list[TurnRewards]:
        """The stored rewards. Raises InputError: a turn that the record does not have."""
        return [self._turns(_spoken(p), _spoken(c, "assistant")) for p, c in zip(prompts, completions, strict=True)]

    def _turns(self, said: Key, completion: Key) -> TurnRewards:
        rewards = list[float]()
        for line in completion:
            said = (*said, line)
            if line[0] == "assistant":
                if said not in self._paid:
                    raise InputError(
                        f"turn {len(rewards)} of a completion, {line[1][:80]!r}: the record has no such turn after "
                        f"those {len(said) - 1} messages. What is new is scored by a reward model: name its folder."
                    )
                rewards.append(self._paid[said])
        return TurnRewards(tuple(rewards), tuple(range(len(rewards))))


@lru_cache(maxsize=4)
def scorer(source: str | Path) -> Scorer:
    """The scorer of a place, read once a process: the folder of a reward model, or the ``.jsonl`` of an export.

    Raises InputError: the place cannot be read as either.
    """
    path = Path(source)
    if path.suffix == ".jsonl":
        return RecordedRewards(row for _, row in read_jsonl(path))
    return GRPOReward(path)


def token_advantages(
    rewards: Sequence[ArrayLike], turn_of: Sequence[NDArray[Any]], gamma: float = 1.0
) -> list[NDArray[Any]]:
    """Advantages (float64 [shape=(T,)]) at the tokens of each of a group's G rollouts: `apportion.credit`'s by turn.

    - ``rewards``: Of the turns [shape=(K,)]. ``turn_of``: As in `apportion.credit` [shape=(T,)].

    Raises ValueError: fewer than two rollouts, a turn without a reward.
    """
    return [spread_credit(paid, of) for paid, of in zip(leave_one_out(rewards, gamma), turn_of, strict=True)]


def _spoken(given: Completion, role: str = "user") -> Key:
    """Who says what, without system messages."""
    messages = [{"role": role, "content": given}] if isinstance(given, str) else given
    return tuple((m.get("role", role), str(m.get("content"))) for m in messages if m.get("role") != "system")
