"""What the times of a transcript tell: pauses, overlaps, and backchannels such as "mhm"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from apportion.corpus.languages.names import is_foreign
from apportion.corpus.session import BACKCHANNEL, OVERLAP, PAUSE, Event, Session
from apportion.features.time_series import Span, count_events

LEAST_OVERLAP_S = 0.05
"""Less is how transcripts are cut, not people who speak at once."""
PAUSE_S = 1.0
"""Silence that people begin to hear as one (Jefferson, 1989: about a second)."""
MOST_WORDS = 3
WORDS = frozenset(
    (
        *("ah", "aha", "alright", "awesome", "cool", "exactly", "gotcha", "hm", "hmm", "huh", "mhm", "mm", "mmhm"),
        *("mmhmm", "mmm", "nice", "oh", "ok", "okay", "really", "right", "sure", "totally", "true", "uh", "uhhuh"),
        *("uhuh", "wow", "yea", "yeah", "yep", "yes", "yup"),
    )
)
"""English words that a listener says without taking the floor (Yngve, 1970); the list is ours."""
PHRASES = re.compile(r"\b(?:i see|got it|of course|no way)\b")
MEANT = "ok"
"""What a phrase counts as: one of `WORDS`."""


class Talk:
    """What one person did in a conversation's talk: ``events``, those of the transcript or that came with the corpus.

    ``hears`` says whether their backchannels are known: in English, or where the corpus has them. ``speech`` are their
    turns that are none.
    """

    def __init__(self, person: str, session: Session) -> None:
        self.events = [event for event in talk_events(session) if event.person == person]
        self.hears = _given(session, BACKCHANNEL) or not is_foreign(session.language)
        short = [event for event in self.events if event.kind == BACKCHANNEL]
        timed = [(t.start_s, t.end_s) for t in session.turns if t.speaker == person]
        self.speech = [(a, b) for a, b in timed if a is not None and b is not None and not _hold(short, a, b)]

    def within(self, kind: str, spans: Sequence[Span]) -> list[float]:
        """How many each event of ``kind`` is of that has its middle in ``spans``; their ends do not belong to them."""
        return [event.strength or 1.0 for event in self.events if event.kind == kind and _meets(event, spans)]

    def heard(self, spans: Sequence[Span]) -> Counter[str]:
        """What was `said` in backchannels in ``spans``."""
        return said([event for event in self.events if event.kind == BACKCHANNEL and _meets(event, spans)])


def talk_events(session: Session) -> list[Event]:
    """The pauses, overlaps and backchannels of a session, in the order of their starts.

    A kind that came with the corpus is as it came. Pauses are silences of `PAUSE_S` and more, of who speaks next;
    overlaps are turns of `LEAST_OVERLAP_S` and more over somebody else's, of who began later; backchannels see
    `is_backchannel`. Turns without times tell nothing.
    """
    timed = sorted(
        (turn.start_s, turn.end_s, turn.speaker, turn.text)
        for turn in session.turns
        if turn.start_s is not None and turn.end_s is not None and turn.end_s >= turn.start_s
    )
    read = [event for event in _read(timed, not is_foreign(session.language)) if not _given(session, event.kind)]
    return sorted([*session.events, *read], key=lambda event: (event.start_s, event.person, event.kind))


def is_backchannel(text: str) -> bool:
    """Whether a turn is nothing but one to three words of `WORDS`.

    >>> is_backchannel("Mm-hmm."), is_backchannel("Oh, I see!"), is_backchannel("Yeah, I moved."), is_backchannel("")
    (True, True, False, False)
    """
    words = _words(text)
    return 0 < len(words) <= MOST_WORDS and all(word in WORDS for word in words)


def said(events: Sequence[Event]) -> Counter[str]:
    """How often what was said in these backchannels; '' where it is none of our `WORDS`, or not told one by one.

    The strength of a backchannel is how many they were.
    """
    heard: Counter[str] = Counter()
    for event in events:
        many = max(1, round(event.strength or 1.0))
        parts = [part.strip(" -") for part in re.split(r"[.,;!?]+", (event.text or "").lower())]
        parts = [part for part in parts if part]
        ways = (parts, _words(event.text or ""), [" ".join(parts)])
        told = next((way for way in ways if len(way) == many), None)
        if told is None:
            heard[""] += many
        else:
            heard.update(part if is_backchannel(part) else "" for part in told)
    return heard


Timed = tuple[float, float, str, str]


def _read(turns: Sequence[Timed], english: bool) -> Iterator[Event]:
    """What begins with each turn."""
    until_s: dict[str, float] = {}
    for place, (start_s, end_s, speaker, text) in enumerate(turns):
        last_s = max(until_s.values(), default=start_s)
        others_s = max((end for name, end in until_s.items() if name != speaker), default=start_s)
        if start_s - last_s >= PAUSE_S:
            yield Event(speaker, PAUSE, last_s, start_s)
        if english and place and is_backchannel(text) and _keeps_out(turns, place):
            yield Event(speaker, BACKCHANNEL, start_s, end_s, 1.0, text)
        elif min(others_s, end_s) - start_s >= LEAST_OVERLAP_S:
            yield Event(speaker, OVERLAP, start_s, min(others_s, end_s))
        until_s[speaker] = max(end_s, until_s.get(speaker, end_s))


def _keeps_out(turns: Sequence[Timed], place: int) -> bool:
    """Whether the floor stays another's: their turn goes on around this one, or they speak on after it unasked."""
    start_s, end_s, speaker, _ = turns[place]
    _, until_s, other, words = turns[place - 1]
    if other == speaker:
        return False
    goes_on = until_s >= (start_s + end_s) / 2
    after = turns[place + 1][2] if place + 1 < len(turns) else None
    return goes_on or (after == other and not words.rstrip().endswith("?"))


def _meets(event: Event, spans: Sequence[Span]) -> bool:
    return count_events([(event.start_s, event.end_s)], spans) > 0


def _hold(short: Sequence[Event], start_s: float, end_s: float) -> bool:
    return any(event.start_s <= start_s and end_s <= event.end_s for event in short)


def _given(session: Session, kind: str) -> bool:
    return any(event.kind == kind for event in session.events)


def _words(text: str) -> list[str]:
    plain = PHRASES.sub(MEANT, text.lower()).replace("-", "").replace("'", "")
    return re.findall(r"[^\W_]+", plain)
