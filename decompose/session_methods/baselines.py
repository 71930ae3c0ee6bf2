"""Credits that look at no turn: every turn the same share, and the episode's score on every act."""

from __future__ import annotations

import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.decompose.method import TurnScore
from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.session import LLMSession


def equal_shares(
    episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The same judgement, zero, of each target turn (T)."""
    return [TurnScore(turn, 0.0) for turn in episode.target_turns]


def episode_score(
    episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The score R_GE of each target turn (T), undivided: they sum to T times the score."""
    return [TurnScore(turn, episode.score) for turn in episode.target_turns]
