"""Two policies' responses to one context, and other names for the people in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import pyarrow as pa

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import ENVIRONMENT, Episode, Rating, Turn
from apportion.decompose.prompt_building.pseudonymize import PseudonymMap, renaming
from apportion.foundation.errors import InputError
from apportion.rlhf.compare.responses import context_text, messages_of
from apportion.rlhf.policy.contexts import KNOWN, ContextTurn


@dataclass(frozen=True)
class Pair:
    """Responses of the policies ``left`` and ``right`` to the same ``context``."""

    session_id: str
    turn: int
    seed: int
    context: str
    left: str
    right: str
    left_text: str
    right_text: str

    @property
    def place(self) -> str:
        """Where the responses stand, for messages."""
        return f"session {self.session_id!r}, turn {self.turn}"

    @property
    def same(self) -> bool:
        """Whether there is nothing to choose between."""
        return self.left_text.split() == self.right_text.split()


def pairs_of(table: pa.Table) -> list[Pair]:
    """Every two policies on every context that both have answered, policies in the order of the table."""
    policies = list(dict.fromkeys(table["policy"].to_pylist()))
    if len(policies) < 2:
        raise InputError(
            f"the responses are those of {len(policies)} policies ({', '.join(policies) or 'none'}); at least 2 are "
            "needed. Let the others answer the same contexts, in one run."
        )
    contexts: dict[tuple[str, int, int], str] = {}
    answers: dict[tuple[str, int, int], dict[str, str]] = {}
    for row in table.to_pylist():
        place = (row["session_id"], row["turn"], row["seed"])
        if contexts.setdefault(place, row["context"]) != row["context"]:
            raise InputError(
                f"session {place[0]!r}, turn {place[1]}: the policies were given different contexts, so their "
                "responses cannot be compared. Generate them in one run."
            )
        answers.setdefault(place, {})[row["policy"]] = row["response"]
    pairs = [
        Pair(*place, contexts[place], left, right, texts[left], texts[right])
        for left, right in combinations(policies, 2)
        for place, texts in answers.items()
        if left in texts and right in texts
    ]
    if not pairs:
        raise InputError(
            "no two policies answered the same context, so nothing can be compared. Generate their responses in one "
            "run."
        )
    return pairs


NOBODY = "user"
"""A speaker whose id says nothing of a person."""


@dataclass(frozen=True)
class AnonymizedPair:
    """A pair under other names, and the way back to the real ones."""

    pair: Pair
    renaming: PseudonymMap


def anonymize_pair(pair: Pair, people: Sequence[str], names: Sequence[str]) -> AnonymizedPair:
    """``pair`` with other names for ``people`` (speakers' ids) and ``names``, the same ones at every call.

    No pseudonym is a word of the context or of a response.
    """
    shown = Turn(len(people), NOBODY, "\n".join((pair.context, pair.left_text, pair.right_text)))
    turns = (*(Turn(number, person, "") for number, person in enumerate(people)), shown)
    nothing = Rating(NOBODY, NOBODY, "", 0.0, 0.0, 1.0)
    names_for = renaming(Episode(pair.session_id, turns, nothing), names)
    left, right = (names_for.text(text) for text in (pair.left_text, pair.right_text))
    return AnonymizedPair(
        replace(pair, context=_context(pair.context, names_for), left_text=left, right_text=right), names_for
    )


def _context(context: str, names: PseudonymMap) -> str:
    messages = messages_of(context)
    if not any(message.speaker for message in messages):
        return names.text(context)
    # A speaker's id that is no name is replaced as a whole, which the words of a text are not.
    return context_text([replace(m, text=names.text(m.text), speaker=_speaker(m, names)) for m in messages])


def _speaker(message: ContextTurn, names: PseudonymMap) -> str:
    # What was known has its kind there, which stays even where somebody is called so.
    return names.speaker(message.speaker) if message.speaker and message.role != KNOWN else message.speaker


def speakers(corpus: Corpus, pairs: Sequence[Pair]) -> Mapping[str, tuple[str, ...]]:
    """Who speaks, rates or is rated in each session of ``pairs``."""
    people: dict[str, dict[str, None]] = {}
    for table, columns in ((corpus.utterances, ("speaker",)), (corpus.ratings, ("rater", "target"))):
        for column in columns:
            session_ids = table["session_id"].to_pylist()
            for session_id, person in zip(session_ids, table[column].to_pylist(), strict=True):
                if person not in (None, ENVIRONMENT):
                    people.setdefault(session_id, {})[person] = None
    for pair in pairs:
        if pair.session_id not in people:
            raise InputError(
                f"{corpus.root}: it has no session {pair.session_id!r}. Give the corpus from which the "
                "responses were generated."
            )
    return {session_id: tuple(ids) for session_id, ids in people.items()}
