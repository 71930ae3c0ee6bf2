"""The stage `split`: which sessions train, validate, test, and give the policy its contexts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import BeforeRun, Inputs, Outputs, Stage, Unit, Work


def _split(inputs: Inputs, config: Config, work: Work) -> Outputs:
    from apportion.corpus.splits.splits import split_sessions

    splits = split_sessions(inputs.sessions, config.split, config.rating, few=True)
    return Outputs({"splits": splits.table}, {"notes": list(splits.notes)})


def _check(before: BeforeRun) -> tuple[str, ...]:
    """Too few sessions, and those that are lost, are told before recordings are measured, not after."""
    from apportion.corpus.splits.splits import split_sessions

    return split_sessions(tuple(before.sessions.values()), before.config.split, before.rating, few=True).notes


def check_enough(before: BeforeRun) -> None:
    """Raise InputError where there are too few rated sessions to share out: what learns needs some, and others."""
    from apportion.corpus.splits.splits import split_sessions

    split_sessions(tuple(before.sessions.values()), before.config.split, before.rating)


def _settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    # By person an unrated session has not always gone where its persons are.
    joined = {"unrated": "joined"} if config.split.by == "person" else {}
    return {"rating": config.rating, "split": config.split.in_key(), **joined}


SPLIT = Stage(
    "split",
    _split,
    needs=(),
    per="corpus",
    help="Divide the sessions into train, validation, test and policy.",
    settings=_settings,
    check=_check,
)
