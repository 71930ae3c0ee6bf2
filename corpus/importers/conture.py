"""ConTurE (alexa/conture, data.json): human-bot dialogues rated as a whole and response by response."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.files.jsontext import identifier, number, shown
from apportion.corpus.files.textfile import read_json
from apportion.corpus.importers.reading.json_items import SHAPE_ERRORS, not_in_shape, texts_in
from apportion.corpus.importers.reading.sources import check_options, numbered
from apportion.foundation.errors import InputError, UnitError

RATER, TARGET = "user", "chatbot"
OVERALL = "human (overall)"
SCALES: Mapping[str, tuple[float, float]] = {OVERALL: (1.0, 5.0), "consistent": (0.0, 1.0)}
OTHER_SCALE = (1.0, 3.0)
LABEL, LABEL_SCALE = "overall impression", (0.0, 2.0)
NOT_GIVEN = "N/A"
PREFIXES = {RATER: "User:", TARGET: "Chatbot:"}


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions rated "overall" (1 to 5) and on ten more names by 2 or 3 annotators; turn labels 0, 1 or 2.

    ``src``: ``data.json``, plain or gzip. ``options``: none are known. Raises ``InputError``: the file cannot be read
    or is not ConTurE's.
    """
    check_options("conture", options, ())
    dialogs = read_json(src)
    if not (isinstance(dialogs, list) and any(isinstance(d, dict) and "turns" in d for d in dialogs)):
        raise InputError(f'{src}: not ConTurE\'s data.json, which is a list of {{"dialog_id", "turns", ...}}.')
    account.current().read("dialogues", len(dialogs))
    rows, left_out = CorpusRows(), []
    ids: set[str] = set()
    for position, dialog in enumerate(dialogs):
        session_id = numbered("conture", position)
        try:
            with account.session("dialogues", f"{src.name}, item {position + 1}"):
                if not isinstance(dialog, dict):
                    raise UnitError(f"an object is needed, got {shown(dialog)}.")
                _count(dialog)
                session_id = _session_id(dialog.get("dialog_id", position))
                if session_id in ids:
                    raise UnitError(f"the dialog_id {session_id!r} is there already. Give each one of its own.")
                _session(rows, session_id, dialog)
            ids.add(session_id)
        except UnitError as error:
            left_out.append(SkippedSession(session_id, f"{src.name}, item {position + 1}: {error}"))
    return CorpusBuild(rows.tables(), (), tuple(left_out), usual_language="en")


def _count(dialog: Mapping[str, Any]) -> None:
    """Tell the account what is said; `PREFIXES` are words of it, too, where a space follows."""
    read, turns = account.current(), dialog.get("turns")
    for key, prefix in PREFIXES.items():
        texts = texts_in(turns, key)
        read.said("turns", texts)
        prefixed = sum(text.split(maxsplit=1)[:1] == [prefix] and text.startswith(prefix) for text in texts)
        read.left_out("words", "prefixes that say who speaks", prefixed)


def _session_id(dialog_id: Any) -> str:
    plain = identifier(dialog_id, "dialog_id")
    return numbered("conture", dialog_id) if isinstance(dialog_id, int) else f"conture-{plain}"


def _session(rows: CorpusRows, session_id: str, dialog: Mapping[str, Any]) -> None:
    """Add one dialogue, all or nothing."""
    read = account.current()
    try:
        turns = [
            [turn[who].removeprefix(prefix).strip() for who, prefix in PREFIXES.items()] for turn in dialog["turns"]
        ]
        labels = [turn.get(LABEL) for turn in dialog["turns"]]
        scores = [
            (str(annotator), name, None if value == NOT_GIVEN else number(value, name, texts=True))
            for annotator, ratings in enumerate(dialog.get("dialog_ratings", ()))
            for name, value in ratings.items()
        ]
        values = [None if label is None else number(label, LABEL, texts=True) for label in labels]
    except SHAPE_ERRORS as error:
        raise not_in_shape("ConTurE", error) from None
    read.read("scores", len(scores))
    read.left_out("scores", NOT_GIVEN, sum(score is None for _, _, score in scores))
    read.read("labels", len(values))
    read.left_out("labels", "missing", sum(value is None for value in values))
    rows.session(session_id, "conture")
    for i, ((user, chatbot), value) in enumerate(zip(turns, values, strict=True)):
        rows.utterance(session_id, 2 * i, RATER, user)
        rows.utterance(session_id, 2 * i + 1, TARGET, chatbot)
        if value is not None:
            rows.label(session_id, 2 * i + 1, LABEL, value, LABEL_SCALE)
    for annotator, name, score in scores:
        if score is not None:
            shown = "overall" if name == OVERALL else name
            scale = SCALES.get(name, OTHER_SCALE)
            rows.rating(session_id, (RATER, TARGET), shown, score, scale, annotator=annotator)
