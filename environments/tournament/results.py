"""Who reached what in which episode: read from the log of a tournament, or from the ratings of a judged corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import ENVIRONMENT
from apportion.corpus.sotopia_eval import OVERALL, RANGES
from apportion.environments.episode_log import LOG, LoggedEpisode, read_log, unusable_told
from apportion.environments.role_assignment import BY_RULES
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json


@dataclass(frozen=True)
class Result:
    """One episode, scored.

    ``episode``: Its name. ``task``: What was played; equal for all episodes of one task, whoever plays. ``seating``: By
    seat, which agent sat there. ``scores``: By seat and dimension a score; what is not known is not there.
    """

    episode: str
    task: str
    seating: tuple[str, ...]
    scores: tuple[Mapping[str, float], ...]


@dataclass(frozen=True)
class Results:
    """The scored episodes of a tournament.

    ``unscored`` names those that did not end, have no score by ``judge``, or none for their unusable acts, which
    ``unusable`` tells.
    """

    judge: str
    results: tuple[Result, ...]
    unscored: tuple[str, ...] = ()
    unusable: str = ""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Every task once, in the order of play."""
        return tuple(dict.fromkeys(result.task for result in self.results))

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent once, in the order in which it came."""
        return tuple(dict.fromkeys(agent for result in self.results for agent in result.seating))

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Every dimension in which somebody has a score; those of SOTOPIA-EVAL in the paper's order, before others."""
        found = {name for result in self.results for one in result.scores for name in one}
        known = (OVERALL, *RANGES)
        return (*(name for name in known if name in found), *sorted(found - set(known)))


def read_results(folder: Path, judge: str = BY_RULES.called) -> Results:
    """The results in a corpus folder with its log.

    ``folder``: What `simulate` or a tournament has written, or a judged copy of it. ``judge``: Who scored: ``rules``
    (the log has every outcome, of those that said nothing, too), or an annotator of the ratings. Raises InputError: No
    log, a damaged one, no ended episode in it, or no ratings by ``judge``.
    """
    path = folder / LOG
    if not path.is_file():
        raise InputError(f"{folder}: no {LOG}, which says who sat where; give the folder of simulated episodes")
    logged = read_log(path)
    scored = dict(_by_rules(logged) if judge == BY_RULES.called else _by_ratings(folder, judge, logged))
    results = tuple(
        Result(name, *_seats(episode), tuple(scored[name].get(seat, {}) for seat, _ in episode.opening["agents"]))
        for name, episode in logged.items()
        if name in scored
    )
    unusable = unusable_told(logged.values())
    if not results:
        raise InputError(f"{path}: no episode has ended with a score; play on first. {unusable}".rstrip())
    return Results(judge, results, tuple(name for name in logged if name not in scored), unusable)


def _seats(episode: LoggedEpisode) -> tuple[str, tuple[str, ...]]:
    """The task, as text that is the same whoever plays it, and the agents by seat."""
    names = [name for name, _ in episode.opening["agents"]]
    task = canonical_json([episode.opening["about"], names])
    return task, tuple(called for _, called in episode.opening["agents"])


_Scores = tuple[str, Mapping[str, Mapping[str, float]]]


def _by_rules(logged: Mapping[str, LoggedEpisode]) -> Iterator[_Scores]:
    for name, episode in logged.items():
        if episode.closing is not None and episode.rated:
            outcome: Mapping[str, Mapping[str, Any]] = episode.closing["outcome"]
            yield name, {who: {k: v for k, v in values.items() if v is not None} for who, values in outcome.items()}


def _by_ratings(folder: Path, judge: str, logged: Mapping[str, LoggedEpisode]) -> Iterator[_Scores]:
    """Not of an episode that the log has left without a score: too many acts were none, whoever rates it."""
    unrated = {name for name, episode in logged.items() if episode.closing is not None and not episode.rated}
    rows = [row for row in Corpus.open(folder).ratings.to_pylist() if row["rater"] == ENVIRONMENT]
    judges = sorted({row["annotator"] for row in rows if row["annotator"] is not None})
    if judge not in judges:
        hint = did_you_mean(judge, judges, f"there are {', '.join(judges) or 'none'}")
        raise InputError(f"{folder}: no ratings by {judge!r}; {hint}")
    sessions: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        if row["annotator"] == judge and row["session_id"] not in unrated:
            sessions.setdefault(row["session_id"], {}).setdefault(row["target"], {})[row["name"]] = row["score"]
    yield from sessions.items()


def seats_of(results: Iterable[Result]) -> int:
    """How many seats the longest seating has."""
    return max((len(result.seating) for result in results), default=0)
