"""The registry of decomposition methods: what each one is called, needs and gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from apportion.decompose.method import (
    BlendedMethod,
    CorpusMethod,
    Input,
    LabelStudent,
    LLMMethod,
    LogprobMethod,
    Method,
    MixedObjective,
    ObjectiveMethod,
    PredictedReaction,
    PretrainedReactions,
    Projected,
    Raw,
    ReactionMethod,
    RecurrentObjective,
    RolloutMethod,
    RubricMethod,
    ScoreUnits,
    Section,
    SessionMethod,
    StackedMethod,
    StudentMethod,
)
from apportion.foundation.did_you_mean import nearest
from apportion.foundation.errors import InputError
from apportion.foundation.registry import load_brought, points_of
from apportion.foundation.settings import Settings

__all__ = ["METHODS", "REACTIONS_EN", "find_method", "section_classes", "unknown_method"]

ENTRY_POINTS = "apportion.methods"
REACTIONS_EN = Path(__file__).parent / "reactions" / "shipped" / "reactions-en.safetensors"
"""The model of reactions that comes with this package; `demo/reactions_en` has what taught it."""
PLAYING = "savoir"
"""The section of the methods that play on as [decompose.savoir] says."""


_ENGLISH = frozenset({"en"})
_LLM: dict[str, Any] = {
    "load": "apportion.decompose.session_methods.llm:judge",
    "requests": "apportion.decompose.session_methods.llm:requests_for",
    "section": Section("llm"),
    "version": 2,
}
_BASELINES = "apportion.decompose.session_methods.baselines"
_JUDGE_BY_PRIOR = "apportion.decompose.reactions.transfer:judge_by_prior"
_OBJECTIVES = "apportion.decompose.corpus_methods.objectives"
_MIX = "apportion.decompose.ensembling.stacking:mix"


def _signal(name: str, title: str, code: str, section: str, **declared: Any) -> tuple[SessionMethod, SessionMethod]:
    """A local signal projected onto the score, and alone: a reward by itself, as VA and LS in LLM-GELI's Table 4."""
    load = f"apportion.decompose.session_methods.{code}"
    projected = SessionMethod(name, title, load, section=Section(section), **declared)
    return projected, replace(projected, name=f"{name}-raw", title=f"{title}, alone", scale=Raw())


def _rollouts(name: str, title: str, function: str, min_max: bool = False, **declared: Any) -> RolloutMethod:
    """A credit by rollouts (SAVOIR), in the units of its utility."""
    load = f"apportion.decompose.session_methods.savoir:{function}"
    return RolloutMethod(name, title, load, section=Section(PLAYING), scale=Raw(min_max), **declared)


def _logprobs(name: str, title: str, code: str, section: str, **declared: Any) -> tuple[LogprobMethod, LogprobMethod]:
    """What a model on this machine measures, and a server."""
    load, shared = f"apportion.decompose.influence.{code}", {"section": Section(section), **declared}
    return (
        LogprobMethod(name, f"{title} by a model on this machine", f"{load}:judge", **shared),
        LogprobMethod(
            f"{name}-served", f"{title} by a server", f"{load}:judge_served", requests=f"{load}:requests_for", **shared
        ),
    )


def _rrd(name: str, title: str, **fixed: Any) -> ObjectiveMethod:
    return ObjectiveMethod(
        name, title, f"{_OBJECTIVES}:RRD", section=Section("rrd", tuple(fixed.items())), scale=ScoreUnits()
    )


def _geli(name: str, title: str, whole: ObjectiveMethod, local: SessionMethod) -> MixedObjective:
    load = f"{_OBJECTIVES}:GELI"
    return MixedObjective(name, title, load, section=Section("geli"), scale=ScoreUnits(), whole=whole, local=local)


