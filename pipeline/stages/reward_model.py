"""The stages `embed` and `train-reward`: from rewards to a reward model that reads text alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corpus.session import Session
from pipeline.config import Config, key_of, settings_of
from pipeline.engine.stage import BeforeRun, Inputs, Outputs, Stage, Unit, Work
from pipeline.stages.shared import fix_threads, has_episode, seed_of


def _embed(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's turns to frozen embeddings."""
    fix_threads(config)
    from reward_model.embed import embed_session

    return Outputs({"embeddings": embed_session(inputs.session, config.rating, config.train_reward)})


def _embed_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    return {"rating": config.rating, "threads": config.run.threads, **key_of(config.train_reward)}


def _is_embedded(config: Config, unit: Unit, session: Session | None) -> bool:
    return config.train_reward.freeze_backbone and has_episode(config, unit, session)


def _train_reward(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One method's rewards to a reward model."""
    fix_threads(config)
    from reward_model.distil import train_reward_model

    (projected,) = inputs.artifacts("rewards")
    offset = float(projected.document("projection")["score_offset"])
    scores, history = train_reward_model(
        projected.table("rewards"),
        inputs.episodes(config.rating),
        inputs.required("split", "splits"),
        inputs.table("embed", "embeddings"),
        config.train_reward,
        seed_of(inputs.unit),
        offset,
        work.out / "model",
        work.progress,
        work.training_state,
    )
    return Outputs({"scores": scores, "history": history}, {"training": {"score_offset": offset}})


def training_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """What anything that trains this network depends on: the reward model, and decomposers that learn."""
    model = settings_of(config.train_reward)
    del model["preset"]  # A name; what it brought is here.
    if model["batch_turns"] is None:
        del model["batch_turns"]  # Models from before there was a choice stay finished.
    return {"rating": config.rating, "model": model, "threads": config.run.threads}


def check_reward_model(before: BeforeRun) -> tuple[str, ...]:
    """Raise InputError where the backbone cannot be had: before anything is measured, asked or paid."""
    if before.units and not before.finished():
        from reward_model.backbones import check_backbone

        check_backbone(before.config.train_reward)
    return ()


EMBED = Stage(
    "embed",
    _embed,
    needs=(),
    per="session",
    help="Embed every turn with the frozen backbone of the reward model.",
    settings=_embed_settings,
    applies=_is_embedded,
)
TRAIN_REWARD = Stage(
    "train-reward",
    _train_reward,
    needs=("split", "embed", "rewards"),
    per="corpus",
    over=("method", "seed"),
    help="Distil each method's rewards into a reward model that reads text alone.",
    settings=training_settings,
    check=check_reward_model,
)
