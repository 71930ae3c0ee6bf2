"""Vocal intensity: a turn is as good as the reply to it is spoken strongly, by a model of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.session import Episode
from apportion.decompose.method import TurnScore
from apportion.decompose.settings import DecomposeSettings
from apportion.features.vocal_intensity_model.model import (
    IntensityModel,
    against_usual,
    figures,
    intensity_identity,
    load_intensity_model,
)
from apportion.foundation.arrays import Floats
from apportion.llm_client.session import LLMSession

USUAL_UTTERANCES = 3
"""Utterances of a speaker that it takes to know what is usual for the voice."""


def judge(
    episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """How probably the rater replies to each target turn (T) in a strong voice, from 0 to 1.

    With ``decompose.intensity.of = "utterance"`` it is the target's voice in the turn itself. None where nobody was
    heard, and where fewer than three utterances say what is usual for the speaker.

    - ``behaviour`` (pa.Table, optional): UTTERANCE_FEATURES schema, the session's; None where it has no recordings.

    Raises InputError: No model is named, or it cannot be read.
    """
    chosen = settings.intensity
    model = _model(chosen.model, intensity_identity(chosen.model))
    reply = chosen.of == "reply"
    speaker, window = (episode.rating.rater, "reply") if reply else (episode.rating.target, "during")
    heard = _heard(episode, behaviour, speaker)
    own = [
        heard[turn.turn, "during"]
        for turn in episode.turns
        if (turn.turn, "during") in heard
        if turn.speaker == speaker
    ]
    judgements = []
    for turn in episode.target_turns:
        value = None
        if (turn, window) in heard and len(own) >= USUAL_UTTERANCES:
            z = against_usual(heard[turn, window][None], np.stack(own))
            value = float(model.probability(z)[0])
        rationale = None if value is None else f"a strong voice {value:.2f} ({speaker}, {window})"
        judgements.append(TurnScore(turn, value, rationale=rationale))
    return judgements


@cache
def _model(folder: Path | None, identity: str) -> IntensityModel:
    """The model, read again only where its files are others."""
    return load_intensity_model(folder)


def _heard(episode: Episode, behaviour: pa.Table | None, speaker: str) -> Mapping[tuple[int, str], Floats]:
    """The figures of the speaker's voice by (turn, window), where it sounded."""
    if behaviour is None or behaviour.num_rows == 0:
        return {}
    rows = behaviour.filter((pc.field("session_id") == episode.session_id) & (pc.field("person") == speaker))
    measured: dict[tuple[int, str], dict[str, tuple[float | None, float]]] = {}
    for row in rows.to_pylist():
        measured.setdefault((row["turn"], row["window"]), {})[row["feature"]] = (row["mean"], row["coverage"])
    return {
        key: figures(of_span) for key, of_span in measured.items() if of_span.get("f0_hz", (None, 0.0))[0] is not None
    }
