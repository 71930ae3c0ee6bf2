"""The other side of a dialogue, which answers the policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from corpus.session import Episode, Turn
from rlhf.policy.contexts import DialogueContext, HistoryText, Said, merge_turns


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
        messages = self._messages(context)
        # The target's turn, the answer to it, the target's next turn, and so on.
        here = 2 * len(replies) - 1
        return messages[here].text if len(messages) > here + 1 else None

    def history(self, context: DialogueContext, replies: Sequence[str]) -> str:
        """The session up to the context, then the replies and the recorded answers to them."""
        episode, position = self._places[context.session_id, context.turn]
        rating, turns = episode.rating, list(episode.turns[:position])
        for number, reply in enumerate(replies, start=1):
            turns.append(Turn(context.turn, rating.target, reply))
            turns.append(Turn(context.turn, rating.rater, self.answer(context, replies[:number]) or ""))
        turns.append(Turn(context.turn, rating.target, ""))
        return self._history_text(Episode(episode.session_id, tuple(turns), rating), len(turns) - 1)

    def _messages(self, context: DialogueContext) -> tuple[Said, ...]:
        episode, position = self._places[context.session_id, context.turn]
        # The turn itself may be empty; it opens its side's part in any case.
        opening = replace(episode.turns[position], text=episode.turns[position].text.strip() or "-")
        return merge_turns([opening, *episode.turns[position + 1 :]], episode.rating.target)
