"""The call behind each declared stage: from artifacts and settings to the package that does the work.

Packages are imported inside the calls, so that the list of stages costs nothing to read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from foundation.errors import UnitError
from pipeline.config import Config, shown_config
from pipeline.engine.stage import Inputs, Outputs, Unit, Work

if TYPE_CHECKING:
    import pyarrow as pa


def split(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Sessions to train, validation, test and policy."""
    from corpus.splits import split_sessions

    result = split_sessions(inputs.sessions, config.split, config.rating)
    return Outputs({"splits": result.table}, {"notes": list(result.notes)})


def features(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's recordings to frames and per-utterance features."""
    from features.extract import extract_session

    frames, utterance_features = extract_session(inputs.session, inputs.root, config.features)
    return Outputs({"frames": frames, "utterance_features": utterance_features})


def describe(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's features to descriptors in words."""
    from features.words.describe import describe_session

    measured = _required(inputs, "features", "utterance_features")
    return Outputs({"descriptors": describe_session(inputs.session, measured, config.describe)})


def embed(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's turns to frozen embeddings."""
    _fix_threads(config)
    from reward_model.embed import embed_session

    return Outputs({"embeddings": embed_session(inputs.session, config.rating, config.train_reward)})


def react(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's replies to what is read of them."""
    _fix_threads(config)
    from decompose.reactions.read import read_session

    return Outputs({"reactions": read_session(inputs.session, config.rating, config.decompose.reaction)})


def judge(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session to one method's judgements of its turns."""
    from decompose.judging.sessions import judge_session

    judged = judge_session(
        _method(inputs.unit),
        inputs.session,
        config.rating,
        inputs.table("describe", "descriptors"),
        config.decompose,
        work.tools,
        inputs.table("features", "utterance_features"),
    )
    sampled = {"samples": judged.samples} if judged.samples.num_rows else {}
    return Outputs({"judgements": judged.judgements, **sampled})


def audit(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's turns judged once more, with the question changed in one way."""
    from decompose.audit.ask import judge_session
    from decompose.methods import METHODS

    described = METHODS[_method(inputs.unit)].uses_descriptors
    judgements = judge_session(
        _perturbation(inputs.unit),
        inputs.session,
        config.rating,
        inputs.table("describe", "descriptors") if described else None,
        config.decompose,
        work.tools,
    )
    return Outputs({"audit": judgements})


def stability(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """All judgements of the audit to how far the order of the turns held."""
    from decompose.audit.perturbations import PERTURBATIONS
    from evaluation.stability import stability as compare
    from evaluation.stability_table import stability_table
    from pipeline.stages.auditing import asked_sessions, notes

    given = Counter(_perturbation(unit) for unit in inputs.upstream["audit"])
    asked = asked_sessions(config, {session.session_id: session for session in inputs.sessions})
    result = compare(
        _required(inputs, "audit", "audit"),
        {name: PERTURBATIONS[name].title for name in asked},
        [name for name in asked if PERTURBATIONS[name].plants],
        {name: len(sessions) - given[name] for name, sessions in asked.items()},
        config.evaluate,
    )
    table = stability_table(result, notes(config))
    (work.out / "audit.md").write_text(table.markdown() + "\n", encoding="utf-8")
    return Outputs(documents={"audit": {**result.to_json(), "table": asdict(table)}})


def fit(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """A decomposer learned on the corpus, and its rewards for every turn."""
    _fix_threads(config)
    from decompose.learning.fit import fit_decomposer

    judgements, history = fit_decomposer(
        _method(inputs.unit),
        inputs.episodes(config.rating),
        _required(inputs, "split", "splits"),
        inputs.table("embed", "embeddings"),
        config.decompose,
        config.train_reward,
        _seed(inputs.unit),
        work.progress,
        inputs.table("features", "utterance_features"),
        reactions=inputs.table("react", "reactions"),
        state=_training_state(work),
        judgements=inputs.table("judge", "judgements"),
    )
    return Outputs({"judgements": judgements, "history": history})


def rewards(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Judgements to rewards whose sum is exact."""
    import pyarrow as pa

    from decompose.identity import configured
    from decompose.methods import METHODS
    from decompose.projection import project

    method = configured(METHODS[_method(inputs.unit)], config.decompose)
    judgements = _required(inputs, "judge" if method.kind == "judge" else "fit", "judgements")
    # Episodes in quarantine go in too: the mean score is that of all training sessions, whatever the method.
    table, projection = project(
        judgements,
        inputs.episodes(config.rating),
        _required(inputs, "split", "splits"),
        config.decompose.target,
        method,
    )
    seeds = pa.array([_seed(inputs.unit)] * len(table), pa.int32())
    table = table.set_column(table.schema.get_field_index("seed"), table.schema.field("seed"), seeds)
    # Samples do not depend on the seed, so they are handed on once.
    samples = inputs.table("judge", "samples") if _seed(inputs.unit) == config.seeds[0] else None
    sampled = {} if samples is None else {"samples": samples}
    return Outputs({"rewards": table, **sampled}, {"projection": projection.to_json()})


def train_reward(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One method's rewards to a reward model that reads text alone."""
    _fix_threads(config)
    from reward_model.distil import train_reward_model

    (projected,) = inputs.artifacts("rewards")
    offset = float(projected.document("projection")["score_offset"])
    scores, history = train_reward_model(
        projected.table("rewards"),
        inputs.episodes(config.rating),
        _required(inputs, "split", "splits"),
        inputs.table("embed", "embeddings"),
        config.train_reward,
        _seed(inputs.unit),
        offset,
        work.out / "model",
        work.progress,
        _training_state(work),
    )
    return Outputs({"scores": scores, "history": history}, {"training": {"score_offset": offset}})


def evaluate(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Every method's rewards and scores to the evaluation."""
    from evaluation.evaluate import evaluate as judge

    offsets = {
        _method(unit): float(artifact.document("training")["score_offset"])
        for unit, artifact in inputs.upstream["train-reward"].items()
    }
    evaluation = judge(
        scores=_required(inputs, "train-reward", "scores"),
        rewards=_required(inputs, "rewards", "rewards"),
        offsets=offsets,
        episodes=inputs.episodes(config.rating),
        splits=_required(inputs, "split", "splits"),
        utterance_features=inputs.table("features", "utterance_features"),
        turn_labels=inputs.turn_labels,
        settings=config.evaluate,
        samples=inputs.table("rewards", "samples"),
    )
    return Outputs(documents={"evaluation": evaluation.to_json()})


def align(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """A policy, fine-tuned against the reward model of one method."""
    _fix_threads(config)
    from rlhf.align import align as fine_tune
    from rlhf.training.event_files import event_files
    from rlhf.training.weights_and_biases import wandb_run

    (trained,) = inputs.artifacts("train-reward")
    seed = _seed(inputs.unit)
    with (
        event_files(config.run.tensorboard) as events,
        wandb_run(config.run.wandb, config.output / "wandb", config.align, seed) as sent,
    ):
        history, samples = fine_tune(
            inputs.episodes(config.rating),
            _required(inputs, "split", "splits"),
            trained.folder / "model",
            config.align,
            seed,
            work.out / "policy",
            work.progress,
            work.checkpoints,
            (*events, *sent),
        )
    return Outputs({"history": history, "samples": samples})


def report(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Everything a run made to one HTML page."""
    import json

    from pipeline.engine.curves import training_curves
    from pipeline.report.page import ReportInputs, Sample, render_report

    (evaluated,) = inputs.artifacts("evaluate")
    samples = inputs.table("align", "samples")
    audits = [artifact.document("audit") for artifact in inputs.artifacts("stability")]
    page = render_report(
        ReportInputs(
            evaluation=evaluated.document("evaluation"),
            rewards=_required(inputs, "rewards", "rewards"),
            episodes=inputs.episodes(config.rating),
            splits=_required(inputs, "split", "splits"),
            descriptors=inputs.table("describe", "descriptors"),
            histories=training_curves(inputs.upstream),
            samples=tuple(Sample(**row) for row in samples.to_pylist()) if samples is not None else (),
            quarantine=tuple(inputs.facts["quarantine"]),
            warnings=tuple(inputs.facts["warnings"]),
            config=json.dumps(shown_config(config), indent=1, sort_keys=True),
            versions=inputs.facts["versions"],
            notes=config.notes,
            audit=audits[0]["table"] if audits else None,
        )
    )
    (work.out / "report.html").write_text(page, encoding="utf-8")
    return Outputs()


def _required(inputs: Inputs, stage: str, name: str) -> pa.Table:
    table = inputs.table(stage, name)
    if table is None:
        raise UnitError(f"{inputs.unit}: no {name} of the stage {stage!r} to work on; its own entry says why.")
    return table


def _method(unit: Unit) -> str:
    assert unit.method is not None
    return unit.method


def _perturbation(unit: Unit) -> str:
    assert unit.perturbation is not None
    return unit.perturbation


def _seed(unit: Unit) -> int:
    assert unit.seed is not None
    return unit.seed


def _training_state(work: Work) -> Path | None:
    return None if work.checkpoints is None else work.checkpoints / "training.pt"


def _fix_threads(config: Config) -> None:
    # A sum over another number of threads has other bits, so the count is part of what a result depends on.
    import torch

    torch.set_num_threads(config.run.threads)
