"""One conversation and its ratings, as frozen values that every stage reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from apportion.corpus.speaker_labels import letters

EpisodeKey = tuple[str, str, str, str]
"""(session_id, rater, target, name of the rating): what tells an episode in every table."""
ENVIRONMENT = "environment"
"""The rater of a score that rules or a judge of simulated play gave, and nobody who takes part. No speaker's name."""
BACKGROUND_KINDS = ("scenario", "rules", "role", "profile", "goal")
"""What a background may be, in the order in which a session's are told."""

BACKCHANNEL, PAUSE, OVERLAP = "backchannel", "pause", "overlap"
TALK_KINDS = (BACKCHANNEL, PAUSE, OVERLAP)
"""What an event that comes with a corpus may be."""


@dataclass(frozen=True)
class Turn:
    """One utterance: ``start_s`` and ``end_s`` are seconds on the session clock, None in text-only corpora."""

    turn: int
    speaker: str
    text: str
    start_s: float | None = None
    end_s: float | None = None


@dataclass(frozen=True)
class Media:
    """One recording of one speaker.

    ``kind`` is ``audio``, ``video`` or ``features``; ``path`` is relative to the corpus folder;
    ``offset_s`` is the session time of the recording's presentation time 0; ``channel`` picks one audio
    channel (``L``, ``R`` or an index) or one half of a side-by-side picture (``left``, ``right``), or says which
    columns are features (`apportion.corpus.recordings.feature_map`).
    """

    speaker: str
    kind: str
    path: str
    offset_s: float = 0.0
    channel: str | None = None


@dataclass(frozen=True)
class Background:
    """What was known before the first turn: to ``speaker`` alone, or to everybody where that is None.

    ``kind`` is one of `BACKGROUND_KINDS`.
    """

    speaker: str | None
    kind: str
    text: str


@dataclass(frozen=True)
class Event:
    """Something that ``person`` did, from ``start_s`` to ``end_s`` on the session clock.

    ``kind`` is one of `TALK_KINDS`, or what a face shows; ``strength`` is in its own unit
    (docs/explanations/measurement.md), ``text`` what was said; None where there is none.
    """

    person: str
    kind: str
    start_s: float
    end_s: float
    strength: float | None = None
    text: str | None = None


@dataclass(frozen=True)
class Rating:
    """One score that ``rater`` gave for ``target`` on the scale ``low`` to ``high`` (mean over annotators).

    ``rater`` is one who takes part, or `ENVIRONMENT`.
    """

    rater: str
    target: str
    name: str
    score: float
    low: float
    high: float
    higher_is_better: bool = True


