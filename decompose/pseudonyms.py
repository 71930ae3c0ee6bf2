"""Other names for people, the same ones throughout a session, and the way back; the list of them is never stored.

A name is replaced word by word ("Mary Ann" by two words) wherever one of its words stands alone: in any case, with a
possessive, beside a hyphen. A speaker's id that is no name (a number, a UUID) is replaced as a whole. Ids that only
name a role (user, assistant, A, speaker 1) say nothing of a person and stay. What is not found: nicknames,
misspellings, people who do not speak (give those as ``names``), and names in text that is written without spaces
between words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from corpus.schema import DESCRIPTORS
from corpus.session import Session

ROLES = frozenset(
    {
        "agent", "assistant", "bot", "caller", "chatbot", "client", "customer", "guest", "host", "human", "interviewee",
        "interviewer", "listener", "model", "moderator", "of", "operator", "other", "participant", "partner", "patient",
        "person", "rater", "seeker", "speaker", "student", "supporter", "system", "target", "teacher", "the",
        "therapist", "tutor", "user", "wizard", "worker",
    }
)  # fmt: skip
"""Words of a speaker's id that say what somebody is, not who."""

POOL = (
    "Alex", "Robin", "Casey", "Morgan", "Jamie", "Taylor", "Jordan", "Quinn", "Riley", "Avery", "Rowan", "Sasha",
    "Emery", "Finley", "Jules", "Kendall", "Lennon", "Marlow", "Nico", "Oakley", "Reese", "Tatum", "Wren", "Yael",
)  # fmt: skip
"""Names of people that do not tell a gender, so that nothing is made up but the name."""

_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f])*")
_SHORTEST_LITERAL = 6


@dataclass(frozen=True)
class Renaming:
    """Which word stands for which, and which id for which.

    ``words`` maps the folded word of a name to its pseudonym, ``ids`` a speaker's id that is replaced as a whole to
    its own; ``written`` keeps how each folded word was first written.
    """

    words: Mapping[str, str] = field(repr=False)
    ids: Mapping[str, str] = field(repr=False)
    written: Mapping[str, str] = field(repr=False)

    def text(self, text: str) -> str:
        """``text`` with every name in it replaced, in the case in which it stood."""
        for old, new in self.ids.items():
            if len(old) >= _SHORTEST_LITERAL and any(letter.isdigit() for letter in old):
                text = text.replace(old, new)
        return _WORD.sub(lambda found: _cased(found[0], self.words.get(folded(found[0]))), text)

    def speaker(self, speaker: str) -> str:
        """The id that stands for the id ``speaker``."""
        return self.ids[speaker] if speaker in self.ids else self.text(speaker)

    def back(self, text: str) -> str:
        """``text`` that a model wrote, with the names that it was not shown."""
        whole = {folded(new): old for old, new in self.ids.items()}
        words = {folded(new): self.written[old] for old, new in self.words.items()}

        def original(found: re.Match[str]) -> str:
            word = folded(found[0])
            return whole[word] if word in whole else _cased(found[0], words.get(word))

        return _WORD.sub(original, text)

    def session(self, session: Session) -> Session:
        """``session`` under the other names: speakers, texts, who rated whom, who was recorded."""
        return replace(
            session,
            turns=tuple(replace(t, speaker=self.speaker(t.speaker), text=self.text(t.text)) for t in session.turns),
            ratings=tuple(
                replace(r, rater=self.speaker(r.rater), target=self.speaker(r.target)) for r in session.ratings
            ),
            media=tuple(replace(m, speaker=self.speaker(m.speaker)) for m in session.media),
        )

    def descriptors(self, table: pa.Table | None) -> pa.Table | None:
        """DESCRIPTORS rows of the session under the same names."""
        if table is None:
            return None
        rows = [{**row, "person": self.speaker(row["person"])} for row in table.to_pylist()]
        return pa.Table.from_pylist(rows, schema=DESCRIPTORS.arrow)


def renaming(session: Session, names: Iterable[str] = (), *, roles: bool = False, first: int = 0) -> Renaming:
    """Pseudonyms for everybody in ``session``, the same at every call.

    Parameters
    ----------
    session : Session
        Whose speakers, raters and targets get other names; no pseudonym occurs in its texts.
    names : iterable of str
        Names to replace in the texts besides those of the speakers.
    roles : bool
        Replace the ids of roles too (never the words in the texts).
    first : int
        Where in ``POOL`` to begin.
    """
    rated = [person for rating in session.ratings for person in (rating.rater, rating.target)]
    people = dict.fromkeys([*(turn.speaker for turn in session.turns), *rated, *(m.speaker for m in session.media)])
    opaque = [person for person in people if _is_opaque(person) or (roles and _is_role(person))]
    named = [*(person for person in people if person not in opaque), *names]
    words = dict.fromkeys(word for name in named for word in _WORD.findall(name) if _is_name(word))
    written: dict[str, str] = {}
    for word in words:
        written.setdefault(folded(word), word)
    taken = {folded(word) for turn in session.turns for word in _WORD.findall(turn.text)}
    taken |= {folded(word) for person in [*people, *names] for word in _WORD.findall(person)}
    free = _pseudonyms(taken, len(written) + len(opaque), first)
    return Renaming(
        words=dict(zip(written, free, strict=False)),
        ids=dict(zip(opaque, free[len(written) :], strict=True)),
        written=written,
    )


def folded(word: str) -> str:
    """The form under which a word is looked up: its case and the way its accents are encoded do not matter."""
    return unicodedata.normalize("NFKC", word.casefold())


def _is_name(word: str) -> bool:
    return len(word) > 1 and not any(letter.isdigit() for letter in word) and folded(word) not in ROLES


def _is_role(person: str) -> bool:
    return not any(_is_name(word) for word in _WORD.findall(person))


def _is_opaque(person: str) -> bool:
    """Neither a name nor a role: something with digits in it that can be looked up in a list of people."""
    words = _WORD.findall(person)
    return any(any(letter.isdigit() for letter in word) and not _is_number(word) for word in words)


def _is_number(word: str) -> bool:
    """A count such as that of "speaker 12", also written together with its role."""
    return re.fullmatch(rf"(?:{'|'.join(sorted(ROLES))}|[a-z])?\d{{1,2}}", folded(word)) is not None


def _pseudonyms(taken: set[str], count: int, first: int) -> list[str]:
    found: list[str] = []
    suffix = 0
    while len(found) < count:
        rotated = [*POOL[first % len(POOL) :], *POOL[: first % len(POOL)]]
        names = [name if suffix == 0 else f"{name}{suffix + 1}" for name in rotated]
        found += [name for name in names if folded(name) not in taken]
        suffix += 1
    return found[:count]


def _cased(old: str, new: str | None) -> str:
    """``new`` in the case of ``old``, which it replaces; ``old`` itself where there is nothing to put."""
    if new is None:
        return old
    if len(old) > 1 and old.isupper():
        return new.upper()
    if old.islower():
        return new.lower()
    return new if new != new.lower() else new.capitalize()
