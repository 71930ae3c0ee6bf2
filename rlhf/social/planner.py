"""A planner before a frozen policy: what it decides before each act, who plays so, and its files.

What `ppdpp`, `epo` and `dat` share.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from apportion.environments.environment import Action, Observation
from apportion.foundation.errors import InputError
from apportion.foundation.files import at_home, canonical_json, digest, file_digest
from apportion.foundation.model_hub.names import model_digest
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.folder import base_of
from apportion.rlhf.sampling.policy_agent import NamedPolicy, PolicyAgent
from apportion.rlhf.sampling.rollout import pad_prompts
from apportion.rlhf.social.episodes import AT_ONCE, Scores, SeatStep, SocialEpisode
from apportion.rlhf.social.run import context_of
from apportion.rlhf.social.strategies import told
from apportion.rlhf.training.rng_state import seeded_rng

SETTINGS, WEIGHTS = "planner.json", "planner.safetensors"


class Decision(NamedTuple):
    """What was decided before one act.

    ``state``: what the planner read: a hidden state float32 [shape=(H,)], or token ids int64 [shape=(P,)]. ``choice``:
    what it chose: an index int64 [shape=()], token ids int64 [shape=(L,)], or an action float32 [shape=(A,)].
    ``strategy``: the choice in words, where it has any.
    """

    state: Tensor
    choice: Tensor
    strategy: str = ""


class Planner(ABC):
    """Decides before each act of a frozen ``policy``. ``network``: what it has learned, but where methods say more.

    ``example``: how an agent is written that plays by one.
    """

    method: ClassVar[str]
    example: ClassVar[str]
    cue: ClassVar[str] = ""
    """What stands at the end of what it reads."""
    network: nn.Module

    def __init__(self, policy: PolicyAgent) -> None:
        self.policy = policy

    @classmethod
    def of(cls, place: str) -> FolderPlanner:
        """The agent that plays by the planner in a folder; raises as `FolderPlanner`."""
        return FolderPlanner(cls, place)

    @abstractmethod
    def decide(self, contexts: Sequence[DialogueContext], explores: bool) -> list[Decision]:
        """One decision each; drawn where it ``explores``, else the likeliest."""

    @property
    def parameters(self) -> list[nn.Parameter]:
        """All that learns."""
        return list(self.network.parameters())

    def weights(self) -> dict[str, Tensor]:
        """All that it has learned, by name."""
        return self.network.state_dict()

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Take what `weights` gave; raises RuntimeError: they are not such."""
        self.network.load_state_dict(weights)

    def reply(self, views: Sequence[Observation], decisions: Sequence[Decision]) -> list[Action]:
        """What the policy does by the decisions: it is told the strategy, and nobody else is."""
        said = {view.number: told(one.strategy) for view, one in zip(views, decisions, strict=True)}
        return replace(self.policy, hint=lambda view: said[view.number]).act_all(views)


@dataclass(frozen=True)
class PlannedAgent:
    """The frozen policy, told by a planner. ``decided``: where it explores, its decisions by the views' numbers."""

    called: str
    planner: Planner
    explores: bool = False
    paid: bool = False
    decided: dict[int, Decision] = field(default_factory=dict)

    def act(self, view: Observation) -> Action:
        """What it does."""
        return self.act_all([view])[0]

    def act_all(self, views: Sequence[Observation]) -> list[Action]:
        """What it does in each of several episodes, decided at once."""
        frozen, cue = self.planner.policy, self.planner.cue
        contexts = [context_of(view, frozen.policy, frozen.window, cue) for view in views]
        with seeded([frozen.seed, [view.number for view in views]]):
            decisions = self.planner.decide(contexts, self.explores)
        if self.explores:
            self.decided.update((view.number, one) for view, one in zip(views, decisions, strict=True))
        return self.planner.reply(views, decisions)

    def decisions(self, episode: SocialEpisode) -> list[Decision]:
        """Those of an episode in which it explored, in order."""
        return [self.decided[step.view.number] for step in episode.steps]


