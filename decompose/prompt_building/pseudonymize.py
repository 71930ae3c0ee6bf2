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

from apportion.corpus.schema import DESCRIPTORS
from apportion.corpus.session import Background, Episode
from apportion.decompose.settings import LLMMethodSettings

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
_BLANK = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.DOTALL)
_SHORTEST_LITERAL = 6


@dataclass(frozen=True)
class PseudonymMap:
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
        # A shorter id stands in for a name where others speak of its bearer; a bare number means many things.
        short = {folded(old): new for old, new in self.ids.items() if _is_short_id(old)}

        def replaced(found: re.Match[str]) -> str:
            word = folded(found[0])
            return short[word] if word in short else _cased(found[0], self.words.get(word))

        return _WORD.sub(replaced, text)

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

    def episode(self, episode: Episode) -> Episode:
        """``episode`` under the other names: speakers, texts, who rated whom, what was known before.

        The environment that rates is nobody, and keeps its name.
        """
        rating = episode.rating
        rater = self.speaker(rating.rater) if episode.has_rater else rating.rater
        return replace(
            episode,
            turns=tuple(replace(t, speaker=self.speaker(t.speaker), text=self.text(t.text)) for t in episode.turns),
            rating=replace(rating, rater=rater, target=self.speaker(rating.target)),
            backgrounds=tuple(self._background(known) for known in episode.backgrounds),
        )

    def _background(self, known: Background) -> Background:
        speaker = None if known.speaker is None else self.speaker(known.speaker)
        return replace(known, speaker=speaker, text=self.text(known.text))

    def descriptors(self, table: pa.Table | None) -> pa.Table | None:
        """DESCRIPTORS rows of the session under the same names."""
        if table is None:
            return None
        rows = [
            {**row, "person": self.speaker(row["person"]), "text": self.text(row["text"])} for row in table.to_pylist()
        ]
        return pa.Table.from_pylist(rows, schema=DESCRIPTORS.arrow)

    def template(self, template: str) -> str:
        """A Jinja template with the names in its words replaced; its blanks stay."""
        parts = _BLANK.split(template)
        return "".join(part if at % 2 else self.text(part) for at, part in enumerate(parts))


def renaming(episode: Episode, names: Iterable[str] = (), *, roles: bool = False, first: int = 0) -> PseudonymMap:
    """Pseudonyms for everybody in ``episode``, the same at every call and for every rating of its session.

    - ``episode`` (Episode): Whose speakers, rater and target get other names; no pseudonym occurs in its texts or
      backgrounds.
    - ``names`` (iterable of str): Names to replace in the texts besides those of the speakers.
    - ``roles`` (bool): Replace the ids of roles too (never the words in the texts).
    - ``first``: Where in ``POOL`` to begin.
    """
    rating = episode.rating
    raters = [rating.rater] if episode.has_rater else []
    people = dict.fromkeys([*(turn.speaker for turn in episode.turns), *raters, rating.target])
    opaque = [person for person in people if _is_opaque(person) or (roles and _is_role(person))]
    assigned = _assigned(episode, list(people), opaque, list(names), first)
    if len({assigned.speaker(person) for person in people}) < len(people):
        # Ids that differ in case or encoding alone: two people must stay two.
        assigned = _assigned(episode, list(people), list(people), list(names), first)
    return assigned


def _assigned(episode: Episode, people: list[str], opaque: list[str], names: list[str], first: int) -> PseudonymMap:
    spoken = [word for person in people if not _is_opaque(person) for word in _WORD.findall(person) if _is_name(word)]
    written: dict[str, str] = {}
    for word in [*spoken, *(word for name in names for word in _WORD.findall(name))]:
        written.setdefault(folded(word), word)
    texts = [*(turn.text for turn in episode.turns), *(known.text for known in episode.backgrounds)]
    taken = {folded(word) for text in texts for word in _WORD.findall(text)}
    taken |= {folded(word) for person in [*people, *names] for word in _WORD.findall(person)}
    free = _pseudonyms(taken, len(written) + len(opaque), first)
    return PseudonymMap(
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


def _is_short_id(person: str) -> bool:
    """A word of letters and digits (P0412) that is too short to be looked for within others."""
    mixed = any(letter.isdigit() for letter in person) and any(letter.isalpha() for letter in person)
    return mixed and len(person) < _SHORTEST_LITERAL and _WORD.fullmatch(person) is not None


def _is_number(word: str) -> bool:
    """A count such as that of "speaker 12", also written together with its role."""
    return re.fullmatch(rf"(?:{'|'.join(sorted(ROLES))}|[a-z])?\d{{1,2}}", folded(word)) is not None


def _pseudonyms(taken: set[str], count: int, first: int) -> list[str]:
    pseudonyms: list[str] = []
    suffix = 0
    while len(pseudonyms) < count:
        rotated = [*POOL[first % len(POOL) :], *POOL[: first % len(POOL)]]
        names = [name if suffix == 0 else f"{name}{suffix + 1}" for name in rotated]
        pseudonyms += [name for name in names if folded(name) not in taken]
        suffix += 1
    return pseudonyms[:count]


def _cased(old: str, new: str | None) -> str:
    """``new`` in the case of ``old``, which it replaces; ``old`` itself where there is nothing to put."""
    if new is None:
        return old
    if len(old) > 1 and old.isupper():
        return new.upper()
    if old.islower():
        return new.lower()
    return new if new != new.lower() else new.capitalize()


@dataclass(frozen=True)
class AnonymizedEpisode:
    """An episode, its descriptors and the question as the model gets them, and the way back to the real names.

    The real names are kept in memory alone: they are found anew from the corpus at every run.
    """

    episode: Episode
    descriptors: pa.Table | None
    question: str | None
    renaming: PseudonymMap | None = None

    def reveal(self, text: str) -> str:
        """What the model wrote, or an error that quotes it, with the real names."""
        return text if self.renaming is None else self.renaming.back(text)


def anonymize(episode: Episode, descriptors: pa.Table | None, settings: LLMMethodSettings) -> AnonymizedEpisode:
    """What the settings let the model see of ``episode``."""
    if not settings.pseudonyms:
        return AnonymizedEpisode(episode, descriptors, settings.question)
    names = renaming(episode, settings.speaker_names)
    question = None if settings.question is None else names.template(settings.question)
    return AnonymizedEpisode(names.episode(episode), names.descriptors(descriptors), question, names)
