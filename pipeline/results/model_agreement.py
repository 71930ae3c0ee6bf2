"""What a run's evaluation says of a reward model: how far it agrees with people, and how much more than controls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Missing
from apportion.evaluation.evaluation import Evaluation
from apportion.evaluation.methods.controls import ControlVerdict, beats_controls
from apportion.reward_model.corpus_scores import method_and_seed


def verdict_of_folder(folder: Path) -> ControlVerdict | None:
    """That of a published model, from the folder of the run that it lies in; None where nothing is told there."""
    place = folder.resolve().parent
    if place.name != "reward_models":
        return None
    try:
        evaluation = json.loads((place.parent / "evaluation.json").read_text(encoding="utf-8"))
        return beats_controls(evaluation, method_and_seed(folder.resolve().name)[0])
    except (OSError, ValueError):  # Moved without its run, or the evaluation of another version.
        return None


def card_section(document: Mapping[str, Any], model: str) -> str | None:
    """The part of a model's card; None where the evaluation compares no such model with controls on people's labels."""
    try:
        evaluation = Evaluation.from_json(document)
        verdict = beats_controls(evaluation, model)
    except ValidationError:
        return None
    if verdict is None or isinstance(evaluation.agreement, Missing):
        return None
    row = next(row for row in evaluation.reward_models if row.method == model)
    told = row.advantage or row
    assert isinstance(told.spearman, Estimate)
    rows = [
        f"| {name} | {control.value:.3f} | {Estimate(control.gain, control.low, control.high, 0).text(3, sign=True)} |"
        for name, control in told.controls.items()
    ]
    lines = (
        *("## Agreement with people", ""),
        f"By the order of turns within {told.spearman.sessions} held-out sessions, against people's labels",
        f"(`{evaluation.agreement.label}`): mean Spearman {told.spearman.text(3)};",
        verdict.text(),
        *("", "| control, which judges no turn | its Spearman | gain over it |", "|---|---|---|", *rows, "", ""),
    )
    return "\n".join(lines)
