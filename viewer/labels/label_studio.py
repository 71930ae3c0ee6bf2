"""Turns to be labelled as tasks of Label Studio, and what people answered there, each checked against the corpus."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Session
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.html.text import clean, plain
from apportion.foundation.truncate import listed
from apportion.study.import_export.label_studio import (
    annotations_of,
    attribute,
    choices_xml,
    given_at,
    given_by,
    read_tasks,
)
from apportion.viewer.labels.label import MOST_BUTTONS, Label, Question, check_annotator, said_digest
from apportion.viewer.labels.label_store import Overlay
from apportion.viewer.labels.merge import check_labels

BEFORE, AFTER = 10, 4
"""Turns of the dialogue that a task shows before the turn that is asked about, and after it."""
MARK = "▶ "
"""Stands before the name of who says the turn that is asked about."""
CONTROL = "label"
"""What the answers are called in Label Studio's results (``from_name``)."""
MOST_CHARACTERS = 20_000


@dataclass(frozen=True)
class Tasks:
    """Tasks as Label Studio imports them, and its labelling interface (Settings > Labeling Interface > Code)."""

    tasks: tuple[dict[str, Any], ...]
    interface: str

    def to_json(self) -> str:
        """The file that Label Studio imports."""
        return json.dumps(self.tasks, indent=1, ensure_ascii=False) + "\n"


def export_tasks(
    corpus: Corpus, question: Question, rating: str | None, session_ids: Sequence[str], overlay: Overlay | None
) -> Tasks:
    """The tasks of a corpus: `tasks_for`.

    ``session_ids``: none given: all sessions. ``overlay``: whose labels go along. Raises InputError: no such session or
    rating, no target turn in any, labels of another corpus.
    """
    if rating is not None and rating not in corpus.rating_names():
        names = corpus.rating_names()
        hint = did_you_mean(rating, names, f"there are {listed(names) or 'none'}.")
        raise InputError(f"{corpus.root}: no rating {rating!r}; {hint}")
    labels: tuple[Label, ...] = ()
    if overlay is not None:
        labels = tuple(overlay.labels().standing.values())
        check_labels(labels, corpus, str(overlay.path))
    sessions = (corpus.session(session_id) for session_id in dict.fromkeys(session_ids or corpus.session_ids()))
    made = tasks_for(sessions, rating, question, labels)
    if not made.tasks:
        raise InputError(f"{corpus.root}: no turns to label: no rating credits a speaker of these sessions.")
    return made


def tasks_for(
    sessions: Iterable[Session], rating: str | None, question: Question, labels: Iterable[Label] = ()
) -> Tasks:
    """One task a target turn of every session.

    ``sessions``: those without a target turn give none. ``rating``: only the targets of this rating. ``labels``: labels
    of that question that go along as predictions, one an annotator (``model_version``).

    Texts are JSON strings without the characters that no page can hold; what looks like markup in them stays text.
    """
    given: dict[tuple[str, int], list[Label]] = {}
    for label in labels:
        if label.name == question.name:
            given.setdefault((label.session_id, label.turn), []).append(label)
    tasks = [
        task if not given else {**task, "predictions": _predictions(given.get(_place(task), []), question)}
        for session in sessions
        for task in _of_session(session, rating, question)
    ]
    return Tasks(tuple(tasks), interface(question))


def target_turns(session: Session, rating: str | None) -> tuple[int, ...]:
    """The turns of a session that a rating credits, in order."""
    return tuple(sorted({turn for episode in session.episodes(rating) for turn in episode.target_turns}))


def interface(question: Question) -> str:
    """The labelling interface: the dialogue, and the scale as choices (a number where it has many steps)."""
    answers = question.answers
    if len(answers) <= MOST_BUTTONS:
        aliases = [f"{value:.10g}" for value in answers]
        control = choices_xml(CONTROL, [_answer(value, question) for value in answers], "single", aliases)
    else:
        ends = f'min="{question.low:.10g}" max="{question.high:.10g}" step="{question.step:.10g}"'
        control = f'  <Number name="{CONTROL}" toName="dialogue" {ends}/>'
    return (
        "<View>\n"
        f'  <Paragraphs name="dialogue" value="$dialogue" layout="dialogue" nameKey="author" textKey="text"/>\n'
        f"  <Header value={attribute(f'{question.asks} ({MARK.strip()})')}/>\n"
        f"{control}\n"
        "</View>\n"
    )


def _of_session(session: Session, rating: str | None, question: Question) -> Iterator[dict[str, Any]]:
    places = {turn.turn: place for place, turn in enumerate(session.turns)}
    for number in target_turns(session, rating):
        at = places[number]
        shown = session.turns[max(0, at - BEFORE) : at + AFTER + 1]
        turn = session.turns[at]
        yield {
            "data": {
                "session_id": session.session_id,
                "turn": number,
                "said": said_digest(turn.speaker, turn.text),
                "question": question.name,
                "dialogue": [
                    {
                        "author": (MARK if said.turn == number else "") + clean(said.speaker, MOST_CHARACTERS),
                        "text": clean(said.text, MOST_CHARACTERS),
                    }
                    for said in shown
                ],
            }
        }


def _place(task: Mapping[str, Any]) -> tuple[str, int]:
    return (task["data"]["session_id"], task["data"]["turn"])


def _predictions(labels: Iterable[Label], question: Question) -> list[dict[str, Any]]:
    return [
        {"model_version": label.annotator, "result": [_result(label.value, question)]}
        for label in sorted(labels, key=lambda label: label.annotator)
        if label.value is not None
    ]


