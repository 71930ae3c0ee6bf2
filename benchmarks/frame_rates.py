"""Claim: a film tells the same of a face at every frame rate, by every encoder and at half its size.

Run: python -m benchmarks.frame_rates ../shared [--detector haar|yunet|mesh] [--looks HZ] [--deblock] [--clip NAME]

Each real clip is written anew at 10 to 120 pictures a second, at a variable rate, by a second encoder, coarsely and at
half its size; the pictures are those of the clip, repeated or left out. For each: share of the time smiling and looking
at the screen over the clip, and flags (at least half the time) of windows of 2 s, a second apart. One line a variant,
one a clip with the largest difference between any two. Aim: means within 0.05, flags equal in 97 % of windows.
At the end what the words say of looking away in all windows in which a gaze is seen: how many are sure, and how often
two variants agree that are both sure. Aim: 85 %, 97 %.
Beside it the noise of one look: how much the smile score differs between the variants of 10, 30, 60 and 120 pictures a
second, which are looked at at the same moments and show the same pictures, each encoded anew.
``--looks`` sets how often a second pictures, smile and gaze are looked at, ``--deblock`` has the decoder apply its
deblocking filter (`skip_unused_frames = false`), to see what these would bring.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import av
import numpy as np

from apportion.corpus.session import Media, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.settings import DescriptorThresholds, FeatureSettings
from apportion.features.verbalization.phrases import in_words
from apportion.features.verbalization.zscore import Measure, NormalizedFeature
from apportion.foundation.arrays import Floats
from benchmarks.measure import tell

CLIPS = {
    # Seconds that are looked at: the last two show a face no longer, or not at all.
    "WDA_AlexandriaOcasioCortez_000.mp4": 8.0,
    "WDA_KatieHill_000.mp4": 8.0,
    "WolfgangLanger_Pexels.mp4": 19.0,
    "face_noface.mov": 2.2,
    "single_face.mp4": 2.3,
}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    **{f"{rate} pictures a second": {"rate_hz": rate} for rate in (10, 15, 25, 30, 60, 120)},
    "variable rate": {"variable": True},
    "mpeg4": {"codec": "mpeg4"},
    "coarse": {"crf": 32},
    "half size": {"shrink": 2},
}
FEATURES = ("smile", "gaze_on_screen")
BORDER = "gaze_border"
WINDOW_S, HOP_S = 2.0, 1.0
WHOLE = -1
"""The turn that is the clip."""
SAME_MOMENTS = tuple(f"{rate} pictures a second" for rate in (10, 30, 60, 120))
"""Variants whose first picture of every tenth of a second is the same picture of the clip."""
TICKS = 12800
NEAR, ALIKE, SURE = 0.05, 0.97, 0.85
Film = Sequence[tuple[float, Any]]
Cells = dict[tuple[int, str], float]
Scores = dict[float, float]
"""Smile score by moment, seconds."""


def pictures(path: Path, length_s: float) -> Film:
    """(time in seconds, picture) of the first ``length_s`` of a clip."""
    with av.open(str(path)) as container:
        frames = [(f.time, f) for f in container.decode(video=0) if f.time is not None and f.time < length_s]
    return [(time_s, frame) for time_s, frame in frames if time_s >= 0]


def write(
    film: Film,
    path: Path,
    rate_hz: int | None = None,
    variable: bool = False,
    codec: str = "libx264",
    crf: int = 20,
    shrink: int = 1,
) -> Path:
    """The film at other times, by another encoder or smaller; at every moment the picture that was last shown."""
    given_s = np.array([time_s for time_s, _ in film])
    steps = np.random.default_rng(3).choice([1 / 60, 1 / 30, 1 / 15, 1 / 10], size=60 * round(given_s[-1] + 1))
    if variable:
        times_s = given_s[0] + np.concatenate([[0.0], np.cumsum(steps)])
    else:
        times_s = given_s if rate_hz is None else given_s[0] + np.arange(rate_hz * given_s[-1] + 1) / rate_hz
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate_hz or 25)
        stream.width, stream.height = (2 * (size // (2 * shrink)) for size in (film[0][1].width, film[0][1].height))
        stream.pix_fmt, stream.codec_context.time_base = "yuv420p", Fraction(1, TICKS)
        if codec == "libx264":
            stream.options = {"crf": str(crf), "preset": "veryfast"}
        else:
            stream.bit_rate = 2_000_000
        for time_s in times_s[times_s <= given_s[-1] + 1e-6]:
            shown = film[max(0, int(np.searchsorted(given_s, time_s + 1e-6)) - 1)][1]
            frame = shown.reformat(width=stream.width, height=stream.height, format="yuv420p")
            frame.pts, frame.time_base, frame.pict_type = round(time_s * TICKS), Fraction(1, TICKS), 0
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def measure(path: Path, settings: FeatureSettings, length_s: float) -> tuple[Cells, Scores]:
    """Mean of each feature over the clip and over its windows, and the smile score of every look."""
    starts = np.arange(0.0, max(length_s - WINDOW_S, 0.0) + 1e-6, HOP_S)
    turns = [Turn(i, "other", "x", float(s), float(s + WINDOW_S)) for i, s in enumerate(starts)]
    turns.append(Turn(WHOLE, "other", "x", 0.0, length_s))
    session = Session("s", tuple(turns), (), (Media("seen", "video", path.name),))
    frames, means, _ = extract_session(session, path.parent, settings)
    cells = {
        (row["turn"], row["feature"]): np.nan if row["mean"] is None else row["mean"]
        for row in means.to_pylist()
        if row["window"] == "during" and row["feature"] in (*FEATURES, BORDER)
    }
    looks = [row for row in frames.to_pylist() if row["feature"] == "smile_score"]
    return cells, {round(row["time_s"], 1): row["value"] for row in looks}


def looks_away(cells: Cells, turn: int) -> float:
    """1 where the words say so of a window, 0 where they do not, NaN where it is about the border or unseen."""
    names = ("gaze_on_screen", BORDER)
    seen = {name: Measure(value, 1.0) for name in names if np.isfinite(value := cells.get((turn, name), np.nan))}
    words = in_words(NormalizedFeature(seen, {}, detector="mesh"), DescriptorThresholds())
    return np.nan if "gaze_on_screen" not in seen or "border" in (words or "") else float(words is not None)


def tell_sure(told: Sequence[Floats], detector: str) -> None:
    """Print how many windows are sure, and how alike, of ``told``: a clip's `looks_away` [V, W] of V variants."""
    sure = np.concatenate([np.isfinite(one).ravel() for one in told])
    alike = []
    for windows in told:
        for one, other in combinations(windows, 2):
            both = np.isfinite(one) & np.isfinite(other)
            alike += (one == other)[both].tolist()
    reached = bool(sure.mean() >= SURE and np.mean(alike) >= ALIKE)
    told_of = {"windows_sure": round(float(sure.mean()), 3), "windows": len(sure), "reached": reached}
    tell("looking away in words, windows alike", float(np.mean(alike)), "of both sure", detector=detector, **told_of)


