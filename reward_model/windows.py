"""What the reward model reads of a dialogue: a window of history and the reply, for each target turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corpus.session import Episode

EpisodeKey = tuple[str, str, str, str]
Pair = tuple[str, str]
"""(history, reply): the texts of s_t and a_t."""

TARGET_MARK, OTHER_MARK = "B", "A"


@dataclass(frozen=True)
class Windows:
    """The windows of S episodes, one after the other: N target turns in all.

    ``turns`` (N) are turn numbers, ``pairs`` (N) the texts; those of episode ``keys[i]`` (S) are found at
    ``offsets[i]:offsets[i + 1]`` (S + 1).
    """

    keys: tuple[EpisodeKey, ...]
    turns: tuple[int, ...]
    pairs: tuple[Pair, ...]
    offsets: tuple[int, ...]


def episode_windows(episodes: Iterable[Episode], history_turns: int) -> Windows:
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
    return Windows(tuple(keys), tuple(turns), tuple(pairs), tuple(offsets))


def window(episode: Episode, position: int, history_turns: int) -> Pair:
    """(s_t, a_t) of the turn at ``position``: up to ``history_turns`` turns before it, and its own text."""
    before = episode.turns[max(0, position - history_turns) : position]
    history = history_text([(turn.speaker == episode.rating.target, turn.text) for turn in before])
    return history, reply_text(episode.turns[position].text)


def history_text(said: Sequence[tuple[bool, str]]) -> str:
    """Turns as lines ``A: …`` and ``B: …``, oldest first; ``said`` holds (is it the target's, text).

    B is the speaker whose turns are rewarded, A anyone else. Names are left out, so that the model does not learn them.
    """
    return "".join(f"{TARGET_MARK if by_target else OTHER_MARK}: {reply_text(text)}\n" for by_target, text in said)


def reply_text(text: str) -> str:
    """An utterance on one line: a line break in it could pass for another speaker's turn."""
    return " ".join(text.split())
