"""A policy as an agent of an environment: it reads its seat as it reads a session of a corpus, and says its act.

Nothing but a `Observation` is read, so that what the rules hide from a seat no policy reads either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from apportion.corpus.session import BACKGROUND_KINDS, ENVIRONMENT, Background, Episode, Rating, Turn
from apportion.environments.environment import Action, Observation
from apportion.environments.wrappers.seated_episode import read_given, stand_in
from apportion.foundation.errors import UnitError
from apportion.foundation.model_hub.names import FETCHED
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.rlhf.policy.contexts import ContextTurn, DialogueContext, known_messages, merge_turns, render
from apportion.rlhf.policy_settings import Placement, Window
from apportion.rlhf.sampling.rollout import sample_seeded
from apportion.rlhf.training.rng_state import quiet_transformers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from apportion.rlhf.policy.loading import Policy

BEGIN = "(Nobody has said anything yet. You begin.)"
"""What stands in the other side's place before an agent that opens the dialogue."""
ROOM = Window(max_context_tokens=1920, max_new_tokens=64)
"""How a model is asked that no alignment has written, so that nothing says its window: a whole episode fits."""


@dataclass(frozen=True)
class PolicyAgent:
    """An agent whose acts a causal language model says.

    What it draws is decided by its seed, the step's own number and what it reads.

    ``called``: what it is called in logs and corpora. ``window``: room for what it reads, from the newest turn back,
    and how it is sampled; ``context_turns`` is not read. ``greedy``: the most likely words each time, in place of drawn
    ones. ``hint``: what it is told at the end of what it reads, and nobody else is; None: nothing.
    """

    called: str
    policy: Policy
    model: Any
    window: Window
    seed: int = 0
    greedy: bool = False
    paid: bool = False
    hint: Callable[[Observation], str] | None = None

    @classmethod
    def of(cls, made_of: str) -> Self:
        """The policy in a folder that an alignment wrote, or a whole model, by name or folder."""
        from apportion.rlhf.policy.folder import open_policy

        window = _window(made_of)
        with quiet_transformers():
            policy = open_policy(made_of, window, Placement(), made_of)
        return cls(_called(made_of), policy, policy.model, window)

    def act(self, view: Observation) -> Action:
        """What it does; raises as `act_all`."""
        return self.act_all([view])[0]

    def act_all(self, views: Sequence[Observation]) -> list[Action]:
        """What it does in each of several episodes (B of them), sampled at once."""
        contexts = [self._context(view) for view in views]
        seed = [self.seed, [view.number for view in views]]
        said = sample_seeded(self.policy, self.model, contexts, self.window, seed, self.greedy)
        return [act_said(view, text) for view, text in zip(views, said, strict=True)]

    def _context(self, view: Observation) -> DialogueContext:
        cue = " ".join(filter(None, (view.cue, self.hint(view) if self.hint else "")))
        return live_context(episode_seen(view, ""), self.policy.tokenizer, self.window.max_context_tokens, cue)


class NamedPolicy:
    """A policy as an agent by its name, ``policy@NAME``: its weights are loaded when it first acts.

    Raises InputError: there is none of this name here, or it does not read its window.
    """

    paid: ClassVar[bool] = False
    example: ClassVar[str] = "policy@FOLDER"

    def __init__(self, name: str) -> None:
        from apportion.rlhf.policy.folder import check_policy

        check_policy(name, _window(name))
        self._name, self.called = name, _called(name)

    @cached_property
    def _agent(self) -> PolicyAgent:
        import torch

        # Adapters are drawn before they are read: a training that plays with this one keeps its own random numbers.
        with torch.random.fork_rng(devices=[]):
            return PolicyAgent.of(self._name)

    def act(self, view: Observation) -> Action:
        """As `PolicyAgent.act`."""
        return self._agent.act(view)

    def act_all(self, views: Sequence[Observation]) -> list[Action]:
        """As `PolicyAgent.act_all`."""
        return self._agent.act_all(views)


