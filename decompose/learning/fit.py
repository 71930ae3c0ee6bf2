"""Fitting: a decomposer that is learned from the scores of many dialogues."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from corpus.session import Episode
from decompose.identity import configured
from decompose.learning.learned import learned
from decompose.methods import Method, find_method
from decompose.settings import DecomposeSettings
from foundation.errors import UnitError
from foundation.progress import Progress
from reward_model.learning.dataset import turn_values
from reward_model.learning.training import history_table
from reward_model.settings import RewardModelSettings


def fit_decomposer(
    method: str,
    episodes: Sequence[Episode],
    splits: pa.Table,
    embeddings: pa.Table | None,
    settings: DecomposeSettings,
    model_settings: RewardModelSettings,
    seed: int,
    progress: Progress,
    features: pa.Table | None = None,
    reactions: pa.Table | None = None,
    state: Path | None = None,
    judgements: pa.Table | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Learn one method's turn rewards from the training sessions' scores, and judge every target turn.

    R~, which an objective learns from, is what ``settings.target`` says that rewards sum to: the score less the mean of
    the training scores, or the score itself.

    Parameters
    ----------
    method : str
        The name of a method of kind ``fit``; its code is called with its section of ``settings`` (with nothing where
        it has none) and gives an `Objective`. A mixed one is called with the objective of its global part first.
    splits : pa.Table
        SPLITS schema: ``train`` is learnt from, ``validation`` stops the training.
    embeddings : pa.Table, optional
        Of all turns, for a frozen backbone (`reward_model.network.embed.embed_session`); made here where it is None.
    features : pa.Table, optional
        UTTERANCE_FEATURES schema, of all sessions; read where the local part of a mixed objective uses them,
        and as a part of reactions.
    reactions : pa.Table, optional
        Of all sessions (`decompose.reactions.read.read_session`), for a method that ``uses_reactions``.
    state : Path, optional
        A file for the state of the unfinished training (`reward_model.learning.training.train`).
    judgements : pa.Table, optional
        REWARDS schema: what the local method has judged, for a method that ``uses_judgements``.

    Returns
    -------
    judgements : pa.Table
        REWARDS schema with ``raw_reward`` in units of the score, for every episode with target turns.
    history : pa.Table
        step (epoch), metric, value.

    Raises
    ------
    InputError
        No such method, one that is not fitted, or nothing can work before a setting is changed.
    UnitError
        No training session, a score or loss that is not finite, no local value for any training turn.
    """
    declared = find_method(method)
    if declared.uses_judgements:
        whole = find_method(declared.whole or "")
        fitted = _from_reactions(whole, episodes, splits, reactions, settings, seed, features)
        return _blended(declared, episodes, splits, fitted, judgements, settings, seed)
    if declared.uses_reactions:
        return _from_reactions(declared, episodes, splits, reactions, settings, seed, features)
    found = learned(declared, episodes, splits, embeddings, settings, model_settings, seed, progress, features, state)
    rewards = found.rewards(scores_known=True)
    return turn_values(found.history_windows, "raw_reward", rewards, method, seed), history_table(found.history)


def _from_reactions(
    method: Method,
    episodes: Sequence[Episode],
    splits: pa.Table,
    reactions: pa.Table | None,
    settings: DecomposeSettings,
    seed: int,
    features: pa.Table | None,
) -> tuple[pa.Table, pa.Table]:
    """A closed fit: its code takes the reactions and gives judgements and history itself."""
    if reactions is None:
        raise UnitError(
            f"method {method.name!r}: no reaction was read of any session. Look in the quarantine table for the cause."
        )
    section = settings.section_of(method)
    fit = method.resolve()
    fitted: tuple[pa.Table, pa.Table] = fit(method.name, episodes, splits, reactions, section, seed, features)
    return fitted


def _blended(
    method: Method,
    episodes: Sequence[Episode],
    splits: pa.Table,
    fitted: tuple[pa.Table, pa.Table],
    judgements: pa.Table | None,
    settings: DecomposeSettings,
    seed: int,
) -> tuple[pa.Table, pa.Table]:
    """A closed fit and its history, put together with what its local method has judged."""
    if judgements is None:
        raise UnitError(
            f"method {method.name!r}: {method.local} has judged no session. Look in the quarantine table for the cause."
        )
    section = settings.section_of(method)
    blend = method.resolve()
    null = configured(find_method(method.local or ""), settings).null
    blended: tuple[pa.Table, pa.Table] = blend(method.name, episodes, splits, *fitted, judgements, section, seed, null)
    return blended
