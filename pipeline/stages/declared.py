"""The declared stages: ONE tuple, from which commands, runners, DAGs and the diagram in the docs are derived."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpus.session import Session
from decompose.audit.paraphrase import paraphrase_of
from decompose.identity import configured, settings_identity
from decompose.methods import METHODS, needs_features
from decompose.prompting.prompt import load_prompt
from features.emotion_model.choice import content_identity, emotion_identity
from pipeline.config import Config, settings_of, shown_config
from pipeline.engine.stage import Stage, Unit
from pipeline.stages import calls as steps
from pipeline.stages.auditing import asks, chosen_sessions
from pipeline.stages.auditing import notes as audit_notes
from rlhf.policy.opening import policy_digest


def _has_media(config: Config, unit: Unit, session: Session | None) -> bool:
    return session is not None and bool(session.media)


def _has_episode(config: Config, unit: Unit, session: Session | None) -> bool:
    return session is not None and bool(session.episodes(config.rating))


def _is_embedded(config: Config, unit: Unit, session: Session | None) -> bool:
    return config.train_reward.freeze_backbone and _has_episode(config, unit, session)


def _reacted_to(config: Config, unit: Unit, session: Session | None) -> bool:
    asked = any(METHODS[name].uses_reactions for name in config.decompose.methods)
    return asked and _has_episode(config, unit, session)


def _is_judged(config: Config, unit: Unit, session: Session | None) -> bool:
    return METHODS[_method(unit)].kind == "judge" and _has_episode(config, unit, session)


def _is_fitted(config: Config, unit: Unit, session: Session | None) -> bool:
    return METHODS[_method(unit)].kind == "fit"


def _is_audited(config: Config, unit: Unit, session: Session | None) -> bool:
    if session is None or unit.perturbation is None or unit.method != config.decompose.audited_method:
        return False
    return asks(config, unit.perturbation, session)


def _has_audit(config: Config, unit: Unit, session: Session | None) -> bool:
    return config.decompose.audit.sessions > 0 and config.decompose.audited_method is not None


def _is_aligned(config: Config, unit: Unit, session: Session | None) -> bool:
    """One policy a run: against the chosen method's reward model, with the first seed."""
    return unit.method == aligned_method(config) and unit.seed == config.seeds[0]


def _align_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """A policy's folder enters by its path, which the adapters name, and by its content."""
    policy = config.align.policy
    own = {"policy_files": policy_digest(policy)} if Path(policy).is_absolute() else {}
    return {"rating": config.rating, "align": settings_of(config.align), "threads": config.run.threads, **own}


def aligned_method(config: Config) -> str:
    """The method whose reward model the policy is trained against: the configured one, or the last listed."""
    return config.align.reward_method or config.decompose.methods[-1]


def _features_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """Model files enter by their content: another file at the same path is other work."""
    chosen = config.features
    return {
        **settings_of(chosen),
        "emotion_model": emotion_identity(chosen.emotion_model),
        "yunet_model": chosen.detector == "yunet" and content_identity(chosen.yunet_model),
        "landmarker_model": chosen.detector == "mediapipe" and content_identity(chosen.landmarker_model),
    }


def _judge_wants(unit: Unit, need: str) -> bool:
    method = METHODS[_method(unit)]
    return method.uses_descriptors if need == "describe" else method.uses_features


def _fit_wants(unit: Unit, need: str) -> bool:
    """A method that reads reactions reads them instead of the turns themselves."""
    if need == "judge":
        return METHODS[_method(unit)].uses_judgements
    if need == "features":
        return needs_features(_method(unit)) or METHODS[_method(unit)].uses_reactions
    return need not in ("embed", "react") or (need == "react") == METHODS[_method(unit)].uses_reactions


def _fit_reads(unit: Unit, need: str) -> Unit:
    """A blend reads the judgements of the method that it mixes in, not its own."""
    return unit._replace(method=METHODS[_method(unit)].local) if need == "judge" else unit


def _audit_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    chosen = config.decompose
    other = paraphrase_of(chosen.llm.prompt, str(config.rating))
    return {
        "rating": config.rating,
        "own": settings_identity(METHODS[_method(unit)], chosen),
        "paraphrase": load_prompt(other).identity() if other else None,
        "seed": chosen.audit.seed,
        "recorded": _recorded_digest(config),
    }


def _rewards_wants(unit: Unit, need: str) -> bool:
    kind = METHODS[_method(unit)].kind
    return need == "split" or (need == "judge") == (kind == "judge")


def _judge_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """A method's own settings only: another method's must not make its judgements stale."""
    method = METHODS[_method(unit)]
    own = settings_identity(method, config.decompose)
    return {"rating": config.rating, "own": own, "recorded": _recorded_digest(config) if method.concurrent else None}


def _recorded_digest(config: Config) -> str | None:
    path = config.run.recorded
    if config.decompose.llm.provider != "recorded" or path is None or not path.is_file():
        return None
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _fit_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    own = settings_identity(METHODS[_method(unit)], config.decompose)
    if METHODS[_method(unit)].uses_reactions:
        return {"rating": config.rating, "threads": config.run.threads, "own": own}
    return {**_train_settings(config, unit), "own": own}


