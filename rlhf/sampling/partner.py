"""The other side of a dialogue, which answers the policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from corpus.session import Episode, Turn
from rlhf.policy.contexts import DialogueContext, HistoryText, merge_turns, spoken


class Partner(Protocol):
    """The other side of a dialogue, and what the scorer reads of it."""

    def answer(self, context: DialogueContext, replies: Sequence[str]) -> str | None:
        """What is said after the policy's ``replies`` to ``context``; None ends the dialogue."""
        ...

    def history(self, context: DialogueContext, replies: Sequence[str]) -> str:
        """What the scorer reads before the turn that follows ``replies``."""
        ...


class RecordedPartner:
    """The other side says what it said in the recorded session, whatever the policy says.

    The dialogue ends where the target spoke last in the session.

    Parameters
    ----------
    episodes : sequence of Episode
        The sessions that contexts are drawn from.
    history_text : callable
        How the reward model writes a history.
    """

    def __init__(self, episodes: Sequence[Episode], history_text: HistoryText) -> None:
        self._history_text = history_text
        self._places = {
            (episode.session_id, episode.turns[position].turn): (episode, position)
            for episode in episodes
            for position in episode.target_positions
        }

    def answer(self, context: DialogueContext, replies: Sequence[str]) -> str | None:
        """The other side's words between the target's turn that the last reply stands for and its next one."""
        episode, _ = self._places[context.session_id, context.turn]
        turns = self._answering(context, len(replies))
        return merge_turns(turns, episode)[0].text if turns else None

    def history(self, context: DialogueContext, replies: Sequence[str]) -> str:
        """The session up to the context, then the replies and the recorded answers to them."""
        episode, position = self._places[context.session_id, context.turn]
        target, turns = episode.rating.target, list(episode.turns[:position])
        for number, reply in enumerate(replies, start=1):
            turns.append(Turn(context.turn, target, reply))
            for speaker, run in groupby(self._answering(context, number), key=lambda turn: turn.speaker):
                turns.append(Turn(context.turn, speaker, " ".join(turn.text.strip() for turn in run)))
        turns.append(Turn(context.turn, target, ""))
        return self._history_text(replace(episode, turns=tuple(turns)), len(turns) - 1)

    def _answering(self, context: DialogueContext, number: int) -> tuple[Turn, ...]:
        """What the others say between the target's ``number``-th turn from here and its next; () without a next."""
        episode, position = self._places[context.session_id, context.turn]
        # The turn itself may be empty; it opens its side's part in any case.
        opening = replace(episode.turns[position], text=episode.turns[position].text.strip() or "-")
        said = spoken([opening, *episode.turns[position + 1 :]])
        sides = [tuple(run) for _, run in groupby(said, key=lambda turn: turn.speaker == episode.rating.target)]
        # The target's turn, the answer to it, the target's next turn, and so on.
        here = 2 * number - 1
        return sides[here] if len(sides) > here + 1 else ()
