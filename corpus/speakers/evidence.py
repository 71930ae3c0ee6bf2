"""What is known of each label of a transcript, and what follows from it: a person, text, or neither for sure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from apportion.corpus.speakers.labels import Said
from apportion.corpus.speakers.names import name_key
from apportion.corpus.speakers.speakers_file import SpeakersFile
from apportion.foundation.did_you_mean import slips

OTHERS = "other sessions"
"""Who speaks there may speak here, and others may be missing."""
Verdict = Literal["person", "text", "unsure"]
_SENTENCE = re.compile(r"[?!;=…]|\.\.|https?\b")
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]$")
FEWEST_WORDS, MOST_WORDS = 3, 5
"""A label of so many words, most of them in small letters, reads like a sentence; one of more words than that does in
any letters."""
SELDOM = 5
"""A label that ends in small letters ("I mean") reads like text where it comes twice, and less often than that."""


@dataclass
class Evidence:
    """One label: its first spelling, the pieces that begin with it, and what else knows it."""

    label: str
    pieces: list[Said] = field(default_factory=list)
    known_by: list[str] = field(default_factory=list)
    name: str | None = None
    """Whose it is by the file of speakers; empty: nobody's."""

    @property
    def certain(self) -> bool:
        """Whether something else than how often it comes says that it is a person."""
        return bool(self.known_by) and self.name != ""

    @property
    def reads_like_text(self) -> bool:
        """Whether it looks like the beginning of a sentence, or like the hour of a time of day ("at 10: 30")."""
        words = self.label.split()
        if self.label[-1].isdigit() and all(piece.text[:1].isdigit() for piece in self.pieces):
            return True
        small = sum(word[0].islower() for word in words)
        sentence = len(words) >= FEWEST_WORDS and 2 * small > len(words)
        phrase = 1 < len(self.pieces) < SELDOM and len(words) > 1 and small < len(words) and words[-1][0].islower()
        return sentence or phrase or len(words) > MOST_WORDS or _SENTENCE.search(self.label) is not None


def gather(said: Sequence[Said], session_id: str, known: Mapping[str, str], given: SpeakersFile) -> dict[str, Evidence]:
    """The evidence by `name_key`; ``known`` says by key what else knows a name."""
    found: dict[str, Evidence] = {}
    for piece in said:
        if piece.label is None:
            continue
        key = name_key(piece.label)
        if key not in found:
            found[key] = Evidence(piece.label, name=given.name_of(session_id, piece.label))
            found[key].known_by += ["file of speakers"] * (found[key].name is not None)
            found[key].known_by += [known[key]] if key in known else []
        found[key].pieces.append(piece)
        if piece.sure and "transcript" not in found[key].known_by:
            found[key].known_by.append("transcript")
    named = {name_key(one.name) for one in found.values() if one.name}
    for key in named & found.keys():
        if not found[key].known_by:
            found[key].known_by.append("file of speakers")
    for key, one in found.items():
        bare = name_key(_BRACKETS.sub("", one.label))
        if one.name is None and not one.certain and bare != key and (bare in found or bare in known):
            # "Ann (laughs)" is Ann, where there is an Ann.
            whose = found.get(bare)
            one.name = (whose.name or whose.label) if whose else _BRACKETS.sub("", one.label)
            one.known_by.append("its name")
    return found


def repeated(said: Sequence[Said]) -> list[str]:
    """The labels that a transcript alone shows to be people: told by its format, or coming again and again."""
    found = gather(said, "", {}, SpeakersFile())
    return [one.label for one in found.values() if one.name is None and _verdict(one, complete=False) == "person"]


def verdicts(evidence: Mapping[str, Evidence], rated: Collection[str]) -> dict[str, Verdict]:
    """What each label is; ``rated`` are the keys of those who rate and are rated.

    Where at least two people are certain and all who are rated among them, nobody is missing: a label that comes once
    is text then, unless it is much like the name of one of them.
    """
    certain = {key for key, one in evidence.items() if one.certain and one.known_by != [OTHERS]}
    names = certain | {name_key(one.name) for one in evidence.values() if one.name}
    complete = len(certain) > 1 and names.issuperset(rated)
    return {key: _verdict(one, complete, names) for key, one in evidence.items()}


def _verdict(one: Evidence, complete: bool, names: Collection[str] = ()) -> Verdict:
    if one.name is not None or one.certain:
        return "text" if one.name == "" else "person"
    key = name_key(one.label)
    if len(one.pieces) > 1:
        slip = complete and key.isalpha() and any(_near(key, name) for name in names)
        return "unsure" if one.reads_like_text or slip else "person"
    return "text" if one.reads_like_text or (complete and not _is_like(key, names)) else "unsure"


def _is_like(key: str, names: Collection[str]) -> bool:
    """Whether it may be a name that is written otherwise: with a title or a family name, or with a typing error."""
    words = set(key.split())
    return any(_near(key, name) or not words.isdisjoint(name.split()) for name in names)


def _near(key: str, name: str) -> bool:
    allowed = min(len(name) // 3, 5)
    return abs(len(key) - len(name)) <= allowed and slips(key, name) <= allowed
