"""Two-person video sessions: when who speaks, and what the listener does meanwhile."""

from __future__ import annotations

import math
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apportion.corpus.session import Media, Rating, Session, Turn
from apportion.demo.builders.planting import Event, Planted, draw_rating
from apportion.demo.builders.voices import RATE_HZ, VOICES, Sound, speak

SOURCE = "demo-video"
LEAD_S, TAIL_S, LENGTHS_PER_S = 0.8, 1.5, 5
"""Lengths are whole fifths of a second: whole numbers of frames and of samples."""
PAUSE_S = (0.35, 0.6)
DELAY_S, NOD_S, SMILE_AFTER_S = 0.5, 2.0, 0.9
"""The listener reacts this long after a turn's start, nods for so long, and goes on smiling after its end."""
NOISE_FLOOR = 0.0006
REACTIONS: Mapping[int, tuple[tuple[str, ...], ...]] = {
    2: (("nod_yes", "smile", "pitch_up"),),
    1: (("nod_yes",), ("smile", "pitch_up")),
    0: ((),),
    -1: (("pitch_down",), ("nod_no",)),
    -2: (("nod_no", "pitch_down"),),
}
"""What a listener does on a turn of each quality; where there are several ways they take turns."""


@dataclass(frozen=True)
class Film:
    """A planted session with each person's sound, float32 [K] at ``RATE_HZ`` from 0 to the end of the session."""

    planted: Planted
    sounds: Mapping[str, Sound]


def make_films(seed: int) -> list[Film]:
    """All video sessions of films.toml, spoken; the pictures are drawn from the result (`demo.builders.scenes`)."""
    script = tomllib.loads((Path(__file__).resolve().parent / "films.toml").read_text("utf-8"))
    return [_film(entry, random.Random(f"{seed}:{entry['session_id']}")) for entry in script["film"]]


def media_path(session_id: str, person: str) -> str:
    """Where a person's recording lies in the corpus folder."""
    return f"media/{session_id}/{person}.mp4"


def _film(entry: Mapping[str, Any], rng: random.Random) -> Film:
    session_id, lines, rated = entry["session_id"], entry["lines"], entry["rated"]
    reactions = _reactions(lines)
    spoken = [
        speak(line["text"], VOICES[line["by"]], steps) for line, steps in zip(lines, _pitch(reactions), strict=True)
    ]
    turns, duration_s = _clock(lines, spoken, rng)
    people = sorted({line["by"] for line in lines})
    qualities = {turn: line["quality"] for turn, line in enumerate(lines) if "quality" in line}
    ratings = tuple(_rating(target, people, turns, qualities, rng) for target in rated)
    media = tuple(Media(person, "video", media_path(session_id, person)) for person in people)
    session = Session(session_id, turns, ratings, media, SOURCE, duration_s, "en")
    events = tuple(sorted(_events(turns, reactions, duration_s), key=lambda event: (event.start_s, event.kind)))
    sounds = {person: _track(person, turns, spoken, duration_s, rng) for person in people}
    return Film(Planted(session, entry["topic"], qualities, events), sounds)


def _reactions(lines: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The kinds of event that each line sets off in its listener."""
    seen: dict[int, int] = {}
    chosen = []
    for line in lines:
        quality = line.get("quality", 0)
        ways, number = REACTIONS[quality], seen.get(quality, 0)
        chosen.append(ways[number % len(ways)])
        seen[quality] = number + 1
    return chosen


def _pitch(reactions: Sequence[tuple[str, ...]]) -> Iterator[float]:
    """Each line's pitch: its speaker still reacts to the line before."""
    yield 0.0
    for before in reactions[:-1]:
        yield 1.0 if "pitch_up" in before else -1.0 if "pitch_down" in before else 0.0


def _clock(
    lines: Sequence[Mapping[str, Any]], spoken: Sequence[Sound], rng: random.Random
) -> tuple[tuple[Turn, ...], float]:
    turns, now_s = [], LEAD_S
    for number, (line, sound) in enumerate(zip(lines, spoken, strict=True)):
        end_s = now_s + len(sound) / RATE_HZ
        turns.append(Turn(number, line["by"], line["text"], round(now_s, 3), round(end_s, 3)))
        now_s = round(end_s + rng.uniform(*PAUSE_S), 3)
    return tuple(turns), math.ceil((_span(turns[-1])[1] + TAIL_S) * LENGTHS_PER_S) / LENGTHS_PER_S


def _events(turns: Sequence[Turn], reactions: Sequence[tuple[str, ...]], duration_s: float) -> Iterator[Event]:
    for turn, kinds in zip(turns, reactions, strict=True):
        start_s, end_s = _span(turn)
        reply = turns[turn.turn + 1] if turn.turn + 1 < len(turns) else None
        listener = next(other.speaker for other in turns if other.speaker != turn.speaker)
        for kind in kinds:
            if kind.startswith("nod"):
                yield Event(listener, kind, round(start_s + DELAY_S, 3), round(start_s + DELAY_S + NOD_S, 3))
            elif kind == "smile":
                yield Event(
                    listener, kind, round(start_s + DELAY_S, 3), round(min(end_s + SMILE_AFTER_S, duration_s), 3)
                )
            elif reply is not None:
                yield Event(listener, kind, *_span(reply))


def _rating(
    target: str, people: Sequence[str], turns: Sequence[Turn], qualities: Mapping[int, int], rng: random.Random
) -> Rating:
    (rater,) = (person for person in people if person != target)
    return draw_rating(rater, target, [qualities[turn.turn] for turn in turns if turn.speaker == target], rng)


def _track(person: str, turns: Sequence[Turn], spoken: Sequence[Sound], duration_s: float, rng: random.Random) -> Sound:
    """A person's microphone: their own lines over a faint noise floor."""
    noise = np.random.default_rng(rng.getrandbits(64)).normal(0.0, NOISE_FLOOR, round(duration_s * RATE_HZ))
    track = noise.astype(np.float32)
    for turn, sound in zip(turns, spoken, strict=True):
        if turn.speaker == person:
            start = round(_span(turn)[0] * RATE_HZ)
            track[start : start + len(sound)] += sound
    return track


def _span(turn: Turn) -> tuple[float, float]:
    if turn.start_s is None or turn.end_s is None:
        raise ValueError(f"turn {turn.turn} has no times; lines of a film are placed on the clock first")
    return turn.start_s, turn.end_s
