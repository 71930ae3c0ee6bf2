"""Whose turns count in a session: the rated speaker's, a named one's, or who speaks first or second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from apportion.corpus.session import ENVIRONMENT, Episode, Rating, Session, Turn
from apportion.foundation.truncate import listed

PLACES = ("first", "second")
"""Words for a speaker by the order in which the speakers of a session first say something."""
NOBODY = ""
"""Rater and name of an episode that no rating made."""


def in_order(turns: Iterable[Turn]) -> tuple[str, ...]:
    """The speakers of a session in the order in which they first say something; who says nothing is not among them."""
    return tuple(dict.fromkeys(turn.speaker for turn in turns if turn.text.strip()))


def speaker_called(turns: Sequence[Turn], wanted: str) -> str | None:
    """Whom ``wanted`` means in a session: the speaker of that name, else at that place; None where there is neither.

    >>> speaker_called((Turn(0, "ann", "Hi."), Turn(1, "bob", "Hello.")), "second")
    'bob'
    """
    speakers = in_order(turns)
    if wanted in speakers or wanted not in PLACES:
        return wanted if wanted in speakers else None
    place = PLACES.index(wanted)
    return speakers[place] if place < len(speakers) else None


def unrated_episode(session: Session, target: str) -> Episode:
    """A session seen as if ``target`` had been rated, on a scale of no width: its score is nobody's."""
    nobodys = Rating(NOBODY, target, NOBODY, 0.0, 0.0, 0.0)
    return Episode(session.session_id, session.turns, nobodys, session.backgrounds, language=session.language)


def as_if_rated(session: Session, target: str) -> Session:
    """A session that nobody rated as if its other side had rated whom ``target`` means, with a score that is nobody's.

    So its turns can be judged by what the other side replies, who is `ENVIRONMENT` where several speak. A session in
    which ``target`` means nobody, or in which nobody else speaks, stays as it is.

    ``target``: A speaker's name, or ``first`` or ``second``.

    >>> session = Session("s1", (Turn(0, "ann", "Hi."), Turn(1, "bob", "Hello.")))
    >>> [(e.rating.rater, e.rating.target, e.is_rated) for e in as_if_rated(session, "second").episodes()]
    [('ann', 'bob', False)]
    """
    credited = speaker_called(session.turns, target)
    others = [speaker for speaker in in_order(session.turns) if speaker != credited]
    if credited is None or not others:
        return session
    rater = others[0] if len(others) == 1 else ENVIRONMENT
    return replace(session, ratings=(Rating(rater, credited, NOBODY, 0.0, 0.0, 0.0),))


def is_anyone_rated(sessions: Iterable[Session], rating: str | None = None) -> bool:
    """Whether any session has a score that somebody gave."""
    return any(episode.is_rated for session in sessions for episode in session.episodes(rating))


@dataclass(frozen=True)
class TargetSpeaker:
    """Whom the ratings of a corpus credit: ``name`` where it is always the same one, and at which places they speak.

    ``places`` (from 0) are those that most of the rated sessions credit; without any rated session there are none.
    """

    name: str | None = None
    places: tuple[int, ...] = ()

    def speakers(self, turns: Sequence[Turn]) -> tuple[str, ...]:
        """Who stands for the credited in a session that nobody rated: who has their name, else their places."""
        found = in_order(turns)
        if self.name is not None and self.name in found:
            return (self.name,)
        return tuple(found[place] for place in self.places if place < len(found))

    def __str__(self) -> str:
        places = [PLACES[place] if place < len(PLACES) else f"number {place + 1}" for place in self.places]
        by_place = f"who speaks {listed(places, separator=' and ')}"
        return by_place if self.name is None else f"{self.name!r}, else {by_place}"


def credited(sessions: Iterable[Session], rating: str | None = None) -> TargetSpeaker:
    """Whom the ratings called ``rating`` (any of them where None) credit in ``sessions``."""
    names: set[str] = set()
    patterns: Counter[tuple[int, ...]] = Counter()
    for session in sessions:
        targets = {episode.rating.target for episode in session.episodes(rating)}
        names |= targets
        speakers = in_order(session.turns)
        if places := tuple(sorted(speakers.index(target) for target in targets if target in speakers)):
            patterns[places] += 1
    # Of places that are credited equally often the later: who answers rather than who opens.
    commonest = max(patterns, key=lambda places: (patterns[places], places), default=())
    return TargetSpeaker(names.pop() if len(names) == 1 else None, commonest)


def answered_episodes(
    sessions: Iterable[Session], whom: TargetSpeaker, rating: str | None = None, targets: Sequence[str] = ()
) -> tuple[Episode, ...]:
    """Sessions as a policy answers in them: rated ones through their ratings, the others in their target's place.

    ``sessions``: in this order their episodes come. ``whom``: whom the corpus' ratings credit, for sessions without
    one. ``rating``: which ratings count. Where a session has others only, whom they credit is answered for.
    ``targets``: names and places; where there are any, they and not the ratings say it of sessions without one.
    """
    episodes: list[Episode] = []
    for session in sessions:
        rated = session.episodes(rating)
        episodes.extend(rated or (unrated_episode(session, name) for name in _answered(session, whom, targets)))
    return tuple(episodes)


def _answered(session: Session, whom: TargetSpeaker, targets: Sequence[str]) -> Iterable[str]:
    if targets:
        called = (speaker_called(session.turns, wanted) for wanted in targets)
        return dict.fromkeys(name for name in called if name is not None)
    otherwise_rated = dict.fromkeys(rating.target for rating in session.ratings)
    return otherwise_rated or whom.speakers(session.turns)
