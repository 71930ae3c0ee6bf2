"""The sessions of a report: which are shown, and each with its turns, rewards, sums and descriptors."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup

from corpus.session import Episode, Turn
from decompose.methods import METHODS
from pipeline.report.bars import largest, turn_bars, value_bar
from pipeline.report.text import clean, number, plain, seconds, signed

MAX_SESSIONS = 24
"""Sessions shown: enough to see what the methods do; all of them are for `apportion view`, which searches and plays."""
MAX_TURNS = 200
"""Turns shown of one session."""
TURN_BUDGET = 1000
"""Turns shown in all; sessions beyond it are left to the viewer."""
SPLIT_ORDER = ("test", "validation", "policy", "train")
SUM_TOLERANCE = 1e-6
WINDOWS = {"during": "meanwhile", "reply": "while replying"}

Values = Mapping[str, Mapping[int, "TurnReward"]]
"""Method to turn to its reward."""


@dataclass(frozen=True)
class TurnReward:
    """A turn's reward of one method: the mean over seeds; ``sd`` is the method's own spread over its samples."""

    reward: float
    sd: float | None
    rationale: str


@dataclass(frozen=True)
class MethodStrip:
    """One method's rewards of a whole session: bars, their sum, and what the sum equals."""

    method: str
    colour: str
    svg: Markup
    total: str
    equals: str
    exact: bool


@dataclass(frozen=True)
class TurnValue:
    """One method's reward of one turn, written and drawn."""

    method: str
    colour: str
    text: str
    svg: Markup


@dataclass(frozen=True)
class TurnView:
    """One utterance; only the target's have values."""

    turn: int
    speaker: str
    text: str
    time: str
    target: bool
    values: tuple[TurnValue, ...]
    descriptors: tuple[tuple[str, str], ...]
    rationales: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class BackgroundView:
    """Something that was known before the first turn; ``speaker`` is empty where everybody knew it."""

    kind: str
    speaker: str
    text: str


FORETOLD = ("foretold, nobody's score", False)
"""What a sum of rewards is where there was no score to share out, and that it is not exact."""


@dataclass(frozen=True)
class SessionView:
    """One episode as it is shown; ``rater`` is empty where nobody who takes part gave the score, ``score`` where nobody
    did at all. ``command`` opens it in the viewer; ``mark`` says which session it is (`marked`)."""

    session_id: str
    mark: str
    command: str
    split: str
    rater: str
    target: str
    score: str
    scale: str
    backgrounds: tuple[BackgroundView, ...]
    strips: tuple[MethodStrip, ...]
    turns: tuple[TurnView, ...]
    turns_in_all: int
    largest: str


@dataclass(frozen=True)
class SessionViews:
    """The sessions that are shown, of how many, and the mean score of the training split (empty where unknown)."""

    shown: tuple[SessionView, ...]
    in_all: int
    training_mean: str


def session_views(
    episodes: Sequence[Episode],
    rewards: pa.Table,
    splits: pa.Table,
    descriptors: pa.Table | None,
    colours: Mapping[str, str],
) -> SessionViews:
    """Choose sessions and prepare them: those with recorded behaviour first, then test, validation, the rest.

    Parameters
    ----------
    episodes : Sequence of Episode
    rewards : pa.Table
        REWARDS schema; seeds of a method are averaged.
    splits : pa.Table
    descriptors : pa.Table or None
    colours : mapping of str to str
        Method to its colour's class, in the order in which methods are shown.
    """
    split_of = dict(zip(splits["session_id"].to_pylist(), splits["split"].to_pylist(), strict=True))
    rewarded = set(pc.unique(rewards["session_id"]).to_pylist())
    described = set(pc.unique(descriptors["session_id"]).to_pylist()) if descriptors is not None else set()

    def rank(episode: Episode) -> tuple[bool, int, tuple[str, str, str, str]]:
        split = split_of.get(episode.session_id)
        order = SPLIT_ORDER.index(split) if split in SPLIT_ORDER else len(SPLIT_ORDER)
        return (episode.session_id not in described, order, episode.key)

    candidates = sorted((e for e in episodes if e.session_id in rewarded), key=rank)
    shown_episodes = _within_budget(candidates)
    ids = pa.array(sorted({episode.session_id for episode in shown_episodes}), pa.string())
    values = _values(rewards.filter(pc.is_in(rewards["session_id"], ids)))
    words = _words(descriptors, ids)
    training = [e.score for e in episodes if e.is_rated and split_of.get(e.session_id) == "train"]
    mean = float(np.mean(training)) if training else None
    shown = tuple(
        _view(episode, split_of.get(episode.session_id, ""), values.get(episode.key, {}), words, colours, mean)
        for episode in shown_episodes
    )
    return SessionViews(shown, len(candidates), "" if mean is None else plain(mean))


def marked(session_id: str) -> str:
    """A session id as hexadecimal digits: what a comment of the page can hold whatever the id holds."""
    return session_id.encode("utf-8", "surrogatepass").hex()


def _command(session_id: str) -> str:
    """What opens the session in the viewer; empty for an id that cannot be shown as it is typed."""
    whole = clean(session_id, 120) == session_id and session_id.isprintable()
    return f"apportion view RUN --session={shlex.quote(session_id)}" if whole else ""


def _within_budget(candidates: Sequence[Episode]) -> list[Episode]:
    shown_episodes: list[Episode] = []
    budget = TURN_BUDGET
    for episode in candidates[:MAX_SESSIONS]:
        budget -= min(len(episode.turns), MAX_TURNS)
        if budget < 0 and shown_episodes:
            break
        shown_episodes.append(episode)
    return shown_episodes


