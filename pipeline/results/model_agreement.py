"""What a run's evaluation says of a reward model: how far it agrees with people, and how much more than controls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.reward_model.corpus_scores import method_and_seed


@dataclass(frozen=True)
class ModelAgreement:
    """Within-session Spearman of ``model`` with people, and what of each control by name: its own ``value``, and the
    ``gain`` over it (from ``low`` to ``high``). ``figure`` has ``value``, ``low``, ``high`` and ``sessions``.

    It is that of what a policy is ``paid`` where the evaluation tells, else of the reward.
    """

    model: str
    label: str
    paid: bool
    figure: Mapping[str, Any]
    controls: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, evaluation: Mapping[str, Any], model: str) -> ModelAgreement | None:
        """From the document ``evaluation.json``; None where it compares no such model with controls on people's
        labels."""
        row = next((row for row in evaluation.get("reward_models", ()) if row["method"] == model), {})
        paid = row.get("advantage")
        told = paid or row
        if "value" not in told.get("spearman", {}) or not told.get("controls"):
            return None
        label = str((evaluation.get("agreement") or {}).get("label"))
        return cls(model, label, bool(paid), told["spearman"], told["controls"])

    @classmethod
    def of_folder(cls, folder: Path) -> ModelAgreement | None:
        """That of a published model, from the run's folder that it lies in; None where nothing is told there."""
        try:
            evaluation = json.loads((folder.resolve().parents[1] / "evaluation.json").read_text(encoding="utf-8"))
            return cls.of(evaluation, method_and_seed(folder.resolve().name)[0])
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None

    @property
    def hardest(self) -> str:
        """The control over which there is least gain."""
        return min(self.controls, key=lambda name: self.controls[name]["gain"])

    @property
    def beats_controls(self) -> bool:
        """Whether it agrees with people more than every control, by the estimates; the intervals are for people."""
        return bool(self.controls[self.hardest]["gain"] > 0)

    def text(self) -> str:
        """In one sentence, without a full stop."""
        what = "what it pays a policy" if self.paid else "its reward"
        control = self.controls[self.hardest]
        return (
            f"{what} agrees with people ({self.label}) at {_figure(self.figure)}, and the control {self.hardest!r} at "
            f"{control['value']:.3f}: a gain of {_gain(control)}"
        )

    def section(self) -> str:
        """The part of a model's card."""
        what = "what a policy is paid" if self.paid else "the reward"
        rows = [f"| {name} | {of['value']:.3f} | {_gain(of)} |" for name, of in sorted(self.controls.items())]
        verdict = "more than every control" if self.beats_controls else f"**not more than the control {self.hardest}**"
        return "\n".join(
            [
                "## Agreement with people",
                "",
                f"On {self.figure.get('sessions', '?')} held-out sessions, {what} orders a dialogue's turns as",
                f"people's `{self.label}` does with a mean Spearman of {_figure(self.figure)}:",
                f"{verdict}. Controls judge no turn.",
                "",
                "| control | its Spearman | gain over it |",
                "|---|---|---|",
                *rows,
                "",
                "",
            ]
        )


def _figure(figure: Mapping[str, Any]) -> str:
    return f"{figure['value']:.3f}{_interval(figure)}"


def _gain(control: Mapping[str, Any]) -> str:
    return f"{control['gain']:+.3f}{_interval(control)}"


def _interval(figure: Mapping[str, Any]) -> str:
    low, high = figure.get("low"), figure.get("high")
    return "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
