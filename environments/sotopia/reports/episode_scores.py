"""Who played, with whom, what was said and how it was rated: one value a person and episode, out of any corpora."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import ENVIRONMENT, Session
from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.episode_log import LOG, read_log
from apportion.environments.sotopia.observation import SPEAK, act_of
from apportion.environments.sotopia.simulator import task_in
from apportion.environments.sotopia.tasks import Task
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest

NOT_NAMED = "not named"
"""An annotator, or an agent, of whom nothing is told (the importer's words)."""
OVERALL = "Overall"
"""The mean of the seven dimensions (section 6), as a dimension of its own."""
PAPER = "paper@"
"""How a judge in the wording of Appendix D is called; its model follows."""
_AGENTS, _JUDGE, _AND = ", agents ", ", judge ", " and "


@dataclass(frozen=True)
class TaskId:
    """What tells a task from every other: its scenario, and by seat who wants what."""

    scenario: str
    people: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, task: Task) -> TaskId:
        """That of a task."""
        names = [character.name for character in task.characters]
        return cls(task.scenario.context, tuple(zip(names, task.scenario.goals, strict=True)))


@dataclass(frozen=True)
class Seat:
    """One who took part in one episode.

    ``episode``: A name that no other episode of the reading has. ``corpus``: Where it is from; ``session`` is its id
    there. ``name``: The character's. ``agent``: Who played it: a model, a script, a person; None is not told.
    ``partners``: Who played the others. ``task``: What was played. ``words``: How many words each of its utterances
    has; other acts are none. ``acts``: All of its acts that the corpus holds. ``human``: Whether the log of `play
    sotopia` says that a person played it. ``scores``: By annotator and dimension; what is not there was not rated.
    """

    episode: str
    corpus: str
    session: str
    name: str
    agent: str | None
    partners: tuple[str | None, ...]
    task: TaskId
    words: tuple[int, ...]
    acts: int
    human: bool = False
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def score(self, annotator: str, dimension: str) -> float | None:
        """What an annotator gave; `OVERALL` is the mean of the seven, None as soon as one of them is."""
        given = self.scores.get(annotator, {})
        if dimension != OVERALL:
            return given.get(dimension)
        return sum(given[name] for name in RANGES) / len(RANGES) if set(given) >= set(RANGES) else None


def read_scored(corpora: Sequence[Corpus]) -> list[Seat]:
    """Everybody in the episodes of several corpora.

    Sessions of one id and the same words in two corpora are one episode, and their ratings are put together: so a
    corpus with further ratings may stand beside the one that it was made from. A session that its log leaves without a
    score has none.

    Raises InputError: a score off its range, or two of one annotator for the same thing that differ.
    """
    merged: dict[tuple[str, str], Seat] = {}
    for corpus in corpora:
        rated, (humans, tasks, without) = _ratings(corpus), _logged(corpus)
        for session in corpus.iter_sessions():
            words = digest([session.session_id, *([turn.speaker, turn.text] for turn in session.turns)])
            for seat in _seats(session, str(corpus.root), words):
                known = session.session_id not in without
                scores = rated.get((session.session_id, seat.name), {}) if known else {}
                before = merged.get((words, seat.name))
                if before is None:
                    human = (session.session_id, seat.name) in humans
                    task = tasks.get(session.session_id, seat.task)
                    merged[words, seat.name] = replace(seat, scores=scores, human=human, task=task)
                else:
                    merged[words, seat.name] = replace(before, scores=_together(before, scores, corpus))
    return list(merged.values())


def annotators(seats: Iterable[Seat]) -> dict[str, int]:
    """By name how many scores each annotator gave, the most first, the paper's wording before others of as many.

    Who is not named comes last.
    """
    counts: dict[str, int] = {}
    for seat in seats:
        for name, given in seat.scores.items():
            counts[name] = counts.get(name, 0) + len(given)
    return dict(
        sorted(
            counts.items(), key=lambda item: (item[0] == NOT_NAMED, -item[1], not item[0].startswith(PAPER), item[0])
        )
    )


