"""What belongs beside the figures: warnings of what is missing, and which methods the test sessions tell apart."""

from __future__ import annotations

from collections.abc import Mapping

from apportion.corpus.checks.scores import score_variance_warning
from apportion.evaluation.confidence_intervals.bootstrap import (
    BootstrapResult,
    estimate,
    paired_difference,
    sessions_to_tell,
)
from apportion.evaluation.methods.method_comparison import Figures
from apportion.evaluation.references.test_set import AlignedValues, TestSet
from apportion.evaluation.settings import EvaluationSettings


def cautions(held: TestSet, scored: AlignedValues, decomposed: AlignedValues) -> tuple[str, ...]:
    """Sentences on scores that do not vary and methods with missing values.

    - ``held``: all test episodes.
    - ``scored``, ``decomposed``: the reward models and the decompositions on the episodes that they have in common.
    """
    variance = score_variance_warning(held.scores.tolist())
    sentences = [f"Test sessions: {variance}."] if variance else []
    for aligned, what in ((scored, "reward model"), (decomposed, "decomposition")):
        sentences += _incomplete(held, aligned, what)
    return tuple(sentences)


def _incomplete(held: TestSet, aligned: AlignedValues, what: str) -> list[str]:
    sentences = [f"The {what} {name} has no complete test episode and is left out." for name in aligned.empty]
    common, all_of_them = len(aligned.held.episodes), len(held.episodes)
    partly = {name: n for name, n in aligned.incomplete.items() if name not in aligned.empty}
    if partly:
        which = ", ".join(f"{name} lacks {n}" for name, n in sorted(partly.items()))
        sentences.append(f"All {what}s are compared on {common} of {all_of_them} test episodes: {which}.")
    return sentences


def not_told_apart(models: Mapping[str, Figures], mean: Figures, settings: EvaluationSettings) -> tuple[str, ...]:
    """That the best reward model does not differ from the Mean baseline, or from the next best: a sentence each."""
    losses = {name: loss for name, f in models.items() if isinstance(loss := f["global_loss"], BootstrapResult)}
    constant = mean["global_loss"]
    if not losses or not isinstance(constant, BootstrapResult):
        return ()
    best, *others = sorted(losses, key=lambda name: (losses[name].value, name))
    rivals = {"the Mean baseline": constant}
    if others:
        rivals[others[0]] = losses[others[0]]
    told = (_too_close(best, losses[best], rival, loss, settings) for rival, loss in rivals.items())
    return tuple(text for text in told if text is not None)


def _too_close(
    best: str, loss: BootstrapResult, rival: str, rival_loss: BootstrapResult, settings: EvaluationSettings
) -> str | None:
    difference = paired_difference(rival_loss, loss)
    gain = estimate(difference, settings.confidence)
    if gain.above_zero:
        return None
    if gain.low is None:
        return f"A single test session cannot tell {best} from {rival}."
    text = f"{difference.sessions} test sessions do not tell {best} (the lowest global loss) from {rival}"
    if gain.value <= 0:
        more = gain.negated()
        higher = f"higher by {more.value:.3g} [{more.low:.3g}, {more.high:.3g}]"
        return f"No reward model has a lower global loss than {rival}; {best} comes nearest, {higher}."
    lower = f"lower by {gain.value:.3g} [{gain.low:.3g}, {gain.high:.3g}]"
    needed = sessions_to_tell(difference, settings)
    if needed is None:
        return f"{text}: {lower}; at this difference no corpus would."
    return f"{text}: {lower}; if that is the true difference, about {needed:,} test sessions would."