def _rewards_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    method = configured(METHODS[_method(unit)], config.decompose)
    return {
        "rating": config.rating,
        "target": config.decompose.target,
        "reward_units": method.reward_units,
        "null": method.null,
        "attribution": [method.attribution, method.highest],
    }


def _train_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    return {"rating": config.rating, "model": settings_of(config.train_reward), "threads": config.run.threads}


def _embed_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """What the frozen embedding of a turn depends on; the head's settings do not enter."""
    model = config.train_reward
    return {
        "rating": config.rating,
        "backbone": model.backbone,
        "scoring": model.scoring,
        "device": model.device,
        "history_turns": model.history_turns,
        "max_tokens": model.max_tokens,
        "threads": config.run.threads,
    }


def _react_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    own = config.decompose.reaction
    return {
        "rating": config.rating,
        "backbone": own.backbone,
        "max_tokens": own.max_tokens,
        "threads": config.run.threads,
    }


def _report_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    return {"config": shown_config(config)}


def _llm_concurrency(config: Config, unit: Unit) -> int:
    return config.decompose.llm.concurrency if METHODS[_method(unit)].concurrent else 1


def _method(unit: Unit) -> str:
    if unit.method is None:
        raise ValueError(f"a unit of a stage over methods has none: {unit}")
    return unit.method


STAGES: tuple[Stage, ...] = (
    Stage(
        "split",
        steps.split,
        needs=(),
        per="corpus",
        help="Divide the sessions into train, validation, test and policy.",
        settings=lambda config, unit: {"rating": config.rating, "split": settings_of(config.split)},
    ),
    Stage(
        "features",
        steps.features,
        needs=(),
        per="session",
        help="Measure voice, face, nods, gaze and smile in the recordings.",
        version=2,
        reads=("turns", "media"),
        settings=_features_settings,
        applies=_has_media,
    ),
    Stage(
        "describe",
        steps.describe,
        needs=("features",),
        per="session",
        help="Put the rater's behaviour into words, turn by turn.",
        settings=lambda config, unit: settings_of(config.describe),
        applies=_has_media,
    ),
    Stage(
        "embed",
        steps.embed,
        needs=(),
        per="session",
        help="Embed every turn with the frozen backbone of the reward model.",
        settings=_embed_settings,
        applies=_is_embedded,
    ),
    Stage(
        "react",
        steps.react,
        needs=(),
        per="session",
        command="decompose",
        settings=_react_settings,
        applies=_reacted_to,
    ),
    Stage(
        "judge",
        steps.judge,
        needs=("features", "describe"),
        per="session",
        over=("method",),
        help="Turn each session's score into turn rewards, by every configured method.",
        command="decompose",
        settings=_judge_settings,
        applies=_is_judged,
        wants=_judge_wants,
        concurrent=_llm_concurrency,
    ),
    Stage(
        "audit",
        steps.audit,
        needs=("describe",),
        per="session",
        over=("method", "perturbation"),
        help="Ask the language model the same in several ways: does its order of the turns hold?",
        command="decompose audit",
        settings=_audit_settings,
        chosen=chosen_sessions,
        applies=_is_audited,
        wants=_judge_wants,
        concurrent=_llm_concurrency,
    ),
    Stage(
        "stability",
        steps.stability,
        needs=("audit",),
        per="corpus",
        command="decompose audit",
        settings=lambda config, unit: {
            "audit": settings_of(config.decompose.audit),
            "evaluate": settings_of(config.evaluate),
            "notes": list(audit_notes(config)),
        },
        applies=_has_audit,
    ),
    Stage(
        "fit",
        steps.fit,
        needs=("split", "features", "embed", "react", "judge"),
        per="corpus",
        over=("method", "seed"),
        command="decompose",
        settings=_fit_settings,
        wants=_fit_wants,
        read_as=_fit_reads,
        applies=_is_fitted,
    ),
    Stage(
        "rewards",
        steps.rewards,
        needs=("split", "judge", "fit"),
        per="corpus",
        over=("method", "seed"),
        command="decompose",
        settings=_rewards_settings,
        wants=_rewards_wants,
    ),
    Stage(
        "train-reward",
        steps.train_reward,
        needs=("split", "embed", "rewards"),
        per="corpus",
        over=("method", "seed"),
        help="Distil each method's rewards into a reward model that reads text alone.",
        settings=_train_settings,
    ),
    Stage(
        "evaluate",
        steps.evaluate,
        needs=("split", "features", "rewards", "train-reward"),
        per="corpus",
        help="Judge the reward models on held-out sessions, beside Mean and Mode.",
        version=3,
        settings=lambda config, unit: {"rating": config.rating, "evaluate": settings_of(config.evaluate)},
        turn_labels=True,
    ),
    Stage(
        "align",
        steps.align,
        needs=("split", "train-reward"),
        per="corpus",
        over=("method", "seed"),
        help="Fine-tune a policy with LoRA: by PPO, GRPO or RLOO against a reward model, or by SFT.",
        settings=_align_settings,
        applies=_is_aligned,
    ),
    Stage(
        "report",
        steps.report,
        needs=("split", "describe", "fit", "rewards", "train-reward", "evaluate", "align", "stability"),
        per="corpus",
        help="Write the report: one self-contained HTML page.",
        settings=_report_settings,
        facts=("versions", "quarantine", "warnings"),
    ),
)

ASKING = ("judge", "audit")
"""Those whose units may ask a language model."""
