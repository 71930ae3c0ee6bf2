"""One held-out session with every method's reward for every turn, as the paper's Figure 2 shows one."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.annotators import computed_labels, peoples_labels
from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import sessions_in
from apportion.pipeline.engine.engine import Engine

LONGEST = 40
"""Target turns of the session that is shown where none is asked for: more could not be told apart in a picture."""


@dataclass(frozen=True)
class ShownSession:
    """T target turns of one episode.

    ``rewards`` has each method's T rewards (mean over seeds, units of the score), ``people`` the mean human label of
    each turn, None where nobody judged it (and for all turns where the corpus has no labels); ``computed`` has the
    labels that nobody gave, by what computed them.
    """

    session_id: str
    target: str
    score: float
    turns: tuple[int, ...]
    texts: tuple[str, ...]
    rewards: Mapping[str, tuple[float, ...]]
    people: tuple[float | None, ...]
    computed: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)

    @property
    def labels(self) -> dict[str, tuple[float | None, ...]]:
        """T labels by whose they are: ``people`` where they judged any turn, then what was computed."""
        judged = any(label is not None for label in self.people)
        return ({"people": self.people} if judged else {}) | dict(self.computed)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; ``computed`` is left out where nothing was."""
        document = asdict(self)
        if not self.computed:
            del document["computed"]
        return document


def shown_session(engine: Engine, asked: str | None) -> ShownSession | None:
    """The session ``asked`` for, or the test session of median length; None where no session has all methods' rewards.

    Turn labels have no part in the choice.
    """
    artifacts = list(engine.finished("rewards").values())
    if not artifacts:
        return None
    rewards = pa.concat_tables([artifact.table("rewards") for artifact in artifacts])
    methods = sorted(set(rewards.column("method").to_pylist()))
    (split,) = engine.finished("split").values()
    splits = split.table("splits")
    test = sessions_in(splits, "test")
    episodes = [
        episode
        for session in engine.sessions.values()
        for episode in session.episodes(engine.config.rating)
        if (
            session.session_id == asked
            if asked
            else session.session_id in test and len(episode.target_turns) <= LONGEST
        )
    ]
    for episode in _by_nearness(episodes):
        values = _values(rewards, episode, methods)
        if values is not None:
            return _shown(engine, episode, values)
    return None


def _by_nearness(episodes: Sequence[Episode]) -> list[Episode]:
    """Those with target turns, of about the median number of them first."""
    spoken = [episode for episode in episodes if episode.target_turns]
    if not spoken:
        return []
    middle = statistics.median(len(episode.target_turns) for episode in spoken)
    return sorted(spoken, key=lambda episode: (abs(len(episode.target_turns) - middle), episode.key))


def _values(rewards: pa.Table, episode: Episode, methods: Sequence[str]) -> dict[str, tuple[float, ...]] | None:
    """Each method's reward of each turn, the mean over its seeds; None where one is missing."""
    here = rewards
    for column, value in zip(("session_id", "rater", "target", "name"), episode.key, strict=True):
        here = here.filter(pc.equal(here[column], value))
    by_turn: dict[tuple[str, int], list[float]] = {}
    for row in here.select(["method", "turn", "reward"]).to_pylist():
        by_turn.setdefault((row["method"], row["turn"]), []).append(row["reward"])
    if any((method, turn) not in by_turn for method in methods for turn in episode.target_turns):
        return None
    turns = episode.target_turns
    return {method: tuple(statistics.fmean(by_turn[method, turn]) for turn in turns) for method in methods}


def _shown(engine: Engine, episode: Episode, values: Mapping[str, tuple[float, ...]]) -> ShownSession:
    labels, name = engine.corpus.turn_labels, engine.config.evaluate.label
    here = labels.filter(pc.equal(labels["session_id"], episode.session_id))
    named = here if name is None else here.filter(pc.equal(here["name"], name))
    return ShownSession(
        session_id=episode.session_id,
        target=episode.rating.target,
        score=episode.score,
        turns=episode.target_turns,
        texts=tuple(" ".join(episode.turns[i].text.split()) for i in episode.target_positions),
        rewards=values,
        people=_labelled(peoples_labels(named), episode),
        computed={f"{by} ({what})": _labelled(of, episode) for (by, what), of in computed_labels(named).items()},
    )


def _labelled(labels: pa.Table, episode: Episode) -> tuple[float | None, ...]:
    """The mean label of each of the T target turns, None where there is none."""
    values: dict[int, list[float]] = {}
    for turn, value in zip(labels["turn"].to_pylist(), labels["value"].to_pylist(), strict=True):
        values.setdefault(turn, []).append(value)
    return tuple(statistics.fmean(values[turn]) if turn in values else None for turn in episode.target_turns)
