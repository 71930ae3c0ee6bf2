"""Synthetic talk whose user is heard and whose face was measured: buzzes and made-up emotions, nobody's."""

import random
from pathlib import Path

import numpy as np

from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.features.precomputed import EMOTION_COLUMNS
from apportion.features.registry import EMOTIONS
from apportion.features.vocal_intensity_model.model import IntensityModel
from tests.behaviour.small import BAD, GOOD
from tests.features.clips import write_wav
from tests.features.vocal_intensity_model.synthetic import buzz

EACH_S = 1.0
"""How long an utterance lasts."""


def write_filmed_talk(folder: Path, sessions: int = 10, exchanges: int = 3) -> Path:
    """Dialogues as of `tests.behaviour.small`: a pleased user looks happy, a displeased one speaks louder."""
    chance, noise, rows = random.Random(7), np.random.default_rng(7), CorpusRows()
    folder.mkdir(parents=True)
    for number in range(sessions):
        session_id, liked = f"s{number:02d}", chance.random()
        rows.session(session_id, "synthetic", language="en")
        said = [("user", "Hello, I need some help.", False)]
        for _ in range(exchanges):
            good = chance.random() < liked
            answer, reply = chance.choice(GOOD if good else BAD)
            rows.label(session_id, len(said), "quality", float(good), (0.0, 1.0), "ann")
            said += [("bot", answer, good), ("user", reply, good)]
        for turn, (speaker, text, _) in enumerate(said):
            rows.utterance(session_id, turn, speaker, text, turn * EACH_S, (turn + 1) * EACH_S)
        score = 1.0 + 4.0 * sum(good for _, _, good in said[2::2]) / exchanges
        rows.rating(session_id, ("user", "bot"), "satisfaction", score, (1.0, 5.0))
        heard = [
            buzz(noise, 120.0 + 10.0 * turn, 0.0 if speaker == "bot" else 0.05 if good else 0.2, EACH_S - 0.2)
            for turn, (speaker, _, good) in enumerate(said)
        ]
        write_wav(folder / f"{session_id}.wav", np.concatenate(heard))
        rows.media(session_id, "user", "audio", f"{session_id}.wav", None)
        _write_faces(folder / f"{session_id}.csv", [good for _, _, good in said])
        rows.media(session_id, "user", "features", f"{session_id}.csv", None)
    Corpus.of(folder, rows.tables()).write(folder)
    return folder


def write_intensity_model(folder: Path) -> Path:
    """A model of a strong voice that listens to the loudness alone."""
    IntensityModel(np.array([0.0, 2.0, 0.0, 0.0, 0.0]), 0.0).save(folder, {})
    return folder


def _write_faces(path: Path, pleased: list[bool]) -> None:
    others = (1.0 - 0.8) / (len(EMOTIONS) - 1)
    lines = [",".join(("timedelta", "user_id", *EMOTION_COLUMNS.values()))]
    for second, good in enumerate(pleased):
        faces = dict.fromkeys(EMOTIONS, others) | {"happiness" if good else "anger": 0.8}
        lines.append(",".join((str(second), "user", *(f"{faces[name]:.4f}" for name in EMOTION_COLUMNS))))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
