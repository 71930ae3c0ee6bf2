"""Every turn the same: the score is spread evenly (as IRCR does within one dialogue)."""

from __future__ import annotations

import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.decompose.judgement import Judgement
from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.asker import Asker


def judge(episode: Episode, descriptors: pa.Table | None, settings: DecomposeSettings, asker: Asker) -> list[Judgement]:
    """The same judgement, zero, of each target turn (T)."""
    return [Judgement(turn, 0.0) for turn in episode.target_turns]
