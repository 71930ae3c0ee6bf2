"""Local difference: are turns rewarded more when the rater's face is happy (LLM-GELI, Eq. 7)?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apportion.evaluation.confidence_intervals.bootstrap import BootstrapResult, Missing, difference_of_ratios, resample
from apportion.evaluation.figures.dominant_emotion import most_often
from apportion.evaluation.references.test_set import Bools, TestSet
from apportion.evaluation.references.turn_labels import TurnLabels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError

FACES = (("happiness", "happy_threshold"), ("smile", "smile_threshold"))
"""Features that tell a happy face, the best first, and the setting that says from where on."""
BEST = FACES[0][0]
FEWEST_TURNS = 10
"""Turns with a happy face, and others, from which on there is a local difference; fewer are a session or two."""


@dataclass(frozen=True, eq=False)
class HappyTurns:
    """During which target turns the rater's face is happy.

    - ``feature``: what tells it: ``happiness`` (an emotion model), else ``smile`` (a smile detector).
    - ``threshold``: the face is happy from this mean over the turn on; None where it is so in most pictures.
    - ``happy`` bool [shape=(N,)].
    - ``seen`` bool [shape=(N,)]: turns during which the rater's face was measured; the others belong to neither side.
    - ``why``: why a better feature does not tell it, or what the best one leaves out; empty where nothing is amiss.
    """

    feature: str
    threshold: float | None
    happy: Bools
    seen: Bools
    why: str = ""

    @property
    def rule(self) -> str:
        """What makes a face happy, in words."""
        return rule_of(self.feature, self.threshold)

    @property
    def too_few(self) -> Missing | None:
        """Why their difference would say nothing; None where there are enough of both."""
        happy, other = int(self.happy.sum()), int((self.seen & ~self.happy).sum())
        if not 0 < min(happy, other) < FEWEST_TURNS:
            return None
        return Missing(
            f"{happy} turns with a happy face and {other} without are too few to be read ({FEWEST_TURNS} of each)"
        )


def rule_of(feature: str, threshold: float | None) -> str:
    """What makes a face happy, in words."""
    return f"{feature} most often the most probable emotion" if threshold is None else f"{feature} >= {threshold:g}"


def happy_turns(
    features: pa.Table | None, held: TestSet, settings: EvaluationSettings, frames: pa.Table | None = None
) -> HappyTurns | Missing:
    """Read the rater's face during every target turn.

    ``features``: ``utterance_features``; None or empty where the corpus has no recordings. ``held``: E episodes with N
    target turns. ``frames``: read where ``settings.happiness_source`` is ``mode``. Raises InputError: ``mode`` without
    frames.
    """
    if features is None or features.num_rows == 0:
        return Missing("the corpus has no recordings of behaviour")
    means = {feature: _face(features, held, feature) for feature, _ in FACES}
    by_mode = settings.happiness_source == "mode"
    if by_mode:
        if frames is None:
            raise InputError(
                "evaluate.happiness_source = 'mode' reads every picture: give the table `frames`, or choose 'mean'."
            )
        means[BEST] = most_often(frames, held, BEST)
    sessions = {feature: _sessions_seen(held, np.isfinite(mean)) for feature, mean in means.items()}
    # Two features on one table would compare unlike with unlike, so one is taken: that which sees more sessions.
    feature, setting = max(FACES, key=lambda face: int(sessions[face[0]].sum()))
    if not sessions[feature].any():
        return Missing("no held-out turn shows the rater's face (no happiness and no smile feature)")
    threshold: float = getattr(settings, setting)
    seen = np.isfinite(means[feature])
    of_most = by_mode and feature == BEST
    happy = seen & (np.nan_to_num(means[feature], nan=-np.inf) >= (1.0 if of_most else threshold))
    return HappyTurns(feature, None if of_most else threshold, happy, seen, _why(feature, sessions, features))


def local_difference(
    held: TestSet, values: Floats, faces: HappyTurns, settings: EvaluationSettings
) -> BootstrapResult | Missing:
    """Mean reward of turns with a happy rater minus that of the others, over all held-out turns with a face.

    ``values`` float64 [shape=(K, N)]: r_theta(s_t, a_t), one row a seed.
    """
    if not faces.happy.any():
        return Missing(f"no held-out turn has a happy rater ({faces.rule})")
    if not (faces.seen & ~faces.happy).any():
        return Missing(f"every held-out turn has a happy rater ({faces.rule})")
    columns = []
    for side in (faces.happy, faces.seen & ~faces.happy):
        columns += [held.by_session(values * side), held.by_session(np.broadcast_to(side, values.shape))]
    sums = np.stack(columns, axis=-1)  # (K, S, 4)
    with_face = sums[0, :, 1] + sums[0, :, 3] > 0
    return resample(sums[:, with_face], difference_of_ratios, settings)  # Eq. 7, LLM-GELI


def people_difference(
    held: TestSet, labels: TurnLabels, faces: HappyTurns, settings: EvaluationSettings
) -> BootstrapResult | Missing:
    """The same with people's mean label of each turn in place of a reward, in units of the labels (Human, Table 4).

    It rests on the held-out turns that have both a label and a face.
    """
    value, _ = labels.means(held.turns)
    labelled = np.isfinite(value)
    if not (faces.seen & labelled).any():
        return Missing("no held-out turn has both a label and the rater's face")
    both = replace(faces, happy=faces.happy & labelled, seen=faces.seen & labelled)
    return local_difference(held, np.nan_to_num(value)[None], both, settings)


def _why(feature: str, sessions: Mapping[str, Bools], features: pa.Table) -> str:
    """What is amiss with ``feature``: why it stands in for happiness, or how many sessions it leaves out."""
    with_face = int(np.logical_or.reduce(list(sessions.values())).sum())
    measured = int(sessions[BEST].sum())
    if feature == BEST:
        left_out = with_face - measured
        return f"{left_out} of {with_face} sessions with a face have no {BEST} and are left out" if left_out else ""
    if measured:
        return f"only {measured} of {with_face} held-out sessions with a face have their {BEST} measured"
    rows = pc.and_(pc.equal(features["feature"], BEST), pc.is_valid(features["mean"]))
    return f"no held-out turn has its {BEST} measured" if pc.any(rows).as_py() else f"no emotion model measured {BEST}"


def _sessions_seen(held: TestSet, seen: Bools) -> Bools:
    """Which sessions have a turn that is ``seen`` [shape=(N,)]; bool [shape=(S,)]."""
    sessions: Bools = held.by_session(seen[None].astype(np.float64))[0] > 0
    return sessions


def _face(features: pa.Table, held: TestSet, feature: str) -> NDArray[np.float64]:
    """The mean of one feature of the rater's face during every target turn [shape=(N,)], NaN where unknown."""
    rows = features.filter((pc.field("feature") == feature) & (pc.field("window") == "during"))
    columns = ["session_id", "turn", "rater", "mean"]
    faces = rows.select(["session_id", "turn", "person", "mean"]).rename_columns(columns)
    joined = faces.join(held.keys.select(["session_id", "turn", "rater", "at"]), columns[:3], join_type="inner")
    mean = np.full(held.turns, np.nan)
    mean[joined["at"].to_numpy()] = joined["mean"].cast(pa.float64()).to_numpy(zero_copy_only=False)
    return mean
