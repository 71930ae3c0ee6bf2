"""One cell of the study: all seeds of one method, trained at once, measured after every epoch, resumable.

Two models begin as one: Alice learns, Bob sits opposite. Where the paper is silent: the expert of a seed is the network
of that seed learned on all the data; from scratch both begin with the same drawn weights; Bob is trained again from
the weights that he has, for a few passes over the grown data, unless `again` says afresh; first-order, Alice learns
from the annotated games of the epoch as Bob does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from pydantic import TypeAdapter, ValidationError

from apportion.environments.negotiation.expert_queries import Queue
from apportion.environments.negotiation.scripts import SCRIPTS
from apportion.environments.negotiation.vectorized import NO_ACT, IntArray, ParetoOptima, ScriptPlayer, VectorizedGames
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json, digest, write_atomically
from apportion.foundation.progress import Progress, silent
from apportion.foundation.settings import problems
from apportion.rlhf.negotiation.acquisition import QueuePlayer, annotate, begun, both_views, pick
from apportion.rlhf.negotiation.agent import agent_folder, write_agent
from apportion.rlhf.negotiation.checkpoint import Tensors, TrainingCheckpoint, without_prefix
from apportion.rlhf.negotiation.data.dialogues import Dialogues
from apportion.rlhf.negotiation.datasets import Material, digest_of
from apportion.rlhf.negotiation.metrics import NegotiationMetrics, measure
from apportion.rlhf.negotiation.model.network import Weights, drawn_weights
from apportion.rlhf.negotiation.model.player import NetworkPlayer
from apportion.rlhf.negotiation.reinforce import ReinforceTraining, Rewards
from apportion.rlhf.negotiation.rng import chances, draws_of
from apportion.rlhf.negotiation.self_play import Player, play
from apportion.rlhf.negotiation.settings import NegotiatorSettings, SupervisedSettings
from apportion.rlhf.negotiation.supervised import Examples, SupervisedTraining

VERSION = 1
"""Of what a training gives; it is raised where the same settings would give other figures, rounding apart."""
SL, PERSON, QUEUE = "sl", "person", "questions"
EXPERTS = (SL, PERSON, *SCRIPTS)
_PARTS = ("acts", "roles", "counts", "values", "taken")


@dataclass(frozen=True)
class Row:
    """One seed's figures after one epoch; ``who`` is alice or bob, both against the evaluation's partner."""

    epoch: int
    seed: int
    who: str
    measured: NegotiationMetrics

    def to_json(self) -> dict[str, Any]:
        """By name."""
        return {"epoch": self.epoch, "seed": self.seed, "who": self.who, **self.measured.to_json()}


@dataclass
class Experiment:
    """A training of all seeds of one method.

    ``settings``: What is trained; must be the same when it is gone on with, but for ``reinforce.epochs``. ``material``:
    What it learns from. ``folder``: Where its steps are kept. ``models``: Where models of supervised learning and first
    epochs of RL are kept, which cells share; the folder itself without it. Raises InputError: The folder holds a
    training with other settings or other data; no expert of that name.
    """

    settings: NegotiatorSettings
    material: Material
    folder: Path
    models: Path | None = None
    progress: Progress = silent
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seeds = self.settings.seeds
        self.kept = TrainingCheckpoint(self.folder, self.settings.kept_every, self.progress)
        check_expert(self.settings.acquisition.expert)
        self._check_same()
        optima = self.material.held_out.optima
        self._optima = ParetoOptima(
            np.tile(optima.pareto, (len(self.seeds), 1)), np.tile(optima.joint, len(self.seeds))
        )

    def _check_same(self) -> None:
        chosen = self.settings.model_dump(mode="json", exclude={"output", "kept_every"})
        chosen["data"]["dialogues"] = digest_of(self.material.whole)
        del chosen["reinforce"]["epochs"]  # More of them go on from the last.
        path = self.folder / "cell.json"
        if not path.is_file():
            write_atomically(path, json.dumps(chosen, indent=1, sort_keys=True) + "\n")
            return
        try:
            begun = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(
                f"{path}: not to be read as the settings of a training ({error}). Choose another output; or remove it "
                "if these are the settings and the data that were begun with: it is made again."
            ) from None
        if begun != chosen:
            raise InputError(
                f"{path}: a training with other settings or other data was begun here. Give these back to go on with "
                "it, or choose another output."
            )

    def train(self) -> Weights:
        """Train, or go on; gives Alice's weights of all seeds. `rows` are the figures of every epoch.

        Raises UnitError: A gradient is not finite.
        """
        self.rows.clear()
        alice, bob = self._learned("own"), self._learned("own")
        examples = self._own_examples()
        self._measure(0, alice, bob)
        if self.settings.method == "sl":
            return alice
        rewards = Rewards.none(len(self.seeds))
        for epoch in range(1, self.settings.reinforce.epochs + 1):
            training = self._reinforcement(alice, bob, epoch, rewards, examples)
            kept, name = self._kept_as(epoch)
            alice = without_prefix("weights", kept.trained(name, training))
            rewards = training.rewards
            if self.settings.method == "acquisition":
                new = self._asked(training.played(), alice, bob, epoch)
                examples = new if examples is None else examples.grown(_by_seed(new, len(self.seeds)))
                bob = self._again("bob", bob, examples, epoch)
                if self.settings.acquisition.order == "first":
                    alice = self._again("alice-again", alice, new, epoch)
            self._measure(epoch, alice, bob)
        return alice

    def _kept_as(self, epoch: int) -> tuple[TrainingCheckpoint, str]:
        """Where an epoch of RL is kept: the first is the same for RL and for acquisition, and cells share it."""
        settings, pools = self.settings, self.material.contexts.pools
        if self.models is None or epoch > 1 or settings.method == "rl+sl":
            return self.kept, f"epoch-{epoch}-alice"
        made_of = [
            settings.network.model_dump(mode="json"),
            settings.supervised.model_dump(mode="json"),
            settings.reinforce.model_dump(mode="json", exclude={"epochs"}),
            [pools.counts.tolist(), pools.values.tolist()],
            "scratch" if settings.data.scratch else digest_of(self.material.own),
            list(self.seeds),
        ]
        return TrainingCheckpoint(self.models, settings.kept_every, self.progress), f"rl-{digest(made_of)[:16]}"

    def write_agents(self, alice: Weights) -> list[Path]:
        """Every seed's Alice as an agent (`learned`)."""
        folders = []
        for place, seed in enumerate(self.seeds):
            folder = agent_folder(self.folder, seed)
            own = {name: tensor[place : place + 1] for name, tensor in alice.items()}
            figures = [row.to_json() for row in self.rows if row.seed == seed and row.who == "alice"][-1:]
            write_agent(folder, own, self.settings.network, {"method": self.settings.method, "measured": figures})
            folders.append(folder)
        return folders

    def _own_examples(self) -> Examples | None:
        return None if self.settings.data.scratch else Examples.shared(self.material.own, len(self.seeds))

    def _learned(self, which: Literal["own", "whole"]) -> Weights:
        """The model of supervised learning on all the data (``whole``) or the limited (``own``); new from scratch."""
        settings = self.settings
        weights = drawn_weights(settings.network, self.seeds)
        if which == "own" and settings.data.scratch:
            return weights
        data = self.material.whole if which == "whole" else self.material.own
        made_of = [settings.network, settings.supervised]
        dumped = [group.model_dump(mode="json") for group in made_of]
        name = f"sl-{digest([*dumped, list(self.seeds), digest_of(data)])[:16]}"
        kept = TrainingCheckpoint(self.models or self.folder, settings.kept_every, self.progress)
        training = SupervisedTraining(
            weights,
            self.seeds,
            Examples.shared(data, len(self.seeds)),
            settings.supervised,
            settings.network.dropout,
            "supervised",
        )
        return without_prefix("weights", kept.trained(name, training))

    def _reinforcement(
        self, alice: Weights, bob: Weights, epoch: int, rewards: Rewards, examples: Examples | None
    ) -> ReinforceTraining:
        settings = self.settings
        mixed = None
        if settings.method == "rl+sl":
            assert examples is not None, "the settings refuse RL+SL from scratch"
            mixed = (settings.mixed, examples, settings.supervised, settings.network.dropout)
        partner = NetworkPlayer(bob, settings.reinforce.temperature)
        own = {name: tensor.clone() for name, tensor in alice.items()}
        return ReinforceTraining(
            own, partner, self.seeds, self.material.contexts, settings.reinforce, epoch, rewards, mixed
        )

    def _asked(self, games: VectorizedGames, alice: Weights, bob: Weights, epoch: int) -> Examples:
        """The expert's conversations of an epoch, seen from both seats.

        Raises UnansweredError: The expert is a person, and has not answered all.
        """
        settings, seeds = self.settings.acquisition, len(self.seeds)

        def made() -> Tensors:
            picked = pick(games, bob, self.seeds, settings, epoch)
            fresh, said = begun(games, picked)
            expert = self._expert(said)
            learner = NetworkPlayer(alice, self.settings.reinforce.temperature)
            views = both_views(annotate(fresh, said, learner, expert, self.seeds, epoch)).flat()
            shares = (said != NO_ACT).sum(1) / np.maximum(1, fresh.lengths)
            return {**_tensors(views), "said_share": torch.from_numpy(shares)}

        found = self.kept.step(f"epoch-{epoch}-asked", made)
        dialogues = Dialogues(*(found[name].numpy().astype(np.int64) for name in _PARTS))
        return Examples(dialogues, np.arange(len(dialogues)).reshape(seeds, -1))

    def _expert(self, said: IntArray) -> Player:
        expert = self.settings.acquisition.expert
        if expert == SL:
            return NetworkPlayer(self._learned("whole"), self.settings.reinforce.temperature)
        return QueuePlayer(Queue(self.folder / QUEUE), said) if expert == PERSON else ScriptPlayer(expert)

    def _again(self, who: str, weights: Weights, examples: Examples, epoch: int) -> Weights:
        settings, again = self.settings, self.settings.acquisition
        afresh = again.again == "afresh"
        how = settings.supervised if afresh else _again_settings(settings)
        begin = drawn_weights(settings.network, self.seeds) if afresh else weights
        own = {name: tensor.clone() for name, tensor in begin.items()}
        purpose = f"{who} again, epoch {epoch}"
        training = SupervisedTraining(own, self.seeds, examples, how, settings.network.dropout, purpose)
        return without_prefix("weights", self.kept.trained(f"epoch-{epoch}-{who}", training))

    def _measure(self, epoch: int, alice: Weights, bob: Weights) -> None:
        names = ("alice", "bob") if self.settings.method == "acquisition" else ("alice",)
        path = self.folder / f"epoch-{epoch}-measured.json"
        if path.is_file():
            self.rows += _read_rows(path, [(epoch, seed, who) for who in names for seed in self.seeds])
            return
        partner = self._partner()
        found = []
        for who, weights in zip(names, (alice, bob), strict=False):
            for seed, measured in zip(self.seeds, self.measured(weights, partner), strict=True):
                found.append(Row(epoch, seed, who, measured))
        write_atomically(path, "".join(canonical_json(row.to_json()) + "\n" for row in found))
        self.rows += found

    def _partner(self) -> Weights:
        return self._learned("own" if self.settings.evaluation.partner == "sl" else "whole")

    def measured(self, weights: Weights, partner: Weights) -> list[NegotiationMetrics]:
        """A network against another on the held-out contexts, a `NegotiationMetrics` a seed."""
        evaluation, seeds = self.settings.evaluation, self.seeds
        rows = np.tile(np.arange(evaluation.contexts), len(seeds))
        count = evaluation.contexts
        starters = np.concatenate([draws_of(seed, "held-out starters").integers(0, 2, count) for seed in seeds])
        games = VectorizedGames(self.material.held_out.pools.chosen(rows), starters)
        draws = chances(seeds, evaluation.contexts, games.most_acts, "held-out acts")
        players = NetworkPlayer(weights, evaluation.temperature), NetworkPlayer(partner, evaluation.temperature)
        return measure(play(games, len(seeds), players, draws), self._optima, partner)


