"""What people answered in Label Studio, from its JSON export, as answers of the study."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apportion.corpus.files.textfile import read_json
from apportion.foundation.errors import InputError
from apportion.study.design.criteria import Criterion
from apportion.study.design.folder import StudyFolder
from apportion.study.import_export.external_answers import ExternalAnswers, annotator_from, in_utc, seconds_of
from apportion.study.import_export.form import REASON, Form, numbered_turns
from apportion.study.import_export.label_studio_tasks import WHERE, control_name
from apportion.study.rows import AnswerRow

_WHOLE = re.compile(r"-?[0-9]{1,6}")
AGAIN = "Export the project as JSON."


def read_export(path: Path, study: StudyFolder) -> ExternalAnswers:
    """The answers in a JSON export whose tasks `apportion.study.import_export.label_studio_tasks` made.

    Annotators are called ``label-studio-ID``; an address is kept as a hash of it. Skipped tasks, drafts and predictions
    are passed over; of several annotations of a task by one person the last one counts.

    Raises InputError: no such file, no such export, a task of another study, an answer that is none (task and field).
    """
    items = read_json(path)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InputError(f"{path}: not an export of Label Studio (no list of tasks). {AGAIN}")
    arrived = ExternalAnswers()
    for number, item in enumerate(items, start=1):
        try:
            _take_task(item, study, arrived)
        except InputError as error:
            raise InputError(f"{path}, task {item.get('id', number)!r:.40}: {error}") from None
    return arrived


def _take_task(task: Mapping[str, Any], study: StudyFolder, arrived: ExternalAnswers) -> None:
    form = _form(task.get("data"), study)
    annotations = task.get("annotations")
    if not isinstance(annotations, list):
        raise InputError(f"it has no list of annotations. {AGAIN}")
    for annotation in annotations:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
            raise InputError(f"an annotation without a list of results. {AGAIN}")
        if annotation.get("was_cancelled"):
            arrived.passed["skipped tasks"] += 1
            continue
        arrived.take(_row(annotation, study, form, arrived))


def _form(data: Any, study: StudyFolder) -> Form:
    if not isinstance(data, dict) or not isinstance(data.get("item"), str) or not isinstance(data.get("ids"), dict):
        raise InputError(
            "its data do not say which item it is (item, study, ids), so it is none of the tasks that were made here. "
            "Export only the project that they are in."
        )
    item = study.items.get(data["item"])
    if item is None or data.get("study") != study.digest:
        raise InputError(f"it is a task of another study, or of another version of it, than {study.path}.")
    foreign = [name for name in data["ids"].values() if not isinstance(name, str) or item.response(name) is None]
    if foreign:
        raise InputError(f"{foreign[0]!r:.60} is no response of item {item.item}.")
    return Form(item, dict(data["ids"]), numbered_turns(item))


def _row(annotation: Mapping[str, Any], study: StudyFolder, form: Form, arrived: ExternalAnswers) -> AnswerRow:
    given = {
        one["from_name"]: one["value"]
        for one in annotation["result"]
        if isinstance(one, dict) and isinstance(one.get("from_name"), str) and isinstance(one.get("value"), dict)
    }
    answers = {}
    for criterion in study.criteria.criteria:
        found = _answer(criterion, given, form)
        if found is None:
            arrived.passed[f"answers without {criterion.name}"] += 1
        else:
            answers[criterion.name] = form.value(criterion, found)
    words = given.get(REASON, {}).get("text", "")
    reason = " ".join(map(str, words)) if isinstance(words, list) else str(words)
    at = annotation.get("updated_at") or annotation.get("created_at") or ""
    who = _annotator(annotation.get("completed_by"), study.settings.seed)
    return AnswerRow(
        who, form.item.item, answers, reason.strip(), seconds_of(annotation.get("lead_time")), at=in_utc(str(at))
    )


def _answer(
    criterion: Criterion, given: Mapping[str, Mapping[str, Any]], form: Form
) -> list[str] | str | dict[str, int] | None:
    if criterion.kind == "select":
        # What nobody has marked is not in the export: nothing of it is marked.
        return _chosen(control_name(criterion), given)
    if criterion.kind == "pair":
        return _single(control_name(criterion), given)
    numbers = {}
    for place in form.turns if criterion.kind == "turns" else form.letters:
        text = _single(control_name(criterion, place), given)
        if text is None:
            return None
        # Older versions export what a choice shows and not its alias: the number comes first.
        number = text.partition(" ")[0]
        if not _WHOLE.fullmatch(number):
            raise InputError(f"{control_name(criterion, place)}: {text!r:.60} is no whole number.")
        numbers[place] = int(number)
    return numbers


def _chosen(name: str, given: Mapping[str, Mapping[str, Any]]) -> list[str]:
    choices = given.get(name, {}).get("choices", [])
    if not isinstance(choices, list) or not all(isinstance(one, str) for one in choices):
        raise InputError(f"{name}: {choices!r:.60} are no choices.")
    return choices


def _single(name: str, given: Mapping[str, Mapping[str, Any]]) -> str | None:
    choices = _chosen(name, given)
    if len(choices) > 1:
        raise InputError(f"{name}: {len(choices)} choices, where one is needed.")
    return choices[0] if choices else None


def _annotator(completed_by: Any, seed: int) -> str:
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("id") or completed_by.get("email")
    if isinstance(completed_by, bool) or not isinstance(completed_by, str | int) or completed_by == "":
        raise InputError("an annotation that does not say who gave it (completed_by).")
    return annotator_from(f"{WHERE}-{completed_by}" if isinstance(completed_by, int) else completed_by, WHERE, seed)
