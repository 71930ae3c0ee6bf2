"""ESConv (emotional support conversations): the release's JSON array or the Hugging Face split's JSON Lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpus.importers.labels import LabelsOfEarlierTurns
from corpus.importers.options import check_options
from corpus.importers.sources import numbered, source_files, stem
from corpus.rows import CorpusRows, LeftOut, NewCorpus
from corpus.textfile import parse_json, read_jsonl, read_text
from foundation.errors import InputError, UnitError

SEEKER, SUPPORTER = "seeker", "supporter"
ROLES = {"usr": SEEKER, "seeker": SEEKER, "sys": SUPPORTER, "supporter": SUPPORTER}
SCALE = (1.0, 5.0)
NAMES = {"empathy": True, "relevance": True, "initial_emotion_intensity": False, "final_emotion_intensity": False}
"""The seeker's answers, and whether a high value is the good end: an intense bad feeling is not."""
FEEDBACK = "feedback"


def import_corpus(src: Path, options: Mapping[str, str]) -> NewCorpus:
    """Sessions in which the seeker rates the supporter; per-turn feedback becomes turn labels where there is any.

    Strategies are acts, not scores, and are left out.

    Parameters
    ----------
    src : Path
        A file (plain or gzip), or a folder of ``*.jsonl`` files.
    options : Mapping
        None are known.

    Raises
    ------
    InputError
        A file that cannot be read, or that holds no dialogues.
    """
    check_options("esconv", options, ())
    rows, left_out, skipped = CorpusRows(), [], 0
    labels = LabelsOfEarlierTurns(FEEDBACK, SCALE)
    for path in source_files(src, (".jsonl",)):
        for number, dialogue in enumerate(_dialogues(path), start=1):
            session_id = numbered(stem(path), number)
            try:
                skipped += _session(rows, labels, session_id, dialogue)
            except UnitError as error:
                labels.discard()
                left_out.append(LeftOut(session_id, f"{path.name}, {error}"))
    notes = (f"{skipped:,} answers of the survey are missing and were skipped",) if skipped else ()
    return NewCorpus(rows.tables(), (*notes, *labels.notes(SUPPORTER)), tuple(left_out))


def _dialogues(path: Path) -> list[dict[str, Any]]:
    text = read_text(path)
    dialogues = parse_json(text, path) if text.lstrip().startswith("[") else [row for _, row in read_jsonl(path)]
    if not any(isinstance(item, dict) and "dialog" in item for item in dialogues):
        raise InputError(f'{path}: not ESConv: no object has a "dialog". Use ESConv.json or a split of it.')
    return [item if isinstance(item, dict) else {} for item in dialogues]


def _session(rows: CorpusRows, labels: LabelsOfEarlierTurns, session_id: str, dialogue: Mapping[str, Any]) -> int:
    """Add one dialogue, all or nothing; returns how many of the seeker's answers are missing."""
    try:
        spoken = [
            (ROLES[turn["speaker"]], turn.get("text", turn.get("content")).strip()) for turn in dialogue["dialog"]
        ]
        answers = (dialogue.get("survey_score") or {}).get(SEEKER) or {}
        scores = {name: float(answers[name]) for name in NAMES if answers.get(name) not in (None, "")}
        stars = [(turn.get("annotation") or {}).get(FEEDBACK) for turn in dialogue["dialog"]]
        feedback = [float(value) if value else None for value in stars]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnitError(f"not in ESConv's shape ({type(error).__name__}: {error}). Compare with its README.") from None
    rows.session(session_id, "esconv", language="en")
    target_turn = None
    for turn, ((speaker, text), value) in enumerate(zip(spoken, feedback, strict=True)):
        rows.utterance(session_id, turn, speaker, text)
        if speaker == SUPPORTER:
            target_turn = turn
        elif value is not None:
            labels.judge(target_turn, [value], [None])
    for name, score in scores.items():
        rows.rating(session_id, (SEEKER, SUPPORTER), name, score, SCALE, higher_is_better=NAMES[name])
    labels.flush(rows, session_id)
    return len(NAMES) - len(scores)
