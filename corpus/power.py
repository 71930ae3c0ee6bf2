"""Whether a corpus can tell methods apart: the number of test sessions that would do."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import NormalDist

from apportion.corpus.corpus import Corpus
from apportion.corpus.issue import ValidationIssue
from apportion.corpus.splits.settings import SplitSettings
from apportion.corpus.splits.splits import counts_if_enough
from apportion.corpus.validate import broken_sessions

SMALLEST_GAIN = 0.10
"""The difference that a comparison should be able to show: an MSE 10 % lower than that of the Mean."""


def sessions_needed(gain: float = SMALLEST_GAIN, power: float = 0.8, alpha: float = 0.05) -> int:
    """Test sessions that a paired comparison of squared errors needs to show a gain over the Mean predictor.

    Scores are y = p + e with a calibrated prediction p independent of its error e, both normal. The Mean errs by y,
    the method by e, so that ``gain`` = Var p / Var y = 1 - MSE / MSE of the Mean. The paired difference
    d = y^2 - e^2 = p^2 + 2 p e has, for Var y = 1, mean gain and variance 2 gain^2 + 4 gain (1 - gain) =
    2 gain (2 - gain); a two-sided test at ``alpha`` with the given ``power`` then needs
    n = (z_{1 - alpha/2} + z_power)^2 Var d / (mean d)^2 = 2 z^2 (2 - gain) / gain.

    ``gain``: share by which the method's MSE is lower than that of the Mean, 0 < gain <= 1. ``power``, ``alpha``:
    chance to find the gain where it is there, and to find one where there is none. Raises ``ValueError``: ``gain`` is
    not in (0, 1].
    """
    if not 0 < gain <= 1:
        raise ValueError(f"gain = {gain}: give a share above 0 and up to 1")
    return math.ceil(2 * _z(power, alpha) ** 2 * (2 - gain) / gain)


def smallest_gain(sessions: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """The gain that ``sessions`` test sessions can show (`sessions_needed` solved for it); above 1 it means none."""
    z2 = _z(power, alpha) ** 2
    return 4 * z2 / (sessions + 2 * z2)


def too_few_sessions_warning(sessions: int, settings: SplitSettings) -> str | None:
    """A sentence with the number that would do, where the test split cannot show a 10 % lower MSE; else None.

    ``sessions``: how many sessions have the rating and can be used. ``settings``: how they are shared out; with no
    share for the test there is no comparison to warn of.
    """
    needed = sessions_needed()
    test = sizes["test"] if (sizes := counts_if_enough(sessions, settings)) else 0
    if settings.test == 0 or test >= needed:
        return None
    reach = "no difference is likely to show"
    if (seen := smallest_gain(test)) < 1:
        reach = f"only a squared error {seen:.0%} below the Mean's is likely to show"
    return (
        f"{sessions} rated session{'' if sessions == 1 else 's'} give{'s' if sessions == 1 else ''} {test} test "
        f"session{'' if test == 1 else 's'}, too few to tell methods apart by the scores: {reach}. "
        f"To show {SMALLEST_GAIN:.0%} takes about {needed} test sessions "
        f"({math.ceil(needed / settings.test):,} in all) at 80 % power."
    )


def _z(power: float, alpha: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)


def weak_ratings(corpus: Corpus, problems: Sequence[ValidationIssue]) -> list[str]:
    """One warning for all ratings with the same number of sessions, at the default shares.

    Only sessions count that a run would use: those with a fault among ``problems`` are no part of any split.
    """
    broken = broken_sessions(problems)
    names, ids = (corpus.ratings.column(name).to_pylist() for name in ("name", "session_id"))
    sessions_of: dict[str, set[str]] = {name: set() for name in corpus.rating_names()}
    for name, session_id in zip(names, ids, strict=True):
        if name is not None and session_id not in broken:
            sessions_of[name].add(session_id)
    names_of: dict[str, list[str]] = defaultdict(list)
    for name, session_ids in sessions_of.items():
        warning = too_few_sessions_warning(len(session_ids), SplitSettings())
        if warning:
            names_of[warning].append(name)
    return [f"{', '.join(names)}: {warning}" for warning, names in names_of.items()]
