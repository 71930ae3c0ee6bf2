"""A batch for Amazon Mechanical Turk: the input file, a row an item, and the layout of its page.

The service puts cells into the layout as they are, so that they are written as HTML that shows them and does nothing.
The layout is plain HTML: its fields come back as columns ``Answer.NAME``
(`apportion.study.import_export.mturk_results`).
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from apportion.corpus.files.csvfile import inert
from apportion.study.design.criteria import Criterion
from apportion.study.design.folder import StudyFolder
from apportion.study.design.items import Item
from apportion.study.import_export.form import REASON, Form, form_of, most_responses, most_turns, shown_items
from apportion.study.import_export.table import csv_text

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
    return csv_text(header, (_row(study, item, letters, numbers) for item in items))


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


def _row(study: StudyFolder, item: Item, letters: tuple[str, ...], numbers: tuple[str, ...]) -> Iterator[str]:
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
