"""An environment as the other side of a dialogue: the policy has one seat, and everything else is played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from apportion.environments.actions import UNUSABLE, AgentAction
from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import MOST_STEPS
from apportion.environments.environment import Action, Environment, Observation
from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.contexts import DialogueContext, HistoryText, merge_turns
from apportion.rlhf.sampling.partner import Heard
from apportion.rlhf.sampling.policy_agent import PolicyAgent, act_said, episode_seen, live_context, open_turn

UNHEARD = "(Nothing is heard.)"
"""What stands for acts of the others that nobody hears."""


@dataclass(frozen=True)
class Start:
    """A seat in an episode that can be played any number of times, always drawing the same.

    ``name``: of the episode and seat; each once. ``agent``: who the policy is in it.
    """

    name: str
    make: Callable[[], Environment]
    agent: str


@runtime_checkable
class BatchAgent(Protocol):
    """An agent that acts in many episodes at once."""

    def act_all(self, views: Sequence[Observation]) -> list[Action]:
        """What it does in each."""


@dataclass
class _Played:
    """One episode, at a turn of the policy's or over.

    ``answer`` is what it was told last (None where it is over), ``heard`` how many utterances there were then.
    """

    game: Environment
    agent: str
    heard: int = 0
    answer: str | None = None

    @property
    def view(self) -> Observation:
        return Observation(self.game, self.agent)

    def copy(self) -> _Played:
        return replace(self, game=self.game.clone())


class EnvironmentPartner:
    """The other side of the policy's dialogues: the environment's rules, and ``others`` in the seats beside it.

    A policy's words are an act (`apportion.environments.environment.Environment.meant`); what is none is silence, and
    is counted. Every episode of one start draws alike, so that episodes of a group differ by what the policy said.

    ``others``: who has the other seats; None: the policy itself, as it is at the time. ``dimension``: of the outcome,
    what is watched. The policy is not paid by it. ``history_text``: how the scorer writes a history. ``at_once``: how
    many acts of ``others`` are waited for at once, where each costs time.
    """

    def __init__(
        self, starts: Sequence[Start], others: Agent | None, dimension: str, history_text: HistoryText, at_once: int = 1
    ) -> None:
        self._at_once = at_once
        self._starts = {start.name: start for start in starts}
        self._others, self._dimension, self._history_text = others, dimension, history_text
        self._kept: dict[tuple[str, tuple[str, ...]], _Played] = {}

    def begin(self, contexts: Sequence[DialogueContext], speaker: PolicyAgent) -> list[DialogueContext]:
        """The contexts (B of them) as they stand when the policy is first asked: others may have opened the dialogue.

        What was played before is forgotten, so that a step plays what it would play if the training had been killed
        before it.

        Raises UnitError: the policy is never asked, or what it reads is longer than its window.
        """
        self._acting = self._others or speaker
        self._kept.clear()
        begun = {context.session_id: _begun(self._starts[context.session_id]) for context in contexts}
        self._play_on(list(begun.values()))
        for name, played in begun.items():
            if played.game.over:
                raise UnitError(f"{name}: over before {played.agent!r} was asked; leave out that task or seat")
            played.heard = len(played.view.heard)
            self._kept[name, ()] = played
        return [self._context(context.session_id, speaker) for context in contexts]

    def worded(self, context: DialogueContext, replies: Sequence[str], reply: str) -> tuple[str, bool]:
        """What is heard of ``reply``, said after ``replies``: the utterance of its act; whether it is one at all."""
        played = self._kept[context.session_id, tuple(replies)]
        act = act_said(played.view, reply)
        usable = not (isinstance(act.data, Mapping) and UNUSABLE in act.data)
        return played.game.said(AgentAction(played.agent, act)) or "", usable

    def answer(self, context: DialogueContext, replies: Sequence[str]) -> str | None:
        """What is said after ``replies``; None: the episode is over."""
        return self.answer_all([(context, replies)])[0]

    def answer_all(self, heard: Sequence[Heard]) -> list[str | None]:
        """What is said in each dialogue (B of them); equal dialogues hear the same."""
        keys = [(context.session_id, tuple(replies)) for context, replies in heard]
        new = [key for key in dict.fromkeys(keys) if key not in self._kept]
        for name, said in new:
            self._kept[name, said] = self._kept[name, said[:-1]].copy()
        self._do([self._kept[key] for key in new], [said[-1] for _, said in new])
        self._play_on([self._kept[key] for key in new])
        for key in new:
            _tell(self._kept[key])
        return [self._kept[key].answer for key in keys]

    def history(self, context: DialogueContext, replies: Sequence[str]) -> str:
        """What the scorer reads before the turn that follows ``replies``."""
        said = open_turn(episode_seen(self._kept[context.session_id, tuple(replies)].view, context.session_id))
        return self._history_text(said, len(said.turns) - 1)

    def ending(self, context: DialogueContext, replies: Sequence[str]) -> tuple[float | None, bool]:
        """What the policy has in the watched dimension after ``replies`` (None: not known), and whether it is over."""
        game = self._kept[context.session_id, tuple(replies)].game
        return game.outcome()[self._starts[context.session_id].agent].get(self._dimension), game.over

    def _context(self, name: str, speaker: PolicyAgent) -> DialogueContext:
        seen = episode_seen(self._kept[name, ()].view, name)
        context = live_context(seen, speaker.policy.tokenizer, speaker.window.max_context_tokens)
        return replace(context, history=self.history(context, ()))

    def _do(self, episodes: Sequence[_Played], said: Sequence[str]) -> None:
        """The policy's act in each episode, and those of whoever acts in the same step."""
        others = self._acts(
            [Observation(p.game, name) for p in episodes for name in p.game.acting() if name != p.agent]
        )
        for played, text in zip(episodes, said, strict=True):
            act, acting = act_said(played.view, text), played.game.acting()
            played.game.step({name: act if name == played.agent else next(others) for name in acting})

    def _play_on(self, episodes: Sequence[_Played]) -> None:
        """All episodes, beside each other, to the policy's next turn or the end."""
        while waiting := [p for p in episodes if not p.game.over and p.agent not in p.game.acting()]:
            if len(waiting[0].game.steps) >= MOST_STEPS:
                raise UnitError(f"{waiting[0].game.kind}: {waiting[0].agent!r} is not asked in {MOST_STEPS:,} steps")
            acts = self._acts([Observation(p.game, name) for p in waiting for name in p.game.acting()])
            for played in waiting:
                played.game.step({name: next(acts) for name in played.game.acting()})

    def _acts(self, views: Sequence[Observation]) -> Iterator[Action]:
        if isinstance(self._acting, BatchAgent):
            return iter(self._acting.act_all(views) if views else [])
        if self._at_once > 1 and len(views) > 1:
            with ThreadPoolExecutor(min(self._at_once, len(views))) as pool:
                return iter(list(pool.map(self._acting.act, views)))
        return iter([self._acting.act(view) for view in views])


def _tell(played: _Played) -> None:
    """Tell the policy what the others have said since it was last told, as it reads it."""
    seen = episode_seen(played.view, "")
    said = merge_turns(seen.turns[played.heard :], seen)
    told = " ".join(one.text for one in said if one.role == "user") or UNHEARD
    played.answer = None if played.game.over else told
    played.heard = len(seen.turns)


def _begun(start: Start) -> _Played:
    return _Played(start.make(), start.agent)
