"""The stages `embed` and `train-reward`: from rewards to a reward model that reads text alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from apportion.corpus.session import Session
from apportion.corpus.targets import as_if_rated, credited
from apportion.decompose.method import ObjectiveMethod, PredictedReaction
from apportion.decompose.methods import METHODS
from apportion.decompose.reward_models import taught_by
from apportion.decompose.settings_key import settings_identity
from apportion.foundation.model_hub.names import files_identity
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import BeforeRun, Inputs, Outputs, Stage, Unit, Work
from apportion.pipeline.stages.shared import fix_threads, has_episode, name_of, seed_of, trained_models
from apportion.pipeline.stages.split import check_enough
from apportion.reward_model.network.preflight import check_backbone
from apportion.reward_model.settings import MINILM

if TYPE_CHECKING:
    import pyarrow as pa

    from apportion.decompose.corpus_methods.trained_network import TrainingData


def _embed(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's turns to frozen embeddings."""
    fix_threads(config)
    from apportion.reward_model.network.embed import embed_session

    found = embed_session(inputs.session, config.rating, config.train_reward)
    return Outputs({name: table for name, table in found._asdict().items() if table is not None})


def _embed_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    how = config.train_reward
    parts: dict[str, Any] = {"parts": 3} if how.scoring == "pooled" else {"beside": MINILM} if how.reads_beside else {}
    values = {**how.in_key(), **parts, **reading_of(how.backbone)}
    return {"rating": config.rating, "threads": config.run.threads, **values}


def _is_embedded(config: Config, unit: Unit, session: Session | None) -> bool:
    return config.train_reward.freeze_backbone and has_episode(config, unit, session)


