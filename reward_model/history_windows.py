"""What the reward model reads of a dialogue: what was known, a window of history, and the reply of each turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from apportion.corpus.session import BACKGROUND_KINDS, Episode, EpisodeKey
from apportion.corpus.speaker_labels import TARGET, letters

OWN = "own"
"""Stands before the kind of what the target alone knows."""
MARKS = tuple(f"{whose}{kind}" for whose in ("", f"{OWN} ") for kind in BACKGROUND_KINDS)
"""What stands before the text of a line: its kind, and whether the target alone knows it. No letter of a speaker."""

_HEAD = re.compile(rf"(?:(?:{'|'.join(MARKS)}): [^\n]*\n)*")


def known_lines(episode: Episode) -> list[tuple[str, str]]:
    """(mark, text) of what everybody knew, then of what the target alone did; of nobody else's private rows.

    >>> from apportion.corpus.session import Background, Rating
    >>> known = (Background(None, "rules", "One offer."), Background("a", "goal", "8"), Background("b", "goal", "9"))
    >>> known_lines(Episode("s", (), Rating("a", "b", "deal", 1.0, 0.0, 1.0), known))
    [('rules', 'One offer.'), ('own goal', '9')]
    """
    known = episode.known_to_target
    return [(one.kind if one.speaker is None else f"{OWN} {one.kind}", one.text) for one in known]


def known_head(said: Sequence[tuple[str, str]]) -> int:
    """How many of the first lines, (mark or letter, text), are what was known."""
    return next((i for i, (mark, _) in enumerate(said) if mark not in MARKS), len(said))


def split_known(history: str) -> tuple[list[str], str]:
    """The lines of what was known at the head of a history, and the dialogue after them.

    A dialogue's own lines begin with a letter of their speaker, so that nothing said can pass for what was known.
    """
    found = _HEAD.match(history)
    end = found.end() if found else 0
    return history[:end].splitlines(keepends=True), history[end:]


def fair_shares(lengths: Sequence[int], room: int) -> list[int]:
    """How much of each line is kept where all may take ``room`` together: the shortest whole, the others alike.

    >>> fair_shares([3, 50, 40], 23)
    [3, 10, 10]
    """
    shares = [0] * len(lengths)
    left = room
    for count, place in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        shares[place] = min(lengths[place], left // (len(lengths) - count))
        left -= shares[place]
    return shares


Pair = tuple[str, str]
"""(history, reply): the texts of s_t and a_t."""
Said = tuple[str, str]
"""(letter of the speaker, text) of one turn; `apportion.corpus.speaker_labels.TARGET` is the letter of the target.

What the target knew before the first turn stands before all turns, with a mark in place of the letter
(`apportion.reward_model.history_windows`).
"""


@dataclass(frozen=True)
class HistoryWindows:
    """The windows of S episodes, one after the other: N target turns in all.

    ``turns`` (N) are turn numbers, ``pairs`` (N) the texts; those of episode ``keys[i]`` (S) are found at
    ``offsets[i]:offsets[i + 1]`` (S + 1).
    """

    keys: tuple[EpisodeKey, ...]
    turns: tuple[int, ...]
    pairs: tuple[Pair, ...]
    offsets: tuple[int, ...]

    @property
    def places(self) -> list[int]:
        """How many of the target's turns came before each turn (N)."""
        return [place for start, end in pairwise(self.offsets) for place in range(end - start)]


def history_windows(episodes: Iterable[Episode], history_turns: int) -> HistoryWindows:
    """The windows of every target turn of ``episodes``; an episode without target turns is left out."""
    keys: list[EpisodeKey] = []
    turns: list[int] = []
    pairs: list[Pair] = []
    offsets = [0]
    for episode in episodes:
        if episode.target_turns:
            keys.append(episode.key)
            turns.extend(episode.target_turns)
            pairs.extend(window(episode, position, history_turns) for position in episode.target_positions)
            offsets.append(len(turns))
    return HistoryWindows(tuple(keys), tuple(turns), tuple(pairs), tuple(offsets))


def window(episode: Episode, position: int, history_turns: int) -> Pair:
    """(s_t, a_t) of the turn at ``position``: up to ``history_turns`` turns before it, and its own text."""
    turns = episode.turns[max(0, position - history_turns) : position + 1]
    said = [(episode.letters[turn.speaker], turn.text) for turn in turns]
    return last_window([*known_lines(episode), *said], history_turns)


def last_window(said: Sequence[Said], history_turns: int | None) -> Pair:
    """(s_t, a_t) of the last turn ``said``; all turns before it are its history where ``history_turns`` is None.

    What was known is no turn: it is in the history of each.
    """
    before, (_, reply) = said[:-1], said[-1]
    if history_turns is not None:
        known = known_head(said)
        before = [*said[:known], *before[max(known, len(before) - history_turns) :]]
    return history_text(before), reply_text(reply)


def history_text(said: Sequence[Said]) -> str:
    """Turns as lines ``A: …`` and ``B: …``, oldest first; ``said`` holds (letter, text).

    B is the speaker whose turns are rewarded, A the other one; of several others each has a letter of their own
    (`apportion.corpus.speaker_labels`). Names are left out, so that the model does not learn them. Lines ``scenario:
    …`` and ``own goal: …`` tell what was known.
    """
    return "".join(f"{letter}: {reply_text(text)}\n" for letter, text in said)


def said_in(pair: Pair) -> list[Said]:
    """The turns of a window, its reply last: what `history_text` was made of."""
    history, reply = pair
    # Only its own line breaks are left in it: `reply_text` has taken out all others.
    lines = [line.partition(": ") for line in history.split("\n")[:-1]]
    return [*((letter, text) for letter, _, text in lines), (TARGET, reply)]


def said_by(episode: Episode) -> list[Said]:
    """What the target knew, and every turn of the episode."""
    return [*known_lines(episode), *((episode.letters[turn.speaker], turn.text) for turn in episode.turns)]


def said_in_chat(messages: Iterable[tuple[str | None, str]]) -> list[Said]:
    """Turns of a chat given as (name, text): None names the assistant, who is the target.

    >>> said_in_chat([("", "Hello?"), (None, "Hello."), ("", "Bye.")])
    [('A', 'Hello?'), ('B', 'Hello.'), ('A', 'Bye.')]
    """
    spoken = list(messages)
    letter_of = letters((name for name, _ in spoken), None)
    return [(letter_of[name], text) for name, text in spoken]


def reply_text(text: str) -> str:
    """An utterance on one line: a line break in it could pass for another speaker's turn."""
    return " ".join(text.split())