def seeded(seed: Any) -> AbstractContextManager[None]:
    """Draw by ``seed``, any JSON value, alone; random numbers outside are left alone."""
    return seeded_rng(int(digest(seed)[:14], 16))


@torch.no_grad()
def hidden_states(agent: PolicyAgent, contexts: Sequence[DialogueContext]) -> Tensor:
    """The frozen model's last hidden state where the reply begins [shape=(B, H)] float32."""
    tokens, attention = pad_prompts(contexts, agent.policy.pad_id, agent.model.device)
    places = (attention.cumsum(dim=1) - 1).clamp(min=0)
    out = agent.model(input_ids=tokens, attention_mask=attention, position_ids=places, output_hidden_states=True)
    states: Tensor = out.hidden_states[-1][:, -1].float()
    return states


def states_of(agent: PolicyAgent, steps: Sequence[SeatStep]) -> Tensor:
    """The same before acts [shape=(N, H)]."""
    read = [context_of(step.view, agent.policy, agent.window) for step in steps]
    return torch.cat([hidden_states(agent, read[first : first + AT_ONCE]) for first in range(0, len(read), AT_ONCE)])


@dataclass(frozen=True)
class LearnedPlanner:
    """What a training gives. ``start``: what it scored before it was reinforced. ``weights``: as they are at its end,
    whatever becomes of the model that they lie in."""

    agent: PlannedAgent
    start: Scores
    weights: Mapping[str, Tensor]

    @classmethod
    def of(cls, agent: PlannedAgent, start: Scores) -> Self:
        """The planner of an agent as it is now."""
        kept = {name: value.detach().clone().contiguous() for name, value in agent.planner.weights().items()}
        return cls(agent, start, kept)

    def write(self, folder: Path) -> None:
        """Write the planner beside the policy in ``folder``; equal ones give equal bytes."""
        save_file(dict(self.weights), folder / WEIGHTS)
        digests = {"policy": policy_digest(folder), "weights": file_digest(folder / WEIGHTS)}
        body = {"method": self.agent.planner.method, **digests}
        (folder / SETTINGS).write_text(canonical_json(body) + "\n", encoding="utf-8")


def policy_digest(folder: Path) -> str:
    """What tells the frozen policy in a folder from every other one: its base, adapters and tokenizer."""
    files = ("adapter_model.safetensors", "adapter_config.json", "tokenizer.json")
    return digest([model_digest(base_of(folder)), *(file_digest(folder / name) for name in files)])


class FolderPlanner(NamedPolicy):
    """``METHOD@FOLDER``: a planner and its policy from a folder that a training wrote, loaded when it first acts.

    Raises InputError: no such folder, a file that is missing or was changed, or a planner of another method or policy.
    """

    def __init__(self, planner: type[Planner], place: str) -> None:
        self._planner, method, self._folder = planner, planner.method, at_home(place)
        named, advice = f"agent '{method}@{place}'", f"Make one: apportion train player {method} sotopia FOLDER"
        try:
            body = json.loads((self._folder / SETTINGS).read_text(encoding="utf-8"))
            trained, policy, weights = str(body["method"]), body["policy"], body["weights"]
            changed = file_digest(self._folder / WEIGHTS) != weights
            other = policy_digest(self._folder) != policy
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{named}: no folder of a trained planner ({error}). {advice}.") from None
        if trained != method:
            raise InputError(f"{named}: trained as {trained!r}; write {trained}@{place}.")
        if changed or other:
            what = "it was trained for another policy than the folder has now" if other else f"{WEIGHTS} was changed"
            raise InputError(f"{named}: {what}. {advice}.")
        super().__init__(str(self._folder))
        self.called = f"{method}@{self._folder.name}"

    @cached_property
    def _agent(self) -> PlannedAgent:  # type: ignore[override]
        with torch.random.fork_rng(devices=[]):
            planner = self._planner(PolicyAgent.of(str(self._folder)))
        planner.load(load_file(self._folder / WEIGHTS))
        return PlannedAgent(self.called, planner)
