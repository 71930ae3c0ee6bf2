"""What the reward model reads of a dialogue: a window of history and the reply, for each target turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apportion.corpus.session import Episode, EpisodeKey
from apportion.corpus.speaker_labels import TARGET, letters
from apportion.reward_model.background_text import known_head, known_lines

Pair = tuple[str, str]
"""(history, reply): the texts of s_t and a_t."""
Said = tuple[str, str]
"""(letter of the speaker, text) of one turn; `apportion.corpus.speaker_labels.TARGET` is the letter of the target.

What the target knew before the first turn stands before all turns, with a mark in place of the letter
(`apportion.reward_model.background_text`).
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
