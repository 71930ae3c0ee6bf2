"""What rewards are worth: figures on held-out sessions, with intervals, baselines and paired differences.

It reads tables and does not know how a value was made. `evaluation.evaluate.evaluate` does all of it:

>>> from evaluation import Estimate, EvaluationSettings
>>> EvaluationSettings().bootstrap
2000
>>> Estimate(0.4, low=0.1, high=0.7, sessions=40).above_zero
True

From the ground up: `presets` (published settings), `settings`, `intervals` (how sure a figure is), `ground` (what
figures are taken on), `figures` (a file each), `inputs` (what is evaluated, and by what), `evaluation` (the result),
`methods` (a group of them side by side), `evaluate`, `table` (as text); `stability` (an audit's result), `patterns`
(kinds of turns that cost something); `people` (what annotators said of systems' responses).

Names are imported when they are first used, so that this package costs nothing to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foundation.lazy import lazy_names

if TYPE_CHECKING:
    from evaluation.evaluation import Evaluation, MethodFigures, PairedDifference
    from evaluation.ground.held_out import AlignedValues, HeldOut
    from evaluation.inputs import Evidence, MethodRemarks, MethodValues
    from evaluation.intervals.figure import Estimate, Missing
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
    "AlignedValues": "evaluation.ground.held_out",
    "Estimate": "evaluation.intervals.figure",
    "Evaluation": "evaluation.evaluation",
    "EvaluationSettings": "evaluation.settings",
    "Evidence": "evaluation.inputs",
    "HeldOut": "evaluation.ground.held_out",
    "MethodFigures": "evaluation.evaluation",
    "MethodRemarks": "evaluation.inputs",
    "MethodValues": "evaluation.inputs",
    "Missing": "evaluation.intervals.figure",
    "PairedDifference": "evaluation.evaluation",
    "render": "evaluation.table",
    "render_markdown": "evaluation.table",
}
__getattr__ = lazy_names(__name__, _HOMES)
