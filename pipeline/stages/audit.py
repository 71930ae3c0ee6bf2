"""The stages `audit` and `stability`: does a language model's order of the turns hold when it is asked otherwise?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from apportion.corpus.session import Session
from apportion.decompose.audit.perturbations import CLEAN, PERTURBATIONS, paraphrase_of
from apportion.decompose.audit.sampling import audited
from apportion.decompose.methods import METHODS
from apportion.decompose.prompt_building.prompt import load_prompt
from apportion.decompose.settings_key import configured, settings_identity
from apportion.foundation.arrays import Null
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import BeforeRun, Inputs, Outputs, Stage, Unit, Work
from apportion.pipeline.stages.shared import (
    check_asking,
    method_of,
    recorded_digest,
    requests_at_once,
    session_method_of,
    wants_descriptors_or_features,
)


def _audit(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """One session's turns judged once more, with the question changed in one way."""
    from apportion.decompose.audit.query import audit_cases, judge_cases

    method = session_method_of(inputs.unit)
    descriptors = inputs.table("verbalize", "descriptors") if method.reads_descriptors else None
    perturbation = _perturbation_of(inputs.unit)
    cases = audit_cases(perturbation, method, inputs.session, config.rating, descriptors, config.decompose)
    return Outputs({"audit": judge_cases(perturbation, cases, work.tools)})


def _audit_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    settings = config.decompose
    paraphrase = paraphrase_of(settings.llm.prompt, str(config.rating))
    return {
        **settings.audit.in_key(),
        "rating": config.rating,
        "own": settings_identity(method_of(unit), settings),
        "paraphrase": load_prompt(paraphrase).identity() if paraphrase else None,
        "recorded": recorded_digest(config),
    }


def _is_audited(config: Config, unit: Unit, session: Session | None) -> bool:
    if session is None or unit.perturbation is None or unit.method != config.decompose.audited_method:
        return False
    return _is_asked(config, unit.perturbation, session)


def _audited_sessions(config: Config, sessions: Mapping[str, Session]) -> tuple[str, ...]:
    """Ids of the sessions that the audit asks about."""
    settings = config.decompose.audit
    named = sessions if config.run.sessions is None else config.run.sessions
    rated = [session for key, session in sessions.items() if key in named and _has_turns(session, config.rating)]
    return audited(rated, settings.sessions, settings.seed)


def _is_asked(config: Config, perturbation: str, session: Session) -> bool:
    """Whether there is anything to ask about this session under this perturbation."""
    declared = PERTURBATIONS[perturbation]
    method = config.decompose.audited_method
    described = method is not None and METHODS[method].reads_descriptors and session.is_observed
    return declared.applies(config.decompose, str(config.rating)) and (described or not declared.needs_descriptors)


def _asked_sessions(config: Config, sessions: Mapping[str, Session]) -> dict[str, list[str]]:
    """The sessions of each perturbation that is asked about at all, the clean one first."""
    ids = _audited_sessions(config, sessions)
    asked = {name: [each for each in ids if _is_asked(config, name, sessions[each])] for name in PERTURBATIONS}
    return {name: of_it for name, of_it in asked.items() if of_it}


def _has_turns(session: Session, rating: str | None) -> bool:
    return any(episode.target_turns for episode in session.episodes(rating))


def _perturbation_of(unit: Unit) -> str:
    assert unit.perturbation is not None, f"a unit of the audit has no perturbation: {unit}"
    return unit.perturbation


def _stability(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """All judgements of the audit to how far the order of the turns held."""
    from apportion.evaluation.robustness.rank_stability import stability, stability_table

    given = Counter(_perturbation_of(unit) for unit in inputs.upstream["audit"])
    asked = _asked_sessions(config, {session.session_id: session for session in inputs.sessions})
    held = stability(
        inputs.required("audit", "audit"),
        {name: PERTURBATIONS[name].title for name in asked},
        [name for name in asked if PERTURBATIONS[name].plants],
        {name: len(sessions) - given[name] for name, sessions in asked.items()},
        config.evaluate,
        _null(config),
    )
    table = stability_table(held, _notes(config))
    (work.out / "audit.md").write_text(table.markdown() + "\n", encoding="utf-8")
    return Outputs(documents={"audit": {**held.to_json(), "table": asdict(table)}})


def _stability_settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    return {
        "audit": config.decompose.audit.plain(),
        "evaluate": config.evaluate.in_key(),
        "notes": list(_notes(config)),
        "null": _null(config),
    }


def _null(config: Config) -> Null:
    """What a null of the audited method counts as."""
    name = config.decompose.audited_method
    return "mean" if name is None else configured(METHODS[name], config.decompose).scale.null


def _has_audit(config: Config, unit: Unit, session: Session | None) -> bool:
    return config.decompose.audit.sessions > 0 and config.decompose.audited_method is not None


def _notes(config: Config) -> tuple[str, ...]:
    """What a reader of the audit has to know of this run."""
    llm = config.decompose.llm
    replies = "recorded replies of " if llm.provider == "recorded" else ""
    return (
        f"Method {config.decompose.audited_method}, prompt {llm.prompt}, {replies}model {llm.model}, "
        f"{config.decompose.audit.sessions} sessions, seed {config.decompose.audit.seed}.",
        *(
            f"Not asked: {declared.title} (the prompt {llm.prompt} has no other wording)."
            for name, declared in PERTURBATIONS.items()
            if name != CLEAN and not declared.applies(config.decompose, str(config.rating))
        ),
    )


def _check_stability(before: BeforeRun) -> tuple[str, ...]:
    """Warn where an audit is configured that nobody can answer."""
    settings = before.config.decompose
    if not settings.audit.sessions or settings.audited_method:
        return ()
    return (
        f"decompose.audit.sessions = {settings.audit.sessions}: set, but none of the methods "
        f"({', '.join(settings.methods)}) asks a language model, so there is nothing to audit.",
    )


AUDIT = Stage(
    "audit",
    _audit,
    needs=("verbalize",),
    per="session",
    over=("method", "perturbation"),
    perturbations=lambda: PERTURBATIONS,
    help="Ask the language model the same in several ways: does its order of the turns hold?",
    settings=_audit_settings,
    chosen=_audited_sessions,
    applies=_is_audited,
    wants=wants_descriptors_or_features,
    concurrent=requests_at_once,
    asks=True,
    check=check_asking,
    scored=True,
)
STABILITY = Stage(
    "stability",
    _stability,
    needs=("audit",),
    per="corpus",
    settings=_stability_settings,
    applies=_has_audit,
    check=_check_stability,
    scored=True,
)
