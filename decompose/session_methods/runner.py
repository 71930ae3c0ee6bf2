"""Judging: one session in, a judgement of every target turn out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import pyarrow as pa

from apportion.corpus.languages.names import understands
from apportion.corpus.schema import EPISODE_KEY, REWARDS, SAMPLES
from apportion.corpus.session import Episode, Session
from apportion.decompose.languages import understood
from apportion.decompose.method import Method, RolloutMethod, SessionMethod, TurnScore
from apportion.decompose.methods import find_method
from apportion.decompose.reply_parsing import LARGEST
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.concurrent_rollouts import mapped
from apportion.environments.episode_restorer import Rollable
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.session import LLMSession


class JudgeSession(Protocol):
    """The code of a `SessionMethod`."""

    def __call__(
        self, episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
    ) -> list[TurnScore]:
        """One judgement for each of ``episode.target_turns`` (T), in any order.

        ``behaviour`` is what the method's ``inputs`` ask for: DESCRIPTORS or UTTERANCE_FEATURES of the session; None
        where they ask for neither, or the session has no recordings.
        """


class JudgeWithRollouts(Protocol):
    """The code of a `RolloutMethod`."""

    def __call__(
        self,
        episode: Episode,
        behaviour: pa.Table | None,
        settings: DecomposeSettings,
        asker: LLMSession,
        played: Rollable,
    ) -> list[TurnScore]:
        """As `JudgeSession`; ``played`` is the session, opened to be played on."""


@dataclass(frozen=True)
class SessionScores:
    """One session's ``judgements`` (REWARDS schema) and, of methods that sample, the ``samples`` (SAMPLES schema)."""

    judgements: pa.Table
    samples: pa.Table

    @classmethod
    def none(cls) -> SessionScores:
        """Those of a session that nobody was asked about."""
        return cls(REWARDS.arrow.empty_table(), SAMPLES.arrow.empty_table())


def judge_session(
    method: str,
    session: Session,
    rating_name: str | None,
    descriptors: pa.Table | None,
    settings: DecomposeSettings,
    asker: LLMSession,
    features: pa.Table | None = None,
    played: Rollable | None = None,
) -> SessionScores:
    """Judge every target turn of every episode of ``session`` by one method.

    ``descriptors`` (DESCRIPTORS) and ``features`` (UTTERANCE_FEATURES) are the session's; a method gets what it uses,
    and one that simulates the session as ``played``, None where no environment made it.

    Returns: ``judgements``: ``raw_reward`` (and ``sd``) in the method's own units, null where it had nothing to say;
    ``reward`` null, since it takes the whole corpus to find it (``apportion.decompose.projection``); ``seed`` 0. Rows
    are in the order of the ratings, then of the turns. Raises InputError: No such method, or nothing can work before a
    setting is changed. Raises UnitError: The method failed on this session, its values are not one finite number or
    null for each target turn, or it is to play on what no environment made.
    """
    declared = find_method(method)
    if not isinstance(declared, SessionMethod):
        raise InputError(f"method {method!r} is learned on a corpus: it judges no single session.")
    behaviour = descriptors if declared.reads_descriptors else features if declared.reads_features else None
    rows, sampled = [], []
    episodes = session.episodes(rating_name)
    # Where plays wait for a server, all speakers are credited at once.
    at_once = len(episodes) if getattr(played, "waits", False) else 1
    judge = partial(judge_episode, declared, behaviour=behaviour, settings=settings, asker=asker, played=played)
    found = mapped(judge, episodes, at_once) if at_once > 1 else map(judge, episodes)
    for episode, judged in zip(episodes, found, strict=True):
        for judgement in judged:
            key = {**dict(zip(EPISODE_KEY, episode.key, strict=True)), "turn": judgement.turn, "method": method}
            sampled += [{**key, "sample": i, "value": value} for i, value in enumerate(judgement.samples)]
            rows.append(
                {
                    **key,
                    "seed": 0,
                    "raw_reward": judgement.value,
                    "sd": judgement.sd,
                    "rationale": judgement.rationale,
                }
            )
    return SessionScores(
        pa.Table.from_pylist(rows, schema=REWARDS.arrow), pa.Table.from_pylist(sampled, schema=SAMPLES.arrow)
    )


def judge_episode(
    method: SessionMethod,
    episode: Episode,
    behaviour: pa.Table | None,
    settings: DecomposeSettings,
    asker: LLMSession,
    played: Rollable | None = None,
) -> list[TurnScore]:
    """One judgement for each target turn (T), in their order; ``behaviour`` is what `JudgeSession` gets.

    All are null in a session whose language the method does not understand.

    Raises InputError: Nothing can work before a setting is changed. UnitError: The method failed, its values are not
    one finite number or null for each target turn, or it is to play on what no environment made.
    """
    if not understands(understood(method, settings), episode.language):
        return [TurnScore(turn, None) for turn in episode.target_turns]
    if not isinstance(method, RolloutMethod):
        judge: JudgeSession = method.resolve()
        return _checked(method.name, episode, judge(episode, behaviour, settings, asker))
    if played is None:
        raise UnitError(nothing_to_play(method, f"session {episode.session_id}"))
    simulating: JudgeWithRollouts = method.resolve()
    return _checked(method.name, episode, simulating(episode, behaviour, settings, asker, played))


def nothing_to_play(method: Method, where: str) -> str:
    """What a person is told of a method that plays on, and of a session that no environment made."""
    return (
        f"{where}: no environment made it, so that {method.name!r} has nothing to play on. It judges the sessions of "
        "simulated dialogues whose environment is installed; leave it out of decompose.compare for others."
    )


def _checked(method: str, episode: Episode, judgements: Sequence[TurnScore]) -> list[TurnScore]:
    by_turn = {judgement.turn: judgement for judgement in judgements}
    if len(by_turn) != len(judgements) or by_turn.keys() != set(episode.target_turns):
        raise UnitError(
            f"session {episode.session_id}: method {method!r} judged turns {sorted(j.turn for j in judgements)}; the "
            f"turns of {episode.rating.target} are {list(episode.target_turns)}, each to be judged once. The method's "
            "code must be corrected."
        )
    for judgement in judgements:
        value = judgement.value
        if value is not None and not (math.isfinite(value) and abs(value) <= LARGEST):
            raise UnitError(
                f"session {episode.session_id}, turn {judgement.turn}: method {method!r} gave {value!r}; allowed are "
                f"numbers from {-LARGEST:g} to {LARGEST:g}, or None. The method's code must be corrected."
            )
    return [by_turn[turn] for turn in episode.target_turns]
