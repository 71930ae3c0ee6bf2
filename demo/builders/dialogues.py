"""Text-only sessions: a user asks an assistant, whose turns have a planted quality that shows in what it says."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from apportion.corpus.session import Session, Turn
from apportion.demo.builders.planting import QUALITY_NAMES, Planted, blur, draw_qualities, draw_rating

HERE = Path(__file__).resolve().parent
USER, ASSISTANT = "user", "assistant"
SOURCE = "demo-text"
TURNS_LOW, TURNS_HIGH = 5, 8
"""Fewest and most target turns of a session; with the user's turns that makes 11 to 17."""


def make_chats(count: int, seed: int) -> list[Planted]:
    """``count`` sessions that go round all scenarios; each depends on ``seed`` and its own id alone."""
    scenarios = load_scenarios()
    names = sorted(scenarios)
    return [
        _chat(f"chat-{i + 1:03d}", names[i % len(names)], scenarios[names[i % len(names)]], seed) for i in range(count)
    ]


@cache
def load_scenarios() -> Mapping[str, Mapping[str, Any]]:
    """The scenarios by file name: ``title``, ``slots`` (alternatives by name) and a list of ``stage``."""
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted((HERE / "scenarios").glob("*.toml"))}


@cache
def load_phrases() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """The phrases that all scenarios share, by use and kind."""
    return tomllib.loads((HERE / "phrases.toml").read_text("utf-8"))


class _Deck:
    """Draws from lists of phrases without repeating one before all of a list are used."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._left: dict[tuple[str, str], list[str]] = {}

    def draw(self, use: str, kind: str) -> str:
        left = self._left.setdefault((use, kind), [])
        if not left:
            left.extend(load_phrases()[use][kind])
            self._rng.shuffle(left)
        return left.pop()


def _chat(session_id: str, topic: str, scenario: Mapping[str, Any], seed: int) -> Planted:
    rng = random.Random(f"{seed}:{session_id}")
    qualities = draw_qualities(rng.randint(TURNS_LOW, TURNS_HIGH), rng)
    texts = _talk(_stages(scenario, len(qualities), rng), qualities, rng)
    # The user opens, so the assistant has the odd turns.
    turns = tuple(Turn(turn, (USER, ASSISTANT)[turn % 2], text) for turn, text in enumerate(texts))
    rating = draw_rating(USER, ASSISTANT, qualities, rng)
    session = Session(session_id, turns, (rating,), source=SOURCE, language="en")
    return Planted(session, topic, {2 * t + 1: quality for t, quality in enumerate(qualities)})


def _stages(scenario: Mapping[str, Any], count: int, rng: random.Random) -> list[dict[str, str]]:
    """The first stage and ``count - 1`` others in their natural order, with one set of slots filled in."""
    slots = {name: rng.choice(values) for name, values in scenario["slots"].items()}
    first, *others = scenario["stage"]
    picked = sorted(rng.sample(range(len(others)), count - 1))
    chosen = (first, *(others[i] for i in picked))
    return [{key: _fill(text, slots, key) for key, text in stage.items()} for stage in chosen]


def _talk(stages: Sequence[Mapping[str, str]], qualities: Sequence[int], rng: random.Random) -> Iterator[str]:
    deck = _Deck(rng)
    yield stages[0]["ask"]
    for position, (stage, quality) in enumerate(zip(stages, qualities, strict=True), start=1):
        yield _fill(deck.draw("answer", QUALITY_NAMES[quality]), stage)
        shown = blur(quality, rng)
        reaction = deck.draw("reaction", QUALITY_NAMES[shown])
        if position < len(stages):
            yield _join(reaction, _bridge(shown, deck), stages[position]["ask"])
        else:
            yield _join(reaction, deck.draw("closing", _verdict(qualities)))


def _bridge(shown: int, deck: _Deck) -> str:
    return deck.draw("bridge", "warm" if shown > 0 else "cool" if shown < 0 else "plain")


def _verdict(qualities: Sequence[int]) -> str:
    mean = sum(qualities) / len(qualities)
    return "good" if mean > 0.5 else "bad" if mean < -0.5 else "fair"


def _fill(text: str, slots: Mapping[str, str], key: str = "") -> str:
    filled = text.format_map(slots)
    # A slot may open a sentence; "thing" alone always stands inside one.
    return filled[0].upper() + filled[1:] if key != "thing" else filled


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)
