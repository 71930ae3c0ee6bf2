"""The other side of a dialogue, which answers the policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from apportion.corpus.session import Episode, Turn
from apportion.rlhf.policy.contexts import DialogueContext, HistoryText, merge_turns, spoken

if TYPE_CHECKING:
    from apportion.foundation.settings import Settings
    from apportion.rlhf.sampling.policy_agent import PolicyAgent
    from apportion.rlhf.training.job import Job

Heard = tuple[DialogueContext, Sequence[str]]
"""(context, replies): what is answered, and what the policy has said since, in order."""

Answer = Sequence[tuple[str, str]]
"""(speaker, text) of each who answers a reply, in order."""


class Partner(Protocol):
    """The other side of a dialogue, and what the scorer reads of it.

    What it says is a function of context and replies: a training that is killed and goes on asks again. One that has
    a method ``close()`` is closed at the end of the training.
    """

    def answer(self, context: DialogueContext, replies: Sequence[str]) -> str | None:
        """What is said after the policy's ``replies`` to ``context``; None ends the dialogue."""
        ...

    def history(self, context: DialogueContext, replies: Sequence[str]) -> str:
        """What the scorer reads before the turn that follows ``replies``."""
        ...


@runtime_checkable
class BatchPartner(Protocol):
    """A partner that answers many dialogues at once."""

    def answer_all(self, heard: Sequence[Heard]) -> list[str | None]:
        """What is said in each dialogue (B of them), as `Partner.answer` says it."""
        ...


@runtime_checkable
class Stage(Protocol):
    """A partner that plays an environment: it opens dialogues, reads acts in what is said, and knows the end."""

    def begin(self, contexts: Sequence[DialogueContext], speaker: PolicyAgent) -> list[DialogueContext]:
        """The contexts (B of them) as they stand when the policy, which may have other seats too, is first asked."""
        ...

    def worded(self, context: DialogueContext, replies: Sequence[str], reply: str) -> tuple[str, bool]:
        """What is heard of ``reply``, said after ``replies``, and whether the rules allow it."""
        ...

    def ending(self, context: DialogueContext, replies: Sequence[str]) -> tuple[float | None, bool]:
        """What the policy has reached after ``replies`` (None: not known), and whether it is over."""
        ...


def answers(partner: Partner, heard: Sequence[Heard]) -> list[str | None]:
    """What ``partner`` says in each dialogue (B of them): all at once where it can, else one after the other."""
    if isinstance(partner, BatchPartner):
        return partner.answer_all(heard)
    return [partner.answer(context, replies) for context, replies in heard]


def other_side(episode: Episode, position: int) -> str:
    """Who answers the turn at ``position``: the rater where they speak, else who spoke last before the target did."""
    rating = episode.rating
    if any(turn.speaker == rating.rater for turn in episode.turns):
        return rating.rater
    before = (turn.speaker for turn in reversed(episode.turns[:position]) if turn.text.strip())
    return next((speaker for speaker in before if speaker != rating.target), rating.rater)


class Places:
    """Where contexts come from, so that a dialogue can be written as the session that it has become.

    Parameters
    ----------
    episodes : sequence of Episode
        The sessions that contexts are drawn from.
    """

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self._places = {
            (episode.session_id, episode.turns[position].turn): (episode, position)
            for episode in episodes
            for position in episode.target_positions
        }

    def of(self, context: DialogueContext) -> tuple[Episode, int]:
        """The session of a context, and the position of the turn that a reply stands in for."""
        return self._places[context.session_id, context.turn]

    def episode(self, context: DialogueContext, replies: Sequence[str], answered: Sequence[Answer]) -> Episode:
        """The session up to the context, then each of ``replies`` with the answer to it, as far as there is one."""
        episode, position = self.of(context)
        turns = list(episode.turns[:position])
        for number, reply in enumerate(replies):
            turns.append(Turn(context.turn, episode.rating.target, reply))
            answer = answered[number] if number < len(answered) else ()
            turns += [Turn(context.turn, speaker, text) for speaker, text in answer]
        return replace(episode, turns=tuple(turns))

    def before_next(self, context: DialogueContext, replies: Sequence[str], answered: Sequence[Answer]) -> Episode:
        """The same with the target's next turn open at its end."""
        said = self.episode(context, replies, answered)
        return replace(said, turns=(*said.turns, Turn(context.turn, said.rating.target, "")))


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
        self._places = Places(episodes)

    def answer(self, context: DialogueContext, replies: Sequence[str]) -> str | None:
        """The other side's words between the target's turn that the last reply stands for and its next one."""
        episode, _ = self._places.of(context)
        turns = self._answering(context, len(replies))
        return merge_turns(turns, episode)[0].text if turns else None

    def history(self, context: DialogueContext, replies: Sequence[str]) -> str:
        """The session up to the context, then the replies and the recorded answers to them."""
        answered = [self._answering(context, number) for number in range(1, len(replies) + 1)]
        runs = [groupby(turns, key=lambda turn: turn.speaker) for turns in answered]
        spoken_by = [[(who, " ".join(turn.text.strip() for turn in run)) for who, run in by] for by in runs]
        said = self._places.before_next(context, replies, spoken_by)
        return self._history_text(said, len(said.turns) - 1)

    def _answering(self, context: DialogueContext, number: int) -> tuple[Turn, ...]:
        """What the others say between the target's ``number``-th turn from here and its next; () without a next."""
        episode, position = self._places.of(context)
        # The turn itself may be empty; it opens its side's part in any case.
        opening = replace(episode.turns[position], text=episode.turns[position].text.strip() or "-")
        said = spoken([opening, *episode.turns[position + 1 :]])
        sides = [tuple(run) for _, run in groupby(said, key=lambda turn: turn.speaker == episode.rating.target)]
        # The target's turn, the answer to it, the target's next turn, and so on.
        here = 2 * number - 1
        return sides[here] if len(sides) > here + 1 else ()


def of_job(job: Job, settings: Settings | None, episodes: Sequence[Episode], history: HistoryText) -> Partner:
    """The recorded partner of an alignment."""
    return RecordedPartner(episodes, history)
