"""A dialogue as tokens that a causal model reads once: one sequence, and where each target turn ends in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apportion.corpus.speaker_labels import TARGET
from apportion.reward_model.history_windows import Said, fair_shares, history_text, known_head
from apportion.reward_model.network.tokens import Tokens


@dataclass(frozen=True)
class TurnRange:
    """Turns ``start`` to ``end`` (exclusive) that are read together; those from ``scored`` on are scored there."""

    start: int
    scored: int
    end: int


ASKED = "A:"
"""What the other side's next turn begins with. Its state stands for what is expected of that turn."""


@dataclass(frozen=True)
class TokenBlock(Tokens):
    """What is read at once of a dialogue: up to L tokens, and behind each scored turn the tokens of `ASKED`.

    Those see the dialogue before them, and nothing sees them: what is said next hangs on no question of ours.

    - ``spans``: (first, end) of each scored turn's tokens; ``asked``: the place of the last token of its `ASKED`.
    - ``asides`` (L): 0 for a token of the dialogue, else the number of the `ASKED` that it belongs to.
    """

    spans: tuple[tuple[int, int], ...]
    asked: tuple[int, ...]
    asides: tuple[int, ...]


@dataclass(frozen=True)
class EncodedDialogue:
    """One dialogue in blocks; ``scored`` is T, how many turns are scored in all of them.

    ``shortened`` says that the dialogue is longer than what the model reads at once.
    """

    blocks: tuple[TokenBlock, ...]
    scored: int
    shortened: bool


class DialogueTokenizer:
    """Writes turns as lines ``A: …`` and ``B: …``, each tokenized by itself: a turn's tokens depend on no later one."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self._backend = tokenizer.backend_tokenizer
        self._backend.no_padding()
        self._backend.no_truncation()
        begin = tokenizer.bos_token_id
        self._begin = () if begin is None else (int(begin),)
        self._asked = tuple(self._backend.encode(ASKED, add_special_tokens=False).ids)
        self._room = max_tokens - len(self._begin) - len(self._asked)
        # A model without tokens for a turn would have nothing at its end to score.
        self._empty = (int(tokenizer.eos_token_id or 0),)

    def encode(self, said: Sequence[Said], only_last: bool = False) -> EncodedDialogue:
        """Tokens of all turns, in blocks; scored are the target's turns, or only the last turn of all.

        A turn that is longer than a block by itself loses its end. What was known begins every block, in at most half
        of it.
        """
        head = known_head(said)
        known, said = self._known(said[:head]), said[head:]
        begin, room = (*self._begin, *known), self._room - len(known)
        lines = self._backend.encode_batch([history_text([turn]) for turn in said], add_special_tokens=False)
        turns = [tuple(line.ids[:room]) or self._empty for line in lines]
        is_scored = [letter == TARGET and (not only_last or i == len(said) - 1) for i, (letter, _) in enumerate(said)]
        blocks = [
            _block(
                begin,
                turns[part.start : part.end],
                [i >= part.scored and is_scored[i] for i in range(part.start, part.end)],
                self._asked,
            )
            for part in turn_ranges([len(turn) for turn in turns], room)
            if any(is_scored[part.scored : part.end])
        ]
        shortened = sum(map(len, turns)) > room
        return EncodedDialogue(tuple(blocks), sum(is_scored), shortened)

    def _known(self, said: Sequence[Said]) -> tuple[int, ...]:
        lines = self._backend.encode_batch([history_text([line]) for line in said], add_special_tokens=False)
        shares = fair_shares([len(line.ids) for line in lines], self._room // 2)
        return tuple(token for line, share in zip(lines, shares, strict=True) for token in line.ids[:share])


def _block(
    begin: tuple[int, ...], turns: Sequence[tuple[int, ...]], is_scored: Sequence[bool], asked: tuple[int, ...]
) -> TokenBlock:
    ids, asides = list(begin), [0] * len(begin)
    spans, places = [], []
    for turn, scored in zip(turns, is_scored, strict=True):
        first = len(ids)
        ids += turn
        asides += [0] * len(turn)
        if scored:
            spans.append((first, len(ids)))
            ids += asked
            asides += [len(spans)] * len(asked)
            places.append(len(ids) - 1)
    return TokenBlock(tuple(ids), (0,) * len(ids), tuple(spans), tuple(places), tuple(asides))


def turn_ranges(lengths: Sequence[int], room: int) -> list[TurnRange]:
    """Divide turns of ``lengths`` tokens into ranges of at most ``room``, so that every turn is scored in one of them.

    A dialogue that fits is one range. Of a longer one, every later range begins with up to half of ``room`` in turns
    that were scored before: history for those it scores.
    """
    ranges: list[TurnRange] = []
    scored = 0
    while scored < len(lengths):
        start, held = scored, lengths[scored]
        most = min(room, room // 2 + lengths[scored])
        while start > 0 and held + lengths[start - 1] <= most:
            start -= 1
            held += lengths[start]
        end = scored + 1
        while end < len(lengths) and held + lengths[end] <= room:
            held += lengths[end]
            end += 1
        ranges.append(TurnRange(start, scored, end))
        scored = end
    return ranges
