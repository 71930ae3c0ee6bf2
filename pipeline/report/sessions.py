"""The few sessions that a report shows as examples: which ones, and each with its turns, rewards and sums."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.session import Episode, EpisodeKey, Turn
from apportion.decompose.method import Raw
from apportion.decompose.methods import METHODS
from apportion.evaluation.figures.disagreement import disagreement
from apportion.foundation.arrays import Floats
from apportion.foundation.html.text import clean, number, plain, seconds, signed
from apportion.foundation.svg import largest, turn_bars, value_bar

MAX_TURNS = 60
"""Turns shown of an example; all of them are for `apportion view`."""
SPLIT_ORDER = ("test", "validation", "policy", "train")
SUM_TOLERANCE = 1e-6
LOWEST, HIGHEST, DISPUTED, ANY = "the lowest score", "the highest score", "methods disagree most", "an example"
"""Why a session is shown."""

Values = Mapping[str, Mapping[int, "TurnReward"]]
"""Method to turn to its reward."""


@dataclass(frozen=True)
class TurnReward:
    """A turn's reward of one method: the mean over seeds; ``sd`` is the method's own spread over its samples."""

    reward: float
    sd: float | None


@dataclass(frozen=True)
class TurnView:
    """One utterance; only the target's have values."""

    turn: int
    speaker: str
    text: str
    time: str
    target: bool
    values: tuple[dict[str, Any], ...]


FORETOLD = ("foretold, nobody's score", False)
"""What a sum of rewards is where there was no score to share out, and that it is not exact."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The episodes that no method has learned from, where a split has some, and their ``values``, averaged over seeds.

    ``rewarded`` are all episodes with rewards, ``training_mean`` is the mean score of the training sessions.
    """

    episodes: Sequence[Episode]
    values: Mapping[EpisodeKey, Values]
    rewarded: Sequence[Episode]
    split_of: Mapping[str, str]
    training_mean: float | None


def held_out(episodes: Sequence[Episode], rewards: pa.Table, splits: pa.Table) -> HeldOut:
    """Those of the test split, or of the next one that has any; ``rewards``: REWARDS schema."""
    split_of = dict(zip(splits["session_id"].to_pylist(), splits["split"].to_pylist(), strict=True))
    ids = set(pc.unique(rewards["session_id"]).to_pylist())
    rewarded = [episode for episode in episodes if episode.session_id in ids]
    shown = _held_out(rewarded, split_of)
    wanted = pa.array(sorted({episode.session_id for episode in shown}), pa.string())
    training = [e.score for e in episodes if e.is_rated and split_of.get(e.session_id) == "train"]
    mean = float(np.mean(training)) if training else None
    return HeldOut(shown, _values(rewards.filter(pc.is_in(rewards["session_id"], wanted))), rewarded, split_of, mean)


def session_views(seen: HeldOut, colours: Mapping[str, str]) -> dict[str, Any]:
    """Choose examples and prepare them: of the test split the lowest score, the highest, and where methods disagree.

    ``colours``: method to its colour's class, in the order in which methods are shown.
    """
    mean = seen.training_mean
    shown = tuple(
        _view(episode, why, seen.split_of.get(episode.session_id, ""), seen.values.get(episode.key, {}), colours, mean)
        for why, episode in _examples(seen.episodes, seen.values).items()
    )
    in_all = len({episode.session_id for episode in seen.rewarded})
    return {"shown": shown, "in_all": in_all, "training_mean": "" if mean is None else plain(mean)}


def _held_out(known: Sequence[Episode], split_of: Mapping[str, str]) -> list[Episode]:
    """Those of the test split, which no method has learned from; of the next split where it has none."""
    for split in SPLIT_ORDER:
        found = [episode for episode in known if split_of.get(episode.session_id) == split]
        if found:
            return sorted(found, key=lambda episode: episode.key)
    return sorted(known, key=lambda episode: episode.key)


def _examples(episodes: Sequence[Episode], values: Mapping[EpisodeKey, Values]) -> dict[str, Episode]:
    """Why each is shown, and the episode: none twice, the first of several that are alike."""
    chosen: dict[str, Episode] = {}

    def choose(why: str, figure: Callable[[Episode], float | None]) -> None:
        taken = {one.key for one in chosen.values()}
        figures = [(figure(one), one) for one in episodes if one.key not in taken]
        known = [(value, one) for value, one in figures if value is not None]
        if known:
            chosen[why] = max(known, key=lambda pair: pair[0])[1]

    choose(LOWEST, lambda one: -_standing(one) if one.is_rated else None)
    choose(HIGHEST, lambda one: _standing(one) if one.is_rated else None)
    choose(DISPUTED, lambda one: disagreement(rows_of(values.get(one.key, {}))))
    if not chosen:
        choose(ANY, lambda one: 0.0)
    return chosen


