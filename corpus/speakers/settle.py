"""From what was said under which label to turns of people, with what was put where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apportion.corpus import account
from apportion.corpus.speakers.doubt import Doubt, UnsureSpeakersError
from apportion.corpus.speakers.evidence import OTHERS, Evidence, gather, verdicts
from apportion.corpus.speakers.labels import LONGEST_LABEL, Cue, Said
from apportion.corpus.speakers.names import clean_name, name_key
from apportion.corpus.speakers.settled import Speaker, merged
from apportion.corpus.speakers.speakers_file import SpeakersFile
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import first_few, shortened

EMPTY, NOBODYS = "without text", "before anybody is named"
NO_PERSON = "of no person, as the file of speakers says"
_COLON = re.compile(r"[:：](?=\s)")
_BRACKETED = re.compile(rf"[(\[]([^()\[\]]{{1,{LONGEST_LABEL}}})[)\]](?=\s)")
_AT_ONCE_S = 0.05
"""Captions that follow each other so soon are one text that rolls on."""


@dataclass(frozen=True)
class Known:
    """What is known of the people of a session beside its transcript: names by who names them, and a person's word.

    ``heard``: by `name_key`, the sessions (`clean_name`) in which a name is rated or speaks.
    """

    rated: Sequence[str] = ()
    recorded: Sequence[str] = ()
    heard: Mapping[str, Collection[str]] = field(default_factory=dict)
    given: SpeakersFile = field(default_factory=SpeakersFile)


@dataclass(frozen=True)
class Settled:
    """The turns in the order of their starts, who speaks, and what a person should be told of it."""

    cues: tuple[Cue, ...]
    speakers: tuple[Speaker, ...]
    remarks: tuple[str, ...]


def settle(said: Sequence[Said], session_id: str = "", known: Known = Known()) -> Settled:
    """Decide who speaks.

    ``said``: in the order of the file. Text without a speaker goes on the turn before. Raises ``UnsureSpeakersError``:
    labels that may be people or text. ``UnitError``: nobody is named, or another person begins who has no name.
    """
    labels = {name_key(piece.label) for piece in said if piece.label is not None}
    sources = {key: OTHERS for key in labels if set(known.heard.get(key, ())) - {clean_name(session_id)}}
    sources |= {name_key(name): "recordings" for name in known.recorded}
    sources |= {name_key(known.given.name_of(session_id, name) or name): "ratings" for name in known.rated}
    sources |= {name_key(name): "ratings" for name in known.rated}
    evidence = gather(said, session_id, sources, known.given)
    rated = [name_key(known.given.name_of(session_id, name) or name) for name in known.rated]
    verdict = verdicts(evidence, rated)
    doubts = [_doubt(session_id, evidence[key]) for key, one in verdict.items() if one == "unsure"]
    if doubts:
        raise UnsureSpeakersError(doubts)
    people = {key: one for key, one in evidence.items() if verdict[key] == "person"}
    turns = _Turns(_names(people))
    for piece in said:
        turns.add(piece)
    return turns.settled(people)


def _doubt(session_id: str, one: Evidence) -> Doubt:
    first = one.pieces[0]
    return Doubt(session_id, one.label, len(one.pieces), first.place, first.written)


def _names(people: Mapping[str, Evidence]) -> dict[str, str]:
    """Name by key of the label; spellings of one name are as the first of them."""
    spelt: dict[str, str] = {}
    return {
        key: spelt.setdefault(name_key(one.name or one.label), one.name or one.label) for key, one in people.items()
    }


@dataclass
class _WholeCue:
    """What became of a cue, whose pieces may be several: the turns that it begins, and its text without a speaker."""

    place: str
    turns: list[int] = field(default_factory=list)
    went_on: bool = False
    why: str | None = None
    """Why text of it was left out."""


class _Turns:
    """Collects the turns of a session piece by piece."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._cues: list[Cue] = []
        self._more: dict[int, list[str]] = {}
        self._went_on: list[str] = []
        self._texts: dict[str, str] = {}
        self._wholes: list[_WholeCue] = []
        self._read = account.current()
        self._first: Said | None = None

    def add(self, piece: Said) -> None:
        """One more piece. Raises ``UnitError``: it begins another person's turn and does not say whose."""
        name = self._names.get(name_key(piece.label)) if piece.label is not None else None
        text = piece.text if name else piece.written
        self._first = self._first or (piece if text else None)
        if piece.opens:
            self._wholes.append(_WholeCue(piece.place))
        whole, words = self._wholes[-1], account.words_in([piece.written])
        if name is not None:
            self._read.left_out("words", "labels of speakers", words - account.words_in([text]), piece.place)
            whole.turns.append(len(self._cues))
            self._cues.append(Cue(name, text, piece.start_s, piece.end_s))
        elif text and piece.sure and piece.label is not None:
            whole.why = NO_PERSON
            self._read.left_out("words", NO_PERSON, words, piece.place)
        elif text and piece.changes:
            raise UnitError(
                f"{piece.place}: a mark says that another person begins, and no name says who: "
                f"{shortened(text)!r}. Write the name before the text."
            )
        elif text and not self._cues:
            whole.why = NOBODYS
            self._read.left_out("words", NOBODYS, words, piece.place)
        elif text:
            whole.went_on = True
            self._go_on(piece, text)

    def _go_on(self, piece: Said, text: str) -> None:
        last = self._cues[-1]
        self._more.setdefault(len(self._cues) - 1, []).append(text)
        self._cues[-1] = replace(last, end_s=max(last.end_s, piece.end_s))
        if piece.label is not None:
            self._texts.setdefault(piece.label, f"{shortened(piece.label)!r} at {piece.place}, to {last.speaker!r}")
        elif piece.opens:
            self._went_on.append(f"{piece.place}, to {last.speaker!r}")

    def settled(self, people: Mapping[str, Evidence]) -> Settled:
        """All that was added. Raises ``UnitError``: there is text and nobody who says it."""
        if not self._cues and self._first is not None:
            raise UnitError(f'{self._first.place}: no speaker. Write "<v Alice>text" (WebVTT) or "Alice: text".')
        texts = [" ".join([cue.text, *self._more.get(i, ())]).strip() for i, cue in enumerate(self._cues)]
        cues = [replace(cue, text=text) for cue, text in zip(self._cues, texts, strict=True) if text]
        for whole in self._wholes:
            self._tell(whole, sum(bool(texts[turn]) for turn in whole.turns))
        remarks = [
            _remark("labels that are known to nothing else are text, which goes on the turn before", self._texts),
            _remark("cues have no label and go on the turn before", self._went_on),
            _remark(
                "turns say again what their speaker has just said (captions that roll, or cues that are there twice): "
                "each counts as a turn unless you remove it",
                _repeated(cues),
            ),
            _remark(
                "turns name a speaker in the middle, which may be another turn", _inner_labels(cues, people.keys())
            ),
            _remark(
                "of those who speak are known neither to ratings nor to recordings, as others are: where one is no "
                "person, -o speakers=FILE says so",
                _strangers(people),
            ),
        ]
        speakers = _speakers(people, self._names, cues)
        ordered = sorted(cues, key=lambda cue: cue.start_s)
        return Settled(tuple(ordered), speakers, tuple(filter(None, remarks)))

    def _tell(self, whole: _WholeCue, turns: int) -> None:
        """Where a cue went that begins so many ``turns``."""
        if turns or whole.went_on:
            self._read.joined("cues", "several turns in one cue" if turns else "go on the turn before", 1 - turns)
        else:
            self._read.left_out("cues", whole.why or EMPTY, 1, whole.place)


