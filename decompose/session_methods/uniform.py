"""Every turn the same: the score is spread evenly (as IRCR does within one dialogue)."""

from __future__ import annotations

import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.turn_score import TurnScore
from apportion.llm_client.session import LLMSession


def judge(
    episode: Episode, descriptors: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The same judgement, zero, of each target turn (T)."""
    return [TurnScore(turn, 0.0) for turn in episode.target_turns]
