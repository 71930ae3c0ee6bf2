"""The stage `align`: one policy a run, fine-tuned against the reward model of one method."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion.corpus.annotators import labels_in, peoples_labels, thumbs
from apportion.corpus.session import Episode, Session
from apportion.corpus.targets import answered_episodes, credited
from apportion.decompose.method import ObjectiveMethod, PredictedReaction
from apportion.decompose.methods import METHODS
from apportion.decompose.reward_models import GOLD_VERSION, SUFFIX, taught_by
from apportion.decompose.settings_key import settings_identity
from apportion.evaluation.methods.controls import ControlVerdict, beats_controls
from apportion.foundation.errors import InputError, UnitError, errors_called
from apportion.foundation.model_hub.names import files_identity, is_folder_name, model_digest, model_folder
from apportion.foundation.optional_packages import check_extra
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import AGAINST, BeforeRun, Inputs, Outputs, Stage, Unit, Work
from apportion.pipeline.results.model_agreement import verdict_of_folder
from apportion.pipeline.stages.plugins import asking_of, check_chosen, chosen_identity
from apportion.pipeline.stages.shared import fix_threads, seed_of, trained_models
from apportion.reward_model.corpus_scores import method_and_seed
from apportion.reward_model.settings import SMOLLM2
from apportion.rlhf.plugins import REWARD_MODEL
from apportion.rlhf.policy.loading import check_whole
from apportion.rlhf.policy.prompts import read_prompts
from apportion.rlhf.preflight import check_alignment, step_told

if TYPE_CHECKING:
    from apportion.decompose.corpus_methods.gold import GoldLesson
    from apportion.pipeline.engine.store import Artifact
    from apportion.reward_model.config import RewardModelConfig
    from apportion.reward_model.settings import RewardModelSettings
    from apportion.rlhf.training.job import GoldModels, Job, Member


def _align(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """A policy, fine-tuned against the reward model of one method."""
    if _is_judged(config):
        _check_worth(verdict_of(config, inputs.artifacts("evaluate")), config)
    fix_threads(config)
    from apportion.rlhf.align import align
    from apportion.rlhf.training.job import Job
    from apportion.rlhf.training.metrics import measured_until
    from apportion.rlhf.training.tracking import event_files, wandb_run

    seed = seed_of(inputs.unit)
    if work.checkpoints is not None:
        work.measured.update(measured_until(work.checkpoints))

    def note(step: int, metrics: Mapping[str, float]) -> None:
        work.measured.update({(step, name): value for name, value in metrics.items()})

    with (
        event_files(config.run.tensorboard, "run.tensorboard") as events,
        wandb_run(config.run.wandb, config.output / "wandb", config.align.placed, seed, "run.wandb") as sent,
        _gold(inputs, config, work) as gold,
    ):
        job = Job(
            episodes=align_episodes(inputs.sessions, config, config.rating),
            splits=inputs.required("split", "splits"),
            reward_model=_reward_model(inputs, config),
            ensemble=_ensemble(inputs, config),
            settings=config.align,
            seed=seed,
            out=work.out / "policy",
            checkpoints=work.checkpoints,
            called="align",
            prompts=read_prompts(config.align.prompts) if config.align.prompts else (),
            asking=asking_of(config),
            gold=gold,
            thumbs=_thumbs(inputs, config),
        )
        history, samples = align(job, work.progress, (note, *events, *sent))
    return Outputs({"history": history, "samples": samples}, _against(job))


def _thumbs(inputs: Inputs, config: Config) -> Mapping[tuple[str, int], bool]:
    """What people said of the turns of the policy split, where the algorithm asks; of no other session."""
    if inputs.turn_labels is None:
        return {}
    from apportion.corpus.splits.splits import sessions_in

    mine = sessions_in(inputs.required("split", "splits"), "policy")
    name, means = labels_in(inputs.turn_labels, mine, config.evaluate.label)
    labels = peoples_labels(inputs.turn_labels)
    names = set(labels["name"].to_pylist())
    if names and (name not in names if config.evaluate.label else len(names) > 1 and not means):
        raise UnitError(
            f"align.algorithm = 'kto': evaluate.label = {config.evaluate.label!r}, and people's labels of turns are "
            f"called {', '.join(sorted(names))}. Choose one with evaluate.label."
        )
    return thumbs(means)


@contextmanager
def _gold(inputs: Inputs, config: Config, work: Work) -> Iterator[GoldModels | str]:
    """What tells whether the policy gains; or why there is nothing, which is nobody's wish where it is empty.

    Raises UnitError: there is none, and `align.stop` asks for it.
    """
    if not config.align.asks_gold:
        yield ""
        return
    from apportion.decompose.corpus_methods.gold import train_gold
    from apportion.rlhf.training.job import GoldModels

    lesson = _gold_lesson(inputs, config)
    why = lesson.lacking
    # Beside this unit's checkpoints, which go when it is finished: policies by other settings are judged by the same.
    kept = work.checkpoints.parent if work.checkpoints else None
    with tempfile.TemporaryDirectory(prefix="apportion-gold-") as scratch:
        try:
            models = None if why else train_gold(lesson, (kept or Path(scratch)) / f"gold-{lesson.key}")
        except UnitError as error:
            models, why = None, f"No gold reward tells whether the policy has gained: {str(error).rstrip('.')}"
        if models is None and config.align.stop == "gold":
            raise UnitError(f"align.stop = 'gold': {why}. Or set align.stop = 'none'.")
        yield f"{why}." if models is None else GoldModels(*models, f"By {lesson.told()}.")


def _gold_lesson(inputs: Inputs, config: Config) -> GoldLesson:
    """What gold learns, and by what: neither the method nor, where another is here, the encoder of the reward."""
    from apportion.corpus.splits.splits import sessions_in
    from apportion.decompose.corpus_methods.gold import REACTIONS, SCORES, GoldLesson, gold_reader
    from apportion.decompose.corpus_methods.trained_network import TrainingConfig
    from apportion.reward_model.checkpoint import read_config

    align, mine = config.align, sessions_in(inputs.required("split", "splits"), "policy")
    proxy: RewardModelSettings | RewardModelConfig | None
    names: tuple[str, ...]
    if align.reward_model is not None:
        proxy, names = read_config(align.reward_model), (method_and_seed(align.reward_model.name)[0],)
    else:
        own = align.reward == REWARD_MODEL
        proxy, names = (config.train_reward, aligned_methods(config)) if own else (None, ())
    by_reactions = any(isinstance(METHODS.get(name), PredictedReaction) for name in names)
    return GoldLesson(
        sessions=[session for session in inputs.sessions if session.session_id in mine],
        rating=config.rating,
        method=SCORES if by_reactions else REACTIONS,
        config=TrainingConfig(config.decompose, gold_reader(proxy, align.placement.device), seed_of(inputs.unit)),
    )


def _gold_identity(config: Config) -> dict[str, Any]:
    """What gold depends on beside the sessions and the reward."""
    if not config.align.asks_gold:
        return {}
    reads = model_digest(SMOLLM2) if model_folder(SMOLLM2).is_dir() else None
    learns = settings_identity(METHODS["predicted-reaction"], config.decompose)
    return {"gold": {"version": GOLD_VERSION, "learns": learns, "target": config.decompose.target, "smollm2": reads}}


def _against(job: Job) -> Mapping[str, Any]:
    """What the curves are called where no method of this run gives the reward."""
    if job.settings.reward != REWARD_MODEL:
        return {AGAINST: {"reward": job.settings.reward}}
    if job.ensemble:
        return {AGAINST: {"reward": f"the {job.settings.joined}"}}
    if job.settings.reward_model is None and job.reward_model is not None:
        return {}
    return {AGAINST: {"reward": job.reward_model.name if job.reward_model else "no reward"}}


def _reward_model(inputs: Inputs, config: Config) -> Path | None:
    """Another run's, else this one's; None where no session has a score."""
    trained = inputs.artifacts("train-reward")
    return config.align.reward_model or (trained[0].folder / "model" if trained else None)


def _ensemble(inputs: Inputs, config: Config) -> tuple[Member, ...]:
    """The reward models that score together, each with what it pays the recorded turns of validation sessions.

    None has learned from those, whereas it pays the turns that it has learned from by heart.

    Raises UnitError: one pays all of them alike.
    """
    if not _scores_together(config):
        return ()
    import numpy as np

    from apportion.corpus.splits.splits import sessions_in
    from apportion.rlhf.training.job import Member

    held, trained = sessions_in(inputs.required("split", "splits"), "validation"), inputs.upstream["train-reward"]
    members: list[Member] = []
    for unit in _together(config, inputs.unit):
        if unit not in trained:
            raise UnitError(
                f"align.reward_ensemble: the reward model of {unit} is not there, its training failed. Mend that "
                "(train-reward, above), or take its method or its seed out."
            )
        rows = trained[unit].table("scores").select(["session_id", "advantage"]).to_pylist()
        paid = np.array([row["advantage"] for row in rows if row["session_id"] in held])
        sd = float(paid.std()) if len(paid) else 0.0
        if sd == 0:
            raise UnitError(
                f"align.reward_ensemble: the reward model of {unit} pays all {len(paid)} recorded turns of the "
                "validation sessions alike, so its scores have no unit that others share. Take it out, or give that "
                "split more sessions."
            )
        members.append(Member(trained[unit].folder / "model", float(paid.mean()), sd))
    return tuple(members)


def _scores_together(config: Config) -> bool:
    return config.align.trainer.needs_reward and bool(config.align.reward_ensemble)


def _together(config: Config, unit: Unit) -> tuple[Unit, ...]:
    """The units that train the reward models of an ensemble."""
    return tuple(unit._replace(method=name, seed=seed) for name in aligned_methods(config) for seed in config.seeds)


def _reads(config: Config, unit: Unit, need: str) -> tuple[Unit, ...]:
    return _together(config, unit) if need == "train-reward" and _scores_together(config) else (unit,)


def _check_worth(verdict: ControlVerdict | None, config: Config) -> None:
    """Raise UnitError where a control that judges no turn agrees with people as well; without labels nobody knows.

    By the estimate: an interval that holds 0 is told of (`worth_note`) and stops nothing.
    """
    if verdict is None or verdict.gain.value > 0 or config.align.anyway:
        return
    raise UnitError(
        f"{verdict.text()} Name another one (align.reward_method, or align.reward_model of another run), teach it by "
        "more dialogues, or train all the same: --anyway, or align.anyway = true."
    )


def verdict_of(config: Config, evaluations: Iterable[Artifact]) -> ControlVerdict | None:
    """What is known of the reward model that the policy is trained against: by this run or by the one it comes from."""
    if config.align.reward_model is not None:
        return verdict_of_folder(config.align.reward_model)
    documents = [each.document("evaluation") for each in evaluations]
    found = [beats_controls(document, name) for document in documents for name in aligned_methods(config)]
    # Of several the worst: what is fond of one thing alone spoils the others' mean.
    return min((verdict for verdict in found if verdict), key=lambda verdict: verdict.gain.value, default=None)


def worth_note(config: Config, evaluations: Iterable[Artifact]) -> str | None:
    """One line on a policy whose reward model is not shown to be better than controls, or of which nothing is known."""
    if not _is_judged(config):
        return None
    verdict = verdict_of(config, evaluations)
    if verdict is None:
        return (
            "align: nothing says whether its reward model agrees with people more than controls that judge no turn "
            "(no labels by people of held-out turns, or no evaluation)."
        )
    return None if verdict.beats else f"align: {verdict.text()}"


def _is_judged(config: Config) -> bool:
    return config.align.trainer.needs_reward and config.align.reward == REWARD_MODEL


def aligned_method(config: Config) -> str:
    """The reward model that the policy is trained against: the configured one, or that of the run's method.

    A method's name means the reward model that its rewards taught, or the direct one where there is no other.
    """
    method = trained_models(config)[0] if config.train_reward.teacher != "rewards" else config.decompose.method
    return _trained(config, next(iter(config.align.reward_ensemble), config.align.reward_method) or method)


def aligned_methods(config: Config) -> tuple[str, ...]:
    """The same where several score together, of which it is the first."""
    together = config.align.reward_ensemble
    return tuple(dict.fromkeys(_trained(config, name) for name in together)) or (aligned_method(config),)


def _trained(config: Config, name: str) -> str:
    names = trained_models(config)
    return next((each for each in (name, f"{name}{SUFFIX}") if each in names), name)


def _settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """A policy's folder enters by its path, which the adapters name, and by its content; a reward model by content."""
    policy = config.align.policy
    files: dict[str, Any] = dict(files_identity("policy_files", policy))
    scores = config.align.reward_model
    files |= {"reward_model_files": model_digest(str(scores))} if scores is not None else {}
    files |= chosen_identity(config)
    files |= _gold_identity(config)
    files |= {"label": config.evaluate.label} if config.align.trainer.takes_thumbs else {}
    return {"rating": config.rating, "align": config.align.in_key(), "threads": config.run.threads, **files}


