"""The stage `split`: which sessions train, validate, test, and give the policy its contexts."""

from __future__ import annotations

from pipeline.config import Config, settings_of
from pipeline.engine.stage import BeforeRun, Inputs, Outputs, Stage, Work


def _split(inputs: Inputs, config: Config, work: Work) -> Outputs:
    from corpus.splits import split_sessions

    splits = split_sessions(inputs.sessions, config.split, config.rating)
    return Outputs({"splits": splits.table}, {"notes": list(splits.notes)})


def _check(before: BeforeRun) -> tuple[str, ...]:
    """Too few sessions are told before their recordings are measured, not after."""
    from corpus.splits import split_sessions

    split_sessions(tuple(before.sessions.values()), before.config.split, before.rating)
    return ()


SPLIT = Stage(
    "split",
    _split,
    needs=(),
    per="corpus",
    help="Divide the sessions into train, validation, test and policy.",
    settings=lambda config, unit: {"rating": config.rating, "split": settings_of(config.split)},
    check=_check,
)
