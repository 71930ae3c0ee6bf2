"""The stages `react`, `judge`, `fit` and `rewards`: from one score a conversation to a reward a turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion.corpus.session import Session
from apportion.decompose.influence.preflight import check_influence
from apportion.decompose.languages import check_understood
from apportion.decompose.method import (
    Attribution,
    CorpusMethod,
    Input,
    LabelStudent,
    Method,
    ObjectiveMethod,
    PredictedReaction,
    PretrainedReactions,
    Raw,
    ReactionMethod,
    RolloutMethod,
    RubricMethod,
    ScoreUnits,
    SessionMethod,
    StackedMethod,
    StudentMethod,
)
from apportion.decompose.methods import METHODS
from apportion.decompose.prompt_building.prompt import load_prompt
from apportion.decompose.prompt_building.rubric import read_rubric
from apportion.decompose.settings_key import configured, settings_identity
from apportion.features.vocal_intensity_model.model import load_intensity_model
from apportion.foundation.errors import InputError
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.pipeline.config import Config
from apportion.pipeline.engine.provenance import has_face, has_sound
from apportion.pipeline.engine.stage import BeforeRun, Inputs, Outputs, Stage, Unit, Work
from apportion.pipeline.stages.reward_model import check_reward_model, reading_of, training_settings
from apportion.pipeline.stages.rollout_context import check_simulators, played_session, simulator_settings
from apportion.pipeline.stages.rubric import with_rubric
from apportion.pipeline.stages.shared import (
    check_asking,
    chosen_count,
    fix_threads,
    has_episode,
    is_chosen,
    method_of,
    name_of,
    recorded_digest,
    requests_at_once,
    seed_of,
    trained_models,
    wants_descriptors_or_features,
)
from apportion.pipeline.stages.split import check_enough

if TYPE_CHECKING:
    import pyarrow as pa


def _react(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's replies to what is read of them."""
    fix_threads(config)
    from apportion.decompose.reactions.extract import read_session
    from apportion.reward_model.network.embed import embedding_matrix

    utterances = inputs.table("embed", "utterances")
    read = None if utterances is None else embedding_matrix(utterances)
    return Outputs({"reactions": read_session(inputs.session, config.rating, config.decompose.reaction, read)})


def _reads_alone(config: Config) -> tuple[str, ...]:
    """What replies are read without: the turns that the reward model reads, where it reads them otherwise."""
    ours, theirs = config.decompose.reaction, config.train_reward
    alike = (ours.backbone, ours.max_tokens, "pooled", True, "cpu") == (
        theirs.backbone, theirs.max_tokens, theirs.scoring, theirs.freeze_backbone, theirs.device,
    )  # fmt: skip
    return () if alike else ("embed",)


def _react_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    how = config.decompose.reaction
    read = how.reading() | reading_of(how.backbone)
    return {"rating": config.rating, "threads": config.run.threads, **read}


def _is_reacted_to(config: Config, unit: Unit, session: Session | None) -> bool:
    named = (*config.decompose.methods, *trained_models(config))
    wanted = bool(config.decompose.some_judge) or any(isinstance(METHODS.get(n), ReactionMethod) for n in named)
    return wanted and has_episode(config, unit, session)


