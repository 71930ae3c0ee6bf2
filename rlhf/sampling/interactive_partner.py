"""A partner that answers what the policy says: what it has said is kept, and many dialogues are answered at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from apportion.corpus.session import Episode, Turn
from apportion.rlhf.policy.contexts import DialogueContext, HistoryText, merge_turns, spoken
from apportion.rlhf.sampling.partner import Answer, Heard, Places, other_side

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

    Parameters
    ----------
    episodes : sequence of Episode
        The sessions that contexts are drawn from.
    history_text : callable
        How the scorer writes a history.
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


def first_dialogues(episodes: Iterable[Episode]) -> list[Dialogue]:
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
