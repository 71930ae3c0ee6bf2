"""Visual affect: a turn is as good as the rater's face looks while listening to it (VA of GELI and LLM-GELI)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.session import Episode
from apportion.decompose.method import TurnScore
from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.session import LLMSession

FACES = ("happiness", "smile")
"""What tells affect, the best first: the emotion model's probability of a happy face, else the share of smiling."""
WINDOWS: Mapping[str, tuple[str, ...]] = {
    "during": ("during",),
    "reply": ("reply",),
    "both": ("during", "reply"),
}


def judge(
    episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """How happy the rater looks at each target turn (T), from 0 to 1; None where the face was not seen.

    The local visual feedback of LLM-GELI's Eq. 7 as a number rather than as yes or no. The rationale names the
    feature: happiness, or smile in a session where no emotion model measured happiness.

    - ``behaviour`` (pa.Table, optional): UTTERANCE_FEATURES schema, the session's; None where it has no recordings.
    """
    affect = settings.affect
    faces = _faces(episode, behaviour, FACES if affect.feature == "auto" else (affect.feature,))
    feature = next((name for name in FACES if any(face == name for face, _, _ in faces)), "")
    judgements = []
    for turn in episode.target_turns:
        seen = [faces[feature, turn, window] for window in WINDOWS[affect.window] if (feature, turn, window) in faces]
        value = sum(seen) / len(seen) if seen else None
        rationale = None if value is None else f"{feature} {value:.2f} ({affect.window})"
        judgements.append(TurnScore(turn, value, rationale=rationale))
    return judgements


def _faces(
    episode: Episode, behaviour: pa.Table | None, features: tuple[str, ...]
) -> Mapping[tuple[str, int, str], float]:
    """What was measured of the rater's face, by (feature, turn, window)."""
    if behaviour is None or behaviour.num_rows == 0:
        return {}
    rows = behaviour.filter(
        (pc.field("session_id") == episode.session_id)
        & (pc.field("person") == episode.rating.rater)
        & pc.field("feature").isin(features)
        & pc.is_finite(pc.field("mean"))
    )
    return {(row["feature"], row["turn"], row["window"]): row["mean"] for row in rows.to_pylist()}
