"""The episode's score on every act: what a policy learns from that knows no credit at all."""

from __future__ import annotations

import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.turn_score import TurnScore
from apportion.llm_client.session import LLMSession


def judge(
    episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The score R_GE of each target turn (T), undivided: they sum to T times the score."""
    return [TurnScore(turn, episode.score) for turn in episode.target_turns]
