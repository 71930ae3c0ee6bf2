"""A batch for Amazon Mechanical Turk: the input file, a row an item, and the layout of its page.

The service puts cells into the layout as they are, so that they are written as HTML that shows them and does nothing.
The layout is plain HTML: its fields come back as columns ``Answer.NAME``
(`apportion.study.import_export.mturk`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from apportion.corpus.files.csvfile import inert, original, read_table, whole
from apportion.foundation.errors import InputError, UnitError
from apportion.rlhf.compare.blind import LETTERS
from apportion.rlhf.compare.responses import csv_text
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

WHERE = "mturk"
HEAD = """\
<!-- Amazon Mechanical Turk: Create > New Project > Other > Design Layout > Source.
     Number of assignments per task: {people}. -->
<form>
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem; }}
.said {{ white-space: pre-wrap; border: 1px solid #ccc; border-radius: 6px; padding: .5rem .8rem; }}
.said:empty {{ display: none; }}
fieldset {{ margin: 1rem 0; border: 1px solid #ccc; border-radius: 6px; }}
label {{ margin-right: 1rem; }}
</style>
"""


def batch_csv(study: StudyFolder) -> str:
    """The input file: item, context, the responses and their ids by letter, the agent's turns by number."""
    items = shown_items(study)
    letters, numbers = most_responses(items), most_turns(items) if study.criteria.asks_turns else ()
    header = [
        "item",
        "context",
        *(f"response_{letter}" for letter in letters),
        *(f"id_{letter}" for letter in letters),
        *(f"turn_{number}" for number in numbers),
    ]
    return csv_text(header, (_batch_row(study, item, letters, numbers) for item in items))


def layout_html(study: StudyFolder) -> str:
    """The page's layout: instructions, the item's placeholders, a field set a criterion."""
    items = shown_items(study)
    letters, numbers = most_responses(items), most_turns(items) if study.criteria.asks_turns else ()
    parts = [HEAD.format(people=study.settings.annotators_per_item)]
    parts += [f"<p>{_html(line)}</p>\n" for line in study.instructions.splitlines() if line.strip()]
    parts.append('<h2>Dialogue</h2>\n<div class="said">${context}</div>\n')
    parts += [f'<h3>Response {letter}</h3>\n<div class="said">${{response_{letter}}}</div>\n' for letter in letters]
    parts += [_fields(criterion, letters, numbers) for criterion in study.criteria.criteria]
    asked = study.criteria.reason
    if asked is not None:
        needed = f' required minlength="{asked.least}"' if asked.required else ""
        question = f"<p><label>{_html(asked.question)}<br>"
        parts.append(f'{question}<textarea name="{REASON}" rows="4" cols="60"{needed}></textarea></label></p>\n')
    parts.append('<p><input type="submit" value="Submit"></p>\n</form>\n')
    return "".join(parts)


def _batch_row(study: StudyFolder, item: Item, letters: tuple[str, ...], numbers: tuple[str, ...]) -> Iterator[str]:
    form: Form = form_of(study, item, WHERE)
    texts = {letter: item.response(name) for letter, name in form.letters.items()}
    yield item.item
    yield _html(item.context)
    for letter in letters:
        found = texts.get(letter)
        yield "" if found is None else _html(found.text)
    for letter in letters:
        yield form.letters.get(letter, "")
    messages = item.messages
    for number in numbers:
        yield _html(messages[form.turns[number]].text) if number in form.turns else ""


def _fields(criterion: Criterion, letters: tuple[str, ...], numbers: tuple[str, ...]) -> str:
    name, kind = criterion.name, criterion.kind
    lines = [f"<fieldset><legend>{_html(criterion.question)}</legend>"]
    if kind == "select":
        lines += [f'<label><input type="checkbox" name="{name}.{letter}"> {letter}</label>' for letter in letters]
    elif kind == "pair":
        needed = " required" if criterion.required else ""
        lines += [
            f'<label><input type="radio" name="{name}" value="{value}"{needed}> {value}</label>'
            for value in (*letters, "tie")
        ]
    else:
        for place in numbers if kind == "turns" else letters:
            shown = f'<div class="said">${{turn_{place}}}</div>' if kind == "turns" else f"{place}:"
            lines.append(f"<p>{shown} {_scale(criterion, f'{name}.{place}')}</p>")
    return "\n".join([*lines, "</fieldset>\n"])


def _scale(criterion: Criterion, name: str) -> str:
    # Not required: an item may have fewer responses or turns than the page has places for.
    return " ".join(
        f'<label><input type="radio" name="{name}" value="{value}"> {value}{_anchor(criterion, value)}</label>'
        for value in range(criterion.low, criterion.high + 1)
    )


def _anchor(criterion: Criterion, value: int) -> str:
    means = criterion.anchors.get(value)
    return f" ({_html(means)})" if means else ""


def _html(text: str) -> str:
    """HTML that shows the text, and that neither a spreadsheet nor the service's placeholders take for theirs."""
    made = escape(text).replace("$", "&#36;").replace("\r", "").replace("\n", "<br>")
    return made if inert(made) == made else f"&#{ord(made[0])};{made[1:]}"


YES, NO = frozenset(["on", "true", "1", "yes"]), frozenset(["", "off", "false", "0", "no"])
"""What a box that is checked, and one that is not, may come back as (in small letters)."""
NEEDED = ("WorkerId", "Input.item")
REJECTED = "Rejected"
TASK_ANSWERS = "Answer.taskAnswers"
"""The one column of layouts made of the service's own elements: a list of one JSON object."""


def read_results(path: Path, study: StudyFolder) -> ExternalAnswers:
    """The answers of a results file.

    A worker's id becomes the annotator's. Letters are read by the ids that came back beside them (``Input.id_A``), or
    as `apportion.study.import_export.mturk` drew them. Rejected assignments are passed over; where a worker did
    an item twice, the later one counts. A field that was left empty is no answer to its criterion.

    Raises InputError: no such file, a column is missing, an item that the study has not, an answer that is none (line
    and column).
    """
    arrived = ExternalAnswers()
    try:
        table = read_table(path, str(path), NEEDED)
        for needed in NEEDED:
            table.position(needed)
        for line, cells in table.rows:
            row = {name: original(cell) for name, cell in zip(table.header, cells, strict=True)}
            if row.get("AssignmentStatus") == REJECTED:
                arrived.passed["rejected assignments"] += 1
                continue
            try:
                arrived.take(_row(row, study, arrived))
            except InputError as error:
                raise InputError(f"{path}, line {line}: {error}") from None
    except UnitError as error:
        raise InputError(str(error)) from None
    return arrived


def _row(row: Mapping[str, str], study: StudyFolder, arrived: ExternalAnswers) -> AnswerRow:
    item = study.items.get(row["Input.item"])
    if item is None:
        raise InputError(
            f"column Input.item: {row['Input.item']!r:.60} is no item of {study.path}. Name its own study."
        )
    form, given = _form(row, study, item), _given(row)
    answers: dict[str, Any] = {}
    for criterion in study.criteria.criteria:
        found = _answer(criterion, given, form)
        if found is None:
            arrived.passed[f"answers without {criterion.name}"] += 1
        else:
            answers[criterion.name] = form.value(criterion, found)
    if not row["WorkerId"].strip():
        raise InputError("column WorkerId: it is empty; a results file names who answered.")
    return AnswerRow(
        annotator_from(row["WorkerId"].strip(), WHERE, study.settings.seed),
        item.item,
        answers,
        given.get(REASON, "").strip(),
        seconds_of(row.get("WorkTimeInSeconds", "")),
        at=in_utc(row.get("SubmitTime", "")),
    )


def _form(row: Mapping[str, str], study: StudyFolder, item: Item) -> Form:
    told = {letter: row[f"Input.id_{letter}"] for letter in LETTERS if row.get(f"Input.id_{letter}")}
    if not told:
        return form_of(study, item, WHERE)
    foreign = [name for name in told.values() if item.response(name) is None]
    if foreign:
        raise InputError(
            f"{foreign[0]!r:.60} is no response of item {item.item}. Name the study that the batch was of."
        )
    return Form(item, told, numbered_turns(item))


def _given(row: Mapping[str, str]) -> dict[str, str]:
    """The fields of a form by name."""
    if row.get(TASK_ANSWERS):
        return dict(_flattened(row[TASK_ANSWERS]))
    return {name.removeprefix("Answer."): cell for name, cell in row.items() if name.startswith("Answer.")}


def _flattened(text: str) -> Iterator[tuple[str, str]]:
    try:
        (fields,) = json.loads(text)
        for name, value in fields.items():
            for part, inner in value.items() if isinstance(value, dict) else [("", value)]:
                yield (
                    (f"{name}.{part}" if part else name),
                    (str(inner).lower() if isinstance(inner, bool) else str(inner)),
                )
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise InputError(f"column {TASK_ANSWERS}: {text!r:.80} is not a list of one JSON object.") from None


def _answer(criterion: Criterion, given: Mapping[str, str], form: Form) -> list[str] | str | dict[str, int] | None:
    """The answer to one criterion by letters, None where its fields are empty."""
    name = criterion.name
    if criterion.kind == "pair":
        return given.get(name, "").strip() or None
    if criterion.kind == "select":
        return _marked(name, given, form)
    places = form.turns if criterion.kind == "turns" else form.letters
    numbers = {}
    for place in places:
        text = given.get(f"{name}.{place}", "").strip()
        if text:
            number = whole(text)
            if number is None:
                raise InputError(f"column Answer.{name}.{place}: {text!r:.40} is no whole number.")
            numbers[place] = number
    return numbers if len(numbers) == len(places) else None


def _marked(name: str, given: Mapping[str, str], form: Form) -> list[str] | None:
    """The marked letters: of a field a letter, or of one field with letters between bars."""
    if name in given:
        return [letter.strip() for letter in given[name].split("|") if letter.strip()]
    if not any(field.startswith(f"{name}.") for field in given):
        # A file in which nobody has checked any of its boxes has no such column either.
        return []
    marked = []
    for letter in form.letters:
        text = given.get(f"{name}.{letter}", "").strip().lower()
        if text not in YES | NO:
            raise InputError(f"column Answer.{name}.{letter}: {text!r:.40} is neither checked (on, true) nor empty.")
        marked += [letter] if text in YES else []
    return marked
