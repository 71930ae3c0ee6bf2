"""A rubric: signals of satisfaction and dissatisfaction in words, read from scored dialogues, and kept as TOML.

After SPUR (Lin et al., 2024, "Interpretable User Satisfaction Estimation for Conversational Systems with Large Language
Models"), whose extraction and summary are one question here. A person may edit the file, or write one.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus.session import Episode
from apportion.decompose.prompt_building.chunks import BYTES_A_TOKEN
from apportion.decompose.prompt_building.prompt import FOLDER, question_of
from apportion.decompose.prompt_building.pseudonymize import anonymize
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.safe_text import whole_text
from apportion.foundation.toml_text import toml_text
from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, short_json, strict_json
from apportion.llm_client.request import ChatRequest

EXAMPLE = FOLDER / "rubric" / "example.toml"
"""A made-up rubric: to write one's own from, and for prices before there is one."""
SIGNALS = 15
"""About how many signals are asked for."""
FEWEST, MOST, LONGEST, STRONGEST = 2, 40, 400, 10.0
"""Signals of a rubric, characters of a sentence, and the strength of a signal, at most."""
TOKENS_A_RUBRIC = 1000
"""About what a rubric takes as a reply."""
SIGNS = {"+": 1.0, "-": -1.0}

_ID = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*")
_TOLD = re.compile(r"([+-])([0-9.e-]+) ([a-z0-9_-]+): (.+)")
_WRITING = PromptKind(
    folder=FOLDER / "rubric",
    entry_points="apportion.rubric_prompts",
    setting="decompose.rubric",
    header=("title",),
    blanks=frozenset({"question", "satisfied", "dissatisfied", "conversations", "count"}),
    needed=("conversations",),
    form="It is one of this package",
)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "signals": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "sentence": {"type": "string"},
                    "sign": {"type": "string", "enum": list(SIGNS)},
                    "strength": {"type": "integer", "enum": [1, 2, 3]},
                },
                "required": ["id", "sentence", "sign", "strength"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["signals"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Signal:
    """Something that tells, at one utterance of the target, how satisfied the rater is: + or -, and how strongly."""

    id: str
    sentence: str
    sign: str
    strength: float = 1.0

    @property
    def value(self) -> float:
        """What one occurrence adds to a turn."""
        return SIGNS[self.sign] * self.strength

    @property
    def told(self) -> str:
        """What a turn's rationale says of it, in a line; `paid_by` reads it."""
        return f"{self.value:+g} {self.id}: {self.sentence}"


@dataclass(frozen=True)
class Rubric:
    """The signals that dialogues are judged by."""

    signals: tuple[Signal, ...]

    @classmethod
    def of(cls, document: Any) -> Rubric:
        """A rubric from plain values, ``{"signals": [{id, sentence, sign, strength}, …]}``.

        Raises ValueError: What is wrong, and at which signal.
        """
        given = document.get("signals") if isinstance(document, Mapping) else None
        if not isinstance(given, list) or not FEWEST <= len(given) <= MOST:
            raise ValueError(f"it needs signals, a list of {FEWEST} to {MOST} entries")
        signals = tuple(_signal(number, entry) for number, entry in enumerate(given, start=1))
        ids = [signal.id for signal in signals]
        twice = sorted({one for one in ids if ids.count(one) > 1})
        if twice:
            raise ValueError(f"the id {', '.join(twice)} stands twice; each signal needs its own")
        return cls(signals)

    @property
    def strengths(self) -> dict[str, float]:
        """What each signal adds to a turn, by its id."""
        return {signal.id: signal.value for signal in self.signals}

    def lines(self) -> str:
        """The signals as a model is shown them, one a line, without sign and strength."""
        return "\n".join(data_json({"id": signal.id, "signal": signal.sentence}) for signal in self.signals)

    def toml(self) -> str:
        """The rubric as a file that a person can edit."""
        parts = [
            f"[[signals]]\nid = {json.dumps(s.id)}\nsentence = {toml_text(s.sentence)}\n"
            f"sign = {json.dumps(s.sign)}\nstrength = {s.strength:g}\n"
            for s in self.signals
        ]
        return "# sign is + or -; strength is what one occurrence adds to a turn or takes from it.\n\n" + "\n".join(
            parts
        )


def _signal(number: int, entry: Any) -> Signal:
    where = f"signal {number}"
    if not isinstance(entry, Mapping) or not {"id", "sentence", "sign"} <= entry.keys() <= {
        *("id", "sentence", "sign", "strength")
    }:
        raise ValueError(f"{where} needs id, sentence and sign, may have strength, and nothing else")
    name, sentence, sign, strength = (entry.get(key, 1.0) for key in ("id", "sentence", "sign", "strength"))
    if not isinstance(name, str) or len(name) > 60 or not _ID.fullmatch(name):
        raise ValueError(f"{where}: id {short_json(name)}; allowed are up to 60 of a-z and 0-9, joined by _ or -")
    if not isinstance(sentence, str) or not sentence.strip() or len(sentence) > LONGEST:
        raise ValueError(f"{where} ({name}): the sentence must have 1 to {LONGEST} characters")
    if sign not in SIGNS:
        raise ValueError(f"{where} ({name}): sign {short_json(sign)}; allowed are + and -")
    if isinstance(strength, bool) or not isinstance(strength, (int, float)) or not 0 <= strength <= STRONGEST:
        raise ValueError(f"{where} ({name}): strength {short_json(strength)}; allowed is 0 to {STRONGEST:g}")
    return Signal(name, " ".join(whole_text(sentence).split()), sign, float(strength))


def paid_by(rationale: str) -> tuple[Signal, ...]:
    """The signals that a turn's rationale tells of.

    >>> paid_by("-2 asks_again: The target asks again.")[0].sign
    '-'
    """
    found = (_TOLD.fullmatch(line) for line in rationale.splitlines())
    return tuple(Signal(one[3], one[4], one[1], float(one[2])) for one in found if one)


def read_rubric(path: Path) -> Rubric:
    """The rubric of a TOML file.

    Raises InputError: It cannot be read, or is no rubric.
    """
    try:
        return Rubric.of(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:  # No UTF-8 and no TOML are ValueErrors.
        cause = getattr(error, "strerror", None) or error
        raise InputError(
            f"decompose.rubric.file: {path}: {cause}. A rubric is TOML, for each signal [[signals]] with id, sentence, "
            "sign and strength; leave the file out to have one written."
        ) from None


def read_reply(text: str) -> Rubric:
    """The rubric that a model has written, with signals of both signs.

    Raises ReplyMistakeError: It is none.
    """
    try:
        rubric = Rubric.of(strict_json(text))
    except ReplyMistakeError:
        raise
    except ValueError as error:
        raise ReplyMistakeError(str(error)) from None
    if {signal.sign for signal in rubric.signals} != set(SIGNS):
        raise ReplyMistakeError("signals of both signs are needed, + and -")
    return rubric


def ends_of(episodes: Sequence[Episode], count: int) -> tuple[tuple[Episode, ...], tuple[Episode, ...]]:
    """Up to ``count`` episodes with the highest scores for their scale, and up to as many with the lowest, of a session
    one; none with the highest score of all is among the lowest, nor the other way round.

    Which of equal scores, a hash of the sessions' ids decides. Raises UnitError: No two scores differ.
    """
    rated = {e.session_id: e for e in reversed(episodes) if e.is_rated and e.target_turns}

    def share(episode: Episode) -> float:
        return (episode.score - episode.rating.low) / (episode.rating.high - episode.rating.low)

    ranked = sorted(rated.values(), key=lambda e: (share(e), hashlib.sha256(e.session_id.encode()).digest()))
    if not ranked or share(ranked[0]) == share(ranked[-1]):
        raise UnitError(
            f"llm-rubric: a rubric is written from training sessions whose scores differ, and those of {len(ranked)} "
            "do not. Name a rubric of your own with decompose.rubric.file, or another method."
        )
    count = min(count, len(ranked) // 2)
    lowest, highest = share(ranked[0]), share(ranked[-1])
    high = [e for e in reversed(ranked[-count:]) if share(e) > lowest]
    return tuple(high), tuple(e for e in ranked[:count] if share(e) < highest)


def writing_request(episodes: Sequence[Episode], settings: DecomposeSettings) -> ChatRequest:
    """The request for a rubric from the ends of the scale of ``episodes``, which must be training ones.

    What does not fit into ``decompose.llm.context_tokens`` is cut: the beginnings of the longest dialogues go.

    Raises UnitError: As `ends_of`, or not one turn of each dialogue fits. InputError: The question cannot be filled.
    """
    high, low = ends_of(episodes, settings.rubric.dialogues)
    chosen = [anonymize(episode, None, settings.llm).episode for episode in (*high, *low)]
    names = {"rater": '"rater"', "target": '"target"', "name": data_json(chosen[0].rating.name)}
    blanks = {
        "question": question_of(chosen[0], settings.llm.question, names),
        "satisfied": str(len(high)),
        "dissatisfied": str(len(low)),
        "count": str(SIGNALS),
    }
    fixed = sum(len(m.content.encode()) for m in _WRITING.messages("write", {**blanks, "conversations": ""}))
    room = BYTES_A_TOKEN * (settings.llm.context_tokens - TOKENS_A_RUBRIC) - fixed - len(json.dumps(_SCHEMA))
    shown = _cut([_Shown.of(number, episode) for number, episode in enumerate(chosen, start=1)], room)
    asking = settings.llm.asking
    if asking["max_tokens"] is not None:  # Which is meant for the judgements of a dialogue.
        asking["max_tokens"] = max(asking["max_tokens"], 2 * TOKENS_A_RUBRIC)
    return ChatRequest(
        **asking,
        messages=_WRITING.messages("write", {**blanks, "conversations": "\n".join(shown)}),
        schema=_SCHEMA,
        subject=f"the rubric of {chosen[0].rating.name}, from {len(chosen)} dialogues",
    )


def writing_identity() -> str:
    """sha256 of what the request is made of beside dialogues and settings."""
    return hashlib.sha256((FOLDER / "rubric" / "write.txt").read_bytes() + str(SIGNALS).encode()).hexdigest()


@dataclass(frozen=True)
class _Shown:
    """A dialogue as JSON: what stands before its turns, and the turns."""

    head: dict[str, Any]
    turns: tuple[str, ...]

    @classmethod
    def of(cls, number: int, episode: Episode) -> _Shown:
        rating = episode.rating

        def role(speaker: str) -> str:
            return "target" if speaker == rating.target else "rater" if episode.is_listener(speaker) else "other"

        turns = [data_json({"speaker": role(turn.speaker), "text": turn.text}) for turn in episode.turns]
        scale = f"{rating.low:g} to {rating.high:g}"
        return cls({"conversation": number, "score": float(f"{episode.score:.6g}"), "scale": scale}, tuple(turns))

    def text(self, room: float) -> str | None:
        """The dialogue within ``room`` bytes, its last turns where not all fit; None where none does."""
        for first in range(len(self.turns)):
            left = {"turns_left_out_before": first} if first else {}
            text = f'{data_json({**self.head, **left})[:-1]}, "turns": [\n' + ",\n".join(self.turns[first:]) + "\n]}"
            if len(text.encode()) <= room:
                return text
        return None


def _cut(dialogues: Sequence[_Shown], room: float) -> list[str]:
    """Each dialogue within a share of ``room`` bytes: what short ones leave is for the longer ones."""
    whole = {number: str(one.text(float("inf"))) for number, one in enumerate(dialogues)}
    texts: dict[int, str] = {}
    for done, number in enumerate(sorted(whole, key=lambda number: len(whole[number].encode()))):
        share = room / (len(dialogues) - done) - 1
        text = dialogues[number].text(share)
        if text is None:
            raise UnitError(
                f"llm-rubric: {len(dialogues)} dialogues do not fit into decompose.llm.context_tokens, not even their "
                "last turns. Raise it, or lower decompose.rubric.dialogues."
            )
        texts[number] = text
        room -= len(text.encode()) + 1
    return [texts[number] for number in sorted(texts)]