def check_expert(name: str) -> None:
    """Refuse an expert that there is not.

    Raises InputError: With the nearest name.
    """
    if name not in EXPERTS:
        hint = did_you_mean(name, EXPERTS, "allowed: " + ", ".join(EXPERTS))
        raise InputError(f"acquisition.expert = {name!r}: no such expert; {hint}")


def _again_settings(settings: NegotiatorSettings) -> SupervisedSettings:
    again = settings.acquisition
    return settings.supervised.model_copy(update={"epochs": again.epochs, "rate": again.rate})


def _tensors(dialogues: Dialogues) -> Tensors:
    return {name: torch.from_numpy(np.ascontiguousarray(getattr(dialogues, name)).astype(np.int16)) for name in _PARTS}


def _by_seed(examples: Examples, seeds: int) -> Dialogues:
    return examples.dialogues.chosen(examples.rows)


def _read_rows(path: Path, expected: list[tuple[int, int, str]]) -> list[Row]:
    """The figures of an epoch; ``expected`` says of which epoch, seed and agent each line is.

    Raises InputError: They cannot be read, or are not these.
    """
    try:
        rows = [_row_of(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
        found = [(row.epoch, row.seed, row.who) for row in rows]
        if found != expected:
            raise ValueError(f"it has {len(found)} lines for {len(expected)}, or of other seeds or agents")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        cause = "; ".join(problems(error)) if isinstance(error, ValidationError) else error
        raise InputError(f"{path}: not to be read as figures ({cause}). Remove it; it is made again.") from None
    return rows


def _row_of(kept: dict[str, Any]) -> Row:
    place = {name: kept.pop(name) for name in ("epoch", "seed", "who")}
    return Row(**place, measured=TypeAdapter(NegotiationMetrics).validate_python(kept))