def _judge(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session to one method's judgements of its turns."""
    if method_of(inputs.unit).measures_here:
        fix_threads(config)
    from apportion.decompose.session_methods.runner import SessionScores, judge_session

    if not is_chosen(inputs):
        return Outputs({"judgements": SessionScores.none().judgements})

    def complete(request: ChatRequest) -> ChatReply:
        reply: ChatReply = work.tools.complete(request)
        return reply

    method = method_of(inputs.unit)
    plays = isinstance(method, RolloutMethod)
    asker: Any = work.tools if method.asks else None
    rubrics = inputs.artifacts("rubric")
    judged = judge_session(
        name_of(inputs.unit),
        inputs.session,
        config.rating,
        inputs.table("verbalize", "descriptors"),
        with_rubric(config.decompose, rubrics) if rubrics else config.decompose,
        asker,
        inputs.table("features", "utterance_features"),
        played_session(method, inputs.session, inputs.root, config.decompose, complete) if plays else None,
    )
    sampled = {"samples": judged.samples} if judged.samples.num_rows else {}
    return Outputs({"judgements": judged.judgements, **sampled})


def _judge_wants(unit: Unit, need: str) -> bool:
    method = method_of(unit)
    if need == "rubric":
        return isinstance(method, RubricMethod)
    return method.judges_subset if need == "select-sessions" else wants_descriptors_or_features(unit, need)


def _judge_without(config: Config) -> tuple[str, ...]:
    """What this configuration has not chosen or written."""
    made = {"select-sessions": bool(config.decompose.some_judge), "rubric": config.decompose.writes_rubric}
    return tuple(stage for stage, is_made in made.items() if not is_made)


def _judge_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """A method's own settings only: another method's must not make its judgements stale."""
    method = method_of(unit)
    identity = settings_identity(method, config.decompose)
    recorded = recorded_digest(config) if method.asks else None
    computed = {"threads": config.run.threads} if method.measures_here else {}
    return {"rating": config.rating, "own": identity, "recorded": recorded, **computed}


def _played_settings(config: Config, unit: Unit, session: Session, root: Path) -> Mapping[str, Any]:
    plays = isinstance(method_of(unit), RolloutMethod)
    return simulator_settings(config, unit, session, root) if plays else {}


def _is_judged(config: Config, unit: Unit, session: Session | None) -> bool:
    return isinstance(method_of(unit), SessionMethod) and has_episode(config, unit, session)


def _check_judging(before: BeforeRun) -> Iterator[str]:
    yield from _sampling_warnings(before.config)
    yield from _prompt_warnings(before)
    yield from check_asking(before)
    yield from check_simulators(before)
    _check_languages(before)
    _check_faces(before)
    _check_voices(before)
    _check_rubric(before)
    check_influence(before.config.decompose)


def _sampling_warnings(config: Config) -> Iterator[str]:
    llm = config.decompose.llm
    asked = any(METHODS[name].asks for name in config.decompose.judging)
    if asked and llm.provider != "recorded" and llm.samples > 1 and llm.temperature == 0:
        yield (
            f"decompose.llm: samples = {llm.samples} at temperature = 0, where a server may give the same reply every "
            "time; that says nothing about stability. Set temperature above 0 (appendix J of LLM-GELI: 1)."
        )


def _prompt_warnings(before: BeforeRun) -> Iterator[str]:
    decompose = before.config.decompose
    asked = any(method_of(unit).asks for unit in before.units)
    if asked and decompose.target != "score" and load_prompt(decompose.llm.prompt).units == "score":
        yield (
            f"decompose.llm.prompt = {decompose.llm.prompt!r} asks the model to hand out the score itself, but "
            f"decompose.target = {decompose.target!r}: rewards are to sum to the score less the training mean, which "
            "decompose.constraint = 'exact' takes from all turns alike. Set decompose.target to 'score', as LLM-GELI "
            "has it."
        )


def _check_faces(before: BeforeRun) -> tuple[str, ...]:
    """Raise InputError where a method looks at faces and there is none."""
    looking = [name for name in before.config.decompose.methods if Input.FACE in METHODS[name].inputs]
    if looking and not has_face(before.sessions.values()):
        raise InputError(
            f"decompose: {', '.join(map(repr, looking))} look at the rater's face, and no session of this run "
            "has a video or measured behaviour (`media` rows of kind video or features). Leave them out, or add the "
            "recordings."
        )
    return ()


def _check_rubric(before: BeforeRun) -> None:
    """Raise InputError where the rubric that is named cannot be used."""
    file = before.config.decompose.rubric.file
    if file is not None and any(isinstance(method_of(unit), RubricMethod) for unit in before.units):
        read_rubric(file)


def _check_voices(before: BeforeRun) -> None:
    """Raise InputError where a method listens to voices and there is no sound, or no model that could judge it."""
    listening = [name for name in before.config.decompose.methods if Input.VOICE in METHODS[name].inputs]
    if not listening:
        return
    load_intensity_model(before.config.decompose.intensity.model)
    if not has_sound(before.sessions.values()):
        raise InputError(
            f"decompose: {', '.join(map(repr, listening))} listen to voices, and no session of this run has "
            "sound (`media` rows of kind audio, or of kind video with a whole picture). Leave them out, or add the "
            "recordings."
        )


def _check_languages(before: BeforeRun) -> None:
    """Raise InputError where a method understands the language of no session."""
    methods = dict.fromkeys(method_of(unit) for unit in before.units)
    check_understood(methods, before.config.decompose, before.sessions, before.rating)


def _check_fitting(before: BeforeRun) -> Iterator[str]:
    if any(not isinstance(method_of(unit), PretrainedReactions) for unit in before.units):
        check_enough(before)
    _check_languages(before)
    _check_faces(before)
    _check_priors(before)
    # What reads reactions has a backbone of its own.
    if any(isinstance(method_of(unit), ObjectiveMethod | PredictedReaction) for unit in before.units):
        yield from check_reward_model(before)


def _check_priors(before: BeforeRun) -> None:
    """Raise InputError where what was learnt elsewhere cannot be used."""
    for method in {method_of(unit) for unit in before.units}:
        if isinstance(method, PretrainedReactions):
            from apportion.decompose.reactions.transfer import prior_for

            prior_for(before.config.decompose.section_of(method))


def _fit(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """A decomposer learned on the corpus, and its judgements of every turn."""
    fix_threads(config)
    from apportion.decompose.corpus_methods.fit import fit_decomposer
    from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData

    data = TrainingData(
        inputs.split_episodes(config.rating),
        inputs.table("embed", "embeddings"),
        inputs.table("features", "utterance_features"),
        inputs.table("react", "reactions", work.out),
        inputs.table("judge", "judgements"),
        chosen_count(inputs),
        inputs.table("hand-labels", "labels"),
    )
    training = TrainingConfig(config.decompose, config.train_reward, seed_of(inputs.unit))
    fitted = fit_decomposer(name_of(inputs.unit), data, training, work.progress, work.training_state)
    weighed = {} if fitted.sources is None else {"sources": fitted.sources}
    learnt = {} if fitted.learnt is None else {"learnt": fitted.learnt}
    return Outputs({"judgements": fitted.judgements, "history": fitted.history, **weighed}, learnt)


def _fit_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    identity = settings_identity(method_of(unit), config.decompose)
    if isinstance(method_of(unit), ReactionMethod) and not isinstance(method_of(unit), PredictedReaction):
        return {"rating": config.rating, "threads": config.run.threads, "own": identity}
    # What is relative to the mean was learned before there was a choice, and stays finished.
    target = {} if config.decompose.target == "relative" else {"target": config.decompose.target}
    return {**training_settings(config, unit), "own": identity, **target}


def _fit_wants(unit: Unit, need: str) -> bool:
    """A method that reads reactions reads them instead of the turns themselves."""
    method = method_of(unit)
    reads_reactions = isinstance(method, ReactionMethod)
    if need in ("judge", "select-sessions"):
        return isinstance(method, StudentMethod | StackedMethod)
    if need == "hand-labels":
        return isinstance(method, LabelStudent) or method.reads("stacking")
    if need == "features":
        # What was learnt elsewhere does not look at the rater's behaviour.
        return method.reads_features or (reads_reactions and not isinstance(method, PretrainedReactions))
    # What foretells a reaction reads both: the turn, and the reply that came to it.
    return (
        need not in ("embed", "react") or (need == "react") == reads_reactions or isinstance(method, PredictedReaction)
    )


def _fit_reads(config: Config, unit: Unit, need: str) -> tuple[Unit, ...]:
    """A mix reads the judgements of the methods that it mixes in, not its own."""
    if need != "judge":
        return (unit,)
    local = method_of(unit).parts.get("local")
    names = config.decompose.stacking.components if local is None else (local.name,)
    return tuple(unit._replace(method=name) for name in names)


def _rewards(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Judgements to rewards, whose sum is made exact where that is asked for."""
    from apportion.decompose.projection import project

    method = configured(method_of(inputs.unit), config.decompose)
    judgements = inputs.required(judging_stage(method), "judgements")
    # Episodes in quarantine go in too: the mean score is that of all training sessions, whatever the method.
    table, projection = project(
        judgements,
        inputs.split_episodes(config.rating),
        config.decompose.target,
        method,
        config.decompose.constraint,
    )
    table = with_seed(table, seed_of(inputs.unit))
    return Outputs({"rewards": table, **samples_of(inputs, config)}, {"projection": projection.to_json()})


def with_seed(table: pa.Table, seed: int) -> pa.Table:
    """Rewards that do not depend on the seed as those of this one."""
    import pyarrow as pa

    seeds = pa.array([seed] * len(table), pa.int32())
    return table.set_column(table.schema.get_field_index("seed"), table.schema.field("seed"), seeds)


def samples_of(inputs: Inputs, config: Config) -> dict[str, pa.Table]:
    """What the judge said each time, as a table; it does not depend on the seed, so it is handed on once."""
    samples = inputs.table("judge", "samples") if seed_of(inputs.unit) == config.seeds[0] else None
    return {} if samples is None else {"samples": samples}


def _rewards_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    method = configured(method_of(unit), config.decompose)
    # What is as it always was is not named: rewards from before there was a choice stay finished.
    constraint = {} if config.decompose.constraint == "exact" else {"constraint": config.decompose.constraint}
    scale = method.scale
    alone = {"unprojected": True} if isinstance(scale, Raw) else {}
    held_to = {"residual": "score"} if method.hands_out_score else {}
    above = {"relative_to": "low"} if isinstance(scale, Attribution) else {}
    return {
        "rating": config.rating,
        "target": config.decompose.target,
        "reward_units": isinstance(scale, ScoreUnits),
        "null": scale.null,
        "attribution": [scale.how, scale.highest] if isinstance(scale, Attribution) else [None, None],
        **constraint,
        **alone,
        **held_to,
        **above,
    }


def _rewards_wants(unit: Unit, need: str) -> bool:
    return need in ("split", judging_stage(method_of(unit)))


def judging_stage(method: Method) -> str:
    """The stage that judges turns by a method."""
    return "judge" if isinstance(method, SessionMethod) else "fit"


REACT = Stage(
    "react",
    _react,
    needs=("embed",),
    per="session",
    version=2,
    settings=_react_settings,
    applies=_is_reacted_to,
    without=_reads_alone,
    scored=True,
)
JUDGE = Stage(
    "judge",
    _judge,
    needs=("features", "verbalize", "select-sessions", "rubric"),
    per="session",
    over=("method",),
    help="Turn each session's score into turn rewards, by every configured method.",
    settings=_judge_settings,
    session_settings=_played_settings,
    applies=_is_judged,
    wants=_judge_wants,
    without=_judge_without,
    methods=lambda config: config.decompose.judging,
    concurrent=requests_at_once,
    asks=True,
    check=_check_judging,
    scored=True,
)
FIT = Stage(
    "fit",
    _fit,
    needs=("split", "hand-labels", "select-sessions", "features", "embed", "react", "judge"),
    per="corpus",
    over=("method", "seed"),
    settings=_fit_settings,
    wants=_fit_wants,
    read_as=_fit_reads,
    without=lambda config: () if config.decompose.reads_labels else ("hand-labels",),
    spares=("hand-labels",),
    applies=lambda config, unit, session: isinstance(method_of(unit), CorpusMethod),
    check=_check_fitting,
    scored=True,
    tells_others_apart=True,
)
REWARDS = Stage(
    "rewards",
    _rewards,
    needs=("split", "judge", "fit"),
    per="corpus",
    over=("method", "seed"),
    version=2,
    settings=_rewards_settings,
    wants=_rewards_wants,
    scored=True,
)
