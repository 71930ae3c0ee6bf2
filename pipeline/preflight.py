"""What is checked before any work: the corpus, the methods' servers and keys, the place for the output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from decompose.methods import METHODS, needs_features
from decompose.prompting.prompt import load_prompt
from features.emotion_model.choice import resolve_emotion_model
from foundation.errors import InputError
from foundation.extras import check_extra
from pipeline.assembly import open_engine
from pipeline.config import Config
from pipeline.engine.facts import has_face, has_unmeasured_face, has_video
from rlhf.launch.config import check_config
from rlhf.policy.loading import check_whole
from rlhf.training.event_files import check_event_folder, check_tensorboard
from rlhf.training.weights_and_biases import check_wandb

if TYPE_CHECKING:
    from pipeline.engine.engine import Engine


def check(config: Config, stages: Sequence[str] | None = None, *, sends: bool = True) -> tuple[str, ...]:
    """Check everything that can be known beforehand, for the given stages and what they need (all by default).

    ``sends`` is False where nothing will be sent: what requests would lack (a key, consent) is a warning then.

    Returns
    -------
    tuple of str
        Warnings about the corpus as a whole: no variance in the scores, too few sessions to tell methods apart.

    Raises
    ------
    InputError
        Nothing can be done: see ``pipeline.engine.intake.take_in``; an unset key, missing consent or missing recorded
        replies; a prompt that cannot be used; a method that looks at faces where none is filmed; a method to align
        with that is not made; a model of faces or emotions that does not load; event files without
        tensorboardX, curves without wandb, replies by vLLM without it; an accelerate config that cannot be used.
    """
    engine = open_engine(config)
    lacking: tuple[str, ...] = ()
    names = {name for stage in stages or engine.plan.stages for name in engine.plan.upstream(stage)}
    audits = "audit" in names and bool(engine.plan.units["audit"])
    judging = [METHODS[name] for name in config.decompose.methods] if "judge" in names else []
    if audits or any(method.section == "llm" for method in judging):
        load_prompt(config.decompose.llm.prompt)
    if audits or any(method.concurrent for method in judging):
        lacking = _lacking(engine, sends)
    _check_faces(engine, names)
    chosen = config.align.reward_method
    if "align" in names and chosen is not None and chosen not in config.decompose.methods:
        raise InputError(
            f"align.reward_method = {chosen!r}: not among decompose.methods ({', '.join(config.decompose.methods)}). "
            "Add it there or choose one of those."
        )
    if "align" in names:
        _check_policy(config)
    if "align" in names and config.run.tensorboard is not None:
        check_tensorboard()
        check_event_folder(config.run.tensorboard)
    if "align" in names and config.run.wandb is not None:
        check_wandb()
    if "align" in names and config.align.generation == "vllm":
        check_extra("vllm", "vllm", "align.generation = 'vllm'", "sampling with it")
    if "align" in names and config.align.processes > 1:
        check_config(config.align)
    model = resolve_emotion_model(config.features.emotion_model)
    if "features" in names and has_video(engine.sessions.values()):
        from features.emotion_model.network import emotion_model
        from features.face.cascade import cascade
        from features.face.detector import open_detector

        open_detector(config.features)
        if config.features.detector != "mediapipe":
            cascade("smile")
        if model is not None and has_unmeasured_face(engine.sessions.values(), engine.corpus.root):
            emotion_model(model)
    warnings: list[str] = engine.facts["warnings"](engine)
    unread = (*_no_audit(config, names), *(_not_read(config) if "align" in names else ()))
    return (*warnings, *_sampling(config, names), *unread, *lacking)


def _check_policy(config: Config) -> None:
    """Before the stages that come first have run for hours."""
    check_whole(config.align.policy)
    published = (config.output / "policy").resolve()
    if Path(config.align.policy).is_absolute() and Path(config.align.policy).resolve().is_relative_to(published):
        raise InputError(
            f"align.policy = {config.align.policy!r}: it lies in {published}, which this run replaces. Copy it to "
            "another place, or set another `output`."
        )


def _no_audit(config: Config, stages: set[str]) -> tuple[str, ...]:
    if "stability" not in stages or not config.decompose.audit.sessions or config.decompose.audited_method:
        return ()
    return (
        f"decompose.audit.sessions = {config.decompose.audit.sessions}: set, but none of decompose.methods "
        f"({', '.join(config.decompose.methods)}) asks a language model, so there is nothing to audit.",
    )


def _not_read(config: Config) -> tuple[str, ...]:
    unread = config.align.unread
    if not unread:
        return ()
    keys = ", ".join(f"align.{name}" for name in unread)
    return (f"{keys}: set, but not read by align.algorithm = {config.align.algorithm!r}.",)


def _sampling(config: Config, stages: set[str]) -> tuple[str, ...]:
    llm = config.decompose.llm
    asked = "judge" in stages and any(METHODS[name].section == "llm" for name in config.decompose.methods)
    if not asked or llm.provider == "recorded" or llm.samples == 1 or llm.temperature > 0:
        return ()
    return (
        f"decompose.llm: samples = {llm.samples} at temperature = 0, where a server may give the same reply every "
        "time; that says nothing about stability. Set temperature above 0 (appendix J of LLM-GELI: 1).",
    )


def _check_faces(engine: Engine, stages: set[str]) -> None:
    chosen = [name for name in engine.config.decompose.methods if needs_features(name)]
    if not chosen or not stages & {"judge", "fit"} or has_face(engine.sessions.values()):
        return
    raise InputError(
        f"decompose.methods: {', '.join(map(repr, chosen))} look at the rater's face, and no session of this run has "
        "a video or measured behaviour (`media` rows of kind video or features). Leave them out, or add the recordings."
    )


def _lacking(engine: Engine, sends: bool) -> tuple[str, ...]:
    try:
        engine.tools.check()
    except InputError as error:
        if sends:
            raise
        return (f"the run itself would stop: {error}",)
    return ()
