"""A study as a project of Label Studio: its tasks as JSON, and the labelling interface as XML."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from apportion.corpus.files.textfile import read_json
from apportion.foundation.errors import InputError
from apportion.foundation.html.text import clean
from apportion.study.design.answers import TIE
from apportion.study.design.criteria import Criterion
from apportion.study.design.folder import StudyFolder
from apportion.study.design.items import Item
from apportion.study.import_export.external_answers import ExternalAnswers, annotator_from, in_utc, seconds_of
from apportion.study.import_export.form import (
    REASON,
    Form,
    form_of,
    most_responses,
    most_turns,
    numbered_turns,
    shown_items,
)
from apportion.study.rows import AnswerRow

WHERE = "label-studio"
MOST_CHARACTERS = 20_000


def tasks_json(study: StudyFolder) -> str:
    """The file that Label Studio imports: a task an item, with letters that are the same for everybody.

    Texts are JSON strings without the characters that no page can hold; what looks like markup in them stays text.
    """
    return json.dumps([_task(study, item) for item in shown_items(study)], indent=1, ensure_ascii=False) + "\n"


def interface_xml(study: StudyFolder) -> str:
    """The labelling interface (Settings > Labeling Interface > Code)."""
    items = shown_items(study)
    letters = most_responses(items)
    numbers = most_turns(items) if study.criteria.asks_turns else ()
    lines = [
        "<View>",
        '  <Paragraphs name="dialogue" value="$dialogue" layout="dialogue" nameKey="author" textKey="text"/>',
    ]
    for letter in letters:
        lines += [f"  <Header value={attribute(f'Response {letter}')}/>"]
        lines += [f'  <Text name="response_{letter}" value="$response_{letter}"/>']
    for criterion in study.criteria.criteria:
        lines += [f"  <Header value={attribute(criterion.question)}/>"]
        lines += list(_controls(criterion, letters, numbers))
    asked = study.criteria.reason
    if asked is not None:
        lines += [f"  <Header value={attribute(asked.question)}/>"]
        needed = str(asked.required).lower()
        lines += [f'  <TextArea name="{REASON}" toName="dialogue" rows="4" maxSubmissions="1" required="{needed}"/>']
    return "\n".join([*lines, "</View>\n"])


def control_name(criterion: Criterion, place: str = "") -> str:
    """What a control is called in the interface, and ``from_name`` in an export.

    >>> control_name(Criterion(name="fair", question="How fair?", kind="rating"), "B")
    'fair_B'
    """
    return f"{criterion.name}_{place}" if place else criterion.name


def _task(study: StudyFolder, item: Item) -> dict[str, Any]:
    form = form_of(study, item, WHERE)
    letters, numbers = most_responses(shown_items(study)), most_turns(shown_items(study))
    texts = {letter: item.response(name) for letter, name in form.letters.items()}
    messages = item.messages
    data: dict[str, Any] = {
        "item": item.item,
        "study": study.digest,
        "ids": dict(form.letters),
        "dialogue": [
            {"author": clean(message.speaker or message.role, 80), "text": clean(message.text, MOST_CHARACTERS)}
            for message in messages
        ],
    }
    for letter in letters:
        found = texts.get(letter)
        data[f"response_{letter}"] = "" if found is None else clean(found.text, MOST_CHARACTERS)
    if study.criteria.asks_turns:
        for number in numbers:
            place = form.turns.get(number)
            data[f"turn_{number}"] = "" if place is None else clean(messages[place].text, MOST_CHARACTERS)
    return {"data": data}


def _controls(criterion: Criterion, letters: tuple[str, ...], numbers: tuple[str, ...]) -> Iterator[str]:
    if criterion.kind in ("select", "pair"):
        several = criterion.kind == "select"
        choices = letters if several else (*letters, TIE)
        yield choices_xml(control_name(criterion), choices, "multiple" if several else "single")
        return
    values = [
        f"{value} {criterion.anchors[value]}" if value in criterion.anchors else str(value)
        for value in range(criterion.low, criterion.high + 1)
    ]
    aliases = [str(value) for value in range(criterion.low, criterion.high + 1)]
    for place in numbers if criterion.kind == "turns" else letters:
        shown = f"$turn_{place}" if criterion.kind == "turns" else place
        yield f'  <Header size="5" value={attribute(shown)}/>'
        yield choices_xml(control_name(criterion, place), values, "single", aliases)


def choices_xml(name: str, values: tuple[str, ...] | list[str], choice: str, aliases: list[str] | None = None) -> str:
    """The control of a question whose answers are chosen."""
    inner = "".join(
        f"    <Choice value={attribute(value)} alias={attribute(alias)}/>\n"
        for value, alias in zip(values, aliases or values, strict=True)
    )
    opening = f'  <Choices name={attribute(name)} toName="dialogue" choice="{choice}" showInline="true">'
    return f"{opening}\n{inner}  </Choices>"


def attribute(text: str) -> str:
    """A text as the value of an XML attribute, with its quotes."""
    return quoteattr(text, {"\n": "&#10;"})


_WHOLE = re.compile(r"-?[0-9]{1,6}")
AGAIN = "Export the project as JSON."


def read_export(path: Path, study: StudyFolder) -> ExternalAnswers:
    """The answers in a JSON export whose tasks `tasks_json` made.

    Annotators are called ``label-studio-ID``; an address is kept as a hash of it. Skipped tasks, drafts and predictions
    are passed over; of several annotations of a task by one person the last one counts.

    Raises InputError: no such file, no such export, a task of another study, an answer that is none (task and field).
    """
    arrived = ExternalAnswers()

    def take(task: Mapping[str, Any]) -> None:
        form = _form(task.get("data"), study)
        for annotation in annotations_of(task, arrived.passed):
            arrived.take(_row(annotation, study, form, arrived))

    read_tasks(path, take)
    return arrived


def read_tasks(path: Path, take: Callable[[Mapping[str, Any]], None]) -> int:
    """Give each task of a JSON export to ``take``, whose errors then name the task; how many there are.

    Raises InputError: no such file, no such export; as ``take``.
    """
    tasks = read_json(path)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise InputError(f"{path}: not an export of Label Studio (no list of tasks). {AGAIN}")
    for number, task in enumerate(tasks, start=1):
        try:
            take(task)
        except InputError as error:
            raise InputError(f"{path}, task {task.get('id', number)!r:.40}: {error}") from None
    return len(tasks)


def annotations_of(task: Mapping[str, Any], passed: Counter[str]) -> Iterator[Mapping[str, Any]]:
    """The annotations of a task that were not skipped. Raises InputError: there is no list of them."""
    annotations = task.get("annotations")
    if not isinstance(annotations, list):
        raise InputError(f"it has no list of annotations. {AGAIN}")
    for annotation in annotations:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
            raise InputError(f"an annotation without a list of results. {AGAIN}")
        if annotation.get("was_cancelled"):
            passed["skipped tasks"] += 1
        else:
            yield annotation


def given_at(annotation: Mapping[str, Any]) -> str:
    """When an annotation was given last, as the file has it."""
    return str(annotation.get("updated_at") or annotation.get("created_at") or "")


def given_by(annotation: Mapping[str, Any], *fields: str) -> str | int:
    """Who gave an annotation: an address or a number, by itself or the first of ``fields`` of an object."""
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = next(filter(None, (who.get(name) for name in fields)), None)
    if isinstance(who, bool) or not isinstance(who, str | int) or who == "":
        raise InputError("an annotation that does not say who gave it (completed_by).")
    return who


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
    who = given_by(annotation, "id", "email")
    return AnswerRow(
        annotator_from(f"{WHERE}-{who}" if isinstance(who, int) else who, WHERE, study.settings.seed),
        form.item.item,
        answers,
        reason.strip(),
        seconds_of(annotation.get("lead_time")),
        at=in_utc(given_at(annotation)),
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