@dataclass(frozen=True)
class Episode:
    """A session seen through one rating: T target turns share one global explicit reward R_GE.

    >>> turns = (Turn(0, "ann", "Is there a train?"), Turn(1, "bob", "At nine."), Turn(2, "ann", "Thanks!"))
    >>> episode = Episode("s1", turns, Rating("ann", "bob", "waiting", 2.0, 1.0, 5.0, higher_is_better=False))
    >>> episode.target_turns, episode.reply_text(1), episode.score
    ((1,), 'Thanks!', 4.0)
    """

    session_id: str
    turns: tuple[Turn, ...]
    rating: Rating
    backgrounds: tuple[Background, ...] = ()
    """All of the session's, other speakers' private ones too; `known_to_target` has those that the target knows."""
    beside: tuple[Rating, ...] = ()
    """What the same rater said of the same target under other names."""
    language: str | None = None
    """What is spoken (`apportion.corpus.languages.names`); None where that is not known."""

    @property
    def key(self) -> EpisodeKey:
        """(session_id, rater, target, name), the episode's identity in every table."""
        return (self.session_id, self.rating.rater, self.rating.target, self.rating.name)

    @property
    def score(self) -> float:
        """R_GE, turned round where a low value is the good end so that larger is always better."""
        r = self.rating
        return r.score if r.higher_is_better else r.low + r.high - r.score

    @property
    def is_rated(self) -> bool:
        """Whether somebody gave the score; where nobody did the scale has no width (`apportion.corpus.targets`)."""
        return self.rating.low < self.rating.high

    @property
    def has_rater(self) -> bool:
        """Whether one who takes part gave the score; the environment has no face, no voice and no name to look up."""
        return self.rating.rater != ENVIRONMENT

    @property
    def known_to_target(self) -> tuple[Background, ...]:
        """What everybody knows and what the target alone knows: all that r_theta and a policy may read."""
        return tuple(known for known in self.backgrounds if known.speaker in (None, self.rating.target))

    @cached_property
    def target_positions(self) -> tuple[int, ...]:
        """Positions in ``turns`` of the T utterances that are credited (those of the target)."""
        return tuple(i for i, turn in enumerate(self.turns) if turn.speaker == self.rating.target)

    @cached_property
    def letters(self) -> dict[str, str]:
        """The letter that stands for each speaker where names must not be read: B for the target."""
        return letters((turn.speaker for turn in self.turns), self.rating.target)

    @cached_property
    def is_multiparty(self) -> bool:
        """Whether several speak beside the target, so that "the other side" does not say who."""
        return len(self.letters) > 2

    @property
    def target_turns(self) -> tuple[int, ...]:
        """Turn numbers of the T credited utterances."""
        return tuple(self.turns[i].turn for i in self.target_positions)

    def reply_positions(self, position: int) -> tuple[int, ...]:
        """Positions of the rater's next uninterrupted reply after ``position``; empty at the end.

        Where the environment is the rater, all others reply: with what they say until the target speaks again.
        Further utterances of the target before the reply are passed over: a reaction belongs to the whole floor.
        """
        start = position + 1
        while start < len(self.turns) and not self.is_listener(self.turns[start].speaker):
            start += 1
        stop = start
        while stop < len(self.turns) and self.is_listener(self.turns[stop].speaker):
            stop += 1
        return tuple(range(start, stop))

    def is_listener(self, speaker: str) -> bool:
        """Whether it is this speaker's words that tell how a turn was taken: the rater's, or anybody's but the target's
        where the environment is the rater."""
        return speaker == self.rating.rater if self.has_rater else speaker != self.rating.target

    def reply_text(self, position: int) -> str:
        """The reply of `reply_positions` after ``position`` as one string, empty where there is none."""
        return " ".join(self.turns[i].text for i in self.reply_positions(position))


@dataclass(frozen=True)
class Session:
    """One conversation with everything known of it.

    >>> session = Session("s1", (Turn(0, "bob", "Hello."),), (Rating("ann", "bob", "liking", 3.0, 1.0, 5.0),))
    >>> [episode.key for episode in session.episodes()]
    [('s1', 'ann', 'bob', 'liking')]
    """

    session_id: str
    turns: tuple[Turn, ...]
    ratings: tuple[Rating, ...] = ()
    media: tuple[Media, ...] = ()
    source: str | None = None
    duration_s: float | None = None
    language: str | None = None
    backgrounds: tuple[Background, ...] = ()
    events: tuple[Event, ...] = ()
    """Those that came with the corpus; `apportion.features.events` finds more."""

    @property
    def is_observed(self) -> bool:
        """Whether more than turns are known of how people behaved: recordings, or events that came with the corpus."""
        return bool(self.media or self.events)

    @property
    def is_multiparty(self) -> bool:
        """Whether more than two speak."""
        return len({turn.speaker for turn in self.turns}) > 2

    def episodes(self, name: str | None = None) -> tuple[Episode, ...]:
        """One episode a rating, or only those ratings called ``name``."""
        wanted = (r for r in self.ratings if name is None or r.name == name)
        return tuple(
            Episode(self.session_id, self.turns, rating, self.backgrounds, self._beside(rating), self.language)
            for rating in wanted
        )

    def _beside(self, rating: Rating) -> tuple[Rating, ...]:
        pair = (rating.rater, rating.target)
        return tuple(one for one in self.ratings if (one.rater, one.target) == pair and one.name != rating.name)
