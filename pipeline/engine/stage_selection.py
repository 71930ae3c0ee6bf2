"""Which stages a run leaves out, and why: because somebody said so, or because there is nothing for them to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.pipeline.engine.units import is_scored

if TYPE_CHECKING:
    from apportion.corpus.session import Session
    from apportion.pipeline.config import Config
    from apportion.pipeline.engine.stage import Stage
    from apportion.pipeline.engine.units import Plan

REPORT = "report"
"""The stage that `until` never leaves out: it shows what there is."""
NO_SCORE = "no session has a score"


def stages_called(name: str, stages: Sequence[Stage]) -> tuple[str, ...]:
    """The stages that ``name`` means: the one of that name, or those that a command of that name runs together.

    Raises
    ------
    InputError
        Nothing is called so; the message begins with the name.
    """
    if any(stage.name == name for stage in stages):
        return (name,)
    together = tuple(stage.name for stage in stages if stage.cli == name)
    if not together:
        names = [stage.name for stage in stages]
        commands = sorted({stage.cli for stage in stages} - set(names))
        hint = did_you_mean(name, [*names, *commands], "check the name.")
        raise InputError(f"{name!r}: no stage; {hint} The stages are: {', '.join(names)}.")
    return together


def last_stages(stages: Sequence[Stage], until: str | None, skip: Sequence[str]) -> list[str]:
    """What a whole run asks for: the report, which reads all that can be shown, and the stage that it goes up to.

    So what nobody would read is not made (embeddings, where no network is trained). Without the report it is
    everything.

    Raises
    ------
    InputError
        A name that is no stage's.
    """
    if any(REPORT in _called("run.skip_stages", name, stages) for name in skip):
        return [stage.name for stage in stages]
    return [*(_called("run.last_stage", until, stages) if until is not None else ()), REPORT]


def left_out(stages: Sequence[Stage], config: Config, sessions: Mapping[str, Session]) -> dict[str, str]:
    """Each stage that is left out, in the order of the declaration, and why.

    Raises
    ------
    InputError
        ``run.last_stage`` or ``run.skip_stages`` names no stage.
    """
    names = [stage.name for stage in stages]
    after: set[str] = set()
    if config.run.last_stage is not None:
        last = max(names.index(name) for name in _called("run.last_stage", config.run.last_stage, stages))
        after = {*names[last + 1 :]} - {REPORT}
    skipped = {stage: name for name in config.run.skip_stages for stage in _called("run.skip_stages", name, stages)}
    scored = is_scored(config, sessions)
    reasons: dict[str, str] = {}
    for stage in stages:
        if stage.name in skipped:
            reasons[stage.name] = f"skip names {skipped[stage.name]!r}"
        elif stage.name in after:
            reasons[stage.name] = f"last_stage = {config.run.last_stage!r}"
        elif stage.scored and not scored:
            reasons[stage.name] = NO_SCORE
        elif (why := stage.idle(config, sessions)) is not None:
            reasons[stage.name] = why
    return reasons


def check_choice(plan: Plan, names: Sequence[str]) -> None:
    """Raise InputError where one of the stages ``names`` cannot do without one that is left out."""
    for need, why in plan.left_out.items():
        readers = [name for name in names if need in plan.stages[name].needs and _reads(plan, name, need)]
        if readers:
            these = ", ".join(readers)
            raise InputError(
                f"the stage {need!r} is left out ({why}), and {these} cannot do without what it makes. Leave out "
                f"{these}, too, or let {need!r} run."
            )


def _reads(plan: Plan, name: str, need: str) -> bool:
    stage = plan.stages[name]
    return need not in stage.spares and any(need in plan.needed(name, unit) for unit in plan.units[name])


def _called(key: str, name: str, stages: Sequence[Stage]) -> tuple[str, ...]:
    try:
        return stages_called(name, stages)
    except InputError as error:
        raise InputError(f"{key} = {error}") from None