def _is_aligned(config: Config, unit: Unit, session: Session | None) -> bool:
    """One policy a run: against the chosen method's reward model, with the first seed."""
    return unit.method == aligned_method(config) and unit.seed == config.seeds[0]


def _nothing_to_align(config: Config, sessions: Mapping[str, Session]) -> str | None:
    if not config.align.enabled:
        return "align.enabled = false"
    align = config.align
    if (
        config.split.policy > 0
        or not align.trainer.needs_reward
        or (align.prompts is not None and not align.trainer.from_record)
        or align.environment is not None
    ):
        return None
    if all(session.episodes(config.rating) for session in sessions.values()):
        return "split.policy = 0, and every session has a score: no dialogue is left for the policy to answer in"
    return None


def _check(before: BeforeRun) -> Iterator[str]:
    """Before the stages that come first have run for hours."""
    from apportion.rlhf.training.tracking import check_event_folder, check_tensorboard, check_wandb

    config = before.config
    settings = config.align
    _check_place(config)
    _check_reward_model(config)
    if config.run.tensorboard is not None:
        check_tensorboard("run.tensorboard")
        check_event_folder(config.run.tensorboard, "run.tensorboard")
    if config.run.wandb is not None:
        check_wandb("run.wandb")
    if settings.generation == "vllm":
        check_extra("vllm", "vllm", "align.generation = 'vllm'", "sampling with it")
    if settings.processes > 1:
        from apportion.rlhf.launch.launcher import check_config

        check_config(settings, "align.accelerate")
    # What is finished needs no model any more; of one at the Hub, the network would be asked.
    named = settings.policy != "tiny" and not is_folder_name(settings.policy)
    if not (named and before.finished()):
        with errors_called("align"):
            policy = check_alignment(settings, align_episodes(tuple(before.sessions.values()), config, before.rating))
            told = None
            if policy is not None and not before.finished():
                fix_threads(config)
                told = step_told(policy, settings)
        yield from () if told is None else (told,)
    yield from check_chosen(before)
    if settings.unread:
        keys = ", ".join(f"align.{name}" for name in settings.unread)
        yield f"{keys}: set, but not read by align.algorithm = {settings.algorithm!r}."