def _seats(session: Session, corpus: str, episode: str) -> Iterator[Seat]:
    names = list(dict.fromkeys(turn.speaker for turn in session.turns))
    agents = played_by(session.source or "", len(names))
    scenario = next((one.text for one in session.backgrounds if one.kind == "scenario" and one.speaker is None), "")
    goals = {one.speaker: one.text for one in session.backgrounds if one.kind == "goal"}
    task = TaskId(scenario, tuple((name, goals.get(name, "")) for name in names))
    for number, name in enumerate(names):
        texts = [turn.text for turn in session.turns if turn.speaker == name]
        words = tuple(len(said.split()) for kind, said in map(act_of, texts) if kind == SPEAK)
        partners = tuple(agent for other, agent in enumerate(agents) if other != number)
        yield Seat(
            episode, corpus, session.session_id, name, agents[number], partners, task, words, len(texts)
        )  # fmt: skip


def played_by(source: str, people: int) -> list[str | None]:
    """By seat who played, as the source of a session says; None where it does not.

    ``people`` have acted, in the order of the seats; who was silent to the end comes behind them.

    >>> played_by("simulated: sotopia, agents gpt-4 and person, judge rules", 2)
    ['gpt-4', 'person']
    >>> played_by("simulated: sotopia, agents not named, judge not named", 2)
    [None, None]
    """
    _, _, rest = source.partition(_AGENTS)
    agents = rest.rpartition(_JUDGE)[0].split(_AND) if rest else []
    if len(agents) < people:
        return [None] * people
    return [None if agent == NOT_NAMED else agent for agent in agents]


def _logged(corpus: Corpus) -> tuple[set[tuple[str, str]], dict[str, TaskId], set[str]]:
    """What the log beside the tables knows, if there is one: (session, character) that a person played, tasks, and
    sessions without a score.

    A session alone would not do: who never said a word is in no table.
    """
    humans, tasks, without = set(), {}, set()
    for session, logged in read_log(corpus.root / LOG).items():
        if logged.unrated is not None:
            without.add(session)
        about, agents = logged.opening.get("about"), logged.opening.get("agents")
        if not isinstance(about, dict) or not isinstance(agents, list):
            continue
        seat = about.get("person")
        if isinstance(seat, int) and 0 <= seat < len(agents):
            humans.add((session, agents[seat][0]))
        with contextlib.suppress(InputError, KeyError):  # Of another environment, or bundled no more.
            tasks[session] = TaskId.of(task_in(logged))
    return humans, tasks, without


def _ratings(corpus: Corpus) -> dict[tuple[str, str], dict[str, dict[str, float]]]:
    found: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for row in corpus.ratings.to_pylist():
        if row["rater"] != ENVIRONMENT or row["name"] not in RANGES:
            continue
        (low, high), score = RANGES[row["name"]], row["score"]
        annotator = row["annotator"] or NOT_NAMED
        if score is None or not math.isfinite(score) or not low <= score <= high:
            raise InputError(
                f"{corpus.root}: session {row['session_id']}: {row['name']} of {row['target']!r} by {annotator!r} is "
                f"{score}; {low:g} to {high:g} are allowed. Correct the table ratings."
            )
        found.setdefault((row["session_id"], row["target"]), {}).setdefault(annotator, {})[row["name"]] = score
    return found


def _together(
    seat: Seat, scores: Mapping[str, Mapping[str, float]], corpus: Corpus
) -> dict[str, Mapping[str, float]]:  # fmt: skip
    both = dict(seat.scores)
    for annotator, given in scores.items():
        before = both.get(annotator, {})
        for name in set(before) & set(given):
            if before[name] != given[name]:
                raise InputError(
                    f"session {seat.session}: {name} of {seat.name!r} by {annotator!r} is {before[name]:g} in "
                    f"{seat.corpus} and {given[name]:g} in {corpus.root}; leave one of the corpora out"
                )
        both[annotator] = {**before, **given}
    return both
