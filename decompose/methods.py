"""The registry of decomposition methods: what each one is called, needs and gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from apportion.decompose.method import Method
from apportion.foundation.did_you_mean import nearest
from apportion.foundation.errors import InputError
from apportion.foundation.registry import load_brought, points_of
from apportion.foundation.settings import Settings

__all__ = [
    "METHODS",
    "REACTIONS_EN",
    "Method",
    "find_method",
    "needs_face",
    "needs_features",
    "needs_voice",
    "section_classes",
    "unknown_method",
]

ENTRY_POINTS = "apportion.methods"
REACTIONS_EN = Path(__file__).parent / "reactions" / "shipped" / "reactions-en.safetensors"
"""The model of reactions that comes with this package; `demo/reactions_en` has what taught it."""
PLAYING = "savoir"
"""The section of the methods that play on as [decompose.savoir] says."""


def _mix(name: str, title: str, whole: str, local: str) -> Method:
    return Method(
        name,
        "fit",
        title,
        "apportion.decompose.corpus_methods.geli:GELI",
        reward_units=True,
        section="geli",
        whole=whole,
        local=local,
        recurrent=whole == "rudder",
    )


def _signal(name: str, title: str, load: str, **declared: Any) -> tuple[Method, Method]:
    """A local signal projected onto the score, and alone: a reward by itself, as VA and LS in LLM-GELI's Table 4."""
    projected = Method(name, "judge", title, load, **{"section": name, **declared})
    return projected, replace(projected, name=f"{name}-raw", title=f"{title}, alone", unprojected=True)


def _played(name: str, title: str, function: str | None = None, **declared: Any) -> Method:
    """A credit by playing on (SAVOIR), in the units of its utility."""
    load = f"apportion.decompose.session_methods.savoir:{function or name.replace('-', '_')}"
    return Method(name, "judge", title, load, simulates=True, unprojected=True, section=PLAYING, **declared)


def _rrd(name: str, title: str, **fixed: Any) -> Method:
    load = "apportion.decompose.corpus_methods.rrd:RRD"
    return Method(name, "fit", title, load, reward_units=True, section="rrd", fixed=tuple(fixed.items()))


