"""What is behind one turn: every figure of it, reasons, how the others behaved, what was said next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apportion.corpus.session import Episode
from apportion.features.registry import FEATURES
from apportion.foundation.html.text import clean, number, plain, signed
from apportion.viewer.data.session import SessionTables
from apportion.viewer.views.session.people import Person
from apportion.viewer.views.session.turn_rewards import Series, TurnValue

REASON, REPLY = 4000, 1200
"""Most characters of a reason and of a reply."""
WINDOWS = {"during": "meanwhile", "reply": "while replying"}


@dataclass(frozen=True)
class Evidence:
    """Everything known of a turn; ``reasons`` are series with the words that a model gave."""

    turn: int
    figures: tuple[dict[str, Any], ...]
    reasons: tuple[tuple[Series, str], ...]
    behaviours: tuple[dict[str, Any], ...]
    labels: tuple[dict[str, Any], ...]
    reply: str
    reply_by: str

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.figures or self.behaviours or self.labels or self.reply)


def evidences(
    tables: SessionTables,
    episode: Episode | None,
    series: Sequence[Series],
    people: Mapping[str, Person],
    turns: Sequence[int],
) -> dict[int, Evidence]:
    """The evidence of each of ``turns``."""
    wanted = set(turns)
    behaviours = _behaviours(tables, people, wanted)
    labels: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in tables.labels:
        if row["turn"] in wanted:
            labels[row["turn"]].append(_label(row))
    positions = {turn.turn: position for position, turn in enumerate(tables.session.turns)}
    made = {}
    for turn in turns:
        known = [(one, one.values[turn]) for one in series if turn in one.values and one.kind in ("method", "model")]
        reply, by = _reply(episode, positions[turn], people)
        made[turn] = Evidence(
            turn=turn,
            figures=tuple(_figure(one, worth) for one, worth in known),
            reasons=tuple((one, clean(worth.rationale, REASON)) for one, worth in known if worth.rationale),
            behaviours=behaviours.get(turn, ()),
            labels=tuple(labels.get(turn, ())),
            reply=reply,
            reply_by=by,
        )
    return made


def _figure(series: Series, worth: TurnValue) -> dict[str, Any]:
    several = any(interval.kind == "seeds" and interval.drawn for interval in worth.intervals)
    samples = [plain(value) if value is not None else "nothing" for value in worth.samples]
    return {
        "series": series,
        "reward": signed(worth.reward),
        "intervals": tuple(one.words for one in worth.intervals if one.kind == "samples" and one.drawn),
        "seeds": ", ".join(signed(value) for _, value in worth.seeds) if several else "",
        "raw": "" if worth.raw is None else number(worth.raw),
        "samples": ", ".join(samples) if len(samples) > 1 else "",
    }


def _behaviours(
    tables: SessionTables, people: Mapping[str, Person], wanted: set[int]
) -> dict[int, tuple[dict[str, Any], ...]]:
    words: dict[tuple[int, str, str], str] = {}
    measures: dict[tuple[int, str, str], list[tuple[str, str, str]]] = defaultdict(list)
    for row in tables.descriptors:
        if row["turn"] in wanted:
            words[row["turn"], row["person"], row["window"]] = clean(row["text"], REASON)
    for row in tables.utterance_features:
        if row["turn"] in wanted and row["mean"] is not None:
            seen = "" if row["coverage"] is None else f"{100 * row['coverage']:.0f} %"
            own = measures[row["turn"], row["person"], row["window"]]
            own.append((row["feature"], number(row["mean"]), seen))
    rank = {name: place for place, name in enumerate(FEATURES)}
    made: dict[int, list[dict[str, Any]]] = defaultdict(list)
    order = {speaker: place for place, speaker in enumerate(people)}
    for turn, speaker, window in sorted(words.keys() | measures.keys(), key=lambda k: (k[0], order.get(k[1], 0), k[2])):
        if speaker in people:
            rows = sorted(measures.get((turn, speaker, window), ()), key=lambda row: rank.get(row[0], len(rank)))
            told = tuple((_called(name), mean, seen) for name, mean, seen in rows)
            where = WINDOWS.get(window, clean(window, 30))
            made[turn].append(
                {
                    "person": people[speaker],
                    "window": where,
                    "words": words.get((turn, speaker, window), ""),
                    "measures": told,
                }
            )
    # Whoever is told of in words comes first: the rater, whose behaviour says how the turn was taken.
    return {turn: tuple(sorted(own, key=lambda behaviour: not behaviour["words"])) for turn, own in made.items()}


def _called(feature: str) -> str:
    return FEATURES[feature].label if feature in FEATURES else clean(feature, 60)


def _label(row: Mapping[str, Any]) -> dict[str, Any]:
    known = row["low"] is not None and row["high"] is not None
    scale = f"{plain(row['low'])} to {plain(row['high'])}" if known else ""
    value = "" if row["value"] is None else plain(row["value"])
    return {
        "annotator": clean(row["annotator"] or "a person", 80),
        "name": clean(row["name"], 80),
        "value": value,
        "scale": scale,
    }


def _reply(episode: Episode | None, position: int, people: Mapping[str, Person]) -> tuple[str, str]:
    """What the rater said next, and who that is; empty where this is no turn that is credited."""
    if episode is None or position not in episode.target_positions:
        return "", ""
    speakers = dict.fromkeys(episode.turns[i].speaker for i in episode.reply_positions(position))
    return clean(episode.reply_text(position), REPLY), ", ".join(people[speaker].name for speaker in speakers)
