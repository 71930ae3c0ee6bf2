"""ESConv (emotional support conversations): the release's JSON arrays or the Hugging Face split's JSON Lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.files.jsontext import number, shown
from apportion.corpus.importers.reading.json_items import SHAPE_ERRORS, json_items, not_in_shape, texts_in
from apportion.corpus.importers.reading.labels import LabelsOfEarlierTurns
from apportion.corpus.importers.reading.sources import check_options, numbered, source_files, stem
from apportion.foundation.errors import UnitError

SEEKER, SUPPORTER = "seeker", "supporter"
ROLES = {
    "usr": SEEKER,
    "seeker": SEEKER,
    "sys": SUPPORTER,
    "supporter": SUPPORTER,
    # FailedESConv.json: the seeker is the "speaker".
    "speaker": SEEKER,
    "listener": SUPPORTER,
}
SCALE = (1.0, 5.0)
NAMES = {"empathy": True, "relevance": True, "initial_emotion_intensity": False, "final_emotion_intensity": False}
"""The seeker's answers, and whether a high value is the good end: an intense bad feeling is not."""
FEEDBACK = "feedback"
OTHER_FORMAT = "not ESConv. Use ESConv.json, FailedESConv.json or a split."


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions in which the seeker rates the supporter; per-turn feedback becomes turn labels where there is any.

    Strategies are acts, not scores, and are left out.

    ``src``: a file (plain or gzip), or a folder of ``*.jsonl`` files. ``options``: none are known. Raises
    ``InputError``: a file that cannot be read, or that holds no dialogues.
    """
    check_options("esconv", options, ())
    rows, left_out = CorpusRows(), []
    labels = LabelsOfEarlierTurns(FEEDBACK, SCALE)
    for path in source_files(src, (".jsonl",)):
        dialogues = json_items(path, "dialogues", "dialog", OTHER_FORMAT)
        for position, item in enumerate(dialogues, start=1):
            session_id, place = numbered(stem(path), position), f"{path.name}, {item.place}"
            try:
                with account.session("dialogues", place):
                    _session(rows, labels, session_id, item.value())
            except UnitError as error:
                labels.discard()
                left_out.append(SkippedSession(session_id, f"{place}: {error}"))
    return CorpusBuild(rows.tables(), (), tuple(left_out), usual_language="en")


def _session(rows: CorpusRows, labels: LabelsOfEarlierTurns, session_id: str, dialogue: Mapping[str, Any]) -> None:
    """Add one dialogue, all or nothing."""
    read = account.current()
    read.said("turns", texts_in(dialogue.get("dialog"), "text", "content"))
    try:
        spoken = [(_role(i, turn), _text(turn).strip()) for i, turn in enumerate(dialogue["dialog"], 1)]
        survey = dialogue.get("survey_score") or {}
        answers = survey.get(SEEKER) or {}
        asked = [(side, name) for side, given in survey.items() if isinstance(given, dict) for name in given]
        others = [name for side, name in asked if side != SEEKER or name not in NAMES]
        scores = {
            name: number(answers[name], name, texts=True) for name in NAMES if answers.get(name) not in (None, "")
        }
        stars = [(turn.get("annotation") or {}).get(FEEDBACK) for turn in dialogue["dialog"]]
        feedback = [number(value, FEEDBACK, texts=True) if value else None for value in stars]
    except SHAPE_ERRORS as error:
        raise not_in_shape("ESConv", error) from None
    read.read("scores", len(NAMES) + len(others))
    read.left_out("scores", "answers of the survey that are missing", len(NAMES) - len(scores))
    read.left_out("scores", "answers to other questions, or of the supporter", len(others))
    rows.session(session_id, "esconv")
    target_turn = None
    for turn, ((speaker, text), value) in enumerate(zip(spoken, feedback, strict=True)):
        rows.utterance(session_id, turn, speaker, text)
        if speaker == SUPPORTER:
            target_turn = turn
            labels.misplaced(value is not None)
        elif value is not None:
            labels.judge(target_turn, [value], [None])
    for name, score in scores.items():
        rows.rating(session_id, (SEEKER, SUPPORTER), name, score, SCALE, higher_is_better=NAMES[name])
    labels.flush(rows, session_id)


def _role(position: int, turn: Mapping[str, Any]) -> str:
    speaker = turn["speaker"]
    if not isinstance(speaker, str) or speaker not in ROLES:
        raise UnitError(f"dialog, entry {position}: speaker = {shown(speaker)}; allowed are {', '.join(ROLES)}")
    return ROLES[speaker]


def _text(turn: Mapping[str, Any]) -> str:
    text = turn.get("text", turn.get("content"))
    if not isinstance(text, str):
        raise UnitError(f"text = {shown(text)}: a text is needed.")
    return text