_OURS = (
    Method(
        "uniform", "judge", "Uniform: every turn the same share", "apportion.decompose.session_methods.uniform:judge"
    ),
    *_signal(
        "sentiment",
        "Sentiment of the rater's next reply",
        "apportion.decompose.session_methods.sentiment:judge",
        width=2.0,
    ),
    *_signal(
        "sentiment-utterance",
        "Sentiment of the utterance itself",
        "apportion.decompose.session_methods.sentiment:judge_utterance",
        width=2.0,
        section="sentiment",
    ),
    *_signal(
        "affect", "Visual affect of the rater", "apportion.decompose.session_methods.affect:judge", uses_features=True
    ),
    *_signal(
        "intensity",
        "Vocal intensity of the rater's next reply",
        "apportion.decompose.session_methods.intensity:judge",
        uses_features=True,
        uses_voice=True,
        width=1.0,
    ),
    Method(
        "episode-score",
        "judge",
        "The episode's score on every act",
        "apportion.decompose.session_methods.episode_score:judge",
        unprojected=True,
    ),
    _played("savoir", "SAVOIR: Shapley values of acts, played on", version=2),
    _played("savoir-paper", "SAVOIR as published: appendix D's coalitions, from 0 to 10", "savoir_paper", min_max=True),
    _played("savoir-paper-raw", "SAVOIR as published, before it is brought to 0 to 10", "savoir_paper"),
    _played("shapley-hindsight", "Shapley values of acts, not played on", plays_on=False, version=2),
    _played("expected-utility", "Expected utility after each act less that before"),
    _played("leave-one-out", "Expected utility of all acts less that without one"),
    Method(
        "llm",
        "judge",
        "LLM-GELI, text",
        "apportion.decompose.session_methods.llm:judge",
        requests="apportion.decompose.session_methods.llm:requests_for",
        section="llm",
        version=2,
    ),
    Method(
        "sotopia-rl",
        "judge",
        "Sotopia-RL: attributions of several dimensions, weighted",
        "apportion.decompose.session_methods.dimensions:judge",
        requests="apportion.decompose.session_methods.dimensions:requests_for",
        unprojected=True,
        section="sotopia_rl",
    ),
    Method(
        "llm-multimodal",
        "judge",
        "LLM-GELI, multimodal",
        "apportion.decompose.session_methods.llm:judge",
        uses_descriptors=True,
        requests="apportion.decompose.session_methods.llm:requests_for",
        section="llm",
        version=2,
    ),
    Method(
        "influence",
        "judge",
        "Influence on the reply, by a model on this machine",
        "apportion.decompose.influence.judge:judge",
        section="influence",
    ),
    Method(
        "influence-served",
        "judge",
        "Influence on the reply, by a server",
        "apportion.decompose.influence.judge:judge_served",
        requests="apportion.decompose.influence.judge:requests_for",
        section="influence",
        measures=True,
    ),
    _rrd("rrd", "Randomized return decomposition"),
    _rrd("rrd-published", "Randomized return decomposition, published loss", corrected=False),
    _rrd("rrd-160", "Randomized return decomposition, 160 turns drawn", k=160),
    _rrd(
        "rrd-160-published", "Randomized return decomposition, 160 turns drawn, published loss", k=160, corrected=False
    ),
    Method(
        "ircr",
        "fit",
        "Iterative relative credit refinement",
        "apportion.decompose.corpus_methods.ircr:IRCR",
        reward_units=True,
    ),
    Method(
        "rudder",
        "fit",
        "RUDDER: return decomposition",
        "apportion.decompose.corpus_methods.rudder:RUDDER",
        reward_units=True,
        section="rudder",
        recurrent=True,
    ),
    _mix("rrd-va", "GELI: RRD with visual affect", "rrd", "affect"),
    _mix("rrd-ls", "GELI: RRD with language sentiment", "rrd", "sentiment"),
    _mix("ircr-va", "GELI: IRCR with visual affect", "ircr", "affect"),
    _mix("rudder-va", "GELI: RUDDER with visual affect", "rudder", "affect"),
    Method(
        "reaction",
        "fit",
        "Reaction-aware decomposition",
        "apportion.decompose.reactions.model:fit_reactions",
        uses_reactions=True,
        section="reaction",
    ),
    Method(
        "prior",
        "fit",
        "Reactions, as other corpora taught them",
        "apportion.decompose.reactions.transfer:judge_by_prior",
        uses_reactions=True,
        uses_prior=True,
        section="reaction",
    ),
    Method(
        "reactions-en",
        "fit",
        "Reactions, by a student of a language model that judged made-up English dialogues",
        "apportion.decompose.reactions.transfer:judge_by_prior",
        uses_reactions=True,
        uses_prior=True,
        section="reaction",
        fixed=(("pretrained", REACTIONS_EN),),
    ),
    Method(
        "reaction-llm",
        "fit",
        "Reactions blended with a language model's judgements",
        "apportion.decompose.ensembling.combine:mix",
        uses_reactions=True,
        section="stack_two",
        whole="reaction",
        local="llm",
        uses_judgements=True,
        mixes=True,
        version=3,
    ),
    Method(
        "mix",
        "fit",
        "All sources, each as far as it foretells scores",
        "apportion.decompose.ensembling.combine:mix",
        uses_reactions=True,
        section="stacking",
        uses_judgements=True,
        mixes=True,
        version=2,
    ),
    Method(
        "llm-student",
        "fit",
        "Student of a language model that judged some sessions",
        "apportion.decompose.ensembling.student:fit_student",
        uses_reactions=True,
        section="reaction",
        local="llm",
        uses_judgements=True,
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
    classes = {}
    for name in METHODS:
        if name not in _Registry._ours:
            with suppress(InputError):
                method = METHODS[name]
                classes[str(method.section)] = method.settings_class()
    return {section: made for section, made in classes.items() if made is not None}


def find_method(name: str) -> Method:
    """The method of this name.

    Raises
    ------
    InputError
        No such method (with the nearest name and all that are allowed), or a package's method cannot be loaded.
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


def needs_voice(name: str) -> bool:
    """Whether this method listens to recordings."""
    return METHODS[name].uses_voice


def needs_face(name: str) -> bool:
    """Whether this method, or the local part of its objective, looks at faces."""
    return needs_features(name) and not needs_voice(name)


def needs_features(name: str) -> bool:
    """Whether this method, or the local part of its objective, learns from the rater's behaviour in numbers."""
    method = METHODS[name]
    return method.uses_features or (method.local is not None and METHODS[method.local].uses_features)


def _entry_points() -> Mapping[str, EntryPoint]:
    return points_of(ENTRY_POINTS)


def _brought(point: EntryPoint) -> Method:
    method: Method = load_brought(
        point,
        lambda thing: isinstance(thing, Method) and thing.name == point.name,
        "an apportion.decompose.methods.Method of the same name",
    )
    return method
