"""An environment as the other side of a dialogue: the policy has one seat, and everything else is played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol, runtime_checkable

from apportion.environments.actions import AgentAction, unusable_of
from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import MOST_STEPS
from apportion.environments.concurrent_rollouts import mapped
from apportion.environments.environment import Action, Environment, Observation
from apportion.environments.wrappers.seated_episode import MOST_DRAWS
from apportion.foundation.errors import UnitError
from apportion.rlhf.policy.contexts import DialogueContext, HistoryText, merge_turns
from apportion.rlhf.sampling.live_credit import LiveCredit
from apportion.rlhf.sampling.partner import Heard
from apportion.rlhf.sampling.policy_agent import (
    PolicyAgent,
    act_said,
    episode_seen,
    live_context,
    open_turn,
)
from apportion.rlhf.training.endings import StopReason

_Key = tuple[str, tuple[str, ...]]
"""A start by its name, and what the policy has said in it."""

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

    A policy's words are an act (`apportion.rlhf.sampling.policy_agent.act_said`); what is none is counted, and another
    one stands for it. Every episode of one start draws alike, so that episodes of a group differ by what the policy
    said.

    ``others``: who has the other seats, drawn for each where there are several; None is the policy itself, as it is at
    the time. ``dimension``: of the outcome, what is watched, and paid by `apportion.rlhf.training.outcome`.
    ``most_unusable``: the share of a seat's acts that may be unusable before an episode is worth the least.
    ``history_text``: how the scorer writes a history. ``at_once``: how many acts of ``others`` are waited for at once,
    where each costs time. ``credit``: what each turn of an episode has brought, where that is paid.
    """

    def __init__(
        self,
        starts: Sequence[Start],
        others: Sequence[Agent | None],
        dimension: str,
        most_unusable: float,
        history_text: HistoryText,
        at_once: int = 1,
        credit: LiveCredit | None = None,
    ) -> None:
        self._at_once, self._most_unusable, self._credit = at_once, most_unusable, credit
        self._starts = {start.name: start for start in starts}
        self._others, self._dimension, self._history_text = tuple(others), dimension, history_text
        self._kept: dict[_Key, _Played] = {}
        self._acts: dict[_Key, Action] = {}

    def begin(self, contexts: Sequence[DialogueContext], speaker: PolicyAgent) -> list[DialogueContext]:
        """The contexts (B of them) as they stand when the policy is first asked: others may have opened the dialogue.

        What was played before is forgotten, so that a step plays what it would play if the training had been killed
        before it.

        Raises UnitError: the policy is never asked, or what it reads is longer than its window.
        """
        self._acting = [other or speaker for other in self._others]
        self._kept.clear()
        self._acts.clear()
        if self._credit is not None:
            self._credit.forget()
        begun = {context.session_id: _begun(self._starts[context.session_id]) for context in contexts}
        self._play_on(list(begun.values()))
        for _ in range(MOST_DRAWS):
            never = [played for played in begun.values() if played.game.over]
            for played in never:
                played.game.reset(f"{played.game.seed}+")
            self._play_on(never)
        for name, played in begun.items():
            if played.game.over:
                raise UnitError(f"{name}: over before {played.agent!r} was asked; leave out that task or seat")
            played.heard = len(played.view.heard)
            self._kept[name, ()] = played
        return [self._context(context.session_id, speaker) for context in contexts]

    def worded(self, context: DialogueContext, replies: Sequence[str], reply: str) -> tuple[str, bool]:
        """The utterance of the act that ``reply`` is after ``replies``, or the act itself where nobody hears it.

        And whether it is an act at all.
        """
        played = self._kept[context.session_id, tuple(replies)]
        act = act_said(played.view, reply)
        text = played.game.said(AgentAction(played.agent, act))
        text = _written(act) if text is None else text
        self._acts[context.session_id, (*replies, text)] = act
        return text, not act.stands

    def answer(self, context: DialogueContext, replies: Sequence[str]) -> str | None:
        """What is said after ``replies``; None: the episode is over."""
        return self.answer_all([(context, replies)])[0]

    def answer_all(self, heard: Sequence[Heard]) -> list[str | None]:
        """What is said in each dialogue (B of them); equal dialogues hear the same."""
        keys = [(context.session_id, tuple(replies)) for context, replies in heard]
        new = [key for key in dict.fromkeys(keys) if key not in self._kept]
        for name, said in new:
            self._kept[name, said] = self._kept[name, said[:-1]].copy()
        self._do([self._kept[key] for key in new], [self._act(key) for key in new])
        self._play_on([self._kept[key] for key in new])
        for key in new:
            _tell(self._kept[key])
        return [self._kept[key].answer for key in keys]

    def history(self, context: DialogueContext, replies: Sequence[str]) -> str:
        """What the scorer reads before the turn that follows ``replies``."""
        said = open_turn(episode_seen(self._kept[context.session_id, tuple(replies)].view, context.session_id))
        return self._history_text(said, len(said.turns) - 1)

    def ending(self, context: DialogueContext, replies: Sequence[str], unusable: int = 0) -> StopReason:
        """What the policy has come to after ``replies``, of which so many were ``unusable``.

        Its score is what the rules say of the watched dimension then; the least that there is where they say nothing
        before the end, or where too many acts of any seat were none: who beats nobody has not won.
        """
        played = self._kept[context.session_id, tuple(replies)]
        value = played.game.outcome()[played.agent].get(self._dimension)
        least, _ = played.game.scales().get(self._dimension, (0.0, 0.0))
        acts = {**unusable_of(played.game.steps), played.agent: (unusable, len(replies))}
        garbage = any(stand > self._most_unusable * of_seat for stand, of_seat in acts.values())
        score = least if value is None or garbage else value
        role, credits = played.game.role(played.agent), self._credits(played, context.session_id, replies, score)
        return StopReason(value, played.game.over, len(replies), unusable, score, role, credits)

    def _credits(self, played: _Played, name: str, replies: Sequence[str], score: float) -> tuple[float, ...]:
        if self._credit is None:
            return ()
        states = [self._kept[name, tuple(replies[:number])].game for number in range(len(replies) + 1)]
        return self._credit(name, played.agent, states, replies, score)

    def _context(self, name: str, speaker: PolicyAgent) -> DialogueContext:
        seen = episode_seen(self._kept[name, ()].view, name)
        cue = self._kept[name, ()].view.cue
        context = live_context(seen, speaker.policy.tokenizer, speaker.window.max_context_tokens, cue)
        return replace(context, history=self.history(context, ()))

    def _act(self, key: _Key) -> Action:
        """The act of the last of the replies of a dialogue."""
        name, replies = key
        return self._acts.get(key) or act_said(self._kept[name, replies[:-1]].view, replies[-1])

    def _do(self, episodes: Sequence[_Played], acts: Sequence[Action]) -> None:
        """The policy's act in each episode, and those of whoever acts in the same step."""
        others = self._acts_of([(p.game, name) for p in episodes for name in p.game.acting() if name != p.agent])
        for played, act in zip(episodes, acts, strict=True):
            acting = played.game.acting()
            played.game.step({name: act if name == played.agent else next(others) for name in acting})

    def _play_on(self, episodes: Sequence[_Played]) -> None:
        """All episodes, beside each other, to the policy's next turn or the end."""
        while waiting := [p for p in episodes if not p.game.over and p.agent not in p.game.acting()]:
            if len(waiting[0].game.steps) >= MOST_STEPS:
                raise UnitError(f"{waiting[0].game.kind}: {waiting[0].agent!r} is not asked in {MOST_STEPS:,} steps")
            acts = self._acts_of([(p.game, name) for p in waiting for name in p.game.acting()])
            for played in waiting:
                played.game.step({name: next(acts) for name in played.game.acting()})

    def _acts_of(self, asked: Sequence[tuple[Environment, str]]) -> Iterator[Action]:
        """What is done in each place, by who sits there."""
        sitting = [self._sitting(game, name) for game, name in asked]
        views = [Observation(game, name) for game, name in asked]
        done: dict[int, Action] = {}
        for number, agent in enumerate(self._acting):
            places = [place for place, who in enumerate(sitting) if who == number]
            done.update(zip(places, self._all_acts(agent, [views[place] for place in places]), strict=True))
        return (done[place] for place in range(len(asked)))

    def _sitting(self, game: Environment, name: str) -> int:
        """The number of who has a seat; the same in all episodes of a start."""
        many = len(self._others)
        return Random(f"{game.seed}/{name}/sits").randrange(many) if many > 1 else 0

    def _all_acts(self, agent: Agent, views: Sequence[Observation]) -> Sequence[Action]:
        if isinstance(agent, BatchAgent):
            return agent.act_all(views) if views else []
        return mapped(agent.act, views, min(self._at_once, len(views)))


def _tell(played: _Played) -> None:
    """Tell the policy what the others have said since it was last told, as it reads it."""
    seen = episode_seen(played.view, "")
    said = merge_turns(seen.turns[played.heard :], seen)
    if played.game.over:
        played.answer = None
        return
    heard, cue = " ".join(one.text for one in said if one.role == "user"), played.view.cue
    played.answer = " ".join(filter(None, (heard, cue))) or UNHEARD
    played.heard = len(seen.turns)


def _written(act: Action) -> str:
    """An act that nobody hears, as the policy's own words."""
    read = act.plain
    data = " ".join(map(str, read.data)) if isinstance(read.data, list | tuple) else read.data
    return " ".join(part for part in (f"[{read.kind}]", read.text, "" if data is None else str(data)) if part)


def _begun(start: Start) -> _Played:
    return _Played(start.make(), start.agent)