def _train_reward(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One method's rewards, or what it learns them from, to a reward model."""
    fix_threads(config)
    train = _directly if taught_by(name_of(inputs.unit)).direct else _distilled
    scores, history, offset = train(inputs, config, work)
    return Outputs({"scores": scores, "history": history}, {"training": {"score_offset": offset}})


def _distilled(inputs: Inputs, config: Config, work: Work) -> tuple[pa.Table, pa.Table, float]:
    from apportion.decompose.corpus_methods.predicted_reaction import reaction_worth
    from apportion.decompose.corpus_methods.trained_network import TrainingConfig
    from apportion.reward_model.learning.distillation import Lesson, train_reward_model

    name, seed, offset = name_of(inputs.unit), seed_of(inputs.unit), None
    data, unscored = _training_data(inputs, config), frozenset[str]()
    if isinstance(taught_by(name).method, PredictedReaction):
        data, unscored = with_unscored(data, inputs.sessions, config)
        rewards = reaction_worth(name, data, TrainingConfig(config.decompose, config.train_reward, seed))
    else:
        (projected,) = inputs.artifacts("rewards")
        rewards, offset = projected.table("rewards"), float(projected.document("projection")["score_offset"])
    lesson = Lesson(rewards, data.episodes, data.embeddings, offset, unscored)
    trained = train_reward_model(
        lesson, config.train_reward, seed, work.out / "model", work.progress, work.training_state
    )
    return trained.scores, trained.history, trained.score_offset


def with_unscored(
    data: TrainingData, sessions: Sequence[Session], config: Config
) -> tuple[TrainingData, frozenset[str]]:
    """The data and the sessions of ``policy`` that nobody scored, seen as if whom the scores credit had been rated."""
    import pyarrow as pa

    from apportion.corpus.splits.splits import HOME, SplitEpisodes
    from apportion.decompose.reactions.extract import read_session
    from apportion.reward_model.network.embed import embed_session

    whom, free = credited(sessions, config.rating), data.episodes.sessions(HOME)
    found: list[Session] = []
    for session in sessions:
        if session.session_id in free and not session.episodes(config.rating):
            bare = replace(session, ratings=())
            found += [as_if_rated(bare, speaker) for speaker in whom.speakers(session.turns)[:1]]
    found = [session for session in found if any(episode.target_turns for episode in session.episodes())]
    if not found or data.reactions is None:
        return data, frozenset()
    reactions = [data.reactions, *(read_session(session, None, config.decompose.reaction) for session in found)]
    embeddings = data.embeddings
    if embeddings is not None:
        read = (embed_session(session, None, config.train_reward).embeddings for session in found)
        embeddings = pa.concat_tables([embeddings, *read])
    seen = tuple(episode for session in found for episode in session.episodes())
    every = SplitEpisodes((*data.episodes.all, *seen), data.episodes.splits)
    more = replace(data, episodes=every, embeddings=embeddings, reactions=pa.concat_tables(reactions))
    return more, frozenset(session.session_id for session in found)


def _training_data(inputs: Inputs, config: Config) -> TrainingData:
    from apportion.decompose.corpus_methods.trained_network import TrainingData

    return TrainingData(
        inputs.split_episodes(config.rating),
        inputs.table("embed", "embeddings"),
        inputs.table("features", "utterance_features"),
        inputs.table("react", "reactions"),
    )


def _directly(inputs: Inputs, config: Config, work: Work) -> tuple[pa.Table, pa.Table, float]:
    from apportion.decompose.corpus_methods.fit import train_directly
    from apportion.decompose.corpus_methods.trained_network import TrainingConfig

    name = name_of(inputs.unit)
    training = TrainingConfig(config.decompose, config.train_reward, seed_of(inputs.unit))
    trained = train_directly(
        taught_by(name).method.name,
        name,
        _training_data(inputs, config),
        training,
        work.out / "model",
        work.progress,
        work.training_state,
    )
    return trained.scores, trained.history, trained.score_offset


def reading_of(backbone: str) -> dict[str, Any]:
    """What a backbone other than the embedded one is, and how it is read, for the key of what it has read.

    Encoder-decoders were read by their encoders once, and their names alone do not tell what they are.
    """
    return {} if backbone == MINILM else {"reading": 2, **files_identity("backbone_files", backbone)}


def training_settings(config: Config, unit: Unit) -> dict[str, Any]:
    """What anything that trains this network depends on: the reward model, and decomposers that learn.

    Which reward models there are is said by their units.
    """
    model = config.train_reward.plain()
    del model["objective"], model["teacher"], model["preset"]  # A name; what it brought is here.
    for name in ("batch_turns", "lora_rank"):
        if not model[name]:
            del model[name]  # Models from before there was a choice stay finished.
    model |= reading_of(config.train_reward.backbone)
    return {"rating": config.rating, "model": model, "threads": config.run.threads}


def _train_reward_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """A distilled one knows of its method by the rewards; a direct one by that method's own settings."""
    method, direct = taught_by(name_of(unit))
    settings = training_settings(config, unit)
    if direct:
        settings |= {"target": config.decompose.target}
    if direct or isinstance(method, PredictedReaction):
        settings |= {"own": settings_identity(method, config.decompose)}
    if isinstance(method, PredictedReaction):
        settings |= {"unscored": "taught"}
    return settings


def _train_reward_wants(unit: Unit, need: str) -> bool:
    """Rewards to be distilled, or the replies that came; where the method mixes it in, behaviour in numbers."""
    method, direct = taught_by(name_of(unit))
    foretells = isinstance(method, PredictedReaction)
    if need == "features":
        return foretells or (direct and method.reads_features)
    return foretells if need == "react" else not ((direct or foretells) and need == "rewards")


def check_reward_model(before: BeforeRun) -> tuple[str, ...]:
    """Raise InputError where the backbone cannot be had: before anything is measured, asked or paid."""
    if before.units and not before.finished():
        check_backbone(before.config.train_reward)
    return ()


def _check_training(before: BeforeRun) -> Iterator[str]:
    if before.units:
        check_enough(before)
    yield from check_reward_model(before)
    settings, methods = before.config.train_reward, before.config.decompose.methods
    given = settings.objective != "distilled" and "objective" not in settings.brought
    if given and not any(isinstance(METHODS[name], ObjectiveMethod) for name in methods):
        yield (
            f"train_reward.objective = {settings.objective!r}: set, but none of the methods "
            f"({', '.join(methods)}) is an objective (rrd, ircr, rudder and their mixes are), "
            "so all rewards are distilled."
        )


EMBED = Stage(
    "embed",
    _embed,
    needs=(),
    per="session",
    help="Embed every turn with the frozen backbone of the reward model.",
    settings=_embed_settings,
    applies=_is_embedded,
    scored=True,
    tells_others_apart=True,
)
TRAIN_REWARD = Stage(
    "train-reward",
    _train_reward,
    needs=("split", "features", "embed", "react", "rewards"),
    per="corpus",
    over=("method", "seed"),
    version=3,
    help="Distil each method's rewards into a reward model that reads text alone, or train it on its objective.",
    settings=_train_reward_settings,
    methods=trained_models,
    wants=_train_reward_wants,
    check=_check_training,
    scored=True,
    tells_others_apart=True,
)
