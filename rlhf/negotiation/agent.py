"""A trained negotiator as an agent of the negotiation, ``learned@FOLDER``: one seed's network, and how it is written.

What it may know is what every agent may: the pool, its own values, the acts. Sentences are the scripts'.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import ValidationError

from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.action_encoding import ACTS, SPLIT_OF
from apportion.environments.negotiation.observation import SELECT, PrivateInformation
from apportion.environments.negotiation.scripts import worded
from apportion.environments.negotiation.vectorized import NO_ACT
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.foundation.settings import problems
from apportion.rlhf.negotiation.checkpoint import read_tensors, write_tensors
from apportion.rlhf.negotiation.data.dialogues import NOT_TAKEN, Dialogues
from apportion.rlhf.negotiation.model.network import (
    Weights,
    act_logits,
    encode,
    selection_logprobs,
    shapes,
    split_logprobs,
)
from apportion.rlhf.negotiation.model.player import draw_acts
from apportion.rlhf.negotiation.settings import NetworkSettings

WEIGHTS, CARD, AGENTS = "negotiator.safetensors", "negotiator.json", "agents"
SEED_MARK = "#"
AGAIN = "The command that trained it writes it again"


def agent_folder(output: Path, seed: int) -> Path:
    """Where the agent of a seed is written."""
    return output / AGENTS / f"seed-{seed}"


def write_agent(folder: Path, weights: Weights, settings: NetworkSettings, about: dict[str, Any]) -> None:
    """Write one seed's network [shape=(1, ...)], and a card that says what it is."""
    write_tensors(folder / WEIGHTS, weights)
    card = {"network": settings.model_dump(mode="json"), **about}
    write_atomically(folder / CARD, json.dumps(card, indent=1, sort_keys=True) + "\n")


@dataclass(frozen=True)
class LearnedNegotiator:
    """An agent that acts by a network.

    ``called``: Its name in logs. ``weights``: One seed. ``temperature``: Of its acts; 0: the likeliest.
    """

    called: str
    weights: Weights
    temperature: float = 0.0
    paid: ClassVar[bool] = False
    example: ClassVar[str] = "learned@FOLDER"

    @classmethod
    def of(cls, made_of: str) -> LearnedNegotiator:
        """The agent in a folder of `apportion train negotiator`, or in one of its ``agents/seed-N``; ``FOLDER#N`` is
        seed N.

        Raises InputError: There is none, or its card or weights cannot be used.
        """
        folder = _found(made_of)
        try:
            card = json.loads((folder / CARD).read_text(encoding="utf-8"))
            settings = NetworkSettings.model_validate(card["network"])
        except ValidationError as error:
            raise InputError(f"{folder / CARD}: {'; '.join(problems(error))}. {AGAIN}.") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder / CARD}: not the card of a negotiator ({error}). {AGAIN}.") from None
        weights = read_tensors(folder / WEIGHTS, AGAIN)
        wrong = [
            name
            for name, shape in shapes(settings).items()
            if name not in weights or tuple(weights[name].shape) != (1, *shape)
        ]
        if wrong:
            raise InputError(f"{folder / WEIGHTS}: {wrong[0]} is missing or not of the card's shape. {AGAIN}.")
        return cls(f"learned@{made_of}", weights)

    @torch.no_grad()
    def act(self, view: Observation) -> Action:
        """The next act, or what it takes."""
        facts: PrivateInformation = view.facts
        dialogue = _seen(facts)
        if facts.over:
            return Action(SELECT, "", list(SPLIT_OF[self._taken(facts, dialogue)]))
        encoding = encode(self.weights, dialogue)
        logits = act_logits(self.weights, encoding.table, encoding.states)[0, :, len(facts.acts)]
        allowed = torch.zeros(1, ACTS, dtype=torch.bool)
        allowed[:, list(facts.legal)] = True
        (chosen,) = draw_acts(logits, allowed, self.temperature, np.array([view.draws.random()]))
        return worded(int(chosen), facts)

    def _taken(self, facts: PrivateInformation, dialogue: Dialogues) -> int:
        if facts.meant is not None and (facts.settled or facts.by == facts.seat):
            return facts.meant
        selection = selection_logprobs(self.weights, encode(self.weights, dialogue), torch.from_numpy(dialogue.lengths))
        return int(split_logprobs(selection, torch.from_numpy(dialogue.counts)).argmax())


def _found(made_of: str) -> Path:
    text, mark, seed = made_of.rpartition(SEED_MARK)
    folder = Path(text if mark else made_of)
    if mark and seed.isascii() and seed.isdigit():
        folder = agent_folder(folder, int(seed))
    elif not (folder / CARD).is_file():
        seeds = sorted((folder / AGENTS).glob("seed-*")) if (folder / AGENTS).is_dir() else []
        folder = seeds[0] if seeds else folder
    if not (folder / CARD).is_file():
        raise InputError(
            f"learned@{made_of}: no trained negotiator there ({CARD}). Make one with `train negotiator`, and "
            f"name its output, or FOLDER{SEED_MARK}SEED."
        )
    return folder


def _seen(facts: PrivateInformation) -> Dialogues:
    """The dialogue so far, of one seed and one game [shape=(1, 1, ...)]."""
    acts = np.full((1, 1, max(1, len(facts.acts))), NO_ACT, dtype=np.int64)
    acts[0, 0, : len(facts.acts)] = facts.acts
    first = int(facts.starter != facts.seat)
    roles = ((np.arange(acts.shape[-1]) + first) % 2)[None, None]
    own = np.array([[facts.counts], [facts.values]], dtype=np.int64)
    return Dialogues(acts, roles, own[0][None], own[1][None], np.full((1, 1, 6), NOT_TAKEN, dtype=np.int64))
