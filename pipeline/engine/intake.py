"""What a run starts from: the corpus, checked, with the sessions that can be used and what is odd about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corpus.corpus import Corpus
from corpus.power import too_few_sessions_warning
from corpus.problem import broken_sessions
from corpus.session import Session
from corpus.splitting.settings import SplitSettings
from corpus.validate import Problem, validate
from foundation.errors import InputError
from foundation.listing import indented
from foundation.nearest import did_you_mean
from pipeline.config import Config

MOST_PROBLEMS = 20
WITHOUT_SCORES = (
    "A policy can do without: set align.reward_model to the folder of a reward model that another run has trained "
    "(RUN/reward_models/METHOD-seed0), or align.algorithm = 'sft', which needs no reward."
)


@dataclass(frozen=True)
class Intake:
    """A checked corpus: usable sessions by id (sorted), problems of the others, warnings about the whole.

    ``rating`` is None where the corpus has no scores.
    """

    corpus: Corpus
    sessions: Mapping[str, Session]
    rating: str | None
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]


def take_in(config: Config) -> Intake:
    """Open and check the configured corpus.

    Raises
    ------
    InputError
        The corpus cannot be read, has a fault that concerns all of it, no usable session, several ratings of which
        none is chosen, or no score while the configuration asks for more than a policy that needs none.
    """
    corpus = Corpus.open(config.corpus)
    problems = validate(corpus)
    faults = [problem for problem in problems if problem.severity == "error"]
    fatal = [problem for problem in faults if problem.session_id is None]
    if fatal:
        raise InputError("\n".join([f"{config.corpus}: the corpus cannot be used.", *indented(fatal, MOST_PROBLEMS)]))
    rating = _rating(config, corpus)
    broken = broken_sessions(problems)
    usable = [session_id for session_id in corpus.session_ids() if session_id not in broken]
    if not usable:
        raise InputError("\n".join([f"{config.corpus}: no session can be used.", *indented(faults, MOST_PROBLEMS)]))
    sessions = {session_id: corpus.session(session_id) for session_id in usable[: config.run.limit]}
    rated = sum(bool(session.episodes(rating)) for session in sessions.values())
    if not rated and rating is not None and not _does_without_scores(config):
        raise InputError(
            f"{config.corpus}: none of the {len(sessions)} sessions used has a rating {rating!r}. {WITHOUT_SCORES}"
        )
    odd = [str(problem) for problem in problems if problem.severity == "warning" and problem.session_id is None]
    weak = _power_warning(rated, config.split)
    return Intake(corpus, sessions, rating, tuple(faults), (*odd, *([weak] if weak else [])))


def _does_without_scores(config: Config) -> bool:
    """Whether a policy is to be trained that needs no score of this corpus."""
    return config.align.enabled and (config.align.reward_model is not None or config.align.algorithm == "sft")


def _power_warning(rated: int, split: SplitSettings) -> str | None:
    if not rated:
        return None
    if split.test == 0:
        return "split.test = 0: no session is held out, so the reward models cannot be evaluated."
    return too_few_sessions_warning(rated, split)


def _rating(config: Config, corpus: Corpus) -> str | None:
    names = corpus.rating_names()
    if not names and _does_without_scores(config):
        return None
    if not names:
        raise InputError(
            f"{config.corpus}: no ratings, so there is no score to turn into rewards. Add a ratings table. "
            f"{WITHOUT_SCORES}"
        )
    if config.rating is None:
        if len(names) == 1:
            return str(names[0])
        raise InputError(f"{config.corpus} has several ratings: {', '.join(names)}. Choose one: rating = {names[0]!r}.")
    if config.rating not in names:
        hint = did_you_mean(config.rating, names, "choose another.")
        raise InputError(f"rating = {config.rating!r}: not in {config.corpus}; {hint} It has: {', '.join(names)}.")
    return config.rating
