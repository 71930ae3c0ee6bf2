"""What was said, piece by piece, and the label under which it stands: told by the format, or a candidate."""

from __future__ import annotations

import re
from dataclasses import dataclass

from apportion.corpus import account
from apportion.corpus.speakers.markup import voices
from apportion.corpus.speakers.names import clean_name
from apportion.foundation.safe_text import is_seen

LONGEST_LABEL = 60
_LABEL = re.compile(
    rf"(?P<mark>[-–—‒]{{1,3}}\s*|>{{2,5}}\s*)?(?P<label>[^:：]{{1,{LONGEST_LABEL}}}?)"
    # "Ann: hi", "Ann : salut", "安：你好"; without a space only before a word: "hm :)" has no label, nor has "10:30".
    r"(?:\s*[:：](?=\s|$)|\s*：|(?<!\d):(?=[\w\"'“‘¿¡(\[])|(?<=\d):(?=[^\W\d]))(?!//)\s*(?P<rest>.*)"
)
_MARK = re.compile(r"(?:(?P<dash>[-–—‒]{1,3})|>{2,5})\s*\S")
_WRAPPED = re.compile(r"[\[(*_\"“]+(.*?)[\])*_\"”]+")


@dataclass(frozen=True)
class Cue:
    """What one speaker said from ``start_s`` to ``end_s`` (seconds on the session clock)."""

    speaker: str
    text: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Said:
    """A piece of a transcript; ``place`` says where it stands, in messages.

    ``label``: who says ``text``: ``sure`` where the format says so, else a candidate. ``written``: the text with its
    label, for where that is none. ``opens``: whether it is the first of its cue. ``changes``: a mark says that another
    person begins (``>>``, or a dash that is not the first of its cue alone).
    """

    place: str
    text: str
    start_s: float
    end_s: float
    label: str | None = None
    sure: bool = False
    written: str = ""
    opens: bool = True
    changes: bool = False


def said_in(place: str, raw: str, start_s: float, end_s: float) -> list[Said]:
    """The pieces of one caption: a voice each, and outside of voices a line each; one without text where there is none.

    >>> [(one.label, one.text) for one in said_in("cue 1", "Ann: Ready?\\nBob: No.", 0.0, 1.0)]
    [('Ann', 'Ready?'), ('Bob', 'No.')]
    """
    found: list[Said] = []
    for voice, text in voices(raw):
        name = _unwrapped(clean_name(voice or ""))
        account.current().read("words", account.words_in([text] if name else text.split("\n")))
        if name:
            found.append(Said(place, _flat(text), start_s, end_s, name, True, _flat(text), not found))
            continue
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        marks = [_MARK.match(line) for line in lines]
        dashes = sum(mark is not None and mark["dash"] is not None for mark in marks)
        for line, mark in zip(lines, marks, strict=True):
            label, rest = _candidate(line)
            changes = mark is not None and (mark["dash"] is None or dashes > 1 or bool(found))
            found.append(Said(place, _flat(rest), start_s, end_s, label, False, _flat(line), not found, changes))
    return found or [Said(place, "", start_s, end_s)]


def _candidate(line: str) -> tuple[str | None, str]:
    match = _LABEL.fullmatch(line)
    label = _unwrapped(clean_name(match["label"])) if match else ""
    if match is None or not any(letter.isalnum() for letter in label):
        return None, line
    return label, match["rest"]


def _unwrapped(label: str) -> str:
    wrapped = _WRAPPED.fullmatch(label)
    return wrapped[1].strip() if wrapped else label


def _flat(text: str) -> str:
    return " ".join(text.split()) if is_seen(text) else ""
