"""Local difference: are turns rewarded more when the rater's face is happy (LLM-GELI, Eq. 7)?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evaluation.bootstrap import Sampled, resample
from evaluation.figure import Missing
from evaluation.held_out import Bools, HeldOut
from evaluation.settings import EvaluationSettings
from foundation.arrays import Floats

FACES = (("happiness", "happy_threshold"), ("smile", "smile_threshold"))
"""Features that tell a happy face, the best first, and the setting that says from where on."""


@dataclass(frozen=True, eq=False)
class HappyTurns:
    """During which target turns the rater's face is happy.

    Parameters
    ----------
    feature : str
        What tells it: ``happiness`` (an emotion model), else ``smile`` (a smile detector).
    threshold : float
        The face is happy from this mean over the turn on.
    happy : bool [shape=(N,)]
    seen : bool [shape=(N,)]
        Turns during which the rater's face was measured; the others belong to neither side.
    why : str
        Why a better feature does not tell it, or what the best one leaves out; empty where nothing is amiss.
    """

    feature: str
    threshold: float
    happy: Bools
    seen: Bools
    why: str = ""


def happy_turns(features: pa.Table | None, held: HeldOut, settings: EvaluationSettings) -> HappyTurns | Missing:
    """Read the rater's face during every target turn.

    Parameters
    ----------
    features : pa.Table or None
        ``utterance_features``; None or empty where the corpus has no recordings.
    held : HeldOut
        E episodes with N target turns.
    """
    if features is None or features.num_rows == 0:
        return Missing("the corpus has no recordings of behaviour")
    means = {feature: _face(features, held, feature) for feature, _ in FACES}
    sessions = {feature: _sessions_seen(held, np.isfinite(mean)) for feature, mean in means.items()}
    # Two features on one table would compare unlike with unlike, so one is taken: that which sees more sessions.
    feature, setting = max(FACES, key=lambda face: int(sessions[face[0]].sum()))
    if not sessions[feature].any():
        return Missing("no held-out turn shows the rater's face (no happiness and no smile feature)")
    threshold: float = getattr(settings, setting)
    seen = np.isfinite(means[feature])
    happy = seen & (np.nan_to_num(means[feature], nan=-np.inf) >= threshold)
    return HappyTurns(feature, threshold, happy, seen, _why(feature, sessions, features))


def local_difference(
    held: HeldOut, values: Floats, faces: HappyTurns, settings: EvaluationSettings
) -> Sampled | Missing:
    """Mean reward of turns with a happy rater minus that of the others, over all held-out turns with a face.

    Parameters
    ----------
    values : float64 [shape=(K, N)]
        r_theta(s_t, a_t), one row a seed.
    """
    if not faces.happy.any():
        return Missing(f"no held-out turn has a happy rater ({faces.feature} >= {faces.threshold:g})")
    if not (faces.seen & ~faces.happy).any():
        return Missing(f"every held-out turn has a happy rater ({faces.feature} >= {faces.threshold:g})")
    columns = []
    for side in (faces.happy, faces.seen & ~faces.happy):
        columns += [held.by_session(values * side), held.by_session(np.broadcast_to(side, values.shape))]
    sums = np.stack(columns, axis=-1)  # (K, S, 4)
    with_face = sums[0, :, 1] + sums[0, :, 3] > 0
    return resample(sums[:, with_face], _difference_of_means, settings)


def _why(feature: str, sessions: Mapping[str, Bools], features: pa.Table) -> str:
    """What is amiss with ``feature``: why it stands in for happiness, or how many sessions it leaves out."""
    best = FACES[0][0]
    with_face = int(np.logical_or.reduce(list(sessions.values())).sum())
    measured = int(sessions[best].sum())
    if feature == best:
        left_out = with_face - measured
        return f"{left_out} of {with_face} sessions with a face have no {best} and are left out" if left_out else ""
    if measured:
        return f"only {measured} of {with_face} held-out sessions with a face have their {best} measured"
    rows = pc.and_(pc.equal(features["feature"], best), pc.is_valid(features["mean"]))
    return f"no held-out turn has its {best} measured" if pc.any(rows).as_py() else f"no emotion model measured {best}"


def _sessions_seen(held: HeldOut, seen: Bools) -> Bools:
    """Which sessions have a turn that is ``seen`` [shape=(N,)]; bool [shape=(S,)]."""
    sessions: Bools = held.by_session(seen[None].astype(np.float64))[0] > 0
    return sessions


def _difference_of_means(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        difference: Floats = sums[..., 0] / sums[..., 1] - sums[..., 2] / sums[..., 3]  # Eq. 7, LLM-GELI
    return difference


def _face(features: pa.Table, held: HeldOut, feature: str) -> NDArray[np.float64]:
    """The mean of one feature of the rater's face during every target turn [shape=(N,)], NaN where unknown."""
    rows = features.filter((pc.field("feature") == feature) & (pc.field("window") == "during"))
    columns = ["session_id", "turn", "rater", "mean"]
    faces = rows.select(["session_id", "turn", "person", "mean"]).rename_columns(columns)
    joined = faces.join(held.keys.select(["session_id", "turn", "rater", "at"]), columns[:3], join_type="inner")
    mean = np.full(held.turns, np.nan)
    mean[joined["at"].to_numpy()] = joined["mean"].cast(pa.float64()).to_numpy(zero_copy_only=False)
    return mean
