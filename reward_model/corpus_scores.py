"""A whole corpus scored by one reward model: a table with the columns of a run's `scores`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from apportion.corpus.checks.turns import check_sessions, check_utterances
from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import REWARDS
from apportion.corpus.session import Episode, Session
from apportion.corpus.targets import PLACES, TargetSpeaker, answered_episodes, credited, speaker_called, unrated_episode
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import first_few
from apportion.reward_model.out_of_domain import Unlike, marked
from apportion.reward_model.score_journal import Journal, SessionScores

if TYPE_CHECKING:
    from apportion.foundation.progress import Progress
    from apportion.reward_model.model import RewardModel


@dataclass
class CorpusScores:
    """The scores of a corpus (REWARDS schema; reward, sd, advantage), and the sessions that are not in them."""

    tables: list[pa.Table] = field(default_factory=list)
    unrated: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    """Sessions whose target says nothing."""
    shortened: list[str] = field(default_factory=list)
    """Scored in one pass, with a history longer than the model reads at once."""
    failed: dict[str, str] = field(default_factory=dict)
    tells_unlike: bool = True
    """Whether the model stores what taught it, so that turns unlike that are flagged in the column ``rationale``."""
    resumed: int = 0
    """Sessions that an earlier process had scored before it was stopped."""

    @property
    def table(self) -> pa.Table:
        """All rows."""
        return pa.concat_tables([REWARDS.arrow.empty_table(), *self.tables])

    @property
    def unlike(self) -> Unlike | None:
        """The flagged turns; None where the model cannot tell."""
        table = self.table
        counted = Unlike.of(table.column("session_id").to_pylist(), table.column("rationale").to_pylist())
        return counted if self.tells_unlike else None

    def add(self, scores: SessionScores) -> None:
        """Take in what became of one session."""
        for flagged, names in (
            (scores.unrated, self.unrated),
            (scores.silent, self.silent),
            (scores.shortened, self.shortened),
        ):
            if flagged:
                names.append(scores.session_id)
        if scores.table.num_rows:
            self.tables.append(scores.table)


def score_corpus(
    model: RewardModel,
    corpus: Corpus,
    session_ids: Sequence[str],
    rating: str | None,
    target: str | None,
    taught_by: tuple[str, int],
    progress: Progress,
    journal: Journal,
    called: Callable[[str], str] = str,
) -> CorpusScores:
    """Score the target's turns in some sessions; one that cannot be scored is recorded and the others go on.

    ``rating``: Only episodes of this rating; all of them where None. ``target``: The speaker whose turns are scored,
    whoever was rated: a name, or a place (``first``, ``second``). The ratings say it where None. ``taught_by``: The
    method and seed that taught the model: what the columns ``method`` and ``seed`` hold. ``progress``: Called as
    ``progress(done, total, session_id)`` after each session. ``journal``: Keeps what is scored, and holds what was
    scored before a kill. Sessions that failed are tried again. ``called``: What the caller calls ``rating`` and
    ``target``, for errors. Raises InputError: A fault of the whole corpus, a rating or target that is not in it, no
    rating and no target, or a backbone that cannot be loaded.
    """
    _check_choice(corpus, rating, target, called)
    broken = broken_sessions(corpus)
    scored = CorpusScores(tells_unlike=model.domain is not None)
    for number, session_id in enumerate(session_ids, 1):
        try:
            if session_id in broken:
                raise UnitError(broken[session_id])
            if session_id in journal.done:
                scored.resumed += 1
                scored.add(journal.done[session_id])
            else:
                scores = _score_session(model, corpus.session(session_id), rating, target, taught_by)
                journal.add(session_id, scores.to_json())
                scored.add(scores)
        except UnitError as error:
            scored.failed[session_id] = str(error)
        progress(number, len(session_ids), session_id)
    return scored


def choose_episodes(
    corpus: Corpus,
    session_ids: Sequence[str],
    rating: str | None,
    target: str | None,
    called: Callable[[str], str] = str,
) -> tuple[list[Episode], dict[str, str]]:
    """The episodes of some sessions to answer in, and the sessions that cannot be read, with why.

    They are chosen as by `score_corpus`, but for sessions without a rating: there, the ratings of the others say who
    is answered for (`apportion.corpus.targets.credited`).
    """
    _check_choice(corpus, rating, target, called)
    broken = broken_sessions(corpus)
    failed = {name: broken[name] for name in session_ids if name in broken}
    read = [corpus.session(name) for name in session_ids if name not in failed]
    if target is not None:
        return [episode for session in read for episode in _episodes(session, rating, target)], failed
    whom = TargetSpeaker()
    if not all(session.episodes(rating) for session in read):
        whom = credited((corpus.session(name) for name in _rated(corpus) if name not in broken), rating)
    return list(answered_episodes(read, whom, rating)), failed


def _rated(corpus: Corpus) -> list[str]:
    ids = set(corpus.ratings.column("session_id").to_pylist())
    return [name for name in corpus.session_ids() if name in ids]


def broken_sessions(corpus: Corpus) -> dict[str | None, str]:
    """What is wrong with the sessions that cannot be used, by session."""
    problems = [p for check in (check_sessions, check_utterances) for p in check(corpus) if p.severity == "error"]
    broken = {problem.session_id: str(problem) for problem in problems}
    if None in broken:
        raise InputError(f"{corpus.root}: the corpus cannot be used. {broken[None]}")
    return broken


def method_and_seed(folder_name: str) -> tuple[str, int]:
    """Method and seed of a model's folder: ``llm-seed0`` is (llm, 0), as a run names them; other names have seed 0."""
    parts = re.fullmatch(r"(.+)-seed(\d{1,9})", folder_name)
    return (parts[1], int(parts[2])) if parts else (folder_name, 0)


