"""What a reply is paid less: for being like replies to other contexts, for its length, for having no end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from apportion.corpus.session import Episode
from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy_settings import PenaltySettings
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.alarms import shared_pairs

USUAL = 0.95
"""Of recorded replies, the share that is at most as long as the longest usual one; as many are at least as long as the
shortest."""


@dataclass(frozen=True)
class Penalties:
    """``usual``: tokens of the shortest and of the longest usual reply; ``ends``: the ids of the policy's end marks."""

    settings: PenaltySettings
    ends: tuple[int, ...]
    usual: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, settings: AlignSettings, policy: Policy, recorded: Iterable[Episode]) -> Penalties | None:
        """None where none is on; ``recorded`` episodes say how long a reply usually is.

        Raises UnitError: nobody has replied in them, and `length` is on.
        """
        penalties = settings.penalties
        if penalties == PenaltySettings():
            return None
        usual = _usual(policy, recorded) if penalties.length else (0, 0)
        return cls(penalties, tuple(policy.eos_ids), usual)

    def __call__(self, said: Sequence[Sequence[int]], contexts: Sequence[int]) -> list[float]:
        """What each of N replies loses, in standard deviations of the score.

        ``said``: the policy's tokens of each, end marks with them; ``contexts`` (N) say what is answered.
        """
        given = self.settings
        shared = shared_pairs(said, contexts) if given.sameness else [0.0] * len(said)
        return [
            given.sameness * share
            + (given.length * self._unusual(len(tokens)) if given.length else 0.0)
            + given.missing_end * (not tokens or tokens[-1] not in self.ends)
            for tokens, share in zip(said, shared, strict=True)
        ]

    def _unusual(self, length: int) -> float:
        """The share of the tokens that are beyond the longest usual reply, or that lack to the shortest."""
        shortest, longest = self.usual
        return max(1 - longest / length if length else 0.0, 1 - length / shortest, 0.0)


def _usual(policy: Policy, recorded: Iterable[Episode]) -> tuple[int, int]:
    turns = (episode.turns[at] for episode in recorded for at in episode.target_positions)
    texts = [turn.text.strip() for turn in turns if turn.text.strip()]
    if not texts:
        raise UnitError(
            "penalties.length: no target has said anything outside the test sessions, so nothing tells how long a "
            "reply usually is. Add sessions, or set it to 0."
        )
    tokens: Any = policy.tokenizer(texts, add_special_tokens=False)
    lengths = sorted(len(ids) + 1 for ids in tokens["input_ids"])  # With the end mark.
    last = ceil(USUAL * len(lengths)) - 1
    return lengths[-1 - last], lengths[last]