def _standing(episode: Episode) -> float:
    """A score's place on its own scale, 0 to 1."""
    rating = episode.rating
    return (episode.score - rating.low) / (rating.high - rating.low)


def rows_of(values: Values) -> list[Floats]:
    """A row a method: its rewards of all turns that any of them has one of, NaN where it has none."""
    turns = sorted({turn for of_turn in values.values() for turn in of_turn})
    return [np.array([of_turn[t].reward if t in of_turn else np.nan for t in turns]) for of_turn in values.values()]


def marked(session_id: str) -> str:
    """A session id as hexadecimal digits: what a comment of the page can hold whatever the id holds."""
    return session_id.encode("utf-8", "surrogatepass").hex()


def command(session_id: str) -> str:
    """What opens the session in the viewer; empty for an id that cannot be shown as it is typed."""
    whole = clean(session_id, 120) == session_id and session_id.isprintable()
    return f"apportion view RUN --session={shlex.quote(session_id)}" if whole else ""


def _values(rewards: pa.Table) -> dict[EpisodeKey, dict[str, dict[int, TurnReward]]]:
    """Rewards by episode, method and turn."""
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rewards.sort_by("seed").to_pylist():
        if row["reward"] is not None and np.isfinite(row["reward"]):
            key = (row["session_id"], row["rater"], row["target"], row["name"])
            rows[key, row["method"], row["turn"]].append(row)
    by_episode: dict[EpisodeKey, dict[str, dict[int, TurnReward]]] = {}
    for (episode, method, turn), group in rows.items():
        spread = group[0]["sd"] if len(group) == 1 else None
        reward = TurnReward(float(np.mean([row["reward"] for row in group])), spread)
        by_episode.setdefault(episode, {}).setdefault(method, {})[turn] = reward
    return by_episode


def _view(
    episode: Episode,
    why: str,
    split: str,
    values: Values,
    colours: Mapping[str, str],
    mean: float | None,
) -> dict[str, Any]:
    turns = episode.turns[:MAX_TURNS]
    targets = [turn.turn for turn in turns if turn.speaker == episode.rating.target]
    shown = {method: values[method] for method in colours if method in values}
    rows = {m: [of_turn[t].reward if t in of_turn else None for t in targets] for m, of_turn in shown.items()}
    # What is in units of its own has a scale of its own, or nothing would be seen of the others.
    own = {method: method in METHODS and isinstance(METHODS[method].scale, Raw) for method in shown}
    scale = largest([row for method, row in rows.items() if not own[method]])
    scales = {method: largest([row]) if own[method] else scale for method, row in rows.items()}
    rating = episode.rating
    return {
        "session_id": clean(episode.session_id, 120),
        "why": why,
        "mark": marked(episode.session_id),
        "command": command(episode.session_id),
        "split": split,
        "rater": clean(rating.rater, 60) if episode.has_rater else "",
        "target": clean(rating.target, 60),
        "score": plain(episode.score) if episode.is_rated else "",
        "scale": f"{plain(rating.low)} to {plain(rating.high)}",
        "strips": tuple(_strip(episode, m, shown[m], rows[m], scales[m], colours[m], mean) for m in shown),
        "turns": tuple(_turn(turn, episode, shown, scales, colours) for turn in turns),
        "turns_in_all": len(episode.turns),
        "largest": number(scale) + ("; a signal alone has a height of its own" if any(own.values()) else ""),
    }


def _strip(
    episode: Episode,
    method: str,
    values: Mapping[int, TurnReward],
    row: Sequence[float | None],
    scale: float,
    colour: str,
    mean: float | None,
) -> dict[str, Any]:
    total = float(np.sum([reward.reward for reward in values.values()]))
    equals, exact = what_it_equals(total, episode.score, mean, episode.rating.low) if episode.is_rated else FORETOLD
    best = max(values, key=lambda turn: values[turn].reward, default=None)
    label = clean(method, 60)
    if best is not None:
        label += f": {len(values)} turns, the largest reward {signed(values[best].reward)} at turn {best}"
    return {
        "method": clean(method, 60),
        "colour": colour,
        "svg": turn_bars(row, scale, colour, label),
        "total": signed(total),
        "equals": equals,
        "exact": exact,
    }


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
            {
                "method": clean(m, 60),
                "colour": colours[m],
                "text": _written(reward),
                "svg": value_bar(reward.reward, scales[m], colours[m]),
            }
            for m, reward in known.items()
        ),
    )


def _written(reward: TurnReward) -> str:
    text = signed(reward.reward)
    return text if reward.sd is None else f"{text} ±{number(reward.sd)}"