def _remark(what: str, places: Sequence[str] | Mapping[str, str]) -> str:
    shown = list(places.values()) if isinstance(places, Mapping) else list(places)
    return f"{len(shown):,} {what} ({first_few(shown)})" if shown else ""


def _repeated(cues: Sequence[Cue]) -> list[str]:
    """Turns that begin with all words of their speaker's turn before, without a pause between the two."""
    last: dict[str, Cue] = {}
    found = []
    for cue in sorted(cues, key=lambda cue: cue.start_s):
        before = last.get(cue.speaker)
        goes_on = before is not None and cue.start_s <= before.end_s + _AT_ONCE_S
        # "Yes" after "Yes" may be two; the same at one moment is not.
        if (
            before
            and goes_on
            and f"{cue.text} ".startswith(f"{before.text} ")
            and (" " in before.text or cue.start_s == before.start_s)
        ):
            found.append(f"{cue.speaker!r} at {cue.start_s:g} s: {shortened(cue.text)!r}")
        last[cue.speaker] = cue
    return found


def _inner_labels(cues: Sequence[Cue], keys: Collection[str]) -> list[str]:
    found = []
    for cue in cues:
        for colon in _COLON.finditer(cue.text):
            before = _COLON.split(cue.text[max(0, colon.start() - LONGEST_LABEL) : colon.start()])[-1].split()
            inner = next((name for i in range(len(before)) if name_key(name := " ".join(before[i:])) in keys), None)
            if inner is not None:
                found.append(f"{cue.speaker!r} at {cue.start_s:g} s: '{inner}:'")
                break
        else:
            named = (mark[0] for mark in _BRACKETED.finditer(cue.text) if name_key(mark[1]) in keys)
            found += [f"{cue.speaker!r} at {cue.start_s:g} s: '{mark}'" for mark in list(named)[:1]]
    return found


def _strangers(people: Mapping[str, Evidence]) -> list[str]:
    """Labels of whom the transcript alone knows, beside two or more whom something else knows."""
    alone = [one for one in people.values() if not set(one.known_by) - {"transcript"}]
    return [repr(shortened(one.label)) for one in alone] if len(people) - len(alone) > 1 else []


def _speakers(people: Mapping[str, Evidence], names: Mapping[str, str], cues: Sequence[Cue]) -> tuple[Speaker, ...]:
    turns, words = Counter[str](), Counter[str]()
    for cue in cues:
        turns[cue.speaker] += 1
        words[cue.speaker] += len(cue.text.split())
    rows = []
    for key, one in people.items():
        name, labels = names[key], dict.fromkeys(piece.label or "" for piece in one.pieces)
        known_by = tuple(one.known_by) or (f"{len(one.pieces)} cues",)
        rows.append(Speaker(name, tuple(labels), 0, 0, known_by, 0))
    return tuple(replace(one, turns=turns[one.name], words=words[one.name], sessions=1) for one in merged(rows))