_SENTIMENT = _signal(
    "sentiment", "Sentiment of the rater's next reply", "sentiment:judge", "sentiment", scale=Projected(2.0),
    languages=_ENGLISH,
)  # fmt: skip
_AFFECT = _signal("affect", "Visual affect of the rater", "affect:judge", "affect", inputs=frozenset({Input.FACE}))
_TEXT_LLM = LLMMethod("llm", "LLM-GELI, text", **_LLM)
_RRD = _rrd("rrd", "Randomized return decomposition")
_IRCR = ObjectiveMethod(
    "ircr",
    "Iterative relative credit refinement",
    f"{_OBJECTIVES}:IRCR",
    scale=ScoreUnits(),
)
_RUDDER = RecurrentObjective(
    "rudder",
    "RUDDER: return decomposition",
    "apportion.decompose.corpus_methods.rudder:RUDDER",
    section=Section("rudder"),
    scale=ScoreUnits(),
)
_REACTION = ReactionMethod(
    "reaction",
    "Reaction-aware decomposition",
    "apportion.decompose.reactions.model:fit_reactions",
    section=Section("reaction"),
)

_REACTIONS_EN = PretrainedReactions(
    "reactions-en",
    "Reactions, by a student of a language model that judged made-up English dialogues",
    _JUDGE_BY_PRIOR,
    section=Section("reaction", fixed=(("pretrained", REACTIONS_EN),)),
    languages=_ENGLISH,
)
_OURS: tuple[Method, ...] = (
    SessionMethod("uniform", "Uniform: every turn the same share", f"{_BASELINES}:equal_shares"),
    *_SENTIMENT,
    *_signal(
        "sentiment-utterance",
        "Sentiment of the utterance itself",
        "sentiment:judge_utterance",
        "sentiment",
        scale=Projected(2.0),
        languages=_ENGLISH,
    ),
    *_AFFECT,
    *_signal(
        "intensity",
        "Vocal intensity of the rater's next reply",
        "intensity:judge",
        "intensity",
        inputs=frozenset({Input.VOICE}),
        scale=Projected(1.0),
    ),
    SessionMethod("episode-score", "The episode's score on every act", f"{_BASELINES}:episode_score", scale=Raw()),
    _rollouts("savoir", "SAVOIR: Shapley values of acts, played on", "savoir", version=2),
    _rollouts(
        "savoir-paper", "SAVOIR as published: appendix D's coalitions, from 0 to 10", "savoir_paper", min_max=True
    ),
    _rollouts("savoir-paper-raw", "SAVOIR as published, before it is brought to 0 to 10", "savoir_paper"),
    _rollouts(
        "shapley-hindsight", "Shapley values of acts, not played on", "shapley_hindsight", plays_on=False, version=2
    ),
    _rollouts("expected-utility", "Expected utility after each act less that before", "expected_utility"),
    _rollouts("leave-one-out", "Expected utility of all acts less that without one", "leave_one_out"),
    _TEXT_LLM,
    LLMMethod(
        "sotopia-rl",
        "Sotopia-RL: attributions of several dimensions, weighted",
        "apportion.decompose.session_methods.dimensions:judge",
        requests="apportion.decompose.session_methods.dimensions:requests_for",
        section=Section("sotopia_rl"),
        scale=Raw(),
    ),
    LLMMethod("llm-multimodal", "LLM-GELI, multimodal", inputs=frozenset({Input.DESCRIPTORS}), **_LLM),
    RubricMethod(
        "llm-rubric",
        "Signals of a rubric, found by a language model",
        "apportion.decompose.session_methods.rubric:judge",
        requests="apportion.decompose.session_methods.rubric:requests_for",
        section=Section("rubric"),
    ),
    *_logprobs("influence", "Influence on the reply,", "judge", "influence"),
    *_logprobs("zero-shot", "The user's next words, foretold", "zero_shot", "zero_shot", languages=_ENGLISH),
    _RRD,
    _rrd("rrd-published", "Randomized return decomposition, published loss", corrected=False),
    _rrd("rrd-160", "Randomized return decomposition, 160 turns drawn", k=160),
    _rrd(
        "rrd-160-published", "Randomized return decomposition, 160 turns drawn, published loss", k=160, corrected=False
    ),
    _IRCR,
    _RUDDER,
    _geli("rrd-va", "GELI: RRD with visual affect", _RRD, _AFFECT[0]),
    _geli("rrd-ls", "GELI: RRD with language sentiment", _RRD, _SENTIMENT[0]),
    _geli("ircr-va", "GELI: IRCR with visual affect", _IRCR, _AFFECT[0]),
    _geli("rudder-va", "GELI: RUDDER with visual affect", _RUDDER, _AFFECT[0]),
    _REACTION,
    PretrainedReactions(
        "prior", "Reactions, as other corpora taught them", _JUDGE_BY_PRIOR, section=Section("reaction")
    ),
    _REACTIONS_EN,
    PredictedReaction(
        "predicted-reaction",
        "The reaction that a turn's text lets one expect",
        "apportion.decompose.corpus_methods.predicted_reaction:fit_predicted",
        section=Section("reaction"),
        judges=(_REACTION, _REACTIONS_EN),
    ),
    BlendedMethod(
        "reaction-llm",
        "Reactions blended with a language model's judgements",
        _MIX,
        section=Section("stack_two"),
        reaction=_REACTION,
        judge=_TEXT_LLM,
        version=4,
    ),
    StackedMethod(
        "mix",
        "Reactions as models learnt elsewhere read them, corrected by this corpus's own scores and labels",
        _MIX,
        section=Section("stacking"),
        version=4,
    ),
    StudentMethod(
        "llm-student",
        "Student of a language model that judged some sessions",
        "apportion.decompose.ensembling.student:fit_student",
        section=Section("reaction"),
        teacher=_TEXT_LLM,
    ),
    LabelStudent(
        "people-student",
        "Student of people who labelled turns of some training sessions",
        "apportion.decompose.ensembling.student:fit_student",
        section=Section("reaction"),
    ),
)


