"""A study as a project of Label Studio: its tasks as JSON, and the labelling interface as XML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import quoteattr

from apportion.foundation.html.text import clean
from apportion.study.design.answers import TIE
from apportion.study.design.criteria import Criterion
from apportion.study.design.folder import StudyFolder
from apportion.study.design.items import Item
from apportion.study.import_export.form import REASON, form_of, most_responses, most_turns, shown_items

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
        lines += [f"  <Header value={_attribute(f'Response {letter}')}/>"]
        lines += [f'  <Text name="response_{letter}" value="$response_{letter}"/>']
    for criterion in study.criteria.criteria:
        lines += [f"  <Header value={_attribute(criterion.question)}/>"]
        lines += list(_controls(criterion, letters, numbers))
    asked = study.criteria.reason
    if asked is not None:
        lines += [f"  <Header value={_attribute(asked.question)}/>"]
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
        yield _choices(control_name(criterion), choices, "multiple" if several else "single")
        return
    values = [
        f"{value} {criterion.anchors[value]}" if value in criterion.anchors else str(value)
        for value in range(criterion.low, criterion.high + 1)
    ]
    aliases = [str(value) for value in range(criterion.low, criterion.high + 1)]
    for place in numbers if criterion.kind == "turns" else letters:
        shown = f"$turn_{place}" if criterion.kind == "turns" else place
        yield f'  <Header size="5" value={_attribute(shown)}/>'
        yield _choices(control_name(criterion, place), values, "single", aliases)


def _choices(name: str, values: tuple[str, ...] | list[str], choice: str, aliases: list[str] | None = None) -> str:
    inner = "".join(
        f"    <Choice value={_attribute(value)} alias={_attribute(alias)}/>\n"
        for value, alias in zip(values, aliases or values, strict=True)
    )
    opening = f'  <Choices name={_attribute(name)} toName="dialogue" choice="{choice}" showInline="true">'
    return f"{opening}\n{inner}  </Choices>"


def _attribute(text: str) -> str:
    return quoteattr(text, {"\n": "&#10;"})
