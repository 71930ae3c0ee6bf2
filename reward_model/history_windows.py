"""What the reward model reads of a dialogue: a window of history and the reply, for each target turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corpus.session import Episode, EpisodeKey

Pair = tuple[str, str]
"""(history, reply): the texts of s_t and a_t."""
Said = tuple[bool, str]
"""(is it the target's, text) of one turn."""

TARGET_MARK, OTHER_MARK = "B", "A"


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
    return last_window([(turn.speaker == episode.rating.target, turn.text) for turn in turns], history_turns)


def last_window(said: Sequence[Said], history_turns: int | None) -> Pair:
    """(s_t, a_t) of the last turn ``said``; all turns before it are its history where ``history_turns`` is None."""
    before, (_, reply) = said[:-1], said[-1]
    if history_turns is not None:
        before = before[max(0, len(before) - history_turns) :]
    return history_text(before), reply_text(reply)


def history_text(said: Sequence[Said]) -> str:
    """Turns as lines ``A: …`` and ``B: …``, oldest first; ``said`` holds (is it the target's, text).

    B is the speaker whose turns are rewarded, A anyone else. Names are left out, so that the model does not learn them.
    """
    return "".join(f"{TARGET_MARK if by_target else OTHER_MARK}: {reply_text(text)}\n" for by_target, text in said)


def said_in(pair: Pair) -> list[Said]:
    """The turns of a window, its reply last: what `history_text` was made of."""
    history, reply = pair
    # Only its own line breaks are left in it: `reply_text` has taken out all others.
    lines = [line.partition(": ") for line in history.split("\n")[:-1]]
    return [*((mark == TARGET_MARK, text) for mark, _, text in lines), (True, reply)]


def said_by(episode: Episode) -> list[Said]:
    """Every turn of the episode."""
    return [(turn.speaker == episode.rating.target, turn.text) for turn in episode.turns]


def reply_text(text: str) -> str:
    """An utterance on one line: a line break in it could pass for another speaker's turn."""
    return " ".join(text.split())
