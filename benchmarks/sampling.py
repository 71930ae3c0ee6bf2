"""Claim: looking at some pictures costs nothing that matters beside looking at every one.

Run: python benchmarks/sampling.py ../shared [--detector haar|yunet]

For every real clip with a face: the features of 2 s windows (half a second apart) from the default settings against a
reference that decodes with all filters and runs detector, flow, smile, gaze and emotion on every picture. Spearman for
continuous figures, share of windows that agree for flags; aim 0.95 each. The emotion network has RANDOM WEIGHTS.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from scipy.stats import spearmanr

from apportion.corpus.session import Media, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.registry import EMOTIONS
from apportion.features.settings import FeatureSettings
from benchmarks.measure import tell

CLIPS = (
    "WDA_AlexandriaOcasioCortez_000.mp4",
    "WDA_KatieHill_000.mp4",
    "WolfgangLanger_Pexels.mp4",
    "face_noface.mov",
    "short_hamilton_clip.mp4",
    "single_face.mp4",
)
WINDOW_S, HOP_S = 2.0, 0.5
EVERY = 60.0
CONTINUOUS = ("smile", "gaze_on_screen", *EMOTIONS)
FLAGS = {"smile": 0.5, "gaze_on_screen": 0.5, "nod_yes": 0.5, "nod_no": 0.5}
AIM = 0.95
LEAST, LEAST_EMOTION = 0.02, 1e-6
"""Range over the windows from which on a figure varies; a network with random weights hardly moves its outputs."""
Cells = dict[tuple[int, str], tuple[float, float]]


def windows_of(path: Path, settings: FeatureSettings, duration_s: float) -> Cells:
    """(mean, coverage) by window and feature."""
    starts = np.arange(0.0, max(duration_s - WINDOW_S, HOP_S), HOP_S)
    turns = tuple(Turn(i, "other", "x", float(s), float(s + WINDOW_S)) for i, s in enumerate(starts))
    session = Session("s", turns, (), (Media("seen", "video", path.name),))
    rows = extract_session(session, path.parent, settings)[1].to_pylist()
    return {
        (row["turn"], row["feature"]): (np.nan if row["mean"] is None else row["mean"], row["coverage"])
        for row in rows
        if row["window"] == "during"
    }


def compare(path: Path, fast: FeatureSettings, every: FeatureSettings, duration_s: float) -> None:
    """Print one line a feature of one clip."""
    ours, reference = windows_of(path, fast, duration_s), windows_of(path, every, duration_s)
    turns = sorted({turn for turn, _ in reference})
    for feature in dict.fromkeys((*CONTINUOUS, *FLAGS)):
        pairs = np.array([(ours[turn, feature][0], reference[turn, feature][0]) for turn in turns])
        seen = np.isfinite(pairs).all(axis=1)
        agree_on_seen = float(np.mean(np.isfinite(pairs[:, 0]) == np.isfinite(pairs[:, 1])))
        pairs = pairs[seen]
        if len(pairs) == 0:
            continue
        if feature in CONTINUOUS:
            # Spearman says nothing where one side hardly varies, or of one or two windows; the largest difference does.
            least = LEAST_EMOTION if feature in EMOTIONS else LEAST
            varies = len(pairs) >= 3 and np.ptp(pairs, axis=0).min() > least
            rho = float(spearmanr(*pairs.T).statistic) if varies else float("nan")
            worst = float(np.abs(pairs[:, 0] - pairs[:, 1]).max())
            told = {
                "windows": len(pairs),
                "largest_difference": round(worst, 3),
                "reached": bool(not varies or rho >= AIM),
            }
            tell(f"{path.name} {feature}", rho, "Spearman", **told)
        if feature in FLAGS:
            flags = pairs >= FLAGS[feature]
            agreement = float((flags[:, 0] == flags[:, 1]).mean())
            told = {"windows": len(pairs), "face_agreement": round(agree_on_seen, 3), "reached": agreement >= AIM}
            tell(f"{path.name} {feature} flag", agreement, "agreement", **told)


def main(shared: Path, detector: str) -> None:
    """Compare all clips."""
    common = {
        "detector": detector,
        "yunet_model": shared / "models" / "face_detection_yunet_2026may.onnx",
        "emotion_model": str(shared / "models" / "RANDOMWEIGHTS_enet_b0_8.onnx"),
    }
    rates = dict.fromkeys(("video_rate_hz", "detector_rate_hz", "expression_rate_hz", "emotion_rate_hz"), EVERY)
    fast = FeatureSettings(**common)
    every = FeatureSettings(**common, **rates, thrifty_decoding=False)
    import av

    for name in CLIPS:
        path = shared / "media" / name
        with av.open(str(path)) as container:
            duration_s = container.duration / av.time_base
        compare(path, fast, every, duration_s)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--detector", default="haar", choices=("haar", "yunet"))
    given = parser.parse_args()
    main(given.shared.resolve(), given.detector)