def align_episodes(sessions: Sequence[Session], config: Config, rating: str | None) -> tuple[Episode, ...]:
    """All that the policy could answer in: sessions without a score in the place of whom the others' scores credit."""
    return answered_episodes(sessions, credited(sessions, rating), rating, config.align.targets)


def _trains_its_own(config: Config) -> bool:
    return config.align.reward == REWARD_MODEL and config.align.reward_model is None


def _without(config: Config) -> tuple[str, ...]:
    """Another run's reward model was judged there; and nothing is judged for a policy that is trained anyway."""
    if not _trains_its_own(config):
        return ("train-reward", "evaluate")
    return ("evaluate",) if config.align.anyway or not _is_judged(config) else ()


def _check_reward_model(config: Config) -> None:
    """Raise InputError where the reward model is none of this run's and no other's, or reads whole dialogues alone."""
    if config.align.reward != REWARD_MODEL:
        return
    if config.align.reward_model is not None:
        from apportion.reward_model.checkpoint import check_checkpoint

        with errors_called("align.reward_model"):
            check_checkpoint(config.align.reward_model)
        return
    if _scores_together(config) and len(aligned_methods(config)) * len(config.seeds) < 2:
        raise InputError(
            f"align.reward_ensemble = {list(config.align.reward_ensemble)}: with the one seed of the run that is one "
            "reward model. Name another method, or give `seeds` more."
        )
    if _scores_together(config) and config.split.validation == 0:
        raise InputError(
            "align.reward_ensemble with split.validation = 0: what the models pay turns of that split is their common "
            "unit. Give it a share, e.g. 0.1."
        )
    for name in aligned_methods(config):
        _check_own(config, name, trained_models(config))


