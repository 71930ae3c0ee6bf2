"""Long dialogues in overlapping parts, and their judgements on one scale.

A model's context is finite. A dialogue that does not fit is asked about in parts that share some target turns; what
the model says of those in both parts tells how much higher or lower one part was judged than the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

import numpy as np
import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.decompose.prompt_building.prompt import DialoguePart, Prompt
from apportion.decompose.prompt_building.transcript import listener_descriptors, transcript_lines
from apportion.decompose.reply_parsing import REPLY_SCHEMA, TOKENS_A_REPLY, TOKENS_A_TURN
from apportion.foundation.errors import UnitError
from apportion.llm_client.request import ChatMessage

BYTES_A_TOKEN = 3
"""Of UTF-8 text, on the safe side: English has about four, Chinese about three. Counted without a tokenizer, so that a
dialogue is divided in the same way, into the same requests, on every machine."""

_MARGIN_BYTES = 300
_NUMBER_BYTES = 12


@dataclass(frozen=True)
class DialogueChunk:
    """What is asked about at once: the target turns ``turns``, and the chat that asks for them."""

    turns: tuple[int, ...]
    messages: tuple[ChatMessage, ...]


def parts_of(
    prompt: Prompt,
    episode: Episode,
    descriptors: pa.Table | None,
    question: str | None,
    context_tokens: int,
    overlap_turns: int,
) -> list[DialogueChunk]:
    """The parts to ask about one by one: a single one, the whole, wherever that fits into ``context_tokens``.

    Raises UnitError: Not even two target turns with what is said between them fit.
    """

    def chat(part: DialoguePart | None) -> tuple[ChatMessage, ...]:
        return prompt.messages(episode, descriptors, question, part)

    room = BYTES_A_TOKEN * context_tokens
    targets = len(episode.target_turns)
    whole = chat(None)
    if _bytes(whole) + _reply_bytes(targets) <= room:
        return [DialogueChunk(episode.target_turns, whole)]
    fixed = _bytes(chat(DialoguePart(0, 0, ()))) + _MARGIN_BYTES
    lines = transcript_lines(episode, listener_descriptors(episode, descriptors))
    costs = [len(line.encode()) + len(",\n") for line in lines]
    parts = divide(episode, costs, room - fixed - _reply_bytes(0), overlap_turns)
    if parts is None:
        raise UnitError(
            f"session {episode.session_id}: the model's context of {context_tokens:,} tokens does not hold the prompt "
            f"and {min(2, targets)} of {targets} turns of {episode.rating.target} with what is said around them. Raise "
            "decompose.llm.context_tokens, or use a model with a longer context."
        )
    return [DialogueChunk(part.asked, chat(part)) for part in parts]


def divide(episode: Episode, costs: Sequence[int], room: int, overlap_turns: int) -> list[DialoguePart] | None:
    """Parts of at least two target turns, each within ``room`` bytes, that share ``overlap_turns`` (at most half).

    A part begins after the target's utterance before its first judged one and ends with the rater's reply to its last.
    ``costs`` are the bytes that each turn (all speakers) takes. None where two target turns do not fit.
    """
    positions = episode.target_positions
    begins = [0, *(position + 1 for position in positions[:-1])]
    ends = [(episode.reply_positions(position) or (position,))[-1] + 1 for position in positions]
    ends[-1] = len(episode.turns)
    summed = [0, *accumulate(costs)]

    def fits(first: int, last: int) -> bool:
        asked = (last - first + 1) * (BYTES_A_TOKEN * TOKENS_A_TURN + _NUMBER_BYTES)
        return summed[ends[last]] - summed[begins[first]] + asked <= room

    parts: list[DialoguePart] = []
    first, last = 0, 1
    while last < len(positions):
        # Fewer turns are shared where those and the next do not fit together.
        while not fits(first, last):
            first += 1
            if first == last or not parts:
                return None
        while last + 1 < len(positions) and fits(first, last + 1):
            last += 1
        parts.append(DialoguePart(begins[first], ends[last], episode.target_turns[first : last + 1]))
        if last + 1 == len(positions):
            return parts
        first, last = last + 1 - min(overlap_turns, (last - first + 1) // 2), last + 1
    return None


def averaged(parts: Sequence[Mapping[int, float | None]], null: float | None) -> dict[int, float | None]:
    """Each turn's share of the score: the mean over the parts that were asked for it, ``null`` counting for a null.

    No level is taken away: each part hands out its own part of the score, and a shift would turn shares round while
    the zeros of turns without one stay where they are. A turn that every part leaves out stays None.
    """
    given: dict[int, list[float | None]] = {}
    for part in parts:
        for turn, value in part.items():
            given.setdefault(turn, []).append(value)
    return {turn: _mean(values, null) for turn, values in given.items()}


def _mean(values: Sequence[float | None], null: float | None) -> float | None:
    if all(value is None for value in values):
        return None
    counted = [value for value in (null if value is None else value for value in values) if value is not None]
    return sum(counted) / len(counted)


def reconcile(parts: Sequence[Mapping[int, float | None]]) -> dict[int, float | None]:
    """Each turn's value on one scale: every part less its offset, then the mean over the parts that gave a number.

    The offsets b are those of least squares over all turns that two parts gave numbers for, y_u - y_v = b_u - b_v; they
    sum to zero among the parts that are so connected, and are zero where nothing connects them. Only levels are
    fitted, no slopes: a few turns, often all alike, say little about a slope. Judgements that differ by a level alone
    become equal. A turn that no part gave a number for stays None: nothing was said of it, on whatever level.
    """
    rows, differences = [], []
    for (u, left), (v, right) in combinations(enumerate(parts), 2):
        for turn in left.keys() & right.keys():
            one, other = left[turn], right[turn]
            if one is not None and other is not None:
                row = np.zeros(len(parts))
                row[u], row[v] = 1.0, -1.0
                rows.append(row)
                differences.append(one - other)
    offsets = np.linalg.lstsq(np.array(rows), np.array(differences), rcond=None)[0] if rows else np.zeros(len(parts))
    levelled: dict[int, list[float]] = {}
    for offset, part in zip(offsets.tolist(), parts, strict=True):
        for turn, value in part.items():
            levelled.setdefault(turn, []).extend([] if value is None else [value - offset])
    return {turn: sum(values) / len(values) if values else None for turn, values in levelled.items()}


def _bytes(messages: Sequence[ChatMessage]) -> int:
    return len(json.dumps(REPLY_SCHEMA)) + sum(len(message.content.encode()) for message in messages)


def _reply_bytes(targets: int) -> int:
    return BYTES_A_TOKEN * (TOKENS_A_REPLY + TOKENS_A_TURN * targets)
