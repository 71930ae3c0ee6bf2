"""Turns to be labelled as tasks of Label Studio: its JSON for import, and the labelling interface as XML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Session
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.html.text import clean, plain
from apportion.foundation.truncate import listed
from apportion.viewer.labels.label import Label, said_digest
from apportion.viewer.labels.label_store import Overlay
from apportion.viewer.labels.merge import check_labels
from apportion.viewer.labels.question import MOST_BUTTONS, Question

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
        choices = "".join(
            f"    <Choice value={_attribute(_answer(value, question))} alias={_attribute(f'{value:.10g}')}/>\n"
            for value in answers
        )
        opening = f'<Choices name="{CONTROL}" toName="dialogue" choice="single" showInline="true">'
        control = f"{opening}\n{choices}  </Choices>"
    else:
        ends = f'min="{question.low:.10g}" max="{question.high:.10g}" step="{question.step:.10g}"'
        control = f'<Number name="{CONTROL}" toName="dialogue" {ends}/>'
    return (
        "<View>\n"
        f'  <Paragraphs name="dialogue" value="$dialogue" layout="dialogue" nameKey="author" textKey="text"/>\n'
        f"  <Header value={_attribute(f'{question.asks} ({MARK.strip()})')}/>\n"
        f"  {control}\n"
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


def _attribute(text: str) -> str:
    return quoteattr(text, {"\n": "&#10;"})
