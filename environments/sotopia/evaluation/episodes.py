"""The episodes of a corpus as judges read them, and the sessions that nobody can judge."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from apportion.corpus.builder import SkippedSession
from apportion.corpus.corpus import Corpus
from apportion.corpus.validate import validate
from apportion.environments.sotopia.evaluation.episode import GOAL, ReadEpisode
from apportion.foundation.errors import InputError, UnitError


@dataclass(frozen=True)
class Episodes:
    """Sessions of a corpus, by id: those that can be judged, those that cannot (no goals), and damaged ones."""

    read: tuple[ReadEpisode, ...]
    unread: tuple[SkippedSession, ...] = ()
    broken: tuple[SkippedSession, ...] = ()


def read_episodes(corpus: Corpus) -> Episodes:
    """Read every session.

    Raises
    ------
    InputError
        The corpus has no social episodes, or a fault that belongs to no session.
    """
    _check_social(corpus)
    faults: dict[str, str] = {}
    for problem in validate(corpus):
        if problem.severity == "error" and problem.session_id is None:
            raise InputError(f"{corpus.root}: {problem}")
        if problem.severity == "error":
            faults.setdefault(str(problem.session_id), str(problem))
    read, unread = [], []
    for session_id in corpus.session_ids():
        if session_id in faults:
            continue
        try:
            read.append(ReadEpisode.of(corpus.session(session_id)))
        except UnitError as error:
            unread.append(SkippedSession(session_id, str(error)))
    broken = tuple(SkippedSession(session_id, fault) for session_id, fault in sorted(faults.items()))
    return Episodes(tuple(read), tuple(unread), broken)


def _check_social(corpus: Corpus) -> None:
    if not pc.any(pc.equal(corpus.backgrounds.column("kind"), GOAL)).as_py():
        raise InputError(
            f"{corpus.root}: nobody has a goal (no rows of kind 'goal' in the table backgrounds), so these are no "
            "social episodes. Make some: `apportion world simulate sotopia CORPUS`, or `apportion import sotopia SRC "
            "CORPUS`"
        )
    if corpus.media.num_rows:
        raise InputError(f"{corpus.root}: it has recordings (table media), and simulated episodes have none")
