"""What a run starts from: the corpus, checked, with the sessions that can be used and what is odd about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from apportion.corpus.corpus import Corpus
from apportion.corpus.languages.names import is_foreign
from apportion.corpus.languages.settling import languages_found
from apportion.corpus.power import too_few_sessions_warning
from apportion.corpus.session import Session
from apportion.corpus.splits.settings import SplitSettings
from apportion.corpus.splits.splits import counts_if_enough
from apportion.corpus.targets import as_if_rated, in_order
from apportion.corpus.validate import ValidationIssue, broken_sessions, validate
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import first_few, indented, listed
from apportion.pipeline.config import Config

MOST_PROBLEMS = 20
REWARDS_WITHOUT = (
    "Rewards that need no score: decompose.method = 'reactions-en' for English dialogues, or 'prior' with what "
    "`apportion train reactions` made of other corpora."
)
"""What a person who has no scores is told who asked for turn rewards."""


@dataclass(frozen=True)
class LoadedCorpus:
    """A checked corpus: usable sessions by id (sorted), problems of the others, warnings about the whole.

    Where a run names its sessions, the others are there, too: the splits and the mean score are those of all of them.

    ``rating`` is None where the corpus has no scores. Where its turns are judged all the same, by what was learnt
    elsewhere, each session has a rating that nobody gave (`apportion.corpus.targets.as_if_rated`).
    """

    corpus: Corpus
    sessions: Mapping[str, Session]
    rating: str | None
    problems: tuple[ValidationIssue, ...]
    warnings: tuple[str, ...]


def take_in(config: Config) -> LoadedCorpus:
    """Open and check the configured corpus.

    Raises InputError: The corpus cannot be read, has a fault that concerns all of it, no usable session or lacks one
    that is named, several ratings of which none is chosen, or no score while the configuration asks for more than a
    policy that needs none.
    """
    corpus = Corpus.open(config.corpus)
    problems = validate(corpus)
    named = _named(config, corpus)
    faults = [p for p in problems if p.severity == "error" and (p.session_id is None or p.session_id in named)]
    fatal = [problem for problem in faults if problem.session_id is None]
    if fatal:
        raise InputError("\n".join([f"{config.corpus}: the corpus cannot be used.", *indented(fatal, MOST_PROBLEMS)]))
    unscored = not corpus.rating_names() and _judges_unscored(config)
    rating = None if unscored else _rating(config, corpus)
    broken = broken_sessions(problems)
    usable = [session_id for session_id in corpus.session_ids() if session_id not in broken]
    if not named & frozenset(usable):
        raise InputError("\n".join([f"{config.corpus}: no session can be used.", *indented(faults, MOST_PROBLEMS)]))
    sessions = languages_found({session_id: corpus.session(session_id) for session_id in usable[: config.run.limit]})
    _check_limit(config, named - broken, sessions)
    if unscored:
        return _unscored(config, corpus, sessions, tuple(faults), _odd(problems))
    rated = sum(bool(sessions[session_id].episodes(rating)) for session_id in sessions.keys() & named)
    if not rated and rating is not None and not _does_without_scores(config):
        raise InputError(
            f"{config.corpus}: none of the {len(sessions.keys() & named)} sessions used has a rating {rating!r}. "
            f"{_without_scores()}"
        )
    weak = _power_warning(rated, config.split) if config.run.sessions is None else _few_warning(named, sessions)
    warnings = (*_odd(problems), *([weak] if weak else []), *_language_warnings(config, sessions, rating))
    return LoadedCorpus(corpus, sessions, rating, tuple(faults), warnings)


def _language_warnings(config: Config, sessions: Mapping[str, Session], rating: str | None) -> tuple[str, ...]:
    if not any(is_foreign(session.language) for session in sessions.values()):
        return ()
    from apportion.decompose.languages import language_notes

    return language_notes(config.decompose, sessions, rating)


def _odd(problems: Sequence[ValidationIssue]) -> tuple[str, ...]:
    """What is odd about the corpus as a whole."""
    return tuple(str(problem) for problem in problems if problem.severity == "warning" and problem.session_id is None)


def _unscored(
    config: Config,
    corpus: Corpus,
    sessions: Mapping[str, Session],
    faults: tuple[ValidationIssue, ...],
    odd: tuple[str, ...],
) -> LoadedCorpus:
    """A corpus that nobody scored, each session as if its other side had rated whom the configuration names."""
    target = config.decompose.reaction.target
    judged = {session_id: as_if_rated(session, target) for session_id, session in sessions.items()}
    count = sum(bool(session.ratings) for session in judged.values())
    if not count:
        speakers = sorted({speaker for session in sessions.values() for speaker in in_order(session.turns)})
        raise InputError(
            f"decompose.reaction.target = {target!r}: in no session of {config.corpus} does that mean a speaker whom "
            f"somebody answers. Set it to first, second or a speaker's name: {listed(speakers)}."
        )
    told = (
        f"no session has a score: the rewards of {count} of {len(sessions)} sessions are what a model of reactions "
        f"that was learnt elsewhere foretells for {target!r}, in standard deviations of what taught it. They sum to a "
        "score that it foretells and nobody gave; nothing here can tell how good they are."
    )
    return LoadedCorpus(corpus, judged, None, faults, (*odd, told, *_language_warnings(config, judged, None)))


def _without_scores() -> str:
    """What a person who has no scores is told of policies."""
    from apportion.rlhf.algorithms import unrewarded

    return (
        "A policy can do without: set align.reward_model to the folder of a reward model that another run has trained "
        f"(RUN/reward_models/METHOD-seed0), or align.algorithm = {unrewarded()!r}, which needs no reward."
    )


def _judges_unscored(config: Config) -> bool:
    """Whether turns are to be judged by what was learnt elsewhere, which needs no score of this corpus.

    Raises InputError: Other methods, which need one, are to judge them too.
    """
    from apportion.decompose.method import PretrainedReactions
    from apportion.decompose.methods import METHODS

    methods = config.decompose.methods
    others = [name for name in methods if not isinstance(METHODS[name], PretrainedReactions)]
    if len(others) == len(methods):
        return False
    if others:
        raise InputError(
            f"{config.corpus}: no ratings, so there is no score to turn into rewards. Of its methods, "
            f"{', '.join(others)} cannot do without one. Leave them out, or add a ratings table."
        )
    return True


def _named(config: Config, corpus: Corpus) -> frozenset[str]:
    """Ids of the sessions that a run is about: those that it names, or all."""
    there = corpus.session_ids()
    wanted = config.run.sessions
    if wanted is None:
        return frozenset(there)
    unknown = [session_id for session_id in dict.fromkeys(wanted) if session_id not in set(there)]
    if unknown:
        told = [f"{name!r}{did_you_mean(name, there) and f' ({did_you_mean(name, there)})'}" for name in unknown[:3]]
        file = "" if len(wanted) > 1 else ", nor was a file of that name read"
        raise InputError(
            f"--sessions (run.sessions): {config.corpus} has no session {listed(told + unknown[3:])}{file}. It has "
            f"{len(there):,}, {first_few(sorted(there))}; `apportion inspect {config.corpus}` tells of them."
        )
    return frozenset(wanted)


def _check_limit(config: Config, named: Collection[str], sessions: Mapping[str, Session]) -> None:
    if config.run.sessions is not None and (beyond := sorted(set(named) - sessions.keys())):
        raise InputError(
            f"--sessions (run.sessions): {listed(beyond)}, not among the first {config.run.limit} sessions, which are "
            "all that --limit (run.limit) leaves. Raise the limit, or give one of the two."
        )


def _does_without_scores(config: Config) -> bool:
    """Whether a policy is to be trained that needs no score of this corpus."""
    return config.align.enabled and (config.align.reward_model is not None or not config.align.trainer.needs_reward)


def _power_warning(rated: int, split: SplitSettings) -> str | None:
    if not rated:
        return None
    if split.test == 0:
        return "split.test = 0: no session is held out, so the reward models cannot be evaluated."
    # Where none can be held out at all, the stage `split` says so.
    return too_few_sessions_warning(rated, split) if counts_if_enough(rated, split) else None


def _few_warning(named: Collection[str], sessions: Mapping[str, Session]) -> str:
    return (
        f"sessions: {len(sessions.keys() & named):,} of {len(sessions):,} are worked on. Splits and the mean score are "
        "those of all; what is learned, the scale of rewards and every figure rest on the named ones."
    )


def _rating(config: Config, corpus: Corpus) -> str | None:
    names = corpus.rating_names()
    if not names and _does_without_scores(config):
        return None
    if not names:
        raise InputError(
            f"{config.corpus}: no ratings, so there is no score to turn into rewards. Add a ratings table. "
            f"{REWARDS_WITHOUT} {_without_scores()}"
        )
    if config.rating is None:
        if len(names) == 1:
            return str(names[0])
        raise InputError(f"{config.corpus} has several ratings: {', '.join(names)}. Choose one: rating = {names[0]!r}.")
    if config.rating not in names:
        hint = did_you_mean(config.rating, names, "choose another.")
        raise InputError(f"rating = {config.rating!r}: not in {config.corpus}; {hint} It has: {', '.join(names)}.")
    return config.rating
