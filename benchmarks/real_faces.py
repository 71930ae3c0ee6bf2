"""Smile and gaze on real people, moment by moment, against what somebody saw.

Run: python -m benchmarks.real_faces MOMENTS.csv FOLDER [--yunet FILE] [--landmarker FILE] [--detector NAME ...]

MOMENTS.csv has a row for each moment: `file` (in FOLDER), `t_s`, `smile` (yes, no, unclear) and `faces_camera` (yes;
no: looks away or has closed eyes; unclear). Every back-end runs with its defaults on the whole clip, as `apportion
run --only features` does;
what it says at a moment is its decision then. "not seen" is no answer: it counts as a miss of what was
there. Rows marked unclear, and those marked differ, on which two viewers do not agree (`agreement.py`), are left out
and counted. Intervals: 95 % of 2,000 draws of clips with replacement; with few clips they are coarse.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apportion.corpus.files.csvfile import number, read_table
from apportion.features.face.face_features import FaceMeasures
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Series
from benchmarks.planted_nods import face_in

COLUMNS = ("file", "t_s", "smile", "faces_camera")
NOT_SEEN = "not seen"
NOT_OPEN = ("eyes_lowered", "eyes_closed", "eyes_down_or_closed")
LEFT_OUT = ("unclear", "differ")
"""What a viewer could not tell, and what two viewers tell differently."""
DRAWS, SEED = 2000, 0
Answer = tuple[str, str, str]
"""Clip, what somebody saw, what the back-end says."""


@dataclass(frozen=True)
class Moment:
    """A row of the table."""

    file: str
    t_s: float
    smile: str
    faces_camera: str


def read_moments(path: Path) -> list[Moment]:
    """The rows of MOMENTS.csv."""
    table = read_table(path, str(path), COLUMNS)
    file, t_s, smile, faces_camera = map(table.position, COLUMNS)
    return [
        Moment(
            row[file], number(row[t_s], f"{path}, line {line}, column t_s", "seconds"), row[smile], row[faces_camera]
        )
        for line, row in table.rows
    ]


def value_at(series: Series | None, t_s: float) -> float:
    """What a series holds at ``t_s`` seconds; NaN where nothing was observed."""
    if series is None:
        return float("nan")
    index = int(np.searchsorted(series.ends_s, t_s, side="right"))
    inside = index < len(series.values) and series.starts_s[index] <= t_s
    return float(series.values[index]) if inside else float("nan")


def says_smile(face: FaceMeasures, t_s: float) -> str:
    """yes, no or not seen."""
    value = value_at(face.series["smile"], t_s)
    return NOT_SEEN if value != value else "yes" if value >= 0.5 else "no"


def says_faces_camera(face: FaceMeasures, t_s: float) -> str:
    """yes, no (away, or eyes that are not open where the back-end tells them) or not seen."""
    if any(value_at(face.series.get(name), t_s) == 1.0 for name in NOT_OPEN):
        return "no"
    value = value_at(face.series["gaze_on_screen"], t_s)
    return NOT_SEEN if value != value else "yes" if value >= 0.5 else "no"


def rates(answers: Sequence[Answer], wanted: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of the answer ``wanted``."""
    counts = Counter((seen == wanted, said == wanted) for _, seen, said in answers)
    hits, missed, false = counts[True, True], counts[True, False], counts[False, True]
    precision = hits / (hits + false) if hits + false else float("nan")
    recall = hits / (hits + missed) if hits + missed else float("nan")
    f1 = 2 * hits / (2 * hits + missed + false) if hits + missed + false else float("nan")
    return precision, recall, f1


def intervals(answers: Sequence[Answer], wanted: str) -> list[tuple[float, float]]:
    """95 % intervals of `rates`, clips drawn with replacement."""
    clips = sorted({clip for clip, _, _ in answers})
    by_clip = {clip: [answer for answer in answers if answer[0] == clip] for clip in clips}
    rng = np.random.default_rng(SEED)
    drawn = [
        rates([answer for clip in rng.choice(clips, len(clips)) for answer in by_clip[str(clip)]], wanted)
        for _ in range(DRAWS)
    ]
    return [(float(a), float(b)) for a, b in np.nanpercentile(np.array(drawn), [2.5, 97.5], axis=0).T]


def show(title: str, answers: Sequence[Answer], left_out: Counter[str], wanted: str) -> None:
    """Print one confusion table with its rates."""
    told_of = ", ".join(f"{left_out[why]} {why}" for why in LEFT_OUT if why == "unclear" or left_out[why])
    print(f"\n{title} ({len(answers)} moments; {told_of} left out)")
    print(f"  {'somebody saw':<14}{'says yes':>9}{'says no':>9}{NOT_SEEN:>10}")
    counts = Counter((seen, said) for _, seen, said in answers)
    for seen in ("yes", "no"):
        print(f"  {seen:<14}{counts[seen, 'yes']:>9}{counts[seen, 'no']:>9}{counts[seen, NOT_SEEN]:>10}")
    told = zip(("precision", "recall", "F1"), rates(answers, wanted), intervals(answers, wanted), strict=True)
    print(f"  of {wanted!r}: " + ", ".join(f"{name} {value:.2f} [{a:.2f}, {b:.2f}]" for name, value, (a, b) in told))


def main(moments: Sequence[Moment], folder: Path, detector: str, settings: FeatureSettings, wrong: bool) -> None:
    """Print the tables of one back-end."""
    faces = {name: face_in(folder / name, settings) for name in {moment.file for moment in moments}}
    smiles = [(m, (m.file, m.smile, says_smile(faces[m.file], m.t_s))) for m in moments if m.smile not in LEFT_OUT]
    looks = [
        (m, (m.file, m.faces_camera, says_faces_camera(faces[m.file], m.t_s)))
        for m in moments
        if m.faces_camera not in LEFT_OUT
    ]
    show(f"{detector}: smile", [answer for _, answer in smiles], Counter(m.smile for m in moments), "yes")
    show(
        f"{detector}: faces the camera", [answer for _, answer in looks], Counter(m.faces_camera for m in moments), "no"
    )
    if wrong:
        for kind, rows in (("smile", smiles), ("camera", looks)):
            for moment, (clip, seen, said) in rows:
                if seen != said:
                    print(f"  {kind}: {clip} {moment.t_s:g} s: somebody saw {seen}, says {said}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moments", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--yunet", type=Path, help="YuNet's ONNX file")
    parser.add_argument("--landmarker", type=Path, help="MediaPipe's FaceLandmarker file")
    parser.add_argument("--detector", action="append", choices=("mesh", "haar", "yunet", "mediapipe"))
    parser.add_argument("--file", action="append", help="only the moments of this clip")
    parser.add_argument("--wrong", action="store_true", help="list the moments that are wrong")
    given = parser.parse_args()
    common = {"emotion_model": "none", "yunet_model": given.yunet, "landmarker_model": given.landmarker}
    files = {"yunet": given.yunet, "mediapipe": given.landmarker}
    moments = [m for m in read_moments(given.moments) if not given.file or m.file in given.file]
    for name in given.detector or [name for name in ("mesh", "haar", "yunet", "mediapipe") if files.get(name, True)]:
        settings = FeatureSettings.model_validate({**common, "detector": name})
        main(moments, given.folder, name, settings, given.wrong)