def compare(clip: Path, length_s: float, settings: FeatureSettings, folder: Path) -> Floats:
    """Print what one clip's variants tell, and how far they are apart; returns `looks_away` [variants, windows]."""
    film = pictures(clip, length_s)
    measured = {
        name: measure(write(film, folder / f"{clip.stem}-{number}.mp4", **how), settings, length_s)
        for number, (name, how) in enumerate(VARIANTS.items())
    }
    found = {name: cells for name, (cells, _) in measured.items()}
    for feature in FEATURES:
        means = {name: cells[WHOLE, feature] for name, cells in found.items()}
        for name, mean in means.items():
            tell(f"{clip.name} {feature} {name}", mean, "of the time", detector=settings.detector)
        windows = np.array(
            [
                [m for (turn, named), m in cells.items() if named == feature and turn != WHOLE]
                for cells in found.values()
            ]
        )
        flags = windows >= 0.5
        # Of every two variants, in how many windows they agree.
        pairs = [(a, b) for a in range(len(flags)) for b in range(a)]
        alike = float(np.mean([flags[a] == flags[b] for a, b in pairs]))
        apart = float(np.ptp(list(means.values())))
        reached = bool(apart <= NEAR and alike >= ALIKE)
        told = {"flags_alike": round(alike, 3), "windows": windows.shape[1], "reached": reached}
        tell(f"{clip.name} {feature} largest difference", apart, "of the time", detector=settings.detector, **told)

    scores = [measured[name][1] for name in SAME_MOMENTS]
    moments = sorted(set.intersection(*(set(by_moment) for by_moment in scores)))
    table = np.array([[by_moment[moment] for moment in moments] for by_moment in scores])
    spread = float(table.std(axis=0, ddof=1).mean())
    enough = settings.smile_level if settings.detector == "mesh" else settings.smile_neighbours
    border = float(np.mean((table >= enough).any(axis=0) & (table < enough).any(axis=0)))
    told = {"mean_score": round(float(table.mean()), 2), "moments": len(moments), "on_both_sides": round(border, 3)}
    tell(f"{clip.name} smile score of one look, sd", spread, "score", detector=settings.detector, **told)
    turns = np.flatnonzero(np.isfinite(windows).any(axis=0)).tolist()
    return np.array([[looks_away(cells, turn) for turn in turns] for cells in found.values()])


def main(shared: Path, detector: str, looks_hz: float, deblock: bool, clips: Sequence[str]) -> None:
    """Compare the variants of all clips."""
    settings = FeatureSettings(
        detector=detector,
        yunet_model=shared / "models" / "face_detection_yunet_2026may.onnx",
        emotion_model="none",
        video_rate_hz=looks_hz,
        expression_rate_hz=looks_hz,
        skip_unused_frames=not deblock,
    )
    with tempfile.TemporaryDirectory() as temporary:
        told = [compare(shared / "media" / name, CLIPS[name], settings, Path(temporary)) for name in clips]
    tell_sure(told, detector)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--detector", default="haar", choices=("haar", "yunet", "mesh"))
    parser.add_argument("--looks", type=float, default=10.0, help="pictures a second that are looked at")
    parser.add_argument("--deblock", action="store_true", help="decode with the deblocking filter")
    parser.add_argument("--clip", choices=sorted(CLIPS), help="only this clip")
    given = parser.parse_args()
    clips = [given.clip] if given.clip else list(CLIPS)
    main(given.shared.resolve(), given.detector, given.looks, given.deblock, clips)
