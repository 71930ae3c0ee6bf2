"""Ratings of turns as labels of a corpus' turns (the table ``turn_labels``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Turn
from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import KNOWN
from apportion.study.design.criteria import Criterion
from apportion.study.design.folder import StudyFolder
from apportion.study.design.items import Item
from apportion.study.rows import AnswerRow


@dataclass(frozen=True)
class TurnRating:
    """What an annotator said of one turn of a corpus: the criterion and its scale, the value, the turn's words."""

    session_id: str
    turn: int
    speaker: str
    text: str
    annotator: str
    criterion: Criterion
    value: float
    at: str


def turn_ratings(study: StudyFolder, rows: Iterable[AnswerRow], corpus: Corpus) -> tuple[TurnRating, ...]:
    """The ratings of all turns, by session, turn and annotator; practice and attention checks are left out.

    A message of a context holds all that one side said up to the other side's next: its label sits on the last of those
    turns. Where an annotator rated a turn in several items, the last answer counts. Reversed criteria stay as they were
    asked: a corpus' labels have a scale, and the larger value is the better one, so that those are mirrored.

    Raises InputError: no criterion is asked of turns; a session that the corpus has not, or other words than were
    rated; no rating.
    """
    asked = [criterion for criterion in study.criteria.criteria if criterion.kind == "turns"]
    if not asked:
        names = ", ".join(study.criteria.by_name)
        raise InputError(f"{study.path}: no criterion is asked of turns (there are {names}), so that none has a label.")
    counted = {item.item for item in study.counted}
    places: dict[str, Mapping[int, Turn]] = {}
    found: dict[tuple[str, int, str, str], TurnRating] = {}
    for row in sorted((row for row in rows if row.item in counted), key=lambda row: row.at):
        item = study.items[row.item]
        if row.item not in places:
            places[row.item] = corpus_turns(item, corpus)
        for criterion in asked:
            for place, number in dict(row.answers.get(criterion.name, {})).items():
                turn = places[row.item].get(int(place))
                if turn is None:
                    raise InputError(f"item {row.item}: {corpus.root} has not the turns that its context begins with.")
                low, high = criterion.scale
                value = float(low + high - number if criterion.reversed else number)
                key = (item.session_id, turn.turn, row.annotator, criterion.name)
                found[key] = TurnRating(
                    item.session_id, turn.turn, turn.speaker, turn.text, row.annotator, criterion, value, row.at
                )
    if not found:
        raise InputError(f"{study.path}: no turn was rated yet, so that there is no label.")
    return tuple(found[key] for key in sorted(found))


def corpus_turns(item: Item, corpus: Corpus) -> dict[int, Turn]:
    """The corpus' turn in which each of the agent's messages ends, by the message's position. Raises InputError: no
    such session or turn; the agent's words there are not those of the context.
    """
    turns = corpus.session(item.session_id).turns if item.session_id in corpus.session_ids() else ()
    if item.turns is not None:
        return _numbered(item, {turn.turn: turn for turn in turns}, corpus)
    agent = next((turn.speaker for turn in turns if turn.turn == item.turn), None)
    if agent is None:
        raise InputError(
            f"item {item.item}: {corpus.root} has no turn {item.turn} in a session {item.session_id!r}. Name the "
            "corpus that the responses were generated from."
        )
    before = [turn for turn in turns if turn.turn < item.turn and turn.text.strip()]
    sides = [list(side) for _, side in groupby(before, key=lambda turn: turn.speaker == agent)]
    said = [place for place, message in enumerate(item.messages) if message.role != KNOWN]
    found = {}
    # From the end: a context may begin in the middle of its session.
    for place, side in zip(reversed(said), reversed(sides), strict=False):
        if place in item.positions:
            found[place] = side[-1]
            _check_words(item, place, side, agent, corpus)
    return found


def _numbered(item: Item, turns: Mapping[int, Turn], corpus: Corpus) -> dict[int, Turn]:
    """The same where the item says which turn each of its messages is."""
    found = {}
    for place in item.positions:
        number = item.turns[place] if item.turns is not None else None
        turn = None if number is None else turns.get(number)
        if turn is None:
            raise InputError(f"item {item.item}: {corpus.root} has not its turns. Name the corpus that it was made of.")
        found[place] = turn
        _check_words(item, place, [turn], turn.speaker, corpus)
    return found


def _check_words(item: Item, place: int, side: Sequence[Turn], agent: str, corpus: Corpus) -> None:
    message = item.messages[place].text
    if side[0].speaker != agent or " ".join(turn.text for turn in side).split() != message.split():
        raise InputError(
            f"item {item.item}: session {item.session_id!r} of {corpus.root} has other words before turn {item.turn} "
            f"than {message[:60]!r}. Name the corpus that the responses were generated from."
        )
