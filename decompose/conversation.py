"""One conversation from Python: messages and a score in, a reward for each of the rated speaker's messages out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from apportion.corpus.languages.identifier import spoken_in
from apportion.corpus.languages.names import in_words, read_language, understands
from apportion.corpus.session import ENVIRONMENT, Episode, Rating, Session, Turn
from apportion.decompose.language_models import asker_of
from apportion.decompose.languages import understood
from apportion.decompose.method import Attribution, CorpusMethod, Method, Projected, Raw, RolloutMethod, ScoreUnits
from apportion.decompose.methods import find_method
from apportion.decompose.projection import Projection, apply_constants
from apportion.decompose.session_methods.runner import judge_session, nothing_to_play
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.settings_key import configured
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.session import LLMSession

ASSISTANT, USER = "assistant", "user"
_ASIDE = ("system", "developer", "tool")
_SESSION = "conversation"


@dataclass(frozen=True)
class TurnReward:
    """One credited message: ``index`` counts all messages from 0, ``reward`` is in units of the score.

    ``raw_reward`` is what the method said in its own units, None where it said nothing; ``sd`` its spread over
    repeated samples in units of reward, None for a single one; ``rationale`` what it rests on, in words.
    """

    index: int
    speaker: str
    reward: float
    raw_reward: float | None
    sd: float | None
    rationale: str | None


@dataclass(frozen=True)
class Decomposition:
    """The rewards of one conversation; they sum to ``total``, less ``residual`` under the soft constraint.

    There are none where the method found nothing to judge by (no reply to any message, for ``sentiment``).

    ``messages`` is the number of messages (N). ``residual`` is what is missing from the method's own sum,
    ``spread`` s, rewards a unit of judgement (None for attributions, which share the score out).
    """

    method: str
    total: float
    residual: float
    spread: float | None
    messages: int
    turns: tuple[TurnReward, ...]

    def per_message(self) -> list[float | None]:
        """One reward a message (N), None for those that are not credited: a column beside ``messages``."""
        rewards: list[float | None] = [None] * self.messages
        for turn in self.turns:
            rewards[turn.index] = turn.reward
        return rewards


def decompose_dialogue(
    messages: Sequence[Mapping[str, Any]],
    score: float,
    *,
    scale: tuple[float, float] | None = None,
    rater: str | None = None,
    target: str | None = None,
    method: str = "sentiment",
    rating: str = "satisfaction",
    higher_is_better: bool = True,
    language: str | None = None,
    mean_score: float = 0.0,
    spread: float | None = None,
    settings: DecomposeSettings | None = None,
    asker: LLMSession | None = None,
) -> Decomposition:
    """Share one score out over the messages of the speaker who was rated.

    reward = total/T + s * (j - mean j) over the T credited messages with the judgements j, so that they sum to
    ``total`` = score - ``mean_score`` (Eq. 4 of LLM-GELI, made exact). With ``settings.constraint = "soft"`` they are
    the method's own numbers, and ``residual`` tells what is missing; a prompt that hands out the score itself has
    that as its total.

    ``messages``: N messages in order, each with ``content`` (text) and ``role`` or ``speaker``. ``score``: What the
    rater gave, on ``scale`` = (low, high), which must be given. ``rater``, ``target``: Who gave the score
    (``environment``: rules or a judge did), and who is credited. By default ``user`` and ``assistant``; where one of
    two speakers is named, the other one follows. ``method``: One that needs no other conversations: ``uniform``,
    ``sentiment``, ``llm``, or a package's.
    ``rating``: What the score is called; prompts are worded by it (``satisfaction``, ``goal``, ``overall``, …).
    ``higher_is_better``: False where the low end of the scale is the good one; the score is turned round then.
    ``language``: What is spoken, such as ``de``; where it is not given and the method minds it, the words tell.
    ``mean_score``: The mean score of your conversations (turned round, if that is): rewards are then relative to an
    ordinary one. 0 shares out the score itself, as the paper does. Attributions share out what is above the lower end
    of the scale or below it, so that they take no mean. ``spread``: s, e.g. a run's from ``projections/``. By default
    the whole width of the method's scale is worth the width of the score's, divided by T. ``settings``: Of the method,
    e.g. ``DecomposeSettings(llm={"model": …, "base_url": …})``. ``asker``: Lends the language model with its cache and
    budget, for many calls; made from ``settings`` where it is None. Raises InputError: Messages, score, scale or
    speakers that cannot be used, no such method, a method that is learned on a corpus or does not understand the
    language, or a language model that cannot be asked (no key, no consent). Raises UnitError: The language model gave
    no usable reply; ``evidence`` holds what it did reply.
    """
    configuration = settings or DecomposeSettings()
    declared = _declared(method, configuration)
    turns = _turns(messages)
    rater, target = _speakers(turns, rater, target)
    spoken = _language(declared, configuration, turns, language)
    rated = _rating(rater, target, rating, score, scale, higher_is_better)
    session = Session(_SESSION, turns, (rated,), language=spoken)
    (episode,) = session.episodes()
    _check_constants(declared, episode, mean_score, spread)
    with nullcontext(asker) if asker is not None else asker_of(configuration) as lent:
        judged = judge_session(method, session, None, None, configuration, lent).judgements
    constraint = configuration.constraint
    if spread is None:
        spread = 1.0 if constraint == "soft" or isinstance(declared.scale, Raw) else _spread(declared, judged, episode)
    return _result(episode, *apply_constants(judged, [episode], mean_score, spread, declared, constraint), method)


def _result(episode: Episode, rewards: pa.Table, projection: Projection, method: str) -> Decomposition:
    total = episode.score - projection.score_offset
    return Decomposition(
        method=method,
        total=total,
        residual=projection.residuals[0].residual if projection.residuals else total,
        spread=projection.spread,
        messages=len(episode.turns),
        turns=tuple(
            TurnReward(
                row["turn"], episode.rating.target, row["reward"], row["raw_reward"], row["sd"], row["rationale"]
            )
            for row in rewards.to_pylist()
        ),
    )


def _check_constants(method: Method, episode: Episode, mean_score: float, spread: float | None) -> None:
    if not math.isfinite(mean_score) or not (spread is None or math.isfinite(spread)):
        raise InputError(f"mean_score = {mean_score}, spread = {spread}: give finite numbers.")
    if isinstance(method.scale, Attribution) and mean_score != 0 and mean_score > episode.rating.low:
        raise InputError(
            f"mean_score = {mean_score:g} with attributions: how much a turn contributed, for better or worse, cannot "
            "share out a score that may be below zero. Leave mean_score out, or give the lower end of the scale, "
            f"{episode.rating.low:g}."
        )


def _declared(name: str, settings: DecomposeSettings) -> Method:
    declared = find_method(name)
    if isinstance(declared, CorpusMethod):
        raise InputError(
            f"method {name!r} is learned from the scores of many conversations and says nothing about a single one. "
            "Make a corpus of them (`apportion import`, `apportion init`), name it as decompose.method and "
            "run `apportion run CONFIG --only decompose`; or use uniform, sentiment or llm here."
        )
    if isinstance(declared, RolloutMethod):
        raise InputError(nothing_to_play(declared, "messages"))
    if declared.reads_features:
        raise InputError(
            f"method {name!r} reads the rater's behaviour in recordings, which messages do not hold. Make a corpus "
            "with recordings and run `apportion run CONFIG --only decompose`; or use uniform, sentiment or llm here."
        )
    return configured(declared, settings)


def _language(method: Method, settings: DecomposeSettings, turns: Sequence[Turn], given: str | None) -> str | None:
    languages = understood(method, settings)
    if languages is None and not method.asks:
        return given
    try:
        spoken = read_language(given) or spoken_in([turn.text for turn in turns])
    except UnitError as error:
        raise InputError(str(error)) from None
    if not understands(languages, spoken):
        raise InputError(
            f"method {method.name!r} understands {', '.join(map(in_words, sorted(languages or ())))} alone, and the "
            f"messages are in {in_words(spoken)}. Use uniform or llm, which take every language; if they are not, say "
            "language=…."
        )
    return spoken


def _turns(messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise InputError(f"messages: a {type(messages).__name__}; give a list of {{'role': …, 'content': …}}.")
    return tuple(Turn(i, _speaker(i, message), _text(i, message)) for i, message in enumerate(messages))


def _speaker(index: int, message: Mapping[str, Any]) -> str:
    speaker = message.get("speaker", message.get("role")) if isinstance(message, Mapping) else None
    if not isinstance(speaker, str) or not speaker:
        raise InputError(f"message {index}: no role or speaker; give {{'role': …, 'content': …}}.")
    return speaker


def _text(index: int, message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list) and all(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
        content = " ".join(str(part.get("text", "")) for part in content)
    if not isinstance(content, str):
        raise InputError(
            f"message {index}: its content is {type(content).__name__}; text is needed. Put pictures and calls of "
            "tools into words, or leave the message out."
        )
    return content


def _speakers(turns: Sequence[Turn], rater: str | None, target: str | None) -> tuple[str, str]:
    present = list(dict.fromkeys(turn.speaker for turn in turns))
    if ENVIRONMENT in present:
        raise InputError(
            f"a speaker is called {ENVIRONMENT!r}, which is the rater of scores that rules or a judge gave, and nobody "
            "who speaks. Call them something else."
        )
    talking = [speaker for speaker in present if speaker not in _ASIDE]
    if rater is None and target is None and not {ASSISTANT, USER} & set(present):
        raise InputError(
            f"speakers are {', '.join(present) or 'none'}: say who gave the score (rater=…) and who is credited "
            "(target=…)."
        )
    target = target or _other(talking, rater, ASSISTANT)
    rater = rater or _other(talking, target, USER)
    if target not in present:
        raise InputError(
            f"target = {target!r} says nothing in these messages, so nothing can be credited; speakers are "
            f"{', '.join(present) or 'none'}."
        )
    if rater == target:
        raise InputError(f"rater and target are both {rater!r}; a score is about somebody else's messages.")
    return rater, target


def _other(talking: Sequence[str], known: str | None, usual: str) -> str:
    """The one of two who is not ``known``; the usual name otherwise."""
    others = [speaker for speaker in talking if speaker != known]
    return others[0] if known is not None and len(others) == 1 else usual


def _rating(
    rater: str, target: str, name: str, score: float, scale: tuple[float, float] | None, higher_is_better: bool
) -> Rating:
    if scale is None:
        raise InputError(f"score = {score!r} without a scale: say what its ends are, such as scale=(1, 5).")
    try:
        low, high = (float(end) for end in scale)
        given = float(score)
    except (TypeError, ValueError):
        raise InputError(
            f"score = {score!r}, scale = {scale!r}: give a number, and the scale as (low, high)."
        ) from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"scale = ({low:g}, {high:g}): its low end must be below its high end, and both finite.")
    if not low <= given <= high:
        raise InputError(f"score = {given:g} is outside the scale {low:g} to {high:g}. Correct one of them.")
    return Rating(rater, target, name, given, low, high, higher_is_better)


def _spread(method: Method, judged: pa.Table, episode: Episode) -> float:
    """s: the whole width of the method's scale is worth that of the score's, divided by T."""
    if isinstance(method.scale, ScoreUnits | Attribution):
        return 1.0
    values = set(judged.column("raw_reward").to_pylist())
    if len(values) < 2:
        return 0.0
    if not isinstance(method.scale, Projected) or method.scale.width is None:
        raise InputError(
            f"method {method.name!r} does not say how wide its scale is (Projected.width): give spread=…, rewards a "
            "unit of its values."
        )
    rating = episode.rating
    return (rating.high - rating.low) / method.scale.width / len(episode.target_turns)