class FolderPolicy(NamedPolicy):
    """The same, made of what stands behind an @."""

    @classmethod
    def of(cls, made_of: str) -> Self:
        """The policy ``made_of``: a folder or a name."""
        return cls(made_of)


class SmolLM2(NamedPolicy):
    """The language model that `apportion models fetch smollm2` gets, as it is."""

    def __init__(self) -> None:
        super().__init__("smollm2")


def _window(name: str) -> Window:
    from apportion.rlhf.policy.folder import read_window

    written = read_window(name)
    return Window.model_validate(written) if written else ROOM


def _called(name: str) -> str:
    if name in FETCHED:
        return name
    place = Path(name)
    # Every run's policy lies in a folder of that name.
    return f"policy@{place.parent.name}/{place.name}" if place.name == "policy" else f"policy@{place.name}"


def act_said(view: Observation, text: str) -> Action:
    """The act that a policy's words are; where they are none what stands for it, with the reason as data.

    It may speak as in a corpus (`apportion.environments.environment.Environment.meant`), or in the JSON of a language
    model, which is read as theirs is.
    """
    try:
        return read_given(view, text)
    except ReplyMistakeError as mistake:
        return stand_in(view, str(mistake))


def episode_seen(view: Observation, name: str) -> Episode:
    """An episode as a session of a corpus called ``name``, with what one agent knows and has heard and nothing else.

    Others have the numbers of their seats for names. Nobody has rated it.
    """
    seats = {seat: view.agent if seat == view.seat else f"person {seat + 1}" for seat, _ in view.heard}
    turns = tuple(Turn(number, seats[seat], text) for number, (seat, text) in enumerate(view.heard))
    known = sorted(view.known, key=_in_order)
    return Episode(
        name,
        turns,
        Rating(ENVIRONMENT, view.agent, "", 0.0, 0.0, 0.0),
        tuple(Background(view.agent if own else None, kind, text) for own, kind, text in known),
    )


def live_context(
    episode: Episode, tokenizer: PreTrainedTokenizerBase, max_tokens: int, cue: str = ""
) -> DialogueContext:
    """What a policy reads before it says its next turn in an episode; the oldest turns go where they do not fit.

    ``cue``: what it is told at the end (`apportion.environments.environment.Environment.cue`).
    """
    known, turns = known_messages(episode), episode.turns
    for start in range(max(1, len(turns))):
        said = merge_turns(turns[start:], episode)
        if not said or said[0].role == "assistant":
            if start:
                continue  # Many chat templates refuse a dialogue that the assistant opens.
            said = (ContextTurn("user", BEGIN), *said)
        if cue and said[-1].role == "assistant":  # It acts again, and nobody was heard since.
            said = (*said, ContextTurn("user", cue))
        elif cue:
            said = (*said[:-1], replace(said[-1], text=f"{said[-1].text} {cue}"))
        prompt = render((*known, *said), tokenizer, reply_follows=True)
        if len(prompt) <= max_tokens:
            return DialogueContext(episode.session_id, 0, (*known, *said), prompt, "", len(episode.target_turns))
    raise UnitError(
        f"{episode.session_id or 'an episode'}: what {episode.rating.target!r} knew before the first act, and the last "
        f"turn, are more than max_context_tokens = {max_tokens}. Raise that."
    )


def open_turn(episode: Episode) -> Episode:
    """The same with the agent's next turn open at its end."""
    return replace(episode, turns=(*episode.turns, Turn(len(episode.turns), episode.rating.target, "")))


def _in_order(row: tuple[bool, str, str]) -> tuple[bool, int]:
    """As a corpus tells backgrounds: what everybody knew first, then by kind."""
    own, kind, _ = row
    return own, BACKGROUND_KINDS.index(kind) if kind in BACKGROUND_KINDS else len(BACKGROUND_KINDS)
