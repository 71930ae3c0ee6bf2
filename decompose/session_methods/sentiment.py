"""The sentiment of what is said: of the rater's next reply, or of the utterance itself (LS of LLM-GELI)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.decompose.method import TurnScore
from apportion.decompose.reactions.vader import KEPT, tone
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError
from apportion.llm_client.session import LLMSession

Classifier = Callable[[Sequence[str]], list[float]]
"""Texts (N) to valences (N) from -1 (bad) to 1 (good)."""

VALENCE: Mapping[str, float] = {
    **dict.fromkeys(("positive", "pos", "joy", "happiness", "happy", "love"), 1.0),
    **dict.fromkeys(("neutral", "neu", "surprise"), 0.0),
    **dict.fromkeys(("negative", "neg", "anger", "contempt", "disgust", "fear", "sadness", "sad"), -1.0),
}
"""What the labels of a classifier count for; "1 star" to "5 stars" are spread from -1 to 1."""

_STARS = re.compile(r"([1-5]) stars?")


def judge(
    episode: Episode, descriptors: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The valence of the rater's next reply after each target turn (T); None where no reply follows.

    A turn is as good as the reply to it sounds.

    Raises InputError: The classifier cannot be loaded or its labels are not known.
    """
    return _valences_of({episode.turns[i].turn: episode.reply_text(i) for i in episode.target_positions}, settings)


def judge_utterance(
    episode: Episode, descriptors: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The valence of each target turn's own text (T); None where it is empty.

    Language sentiment as LLM-GELI has it (section 5.2: "utterance sentiment"). It tells how the target sounds, not how
    the rater took it.

    Raises InputError: As `judge`.
    """
    return _valences_of({episode.turns[i].turn: episode.turns[i].text for i in episode.target_positions}, settings)


def _valences_of(texts: Mapping[int, str], settings: DecomposeSettings) -> list[TurnScore]:
    spoken = {turn: text for turn, text in texts.items() if text.strip()}
    values = dict(zip(spoken, load_classifier(settings.sentiment.classifier)(list(spoken.values())), strict=True))
    return [TurnScore(turn, values.get(turn)) for turn in texts]


@cache
def load_classifier(name: str) -> Classifier:
    """The classifier of this name: ``vader``, or a Hugging Face text-classification model or folder.

    Raises InputError: No such model here or on the hub, or labels that say nothing about good or bad.
    """
    return _vader if name == "vader" else _hugging_face(name)


def _vader(texts: Sequence[str]) -> list[float]:
    return [tone(text).compound for text in texts]


def _hugging_face(name: str) -> Classifier:
    from transformers import pipeline

    try:
        # Weights as safetensors only: a pickle from a stranger can run code.
        # So can the code in its folder.
        model = pipeline(
            "text-classification", model=name, top_k=None, trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )  # fmt: skip
    except (OSError, ValueError, KeyError) as error:
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"decompose.sentiment.classifier = {name!r}: cannot be loaded ({first_line}). Give 'vader', or the name or "
            "folder of a text-classification model with safetensors weights; without network only a folder will do."
        ) from None
    valences = _valences(name, (model.model.config.id2label or {}).values())

    @lru_cache(maxsize=KEPT)
    def valence(text: str) -> float:
        scored: Any = model([text], truncation=True)[0]
        return float(sum(item["score"] * valences[item["label"]] for item in scored))

    return lambda texts: [valence(text) for text in texts]


def _valences(name: str, labels: Any) -> dict[str, float]:
    valences = {text: _valence(str(text).lower().strip()) for text in labels}
    unknown = sorted(str(text) for text, valence in valences.items() if valence is None)
    if unknown or len(set(valences.values())) < 2:
        raise InputError(
            f"decompose.sentiment.classifier = {name!r}: its labels {', '.join(map(str, valences))} do not say what is "
            f"good and bad. Known are {', '.join(VALENCE)} and '1 star' to '5 stars'; choose a model with such labels."
        )
    return {text: valence for text, valence in valences.items() if valence is not None}


def _valence(text: str) -> float | None:
    stars = _STARS.fullmatch(text)
    return (int(stars[1]) - 3) / 2 if stars else VALENCE.get(text)
