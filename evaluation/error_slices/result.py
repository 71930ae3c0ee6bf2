"""What was found: kinds of turn whose rewards differ in both halves, each with what it rests on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from apportion.evaluation.error_slices.turns import TurnId
from apportion.foundation.intervals.estimate import IntervalEstimate

Family = Literal["words", "cue", "place"]
FAMILIES: dict[Family, str] = {"words": "what is said", "cue": "how it is said", "place": "where it is said"}


@dataclass(frozen=True)
class SliceSettings:
    """How kinds are looked for.

    - ``alpha``: the chance of showing any kind at all where rewards have nothing to do with the turns.
    - ``fewest_sessions``: a kind needs as many effective sessions in either half
      (`apportion.evaluation.error_slices.contrast.SliceContrasts`).
    - ``largest_share``: a cluster of more of all turns than this is no kind, but usual.
    - ``examples``: turns that are shown of a kind, at most.
    - ``seed``, ``resamples``, ``confidence``: of the halves and clusters, and of the intervals.
    """

    alpha: float = 0.05
    fewest_sessions: float = 12.0
    largest_share: float = 1 / 3
    examples: int = 6
    seed: int = 0
    resamples: int = 2000
    confidence: float = 0.95


@dataclass(frozen=True)
class Example:
    """A turn of a kind: where it is, what was said, what it was worth."""

    id: TurnId
    text: str
    reward: float


@dataclass(frozen=True)
class Slice:
    """A kind of turn that holds in the other half; every figure but ``found`` is of that half.

    A turn that several kinds fit counts for the one that stands out most.

    - ``family``: what tells the kind: its ``words`` (a cluster), a ``cue`` or its ``place``.
    - ``name``: its words, or the cue or place.
    - ``difference``: mean reward less that of the other turns of the same conversations, with its interval by session.
      Turns of kinds that stand out more are left aside.
    - ``p``: of that difference, after Holm's correction for all that was tried in this half.
    - ``found``: the same difference in the half that it was found on.
    - ``turns``, ``reward``: how many there are, and their mean reward.
    - ``sessions``: the share of sessions that have such a turn.
    - ``score``: mean score of the sessions that have one less that of the others; None where all or none have one, or
      no score.
    - ``named``, ``named_elsewhere``: the share of its turns that hold one of its words, and of all others that do; None
      where words do not tell it.
    - ``mostly``: cues and places that most of its turns have and most others have not.
    - ``examples``: of a cluster those nearest to its middle, else those whose reward is nearest to the kind's.
    """

    family: Family
    name: str
    difference: IntervalEstimate
    p: float
    found: float
    turns: int
    reward: float
    sessions: IntervalEstimate
    score: IntervalEstimate | None
    named: float | None
    named_elsewhere: float | None
    mostly: tuple[str, ...]
    examples: tuple[Example, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        plain = asdict(self)
        plain["mostly"] = list(self.mostly)
        plain["examples"] = [
            {
                **dict(zip(("session_id", "rater", "target", "name"), example.id.episode, strict=True)),
                "turn": example.id.turn,
                "text": example.text,
                "reward": example.reward,
            }
            for example in self.examples
        ]
        return plain


@dataclass(frozen=True)
class ErrorSlices:
    """The kinds of one method's rewards, the dearest first.

    - ``method``: whose rewards.
    - ``sessions``: of the half that was searched, and of the other.
    - ``turns``: the same of turns.
    - ``tried``, ``candidates``: how many kinds the first half was asked about, and how many went into the other.
    - ``kinds``: those that held, by their difference, the lowest first.
    - ``reason``: why nothing could be looked for.
    """

    method: str
    settings: SliceSettings
    sessions: tuple[int, int]
    turns: tuple[int, int]
    tried: int
    candidates: int
    kinds: tuple[Slice, ...]
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values, as they are kept beside a run."""
        return {
            "method": self.method,
            "settings": asdict(self.settings),
            "sessions": list(self.sessions),
            "turns": list(self.turns),
            "tried": self.tried,
            "candidates": self.candidates,
            "reason": self.reason,
            "kinds": [kind.to_json() for kind in self.kinds],
        }