def _check_own(config: Config, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise InputError(_unknown_reward_model(config, name, names))
    method, direct = taught_by(name)
    if direct and method.recurrent:
        others = [each for each in names if not ((taught := taught_by(each)).direct and taught.method.recurrent)]
        raise InputError(
            f"align: the reward model {name!r} reads the dialogue's target turns one after the other and gives no "
            f"single reply a reward. Set align.reward_method to another one ({', '.join(others) or 'there is none'})"
            + ("." if method.name in names else ", or train_reward.objective to 'both' or 'distilled'.")
        )


def _unknown_reward_model(config: Config, name: str, names: Sequence[str]) -> str:
    setting = "reward_ensemble" if config.align.reward_ensemble else "reward_method"
    method, given = name.removesuffix(SUFFIX), f"align.{setting} = {name!r}"
    if method == name or method not in config.decompose.methods:
        known = ", ".join(config.decompose.methods)
        return f"{given}: not among the methods ({known}). Add it to decompose.compare or choose one of those."
    trained = f"{given}: not among the reward models of this run ({', '.join(names)})"
    if isinstance(METHODS[method], ObjectiveMethod):
        return f"{trained}. Set train_reward.objective to 'direct' or 'both', or choose one of those."
    return f"{trained}: {method!r} is no objective, and its rewards are distilled. Choose one of those."


def _check_place(config: Config) -> None:
    """Raise InputError where the policy is no whole model, or it or the reward model is what this run replaces."""
    check_whole(config.align.policy)
    scores, own = config.align.reward_model, (config.output / "reward_models").resolve()
    if scores is not None and scores.resolve().is_relative_to(own):
        raise InputError(
            f"align.reward_model = '{scores}': it lies in {own}, which this run replaces. Name its method with "
            "align.reward_method instead, or set another `output`."
        )
    published = (config.output / "policy").resolve()
    if Path(config.align.policy).is_absolute() and Path(config.align.policy).resolve().is_relative_to(published):
        raise InputError(
            f"align.policy = {config.align.policy!r}: it lies in {published}, which this run replaces. Copy it to "
            "another place, or set another `output`."
        )


ALIGN = Stage(
    "align",
    _align,
    needs=("split", "train-reward", "evaluate"),
    spares=("evaluate",),
    gates=("evaluate",),
    per="corpus",
    over=("method", "seed"),
    methods=trained_models,
    read_as=_reads,
    version=2,
    without=_without,
    help="Fine-tune a policy with LoRA: by PPO, GRPO, RLOO, RAFT, DPO or KTO against a reward model, or by SFT.",
    settings=_settings,
    applies=_is_aligned,
    idle=_nothing_to_align,
    check=_check,
    tells_others_apart=True,
    turn_labels=lambda config: config.align.enabled and config.align.trainer.takes_thumbs,
)
