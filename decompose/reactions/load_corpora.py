"""Corpora in folders, read for a model of reactions: which rating, which sessions, what the card says of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from apportion.corpus.corpus import Corpus
from apportion.corpus.issue import broken_sessions
from apportion.corpus.session import Session
from apportion.corpus.validate import validate
from apportion.decompose.reactions.extract import arrange, read_session
from apportion.decompose.reactions.pretrained import TrainingProvenance
from apportion.decompose.reactions.transfer import PooledCorpora
from apportion.decompose.settings import ReactionSettings
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest, file_digest

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

    Parameters
    ----------
    ratings : sequence of str
        Names of ratings; of a corpus that has several, the one that is among them is learnt from.
    licence : str, optional
        Of the corpora, for the card.

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
    for done, session_id in enumerate(names, 1):
        session = corpus.session(session_id)
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