def _result(value: float, question: Question) -> dict[str, Any]:
    chosen = len(question.answers) <= MOST_BUTTONS
    answer = {"choices": [f"{value:.10g}"]} if chosen else {"number": value}
    kind = "choices" if chosen else "number"
    return {"id": CONTROL, "from_name": CONTROL, "to_name": "dialogue", "type": kind, "value": answer}


def _answer(value: float, question: Question) -> str:
    """What a choice is called: the number, and at the ends what it means."""
    means = {question.low: question.low_means, question.high: question.high_means}.get(value, "")
    return f"{plain(value)} {means}".strip()


KINDS = {"choices": "choices", "rating": "rating", "number": "number"}
"""Types of results that hold one number, and the field of ``value`` that it is in."""


@dataclass(frozen=True)
class Answers:
    """Labels of an export, and what was passed over, with counts."""

    labels: tuple[Label, ...]
    notes: tuple[str, ...]


def import_answers(path: Path, corpus: Corpus, overlay: Overlay, question: Question) -> Answers:
    """Append what `read_answers` finds to an overlay; nothing is appended where anything in the file is wrong.

    An answer is passed over where the overlay has it already, or something newer by the same person of the same turn.
    """
    answers = read_answers(path, corpus, question)
    overlay.ask(question)
    held = overlay.labels()
    known = {**held.standing, **held.taken_back}
    new = tuple(label for label in answers.labels if not _is_passed(label, known.get(label.key)))
    overlay.add(*new)
    many = len(answers.labels) - len(new)
    notes = (f"{many:,} answers that the labels have already, or newer ones than those",) if many else ()
    return Answers(new, (*answers.notes, *notes))


def _is_passed(label: Label, before: Label | None) -> bool:
    if before is None or before.moment < label.moment:
        return False
    return before.moment > label.moment or before.value == label.value


def read_answers(path: Path, corpus: Corpus, question: Question) -> Answers:
    """The labels in a JSON export of Label Studio whose tasks `export_tasks` made.

    Annotators are called by their e-mail address where the export has it, else ``label-studio:ID``. Skipped tasks,
    drafts, predictions and answers to other controls than ``label`` are passed over; of several annotations of a task
    by one person the last one counts.

    ``corpus``: that the tasks were made from. ``question``: the one that was answered. Raises InputError: no such file,
    no such export, a task of another question, sessions or turns that the corpus has not or of other words, answers off
    the scale (task and value), no answer at all.
    """
    passed: Counter[str] = Counter()
    found: dict[Any, Label] = {}

    def take(task: Mapping[str, Any]) -> None:
        for label in _of_task(task, question, passed):
            before = found.get(label.key)
            if before is not None:
                passed["earlier annotations by the same person"] += 1
            if before is None or label.moment >= before.moment:
                found[label.key] = label

    tasks = read_tasks(path, take)
    check_labels(found.values(), corpus, str(path))
    if not found:
        told = "; ".join(f"{many:,} {what}" for what, many in sorted(passed.items()))
        raise InputError(f"{path}: no answer to {question.name!r} in {tasks:,} tasks{told and f' ({told})'}.")
    notes = tuple(f"{many:,} {what}" for what, many in sorted(passed.items()))
    return Answers(tuple(found[key] for key in sorted(found)), notes)


def _of_task(task: Mapping[str, Any], question: Question, passed: Counter[str]) -> Iterator[Label]:
    data = task.get("data")
    if not isinstance(data, dict) and "annotator" in task:
        raise InputError("this is the short form of the export (JSON-MIN). Export the project as JSON.")
    if not isinstance(data, dict) or not _is_ours(data):
        raise InputError(
            "its data do not say which turn it is (session_id, turn, said, question), so it is none of the tasks that "
            "were made here. Export only the project that they are in."
        )
    if data["question"] != question.name:
        raise InputError(f"answers {data['question']!r:.80}, not {question.name!r}. Name that question.")
    for annotation in annotations_of(task, passed):
        value = _value(annotation["result"], question)
        if value is None:
            passed["annotations without an answer"] += 1
            continue
        who = given_by(annotation, "email", "id")
        yield Label(
            data["session_id"], data["turn"], data["said"],
            check_annotator(who if isinstance(who, str) else f"label-studio:{who}"), question.name, value,
            question.low, question.high, blind=True, at=given_at(annotation)[:40],
        )  # fmt: skip


def _is_ours(data: Mapping[str, Any]) -> bool:
    turn = data.get("turn")
    whole = isinstance(turn, int) and not isinstance(turn, bool)
    return whole and all(isinstance(data.get(name), str) for name in ("session_id", "said", "question"))


def _value(results: list[Any], question: Question) -> float | None:
    """The answer among an annotation's results, None where it holds none."""
    answers = [one for one in results if isinstance(one, dict) and one.get("from_name") == CONTROL]
    if not answers:
        return None
    if len(answers) > 1:
        raise InputError(f"{len(answers)} answers in one annotation, where one is needed.")
    kind, value = answers[0].get("type"), answers[0].get("value")
    if kind not in KINDS or not isinstance(value, dict):
        raise InputError(f"an answer of the type {kind!r:.40}. Allowed are {listed(list(KINDS))}.")
    given = value.get(KINDS[kind])
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    try:
        number = math.nan if isinstance(given, (bool, list, dict)) or given is None else float(given)
        return question.checked(number)
    except (ValueError, OverflowError, InputError):
        ends = f"{question.low:g} to {question.high:g} by steps of {question.step:g}"
        raise InputError(f"the answer {given!r:.60} is not on the scale {ends}.") from None
