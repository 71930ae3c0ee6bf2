"""What rewards are worth: figures on held-out sessions, with intervals, baselines and paired differences.

It reads tables and does not know how a value was made. `apportion.evaluation.evaluate.evaluate` does all of it:

>>> from apportion.evaluation import Estimate, EvaluationSettings
>>> EvaluationSettings().bootstrap
2000
>>> Estimate(0.4, low=0.1, high=0.7, sessions=40).above_zero
True

From the ground up: `settings`, `confidence_intervals` (how sure a figure is), `holm` (many tests), `references` (what
figures are taken on), `figures` (a file each), `inputs` (what is evaluated, and by what), `evaluation` (the result),
`methods` (a group of them side by side), `evaluate`, `table` (as text); `robustness` (an audit's result),
`error_slices` (kinds of turns that cost something); `human_agreement` (what annotators said of systems' responses).

Names are imported when they are first used, so that this package costs nothing to import.
"""

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Missing
    from apportion.evaluation.evaluation import Evaluation, MethodFigures, PairedDifference
    from apportion.evaluation.inputs import Evidence, MethodRemarks, MethodValues
    from apportion.evaluation.references.test_set import AlignedValues, TestSet
    from apportion.evaluation.settings import EvaluationSettings
    from apportion.evaluation.table import render, render_markdown

__all__ = [
    "AlignedValues",
    "Estimate",
    "Evaluation",
    "EvaluationSettings",
    "Evidence",
    "MethodFigures",
    "MethodRemarks",
    "MethodValues",
    "Missing",
    "PairedDifference",
    "TestSet",
    "render",
    "render_markdown",
]

__getattr__ = lazy_names(__name__, __file__)
