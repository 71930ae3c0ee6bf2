"""Reactions that travel: one model learnt on several corpora's scores, and a corpus judged by it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pyarrow as pa

from apportion.corpus.corpus import Corpus
from apportion.corpus.languages.settling import languages_found
from apportion.corpus.schema import HISTORY
from apportion.corpus.session import Episode, Session
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.corpus.validate import broken_sessions, validate
from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.extract import Reactions, arrange, read_session
from apportion.decompose.reactions.model import FittedReactionModel, judged_turns, learn
from apportion.decompose.reactions.pretrained import Prior, PriorCard, TrainingProvenance, read_prior
from apportion.decompose.settings import ReactionSettings
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest, file_digest
from apportion.foundation.model_hub.names import model_digest

FEWEST = 10
"""Scored dialogues of one corpus below which nothing is learnt of it: their own mean and spread would be noise."""


@dataclass(frozen=True, eq=False)
class PooledCorpora:
    """The reactions of one corpus, every episode scored, and what the card says of it."""

    reactions: Reactions
    about: TrainingProvenance


@dataclass(frozen=True)
class PriorProvenance:
    """What a person says of a model that is learnt: how it is called, and under which licence it may be used."""

    name: str
    licence: str
    notes: tuple[str, ...] = ()


def learn_prior(pools: Sequence[PooledCorpora], settings: ReactionSettings, about: PriorProvenance) -> Prior:
    """One model of all ``pools``, by their session scores alone.

    Each corpus's scores are standardised (less their mean, over their standard deviation), so that scales of 5 and of
    100 points teach the same, and so are its replies, since those of another corpus are about other things. What the
    raters did in recordings is left out, since another corpus has other recordings. The model is that of
    `apportion.decompose.reactions.model.learn`.

    Raises InputError: No corpus, or one with fewer than ``FEWEST`` scored dialogues or with scores that are all alike.
    UnitError: A score that is not finite.
    """
    if not pools:
        raise InputError("no corpus to learn reactions from. Name at least one.")
    parts = [_standardised(number, pool) for number, pool in enumerate(pools)]
    together = Reactions(
        tuple(episode for part in parts for episode in part.episodes),
        np.concatenate([part.cues for part in parts]),
        np.concatenate([part.embeddings for part in parts]),
        np.concatenate([part.replied for part in parts]),
        np.zeros((sum(len(part.cues) for part in parts), 0)),
    )
    model = learn(together, frozenset(episode.session_id for episode in together.episodes), settings)
    scores = np.array([episode.score for episode in together.episodes])
    alone = float(np.var(scores)) * (len(scores) / (len(scores) - 1)) ** 2
    card = PriorCard(
        name=about.name,
        learnt_from=tuple(pool.about for pool in pools),
        licence=about.licence,
        reading=settings.reading(),
        backbone=model_digest(settings.backbone),
        width=together.embeddings.shape[1],
        cues=CUES,
        late=model.late,
        penalty=model.ridge.penalty if math.isfinite(model.ridge.penalty) else None,
        explained=1.0 - min(model.losses) / alone,
        versions=_versions(),
        notes=about.notes,
    )
    # What `learn` standardised once more was standard already, within each corpus.
    weights = model.ridge.weights / model.scale
    bias = -float(model.ridge.mean @ model.ridge.weights) - float(model.centre @ weights)
    return Prior(card, *_spread(pools), weights, bias)


def _spread(pools: Sequence[PooledCorpora]) -> tuple[Floats, Floats]:
    """The mean of each column over all turns, and its standard deviation within the corpora; infinite where none."""
    columns = [_columns(pool.reactions) for pool in pools]
    turns = sum(len(of) for of in columns)
    centre: Floats = np.concatenate(columns).mean(axis=0)
    scale = np.sqrt(np.sum([len(of) * of.var(axis=0) for of in columns], axis=0) / turns)
    varies = scale > 1e-9 * np.maximum(1.0, np.abs(centre))
    return centre, np.where(varies, scale, np.inf)


def _columns(reactions: Reactions) -> Floats:
    return np.concatenate([reactions.embeddings, reactions.cues], axis=1)


def prior_for(settings: ReactionSettings) -> Prior:
    """The model that ``settings`` name, once it is known that replies are read as it needs.

    Raises InputError: None is named, it cannot be read, or replies are read otherwise.
    """
    if settings.pretrained is None:
        raise InputError(
            "no reaction model is named. Set decompose.reaction.pretrained to its file; `apportion train reactions "
            "CORPUS --out FILE` makes one of corpora with scores."
        )
    prior = read_prior(settings.pretrained)
    prior.check_reading(settings.reading(), model_digest(settings.backbone))
    return prior


def judge_by_prior(
    method: str,
    episodes: SplitEpisodes,
    table: pa.Table,
    settings: ReactionSettings,
    seed: int,
    features: pa.Table | None = None,
) -> FittedReactionModel:
    """Judge every target turn by what other corpora taught; no score of this one is looked at.

    Arguments are `apportion.decompose.reactions.model.fit_reactions`'s; ``features`` are not looked at, since what is
    measured in recordings does not transfer. Returns judgements in standard deviations of the scores that taught it,
    null for a turn that nobody replied to; the history is empty. Raises as `prior_for`.
    """
    reactions = arrange(table, episodes.all)
    values = opinions(prior_for(settings), reactions)
    return FittedReactionModel(judged_turns(method, seed, reactions.episodes, values), HISTORY.arrow.empty_table())


def opinions(prior: Prior, reactions: Reactions) -> Floats:
    """What ``prior`` says of every turn [shape=(N,)], NaN where nobody replied."""
    values: Floats = np.where(reactions.replied, prior.values(reactions), np.nan)
    return values


def _standardised(number: int, pool: PooledCorpora) -> Reactions:
    """The reactions with scores and columns of mean 0 and standard deviation 1, under ids that no other corpus has."""
    episodes = pool.reactions.episodes
    if len(episodes) < FEWEST:
        raise InputError(
            f"{pool.about.corpus}: {len(episodes)} scored dialogues with turns of their target; at least {FEWEST} are "
            "needed to learn what a reaction is worth. Add sessions, or leave the corpus out."
        )
    scores = np.array([episode.score for episode in episodes], dtype=np.float64)
    if np.ptp(scores) == 0:
        raise InputError(
            f"{pool.about.corpus}: all {len(episodes)} scores are {scores[0]:g}, which teaches nothing. Leave it out."
        )
    standard = (scores - scores.mean()) / scores.std()
    columns = _columns(pool.reactions)
    sd = columns.std(axis=0)
    varies = sd > 1e-9 * np.maximum(1.0, np.abs(columns).max(axis=0))
    columns = (columns - columns.mean(axis=0)) / np.where(varies, sd, np.inf)
    width = pool.reactions.embeddings.shape[1]
    moved = [_scored(number, one, float(score)) for one, score in zip(episodes, standard, strict=True)]
    return replace(pool.reactions, episodes=tuple(moved), embeddings=columns[:, :width], cues=columns[:, width:])


def _scored(number: int, episode: Episode, score: float) -> Episode:
    rating = replace(episode.rating, score=score, higher_is_better=True)
    return replace(episode, session_id=f"{number}/{episode.session_id}", rating=rating)


def _versions() -> dict[str, str]:
    try:
        return {"apportion": version("apportion")}
    except PackageNotFoundError:
        return {}


Told = Callable[[str, int, int], None]
"""Called with the corpus, the sessions read, and how many there are."""


def gather(
    folders: Sequence[Path],
    settings: ReactionSettings,
    ratings: Sequence[str] = (),
    licence: str | None = None,
    told: Told = lambda corpus, done, total: None,
) -> list[PooledCorpora]:
    """Read the replies of every rated session of the corpora in ``folders``.

    - ``ratings`` (sequence of str): Names of ratings; of a corpus that has several, the one that is among them is
      learnt from.
    - ``licence`` (str, optional): Of the corpora, for the card.

    Raises InputError: A folder that is no corpus or is named twice, no rating, several of which none or more than one
    is named, no rated session that can be used.
    """
    resolved = [folder.resolve() for folder in folders]
    twice = next((folder for folder in resolved if resolved.count(folder) > 1), None)
    if twice is not None:
        raise InputError(f"{twice}: named twice; its sessions would count double. Name each corpus once.")
    opened = [(folder, Corpus.open(folder)) for folder in folders]
    chosen = [(folder, corpus, _rating(folder, corpus, ratings)) for folder, corpus in opened]
    return [_pool(folder, corpus, rating, settings, licence, told) for folder, corpus, rating in chosen]


def _rating(folder: Path, corpus: Corpus, ratings: Sequence[str]) -> str:
    names = corpus.rating_names()
    wanted = [name for name in names if name in ratings]
    if not names:
        raise InputError(f"{folder}: no ratings, so there is no score to learn from. Leave the corpus out.")
    if len(names) == 1 and (wanted or not ratings):
        return str(names[0])
    if len(wanted) != 1:
        raise InputError(
            f"{folder}: ratings {', '.join(names)}, and one of them is learnt from; named: "
            f"{', '.join(ratings) or 'none'}. Name one."
        )
    return str(wanted[0])


def _pool(
    folder: Path, corpus: Corpus, rating: str, settings: ReactionSettings, licence: str | None, told: Told
) -> PooledCorpora:
    broken = broken_sessions(validate(corpus))
    names = [session_id for session_id in corpus.session_ids() if session_id not in broken]
    sessions: list[Session] = []
    tables: list[pa.Table] = []
    usable = languages_found({session_id: corpus.session(session_id) for session_id in names})
    for done, session in enumerate(usable.values(), 1):
        if session.episodes(rating):
            sessions.append(session)
            tables.append(read_session(session, rating, settings))
        told(folder.name, done, len(names))
    if not sessions:
        raise InputError(
            f"{folder}: none of its {len(names)} usable sessions has a rating {rating!r}. `apportion inspect {folder}` "
            "tells what is wrong with the others."
        )
    reactions = arrange(pa.concat_tables(tables), [one for session in sessions for one in session.episodes(rating)])
    languages = sorted({session.language for session in sessions if session.language})
    about = TrainingProvenance(
        corpus=folder.resolve().name,
        rating=rating,
        sessions=len(sessions),
        turns=len(reactions.cues),
        licence=licence,
        language=", ".join(languages) or None,
        sha256=digest([[p.name, file_digest(p)] for p in sorted(folder.iterdir()) if p.is_file()]),
    )
    return PooledCorpora(reactions, about)
