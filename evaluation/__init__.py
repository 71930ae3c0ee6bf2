"""What rewards are worth: figures on held-out sessions, with intervals, baselines and paired differences.

It reads tables and does not know how a value was made. `evaluation.evaluate.evaluate` does all of it:

>>> from evaluation import Estimate, EvaluationSettings
>>> EvaluationSettings().bootstrap
2000
>>> Estimate(0.4, low=0.1, high=0.7, sessions=40).above_zero
True

From the ground up: `presets` (published settings), `settings`, `figure` (an estimate, or why there is none), `held_out`
(the test episodes, and values on their turns), `bootstrap` (intervals), `baselines`, `turn_labels`; `figures` (a file
each); `rests` (on how many sessions a method rests), `inputs` (what is evaluated, and by what), `evaluation` (the
result), `bench` (all figures of a group of methods), `computed` (truth that nobody judged), `power` and `caution` (what
they cannot tell), `evaluate`, `table` (as text); `stability` and `stability_table` (an audit's result).

Names are imported when they are first used, so that this package costs nothing to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foundation.lazy import lazy_names

if TYPE_CHECKING:
    from evaluation.evaluation import Evaluation, MethodFigures, PairedDifference
    from evaluation.figure import Estimate, Missing
    from evaluation.held_out import AlignedValues, HeldOut
    from evaluation.inputs import Evidence, MethodRemarks, MethodValues
    from evaluation.settings import EvaluationSettings
    from evaluation.table import render, render_markdown

__all__ = [
    "AlignedValues",
    "Estimate",
    "Evaluation",
    "EvaluationSettings",
    "Evidence",
    "HeldOut",
    "MethodFigures",
    "MethodRemarks",
    "MethodValues",
    "Missing",
    "PairedDifference",
    "render",
    "render_markdown",
]

_HOMES = {
    "AlignedValues": "evaluation.held_out",
    "Estimate": "evaluation.figure",
    "Evaluation": "evaluation.evaluation",
    "EvaluationSettings": "evaluation.settings",
    "Evidence": "evaluation.inputs",
    "HeldOut": "evaluation.held_out",
    "MethodFigures": "evaluation.evaluation",
    "MethodRemarks": "evaluation.inputs",
    "MethodValues": "evaluation.inputs",
    "Missing": "evaluation.figure",
    "PairedDifference": "evaluation.evaluation",
    "render": "evaluation.table",
    "render_markdown": "evaluation.table",
}
__getattr__ = lazy_names(__name__, _HOMES)