class _Registry(Mapping[str, Method]):
    """Our methods, then those that installed packages bring; a package's code is imported when it is asked for."""

    _ours: Mapping[str, Method] = {method.name: method for method in _OURS}

    def __getitem__(self, name: str) -> Method:
        return self._ours[name] if name in self._ours else _brought(_entry_points()[name])

    def __contains__(self, name: object) -> bool:
        return name in self._ours or name in _entry_points()

    def __iter__(self) -> Iterator[str]:
        yield from self._ours
        yield from (name for name in _entry_points() if name not in self._ours)

    def __len__(self) -> int:
        return sum(1 for _ in self)


METHODS: Mapping[str, Method] = _Registry()


def section_classes() -> dict[str, type[Settings]]:
    """The classes of the settings that packages' methods bring, by their section.

    A method that cannot be loaded is left out: whoever uses it is told why.
    """
    classes: dict[str, type[Settings]] = {}
    for name in METHODS:
        if name not in _Registry._ours:
            with suppress(InputError):
                method = METHODS[name]
                if method.section is not None and (brought := method.settings_class()) is not None:
                    classes[method.section.name] = brought
    return classes


def find_method(name: str) -> Method:
    """The method of this name.

    Raises InputError: No such method (with the nearest name and all that are allowed), or a package's method cannot be
    loaded.
    """
    problem = unknown_method(name)
    if problem:
        raise InputError(problem)
    return METHODS[name]


def unknown_method(name: str) -> str | None:
    """What to tell a person who named this method; None where it exists."""
    if name in METHODS:
        return None
    allowed = sorted(METHODS)
    near = nearest(name, allowed)
    hint = f"; did you mean {near!r}?" if near else "."
    return f"no decomposition method {name!r}{hint} Allowed: {', '.join(allowed)}."


def _entry_points() -> Mapping[str, EntryPoint]:
    return points_of(ENTRY_POINTS)


def _brought(point: EntryPoint) -> Method:
    method: Method = load_brought(
        point,
        lambda thing: isinstance(thing, SessionMethod | CorpusMethod) and thing.name == point.name,
        "an apportion.decompose.method.Method of the same name",
    )
    return method
