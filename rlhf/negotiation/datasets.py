"""What a cell of the study learns from and is measured on: people's dialogues, or those that scripts play."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from apportion.environments.negotiation.contexts import Context, draw_context
from apportion.environments.negotiation.scripts import SCRIPTS
from apportion.environments.negotiation.vectorized import (
    NO_ACT,
    IntArray,
    ParetoOptima,
    Pools,
    ScriptPlayer,
    VectorizedGames,
)
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest
from apportion.rlhf.negotiation.acquisition import both_views
from apportion.rlhf.negotiation.data.dialogues import TOKENS, Dialogues, joined
from apportion.rlhf.negotiation.data.human import read_human
from apportion.rlhf.negotiation.reinforce import Contexts
from apportion.rlhf.negotiation.rng import draws_of
from apportion.rlhf.negotiation.self_play import play
from apportion.rlhf.negotiation.settings import DATA_CONTEXTS, NegotiatorSettings

PURPOSE = "scripted data"


@dataclass(frozen=True)
class Material:
    """What there is to learn from.

    ``whole``: D_H: what the expert learns from. ``own``: D: what Alice and Bob learn from; D_L where the share of
    unique acts is limited. ``contexts``, ``held_out``: What is played about while they learn, and when they are
    measured.
    """

    whole: Dialogues
    own: Dialogues
    contexts: Contexts
    held_out: Contexts


def material_of(settings: NegotiatorSettings) -> Material:
    """Read the people's dialogues, or let scripts play some.

    Raises InputError: The folder cannot be read; no dialogue is left of it; fewer contexts are held out than are
    wanted.
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


def limited(dialogues: Dialogues, share: float, of: Literal["data", "dialogue"] = "data") -> Dialogues:
    """D_L (section 6.1, appendix C.2): the dialogues of at most a share of unique acts; all of them at 1.

    The paper samples "training dialogues that consist of less than 50 % unique dialogue acts" and does not say of what.
    ``data``: those in which only the most frequent share of all different acts is said, which has what Figure 12 and
    section 6.1 report (shorter, more agreement, fewer different acts). ``dialogue``: by each dialogue's own acts, which
    keeps long dialogues that repeat themselves, with less agreement.
    """
    if share >= 1:
        return dialogues
    kept = unique_share(dialogues.acts) <= share if of == "dialogue" else _of_frequent(dialogues.acts, share)
    return dialogues.chosen(kept)


def _of_frequent(acts: IntArray, share: float) -> NDArray[np.bool_]:
    counted = np.bincount(acts[acts != NO_ACT], minlength=TOKENS)
    order = np.argsort(-counted, kind="stable")
    allowed = np.zeros(TOKENS, dtype=np.bool_)
    allowed[order[: int(share * np.count_nonzero(counted))]] = True
    kept: NDArray[np.bool_] = (allowed[np.maximum(acts, 0)] | (acts == NO_ACT)).all(1)
    return kept


def unique_share(acts: IntArray) -> NDArray[np.float64]:
    """How many of a dialogue's acts are different ones, as a share of its acts [shape=(B,)].

    >>> unique_share(np.array([[1, 2, 1, 2], [1, 2, 252, -1]]))
    array([0.5, 1. ])
    """
    ordered = np.sort(acts, axis=1)
    new = np.ones_like(ordered, dtype=np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    shares: NDArray[np.float64] = (new & (ordered != NO_ACT)).sum(1) / np.maximum(1, (acts != NO_ACT).sum(1))
    return shares


def _looked_up(contexts: tuple[Context, ...]) -> Contexts:
    return Contexts(Pools.of(contexts), ParetoOptima.of(contexts))


def digest_of(dialogues: Dialogues) -> str:
    """What tells one set of dialogues from another: sha256 of its arrays."""
    arrays = (dialogues.acts, dialogues.roles, dialogues.counts, dialogues.values, dialogues.taken)
    return digest([[list(array.shape), array.astype("<i8").tobytes().hex()] for array in arrays])
