"""What a cell of the study learns from and is measured on: people's dialogues, or those that scripts play."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from apportion.environments.negotiation.contexts import Context, draw_context
from apportion.environments.negotiation.scripts import SCRIPTS
from apportion.environments.negotiation.vectorized import ParetoOptima, Pools, ScriptPlayer, VectorizedGames
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.rlhf.negotiation.acquisition import both_views
from apportion.rlhf.negotiation.data.dialogues import Dialogues, joined
from apportion.rlhf.negotiation.data.human import read_human
from apportion.rlhf.negotiation.data.low_quality import limited
from apportion.rlhf.negotiation.reinforce import Contexts
from apportion.rlhf.negotiation.rng import draws_of
from apportion.rlhf.negotiation.self_play import play
from apportion.rlhf.negotiation.settings import DATA_CONTEXTS, NegotiatorSettings

PURPOSE = "scripted data"


@dataclass(frozen=True)
class Material:
    """What there is to learn from.

    Parameters
    ----------
    whole : Dialogues
        D_H: what the expert learns from.
    own : Dialogues
        D: what Alice and Bob learn from; D_L where the share of unique acts is limited.
    contexts, held_out : Contexts
        What is played about while they learn, and when they are measured.
    """

    whole: Dialogues
    own: Dialogues
    contexts: Contexts
    held_out: Contexts


def material_of(settings: NegotiatorSettings) -> Material:
    """Read the people's dialogues, or let scripts play some.

    Raises
    ------
    InputError
        The folder cannot be read; no dialogue is left of it; fewer contexts are held out than are wanted.
    """
    data = settings.data
    if data.dialogues is not None:
        human = read_human(data.dialogues)
        whole, contexts, held_out = human.dialogues, human.contexts, human.held_out
    else:
        contexts = drawn_contexts(DATA_CONTEXTS, "contexts")
        held_out = drawn_contexts(settings.evaluation.contexts, "held-out contexts")
        whole = scripted(data.scripted)
    wanted = settings.evaluation.contexts
    if len(held_out) < wanted:
        raise InputError(f"evaluation.contexts = {wanted}: only {len(held_out)} contexts are held out; ask for fewer")
    own = limited(whole, data.unique, data.unique_of)
    if not len(own) and not data.scratch:
        raise InputError(
            f"data.unique = {data.unique}: none of {len(whole)} dialogues is left to learn from. Raise data.unique, or "
            "set data.scratch = true to begin without any."
        )
    return Material(whole, own, _looked_up(contexts), _looked_up(held_out[:wanted]))


def drawn_contexts(count: int, purpose: str) -> tuple[Context, ...]:
    """Contexts that are drawn, the same in every training."""
    draws = random.Random(purpose)
    return tuple(draw_context(draws) for _ in range(count))


def scripted(games: int) -> Dialogues:
    """Games of every pair of scripts but the one that draws, in turn, seen from both seats [shape=(2 * games, ...)]."""
    names = [name for name in SCRIPTS if name != "random"]
    pairs = [(one, other) for one in names for other in names]
    contexts = drawn_contexts(games, PURPOSE)
    starters = draws_of(0, PURPOSE).integers(0, 2, games)
    parts = []
    for place, (one, other) in enumerate(pairs):
        rows = np.arange(place, games, len(pairs))
        if len(rows):
            table = VectorizedGames(Pools.of([contexts[row] for row in rows]), starters[rows])
            played = play(table, 1, (ScriptPlayer(one), ScriptPlayer(other)), np.zeros((len(rows), table.most_acts)))
            parts.append(both_views(played).flat())
    return joined(parts) if parts else Dialogues(*(np.zeros((0, width), dtype=np.int64) for width in (1, 1, 3, 3, 6)))


def _looked_up(contexts: tuple[Context, ...]) -> Contexts:
    return Contexts(Pools.of(contexts), ParetoOptima.of(contexts))


def digest_of(dialogues: Dialogues) -> str:
    """What tells one set of dialogues from another: sha256 of its arrays."""
    arrays = (dialogues.acts, dialogues.roles, dialogues.counts, dialogues.values, dialogues.taken)
    return digest([[list(array.shape), array.astype("<i8").tobytes().hex()] for array in arrays])
