"""The other side of a dialogue: what it is, the recorded one, and what live ones share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from apportion.corpus.session import Episode, Turn
from apportion.rlhf.policy.contexts import DialogueContext, HistoryText, merge_turns, spoken

if TYPE_CHECKING:
    from apportion.foundation.settings import Settings
    from apportion.rlhf.sampling.policy_agent import PolicyAgent
    from apportion.rlhf.training.endings import StopReason
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

    def history(self, context: DialogueContext, replies: Sequence[str]) -> str:
        """What the scorer reads before the turn that follows ``replies``."""


@runtime_checkable
class BatchPartner(Protocol):
    """A partner that answers many dialogues at once."""

    def answer_all(self, heard: Sequence[Heard]) -> list[str | None]:
        """What is said in each dialogue (B of them), as `Partner.answer` says it."""


@runtime_checkable
class Stage(Protocol):
    """A partner that plays an environment: it opens dialogues, reads acts in what is said, and knows the end."""

    def begin(self, contexts: Sequence[DialogueContext], speaker: PolicyAgent) -> list[DialogueContext]:
        """The contexts (B of them) as they stand when the policy, which may have other seats too, is first asked."""

    def worded(self, context: DialogueContext, replies: Sequence[str], reply: str) -> tuple[str, bool]:
        """What is heard of ``reply``, said after ``replies``, and whether the rules allow it."""

    def ending(self, context: DialogueContext, replies: Sequence[str], unusable: int = 0) -> StopReason:
        """What the policy has come to after ``replies``, so many of them ``unusable``."""


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

    ``episodes``: the sessions that contexts are drawn from.
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

    ``episodes``: the sessions that contexts are drawn from. ``history_text``: how the reward model writes a history.
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


_Said = tuple[str, int, tuple[str, ...]]


@dataclass(frozen=True)
class Dialogue:
    """One dialogue as its partner hears it: the session as it has become, whose last turn the policy said."""

    episode: Episode
    partner: str

    @property
    def turned(self) -> Episode:
        """The same from the partner's side: it answers, and it knows what everybody does and what it alone does."""
        return replace(self.episode, rating=replace(self.episode.rating, target=self.partner))

    @property
    def place(self) -> str:
        """Where it is, for errors."""
        return f"session {self.episode.session_id}, turn {self.episode.turns[-1].turn}"


class LivePartner(ABC):
    """The other side, live; a kind of it says only how a number of dialogues is answered.

    ``episodes``: the sessions that contexts are drawn from. ``history_text``: how the scorer writes a history.
    """

    def __init__(self, episodes: Sequence[Episode], history_text: HistoryText) -> None:
        self._places = Places(episodes)
        self._history_text = history_text
        self._kept: dict[_Said, str | None] = {}

    @abstractmethod
    def speak(self, dialogues: Sequence[Dialogue]) -> list[str | None]:
        """What the other side says next in each dialogue (B of them); None, or nothing but blanks, ends it."""

    def answer(self, context: DialogueContext, replies: Sequence[str]) -> str | None:
        """The answer to the last of ``replies``."""
        return self.answer_all([(context, replies)])[0]

    def answer_all(self, heard: Sequence[Heard]) -> list[str | None]:
        """The answer in each dialogue (B of them); equal dialogues hear the same.

        Where all are answered for the first time, what was said in earlier dialogues is forgotten: a step hears what
        it would hear if the training had been killed before it.
        """
        if all(len(replies) == 1 for _, replies in heard):
            self._kept.clear()
        for length in sorted({len(replies) for _, replies in heard}):
            # What was said before is there, unless this process is a new one: then it is said again, in its order.
            for so_far in range(1, length + 1):
                self._say([(context, replies[:so_far]) for context, replies in heard if len(replies) == length])
        return [self._as_read(context, self._kept[_key(context, replies)]) for context, replies in heard]

    def history(self, context: DialogueContext, replies: Sequence[str]) -> str:
        """The session up to the context, then the replies and what was answered."""
        said = self._places.before_next(context, replies, self._answered(context, replies))
        return self._history_text(said, len(said.turns) - 1)

    def _say(self, heard: Sequence[Heard]) -> None:
        new = {_key(*each): each for each in heard if _key(*each) not in self._kept}
        if not new:
            return
        asked = [self._dialogue(context, replies) for context, replies in new.values()]
        for key, answer in zip(new, self.speak(asked), strict=True):
            self._kept[key] = (answer or "").strip() or None

    def _dialogue(self, context: DialogueContext, replies: Sequence[str]) -> Dialogue:
        episode = self._places.episode(context, replies, self._answered(context, replies[:-1]))
        return Dialogue(episode, other_side(*self._places.of(context)))

    def _as_read(self, context: DialogueContext, answer: str | None) -> str | None:
        """An answer as the policy reads it: where several others speak, after the name of who says it."""
        if answer is None:
            return None
        episode, position = self._places.of(context)
        return merge_turns([Turn(context.turn, other_side(episode, position), answer)], episode)[0].text

    def _answered(self, context: DialogueContext, replies: Sequence[str]) -> list[Answer]:
        if not replies:
            return []
        if _key(context, replies) not in self._kept:
            self.answer(context, replies)
        other = other_side(*self._places.of(context))
        said = (self._kept[_key(context, replies[:stop])] for stop in range(1, len(replies) + 1))
        return [[(other, answer)] if answer else [] for answer in said]


def _key(context: DialogueContext, replies: Sequence[str]) -> _Said:
    return context.session_id, context.turn, tuple(replies)


def opening_dialogues(episodes: Iterable[Episode]) -> list[Dialogue]:
    """What a partner would hear first at each turn that answers somebody, the session's own turn in the policy's place.

    A turn without words, as prompts end with, is written as dots.
    """
    dialogues = []
    for episode in episodes:
        for position in episode.target_positions:
            before = spoken(episode.turns[:position])
            if before and before[-1].speaker != episode.rating.target:
                turn = episode.turns[position]
                said = (*episode.turns[:position], replace(turn, text=turn.text.strip() or "…"))
                dialogues.append(Dialogue(replace(episode, turns=said), other_side(episode, position)))
    return dialogues
