"""What people answered in Label Studio, from its JSON export: labels of turns, each checked against the corpus."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus.corpus import Corpus
from apportion.corpus.files.textfile import read_json
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import listed
from apportion.viewer.labels.label import Label
from apportion.viewer.labels.label_store import Overlay
from apportion.viewer.labels.label_studio_tasks import CONTROL
from apportion.viewer.labels.merge import check_labels
from apportion.viewer.labels.question import Question, check_annotator

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
    """The labels in a JSON export of Label Studio whose tasks `label_studio_tasks` made.

    Annotators are called by their e-mail address where the export has it, else ``label-studio:ID``. Skipped tasks,
    drafts, predictions and answers to other controls than ``label`` are passed over; of several annotations of a task
    by one person the last one counts.

    ``corpus``: that the tasks were made from. ``question``: the one that was answered. Raises InputError: no such file,
    no such export, a task of another question, sessions or turns that the corpus has not or of other words, answers off
    the scale (task and value), no answer at all.
    """
    items = read_json(path)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InputError(f"{path}: not an export of Label Studio (no list of tasks). Export the project as JSON.")
    passed: Counter[str] = Counter()
    found: dict[Any, Label] = {}
    for number, item in enumerate(items, start=1):
        place = f"{path}, task {item.get('id', number)!r:.40}"
        for label in _of_task(item, question, place, passed):
            before = found.get(label.key)
            if before is not None:
                passed["earlier annotations by the same person"] += 1
            if before is None or label.moment >= before.moment:
                found[label.key] = label
    check_labels(found.values(), corpus, str(path))
    if not found:
        told = "; ".join(f"{many:,} {what}" for what, many in sorted(passed.items()))
        raise InputError(f"{path}: no answer to {question.name!r} in {len(items):,} tasks{told and f' ({told})'}.")
    notes = tuple(f"{many:,} {what}" for what, many in sorted(passed.items()))
    return Answers(tuple(found[key] for key in sorted(found)), notes)


def _of_task(item: Mapping[str, Any], question: Question, place: str, passed: Counter[str]) -> Iterator[Label]:
    data = item.get("data")
    if not isinstance(data, dict) and "annotator" in item:
        raise InputError(f"{place}: this is the short form of the export (JSON-MIN). Export the project as JSON.")
    if not isinstance(data, dict) or not _is_ours(data):
        raise InputError(
            f"{place}: its data do not say which turn it is (session_id, turn, said, question), so it is none of the "
            "tasks that were made here. Export only the project that they are in."
        )
    if data["question"] != question.name:
        raise InputError(f"{place}: answers {data['question']!r:.80}, not {question.name!r}. Name that question.")
    annotations = item.get("annotations")
    if not isinstance(annotations, list):
        raise InputError(f"{place}: it has no list of annotations. Export the project as JSON.")
    for annotation in annotations:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
            raise InputError(f"{place}: an annotation without a list of results. Export the project as JSON.")
        if annotation.get("was_cancelled"):
            passed["skipped tasks"] += 1
            continue
        value = _value(annotation["result"], question, place)
        if value is None:
            passed["annotations without an answer"] += 1
            continue
        at = annotation.get("updated_at") or annotation.get("created_at") or ""
        who = _annotator(annotation.get("completed_by"), place)
        yield Label(
            data["session_id"], data["turn"], data["said"], who, question.name, value, question.low, question.high,
            blind=True, at=str(at)[:40],
        )  # fmt: skip


def _is_ours(data: Mapping[str, Any]) -> bool:
    turn = data.get("turn")
    whole = isinstance(turn, int) and not isinstance(turn, bool)
    return whole and all(isinstance(data.get(name), str) for name in ("session_id", "said", "question"))


def _value(results: list[Any], question: Question, place: str) -> float | None:
    """The answer among an annotation's results, None where it holds none."""
    answers = [one for one in results if isinstance(one, dict) and one.get("from_name") == CONTROL]
    if not answers:
        return None
    if len(answers) > 1:
        raise InputError(f"{place}: {len(answers)} answers in one annotation, where one is needed.")
    kind, value = answers[0].get("type"), answers[0].get("value")
    if kind not in KINDS or not isinstance(value, dict):
        raise InputError(f"{place}: an answer of the type {kind!r:.40}. Allowed are {listed(list(KINDS))}.")
    given = value.get(KINDS[kind])
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    try:
        number = math.nan if isinstance(given, (bool, list, dict)) or given is None else float(given)
        return question.checked(number)
    except (ValueError, OverflowError, InputError):
        ends = f"{question.low:g} to {question.high:g} by steps of {question.step:g}"
        raise InputError(f"{place}: the answer {given!r:.60} is not on the scale {ends}.") from None


def _annotator(completed_by: Any, place: str) -> str:
    """Who annotated: an address or a number, by itself or in an object."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    if isinstance(completed_by, bool) or not isinstance(completed_by, (str, int)) or completed_by == "":
        raise InputError(f"{place}: an annotation that does not say who gave it (completed_by).")
    try:
        return check_annotator(completed_by if isinstance(completed_by, str) else f"label-studio:{completed_by}")
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