def _values(rewards: pa.Table) -> dict[tuple[str, str, str, str], dict[str, dict[int, TurnReward]]]:
    """Rewards by episode, method and turn; the rationale is that of the first seed that has one."""
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rewards.sort_by("seed").to_pylist():
        if row["reward"] is not None and np.isfinite(row["reward"]):
            key = (row["session_id"], row["rater"], row["target"], row["name"])
            rows[key, row["method"], row["turn"]].append(row)
    by_episode: dict[tuple[str, str, str, str], dict[str, dict[int, TurnReward]]] = {}
    for (episode, method, turn), group in rows.items():
        spread = group[0]["sd"] if len(group) == 1 else None
        why = next((row["rationale"] for row in group if row["rationale"]), "")
        reward = TurnReward(float(np.mean([row["reward"] for row in group])), spread, why)
        by_episode.setdefault(episode, {}).setdefault(method, {})[turn] = reward
    return by_episode


def _words(descriptors: pa.Table | None, ids: pa.Array) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Descriptor rows by session and turn."""
    by_turn: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    if descriptors is not None:
        for row in descriptors.filter(pc.is_in(descriptors["session_id"], ids)).to_pylist():
            by_turn[row["session_id"], row["turn"]].append(row)
    return by_turn


def _view(
    episode: Episode,
    split: str,
    values: Values,
    words: Mapping[tuple[str, int], list[dict[str, Any]]],
    colours: Mapping[str, str],
    mean: float | None,
) -> SessionView:
    turns = episode.turns[:MAX_TURNS]
    targets = [turn.turn for turn in turns if turn.speaker == episode.rating.target]
    shown = {method: values[method] for method in colours if method in values}
    rows = {m: [of_turn[t].reward if t in of_turn else None for t in targets] for m, of_turn in shown.items()}
    # What is in units of its own has a scale of its own, or nothing would be seen of the others.
    own = {method: method in METHODS and METHODS[method].unprojected for method in shown}
    scale = largest([row for method, row in rows.items() if not own[method]])
    scales = {method: largest([row]) if own[method] else scale for method, row in rows.items()}
    rating = episode.rating
    return SessionView(
        session_id=clean(episode.session_id, 120),
        mark=marked(episode.session_id),
        command=_command(episode.session_id),
        split=split,
        rater=clean(rating.rater, 60) if episode.has_rater else "",
        target=clean(rating.target, 60),
        score=plain(episode.score) if episode.is_rated else "",
        scale=f"{plain(rating.low)} to {plain(rating.high)}",
        backgrounds=tuple(
            BackgroundView(clean(known.kind, 30), clean(known.speaker or "", 60), clean(known.text))
            for known in episode.backgrounds
        ),
        strips=tuple(_strip(episode, m, shown[m], rows[m], scales[m], colours[m], mean) for m in shown),
        turns=tuple(
            _turn(turn, episode, shown, scales, colours, words.get((episode.session_id, turn.turn), ()))
            for turn in turns
        ),
        turns_in_all=len(episode.turns),
        largest=number(scale) + ("; a signal alone has a height of its own" if any(own.values()) else ""),
    )


def _strip(
    episode: Episode,
    method: str,
    values: Mapping[int, TurnReward],
    row: Sequence[float | None],
    scale: float,
    colour: str,
    mean: float | None,
) -> MethodStrip:
    total = float(np.sum([reward.reward for reward in values.values()]))
    equals, exact = what_it_equals(total, episode.score, mean, episode.rating.low) if episode.is_rated else FORETOLD
    best = max(values, key=lambda turn: values[turn].reward, default=None)
    label = clean(method, 60)
    if best is not None:
        label += f": {len(values)} turns, the largest reward {signed(values[best].reward)} at turn {best}"
    return MethodStrip(clean(method, 60), colour, turn_bars(row, scale, colour, label), signed(total), equals, exact)


def what_it_equals(total: float, score: float, mean: float | None, low: float) -> tuple[str, bool]:
    """Which of the targets of a projection the sum is, or by how much it misses the nearest one.

    ``low`` is the lower end of the scale, above which attributions share the score out.
    """
    targets = {"score": score}
    if mean is not None:
        targets = {f"score − {plain(mean)}": score - mean, **targets}
    above = score - low
    if low and abs(total - above) <= SUM_TOLERANCE * max(1.0, abs(score)):
        targets.setdefault(f"score − {plain(low)}", above)
    name = min(targets, key=lambda key: abs(targets[key] - total))
    miss = total - targets[name]
    if abs(miss) <= SUM_TOLERANCE * max(1.0, abs(score)):
        return f"= {name}", True
    return f"{signed(miss)} off {name}", False


def _turn(
    turn: Turn,
    episode: Episode,
    values: Values,
    scales: Mapping[str, float],
    colours: Mapping[str, str],
    words: Sequence[Mapping[str, Any]],
) -> TurnView:
    target = turn.speaker == episode.rating.target
    known = {m: of_turn[turn.turn] for m, of_turn in values.items() if target and turn.turn in of_turn}
    return TurnView(
        turn=turn.turn,
        speaker=clean(turn.speaker, 60),
        text=clean(turn.text),
        time=seconds(turn.start_s),
        target=target,
        values=tuple(
            TurnValue(clean(m, 60), colours[m], _written(reward), value_bar(reward.reward, scales[m], colours[m]))
            for m, reward in known.items()
        ),
        descriptors=tuple(
            (f"{clean(row['person'], 60)}, {WINDOWS.get(row['window'], clean(row['window'], 30))}", clean(row["text"]))
            for row in words
        ),
        rationales=tuple(
            (clean(m, 60), clean(reward.rationale, 300)) for m, reward in known.items() if reward.rationale
        ),
    )


def _written(reward: TurnReward) -> str:
    text = signed(reward.reward)
    return text if reward.sd is None else f"{text} ±{number(reward.sd)}"
