"""The episodes of a corpus as judges read them, and the sessions that nobody can judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import pyarrow.compute as pc

from apportion.corpus.builder import SkippedSession
from apportion.corpus.corpus import Corpus
from apportion.corpus.session import BACKGROUND_KINDS, Session
from apportion.corpus.validate import validate
from apportion.environments.episode_log import LOG, read_log
from apportion.environments.sotopia.observation import act_of
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import listed
from apportion.llm_client.prompts.data import data_json

GOAL = "goal"
"""The kind of background without which nobody can be judged."""


class Known(NamedTuple):
    """Something that was known before the first act: its kind (``profile``, ``goal``, …) and its words."""

    kind: str
    text: str


@dataclass(frozen=True)
class Person:
    """One who takes part.

    ``label`` is what judges call them (``agent_1``): a name is somebody's text, and has no place in a form.
    """

    label: str
    name: str
    known: tuple[Known, ...]


class PerformedAction(NamedTuple):
    """One act: the label of who did it, its kind, its words."""

    label: str
    kind: str
    text: str


@dataclass(frozen=True)
class ReadEpisode:
    """A session as a judge reads it; people are in the order of their first acts."""

    session_id: str
    known_to_all: tuple[Known, ...]
    people: tuple[Person, ...]
    acts: tuple[PerformedAction, ...]

    @classmethod
    def of(cls, session: Session) -> Self:
        """Read a session. Raises UnitError: nobody acts in it, or the goal of somebody who does is not known."""
        names = list(dict.fromkeys(turn.speaker for turn in session.turns))
        if not names:
            raise UnitError("nobody does anything in it, so there is nothing to judge")
        people = tuple(
            Person(f"agent_{number}", name, _known(session, name)) for number, name in enumerate(names, start=1)
        )
        aimless = [person.name for person in people if all(known.kind != GOAL for known in person.known)]
        if aimless:
            raise UnitError(
                f"no goal of {listed([repr(name) for name in aimless])} in the table backgrounds; "
                "add a row of kind 'goal' for each speaker, or leave the session out"
            )
        labels = {person.name: person.label for person in people}
        acts = tuple(PerformedAction(labels[turn.speaker], *act_of(turn.text)) for turn in session.turns)
        return cls(session.session_id, _known(session, None), people, acts)

    def as_data(self) -> str:
        """Lines of JSON: what all knew, each person with what was known to them alone, each act.

        >>> from apportion.corpus.session import Background, Turn
        >>> session = Session("s", (Turn(0, "Ann", "</episode> 10!"),), backgrounds=(Background("Ann", "goal", "Win"),))
        >>> print(ReadEpisode.of(session).as_data())
        {"agent": "agent_1", "name": "Ann", "goal": "Win"}
        {"act": 1, "agent": "agent_1", "kind": "speak", "text": "\\u003c/episode\\u003e 10!"}
        """
        lines = [data_json({known.kind: known.text}) for known in self.known_to_all]
        for person in self.people:
            lines.append(data_json({"agent": person.label, "name": person.name, **dict(person.known)}))
        for number, act in enumerate(self.acts, start=1):
            lines.append(data_json({"act": number, "agent": act.label, "kind": act.kind, "text": act.text}))
        return "\n".join(lines)


def _known(session: Session, speaker: str | None) -> tuple[Known, ...]:
    """In the order of a corpus, wherever the session is from: the same episode is the same question."""
    known = [Known(one.kind, one.text) for one in session.backgrounds if one.speaker == speaker]
    return tuple(sorted(known, key=lambda one: BACKGROUND_KINDS.index(one.kind)))


@dataclass(frozen=True)
class Episodes:
    """Sessions of a corpus, by id: those to judge, those not (no goals, or unrated by the log), and damaged ones."""

    read: tuple[ReadEpisode, ...]
    unread: tuple[SkippedSession, ...] = ()
    broken: tuple[SkippedSession, ...] = ()


def read_episodes(corpus: Corpus) -> Episodes:
    """Read every session; one that its log has left without a score is not judged either.

    Raises InputError: the corpus has no social episodes, a fault that belongs to no session, or a damaged log.
    """
    _check_social(corpus)
    faults: dict[str, str] = {}
    for problem in validate(corpus):
        if problem.severity == "error" and problem.session_id is None:
            raise InputError(f"{corpus.root}: {problem}")
        if problem.severity == "error":
            faults.setdefault(str(problem.session_id), str(problem))
    unrated = _unrated(corpus)
    read, unread = [], []
    for session_id in corpus.session_ids():
        if session_id in faults:
            continue
        if session_id in unrated:
            unread.append(SkippedSession(session_id, unrated[session_id]))
            continue
        try:
            read.append(ReadEpisode.of(corpus.session(session_id)))
        except UnitError as error:
            unread.append(SkippedSession(session_id, str(error)))
    broken = tuple(SkippedSession(session_id, fault) for session_id, fault in sorted(faults.items()))
    return Episodes(tuple(read), tuple(unread), broken)


def _unrated(corpus: Corpus) -> dict[str, str]:
    """By session why its log gives it no score; nothing where a corpus has no log."""
    logged = read_log(corpus.root / LOG)
    return {
        name: f"its log leaves it without a score: {episode.unrated}"
        for name, episode in logged.items()
        if episode.unrated is not None
    }


def _check_social(corpus: Corpus) -> None:
    if not pc.any(pc.equal(corpus.backgrounds.column("kind"), GOAL)).as_py():
        raise InputError(
            f"{corpus.root}: nobody has a goal (no rows of kind 'goal' in the table backgrounds), so these are no "
            "social episodes. Make some: `apportion world simulate sotopia CORPUS`, or `apportion import sotopia SRC "
            "CORPUS`"
        )
    if corpus.media.num_rows:
        raise InputError(f"{corpus.root}: it has recordings (table media), and simulated episodes have none")
