"""The sources that a run has, and the method that mixes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from apportion.corpus.session import EpisodeKey
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.ensembling.component import Component, trust_in, turn_opinions
from apportion.decompose.ensembling.student import PEOPLE, Lesson, student_source
from apportion.decompose.method import BlendedMethod, StackedMethod, StudentMethod
from apportion.decompose.methods import METHODS, find_method
from apportion.decompose.prompt_building.prompt import shows_score, tells_quality
from apportion.decompose.reactions.extract import Reactions, arrange
from apportion.decompose.reactions.model import FittedReactionModel, LinearWorth, learn
from apportion.decompose.reactions.pretrained import FeatureVersionError, Prior
from apportion.decompose.reactions.transfer import opinions, prior_for
from apportion.decompose.settings_key import configured
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError

OF_REPLIES = frozenset({"sentiment", "sentiment-raw", "affect", "affect-raw", "intensity", "intensity-raw"})
"""Judging methods that look at the rater alone, and at nothing that the target said."""


def mixed(method: StackedMethod, data: TrainingData, config: TrainingConfig) -> FittedReactionModel:
    """The values of a `StackedMethod`, as `apportion.decompose.ensembling.stacking.mix` describes them.

    Raises UnitError: What it is made of by its name is not there, or no source knows any session.
    """
    section = config.settings.section_of(method)
    if isinstance(method, BlendedMethod):
        reaction, judge = method.reaction.name, method.judge.name
        data.check_read(method.name, judge)
        names, routed = (reaction, judge), True
        weight = section.weight
        given = None if weight is None else {reaction: 1.0 - weight, judge: weight}
    else:
        names, given, routed = section.components, section.weights, section.skip_reply_only
    rated = next(iter(data.episodes.all), None)
    of_quality = routed and rated is not None and tells_quality(rated.rating.name)
    mix = method.resolve()
    fitted: FittedReactionModel = mix(
        method.name, data.episodes, sources_of(names, data, config), config.seed, of_quality=of_quality, given=given
    )
    return fitted


def sources_of(names: tuple[str, ...], data: TrainingData, config: TrainingConfig) -> list[Component]:
    """Those of the named sources that the run has, in their order."""
    reactions = None
    if data.reactions is not None and any(name in MAKERS for name in names):
        reactions = arrange(data.reactions, data.episodes.all, data.features)
    found: list[Component | None] = []
    for name in names:
        if name not in MAKERS:
            found.append(_judged(name, data, config))
        elif reactions is not None:
            found.append(MAKERS[name](reactions, data, config))
    return [source for source in found if source is not None]


def pretrained_component(name: str, prior: Prior, reactions: Reactions) -> Component:
    """What was learnt elsewhere as an opinion on the turns here; unknown where nobody replied."""
    taught = sum(one.sessions for one in prior.card.learnt_from)
    values = reactions.by_episode(opinions(prior, reactions))
    return Component(name, values, reads_replies=True, trust=trust_in(taught))


def _reaction(reactions: Reactions, data: TrainingData, config: TrainingConfig) -> Component:
    """What this corpus's scores tell of the replies; unknown where nobody replied."""
    model = learn(reactions, data.episodes.sessions("train"), config.settings.reaction)
    return Component(
        "reaction", worth_of("reaction", model.worth, reactions), model, reads_replies=True, worth=model.worth
    )


def _prior(reactions: Reactions, data: TrainingData, config: TrainingConfig) -> Component | None:
    """What other corpora's scores tell of the replies, where a model of them is named; none of this one's are read."""
    if config.settings.reaction.pretrained is None:
        return None
    return pretrained_component("prior", prior_for(config.settings.reaction), reactions)


def _reactions_en(reactions: Reactions, data: TrainingData, config: TrainingConfig) -> Component | None:
    """What a language model's judgements of made-up dialogues tell of the replies (`demo/reactions_en`); None where
    replies are read otherwise than it needs."""
    try:
        return pretrained_component(
            "reactions-en", prior_for(config.settings.section_of(METHODS["reactions-en"])), reactions
        )
    except FeatureVersionError:
        return None


def _behaviour(reactions: Reactions, data: TrainingData, config: TrainingConfig) -> Component | None:
    """What this corpus's scores tell of face and voice alone; unknown where nothing was measured."""
    if not reactions.behaviour.shape[1]:
        return None
    model = learn(_behaviour_alone(reactions), data.episodes.sessions("train"), config.settings.reaction)
    values = worth_of("behaviour", model.worth, reactions)
    return Component("behaviour", values, model, reads_replies=True, worth=model.worth)


def _behaviour_alone(reactions: Reactions) -> Reactions:
    nothing = np.zeros((len(reactions.behaviour), 1))
    return replace(reactions, embeddings=nothing, cues=nothing)


def worth_of(name: str, worth: LinearWorth, reactions: Reactions) -> dict[EpisodeKey, Floats]:
    """What a source that this corpus taught says of each episode's turns [shape=(T,)]; NaN where it sees nothing."""
    if name == "behaviour":
        measured = np.isfinite(reactions.behaviour).any(axis=1)
        return reactions.by_episode(np.where(measured, worth.values(_behaviour_alone(reactions)), np.nan))
    return reactions.by_episode(np.where(reactions.replied, worth.values(reactions), np.nan))


def _judged(name: str, data: TrainingData, config: TrainingConfig) -> Component | None:
    """What a method of the run has judged."""
    import pyarrow.compute as pc

    if data.judgements is None or name not in METHODS:
        return None
    table = data.judgements.filter(pc.field("method") == name)
    if not table.num_rows:
        return None
    method = configured(find_method(name), config.settings)
    values = turn_opinions(table, data.episodes.all, method.scale.null)
    asked = config.settings.section_of(method) is config.settings.llm
    shown = asked and any(shows_score(config.settings.llm.prompt, of) for of in data.episodes.all[:1])
    return Component(name, values, reads_replies=name in OF_REPLIES, shown_score=shown, trust=float(method.asks))


def _student(reactions: Reactions, data: TrainingData, config: TrainingConfig) -> Component | None:
    """What the language model's judgements of some sessions tell of the replies; None where it judged too few."""
    import pyarrow.compute as pc

    method = METHODS["llm-student"]
    if data.judgements is None or not isinstance(method, StudentMethod):
        return None
    table = data.judgements.filter(pc.field("method") == method.teacher.name)
    null = configured(method.teacher, config.settings).scale.null
    lesson = Lesson(turn_opinions(table, data.episodes.all, null), asked=data.asked)
    try:
        source, _ = student_source(method.name, reactions, lesson, data.episodes.sessions("train"))
    except UnitError:
        return None
    return source


def _people_student(reactions: Reactions, data: TrainingData, config: TrainingConfig) -> Component | None:
    """What people's labels of training sessions tell of the replies; empty, with the reason, where they are too few."""
    if data.labels is None:
        return None
    lesson = Lesson(data.opinions_of_people(), PEOPLE)
    try:
        source, _ = student_source("people-student", reactions, lesson, data.episodes.sessions("train"))
    except UnitError as error:
        return Component("people-student", {}, reads_replies=True, lacking=str(error))
    return source


MAKERS: Mapping[str, Callable[[Reactions, TrainingData, TrainingConfig], Component | None]] = {
    "reaction": _reaction,
    "prior": _prior,
    "reactions-en": _reactions_en,
    "behaviour": _behaviour,
    "llm-student": _student,
    "people-student": _people_student,
}
"""The sources that are made of what was read of the replies; every other name is that of a method that judges."""
