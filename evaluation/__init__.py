"""What rewards are worth: figures on held-out sessions, with intervals, baselines and paired differences.

It reads tables and does not know how a value was made. `apportion.evaluation.evaluate.evaluate` does all of it:

>>> from apportion.evaluation import Estimate, EvaluationSettings
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

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.evaluation.evaluation import Evaluation, MethodFigures, PairedDifference
    from apportion.evaluation.ground.held_out import AlignedValues, HeldOut
    from apportion.evaluation.inputs import Evidence, MethodRemarks, MethodValues
    from apportion.evaluation.intervals.figure import Estimate, Missing
    from apportion.evaluation.settings import EvaluationSettings
    from apportion.evaluation.table import render, render_markdown

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
    "AlignedValues": "apportion.evaluation.ground.held_out",
    "Estimate": "apportion.evaluation.intervals.figure",
    "Evaluation": "apportion.evaluation.evaluation",
    "EvaluationSettings": "apportion.evaluation.settings",
    "Evidence": "apportion.evaluation.inputs",
    "HeldOut": "apportion.evaluation.ground.held_out",
    "MethodFigures": "apportion.evaluation.evaluation",
    "MethodRemarks": "apportion.evaluation.inputs",
    "MethodValues": "apportion.evaluation.inputs",
    "Missing": "apportion.evaluation.intervals.figure",
    "PairedDifference": "apportion.evaluation.evaluation",
    "render": "apportion.evaluation.table",
    "render_markdown": "apportion.evaluation.table",
}
__getattr__ = lazy_names(__name__, _HOMES)