def _score_session(
    model: RewardModel, session: Session, rating: str | None, target: str | None, taught_by: tuple[str, int]
) -> SessionScores:
    episodes = _episodes(session, rating, target)
    spoken = [episode for episode in episodes if episode.target_turns]
    if not spoken:
        nothing = REWARDS.arrow.empty_table()
        return SessionScores(session.session_id, nothing, unrated=not episodes, silent=bool(episodes))
    table = _scores(model, spoken, taught_by)
    return SessionScores(session.session_id, table, shortened=any(model.shortens(episode) for episode in spoken))


def _episodes(session: Session, rating: str | None, target: str | None) -> tuple[Episode, ...]:
    if target is None:
        return session.episodes(rating)
    return (unrated_episode(session, speaker_called(session.turns, target) or target),)


def _scores(model: RewardModel, episodes: Sequence[Episode], taught_by: tuple[str, int]) -> pa.Table:
    from apportion.reward_model.learning.dataset import turn_keys, turn_values

    windows, scores, reasons = model.score_episodes(episodes)
    rewards = scores.reward
    wrong = next((i for i, reward in enumerate(rewards) if not abs(reward) < float("inf")), None)
    if wrong is not None:
        (session_id, *_), turn = turn_keys(windows)[wrong]
        raise UnitError(
            f"session {session_id}, turn {turn}: the reward is {rewards[wrong]}, not a finite number. The model's "
            "weights are too large for its backbone, or damaged. Train it again."
        )
    table = turn_values(windows, scores._asdict(), *taught_by)
    marks = pa.array([marked(each) for each in reasons], pa.string())
    return table.set_column(table.column_names.index("rationale"), "rationale", marks)


def _check_choice(corpus: Corpus, rating: str | None, target: str | None, called: Callable[[str], str]) -> None:
    names = corpus.rating_names()
    if target is not None:
        speakers = sorted(set(corpus.utterances.column("speaker").drop_null().to_pylist()))
        if target not in (*speakers, *PLACES):
            raise InputError(
                f"{called('target')} {target!r}: nobody of that name speaks in {corpus.root}; {_some(speakers)}. Or "
                f"say by place whose turns they are: {' or '.join(PLACES)}, who speaks then in each session."
            )
    elif not names:
        speakers = sorted(set(corpus.utterances.column("speaker").drop_null().to_pylist()))
        raise InputError(
            f"{corpus.root}: no ratings, so nothing says whose turns are meant. Name the speaker with "
            f"{called('target')}; {_some(speakers)}. Where names change from session to session, say "
            f"{' or '.join(PLACES)}: who speaks then in each."
        )
    elif rating is not None and rating not in names:
        raise InputError(f"{called('rating')} {rating!r}: not in {corpus.root}; it has {', '.join(names)}.")


def _some(speakers: Sequence[str]) -> str:
    return f"there are {first_few([repr(name) for name in speakers], 5)}" if speakers else "it has no speakers"
