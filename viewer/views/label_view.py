"""The label pages as they are shown: who labels what, how far they are, one session turn by turn."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from apportion.decompose.ensembling.active_selection import order_to_label
from apportion.evaluation.figures.trust import ASKED
from apportion.foundation.html.text import clean, seconds, signed
from apportion.viewer.data.index import Index
from apportion.viewer.data.listing import Page
from apportion.viewer.data.session import SessionTables
from apportion.viewer.data.session_ref import is_of_words, named
from apportion.viewer.labels.label import MOST_BUTTONS, Question, said_digest
from apportion.viewer.labels.label_store import Labels
from apportion.viewer.views.session.people import Player, people_of, players_of

PAGE = 50


@dataclass(frozen=True)
class ToLabel:
    """A session: how many of its turns can be labelled, and of how many somebody has labelled these very words."""

    session_id: str
    slug: str
    split: str | None
    turns: int
    labelled: int

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to label."""
        return self.labelled >= self.turns


def sessions_to_label(
    index: Index, labels: Labels, annotator: str, name: str, *, teaching: bool = False
) -> list[ToLabel]:
    """All sessions that have turns to label, those of the test split first: the evaluation is of them alone. Where they
    are labelled for ``teaching``, those that train come first, in the order in which they are best labelled.
    """
    own = [label for label in labels.standing.values() if (label.annotator, label.name) == (annotator, name)]
    there = named(index, (label.session_id for label in own))
    mine = Counter(label.session_id for label in own if is_of_words(label, there.get(label.session_id)))
    with index.connect() as connection:
        rows = connection.execute(
            "SELECT session_id, slug, split, max(targets) AS targets FROM sessions JOIN episodes ON "
            "episodes.session = sessions.id GROUP BY sessions.id HAVING targets > 0 "
            "ORDER BY split IS NOT 'test', sessions.id"
        ).fetchall()
    found = [ToLabel(r["session_id"], r["slug"], r["split"], r["targets"], mine[r["session_id"]]) for r in rows]
    if not teaching:
        return found
    order: list[str] = []
    for trains in (True, False):
        turns = {one.session_id: one.turns for one in found if (one.split in ("train", None)) is trains}
        order += order_to_label(turns, ASKED, 0)
    place = {session_id: at for at, session_id in enumerate(order)}
    return sorted(found, key=lambda one: place[one.session_id])


def turns_to_label(tables: SessionTables) -> frozenset[int]:
    """The turns of a session that have a reward; where none has, those that a rating credits."""
    rewarded = {int(row["turn"]) for row in tables.rewards}
    return frozenset(rewarded or {turn for episode in tables.session.episodes() for turn in episode.target_turns})


NAME, TEXT = 120, 20_000
THUMBS = ("👎", "👍")


@dataclass(frozen=True)
class QuestionView:
    """A question, with its answers as buttons (none where there are too many) and who has answered it so far."""

    name: str
    asks: str
    low: str
    high: str
    step: str
    low_means: str
    high_means: str
    answers: tuple[dict[str, Any], ...]
    labels: int
    annotators: tuple[str, ...]

    @property
    def scale(self) -> str:
        """The scale in words."""
        if len(self.answers) == 2:
            return "thumbs down or up"
        return f"{self.low} to {self.high}" + ("" if self.step == "1" else f" by {self.step}")


@dataclass(frozen=True)
class LabelSession:
    """One session to label; ``players`` are its recordings, a file once, however many people it shows."""

    session_id: str
    slug: str
    turns: tuple[dict[str, Any], ...]
    target_turns: int
    labelled: int
    players: tuple[Player, ...]


def question_view(question: Question, labels: Labels) -> QuestionView:
    """A question and how far all annotators are."""
    given = [key for key in labels.standing if key[3] == question.name]
    answers = question.answers if len(question.answers) <= MOST_BUTTONS else ()
    return QuestionView(
        name=question.name,
        asks=question.asks,
        low=_written(question.low),
        high=_written(question.high),
        step=_written(question.step),
        low_means=question.low_means,
        high_means=question.high_means,
        answers=tuple(_answer(value, question) for value in answers),
        labels=len(given),
        annotators=tuple(sorted({key[2] for key in given})),
    )


def progress_view(sessions: list[ToLabel], number: int, enough: int) -> dict[str, Any]:
    """The page of sessions to label; ``enough`` labels make a test session count in the evaluation."""
    page = Page.of(len(sessions), number, PAGE)
    return {
        "rows": tuple(page.cut(sessions)),
        "page": page,
        "sessions": len(sessions),
        "turns": sum(one.turns for one in sessions),
        "labelled": sum(one.labelled for one in sessions),
        "next": next((one for one in sessions if not one.is_done), None),
        "tests": sum(one.split == "test" and one.labelled >= enough for one in sessions),
    }


def label_session(tables: SessionTables, labels: Labels, annotator: str, name: str, *, shown: bool) -> LabelSession:
    """A session for one annotator: their own labels, nobody else's; the methods' rewards only where ``shown``."""
    session = tables.session
    targets = turns_to_label(tables)
    mine = {
        one.turn: said
        for one in session.turns
        if one.turn in targets
        and (said := labels.standing.get((session.session_id, one.turn, annotator, name)))
        # A corpus that was made anew may have other words there: what was said of these is not said of those.
        and said.said == said_digest(one.speaker, one.text)
    }
    rewards = _rewards(tables) if shown else {}
    return LabelSession(
        session_id=clean(session.session_id, NAME),
        slug=tables.slug,
        turns=tuple(
            {
                "turn": one.turn,
                "speaker": clean(one.speaker, NAME),
                "text": clean(one.text, TEXT),
                "time": seconds(one.start_s),
                "start_s": "" if one.start_s is None else f"{one.start_s:.3f}",
                "is_target": one.turn in targets,
                "given": "" if (said := mine.get(one.turn)) is None or said.value is None else f"{said.value:.10g}",
                "rewards": tuple(rewards.get(one.turn, ())),
            }
            for one in session.turns
        ),
        target_turns=len(targets),
        labelled=len(mine),
        players=players_of(session, people_of(session, None)),
    )


def _written(value: float) -> str:
    """A value of a scale with all its digits: it is what a form sends and a browser checks."""
    return f"{value + 0.0:.10g}".replace("-", "−")


def _answer(value: float, question: Question) -> dict[str, Any]:
    means = {question.low: question.low_means, question.high: question.high_means}.get(value, "")
    shown = THUMBS[int(value == question.high)] if question.is_thumbs else _written(value)
    return {"value": f"{value:.10g}", "shown": shown, "says": f"{_written(value)} {means}".strip()}


def mean_rewards(tables: SessionTables) -> dict[tuple[int, str], float]:
    """By turn and method the mean reward over seeds and raters, of those that there are."""
    values: dict[tuple[int, str], list[float]] = defaultdict(list)
    for row in tables.rewards:
        if row["reward"] is not None and np.isfinite(row["reward"]):
            values[int(row["turn"]), row["method"]].append(row["reward"])
    return {key: float(np.mean(given)) for key, given in sorted(values.items())}


def _rewards(tables: SessionTables) -> dict[int, list[tuple[str, str]]]:
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for (turn, method), reward in mean_rewards(tables).items():
        found[turn].append((clean(method, NAME), signed(reward)))
    return found
