import itertools
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Media, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.settings import FeatureSettings
from tests.features.face.mesh.networks_here import mesh_here  # noqa: F401
from tests.features.planted import CLIPS, DURATION_S, Clip, Span, f1, happenings, matched, spans, truth_at, write_clip
from tests.made_once import made_once
from tests.shared import shared

NODS_F1, SMILE_AND_GAZE_F1 = 0.90, 0.85
EVENT_GAP_S = 0.3


def frames_of(path: Path, settings: FeatureSettings) -> pa.Table:
    turns = (Turn(0, "a", "x", 0.0, DURATION_S),)
    session = Session(path.stem, turns, (), (Media("a", "video", path.name, 0.0, None),))
    return extract_session(session, path.parent, settings)[0]


def series(frames: pa.Table, feature: str) -> tuple[np.ndarray, np.ndarray]:
    rows = frames.filter(pc.field("feature") == feature)
    return rows["time_s"].to_numpy(), rows["value"].to_numpy()


def events(frames: pa.Table, feature: str) -> list[Span]:
    """The stretches in which a flag is up."""
    found: list[Span] = []
    for time_s, value in zip(*series(frames, feature), strict=True):
        if value < 0.5:
            continue
        joined = found and time_s - found[-1][1] <= EVENT_GAP_S
        found[-1:] = [(found[-1][0], time_s)] if joined else [*found[-1:], (time_s, time_s)]
    return found


def tally(frames: pa.Table, clip: Clip) -> np.ndarray:
    """(right, planted, found) of nods, shakes, smiling samples and samples off screen [4, 3]."""
    planted = happenings(clip)
    rows = []
    for kind in ("nod_yes", "nod_no"):
        found = events(frames, kind)
        rows.append((matched(spans(planted, kind), found), len(spans(planted, kind)), len(found)))
    for feature, kind, up in (("smile", "smile", True), ("gaze_on_screen", "glance", False)):
        times, values = series(frames, feature)
        truth = np.fromiter(truth_at(times, spans(planted, kind)), bool)
        found_here = values >= 0.5 if up else values < 0.5
        rows.append((int((truth & found_here).sum()), int(truth.sum()), int(found_here.sum())))
    return np.array(rows)


@pytest.fixture(scope="module")
def clips(tmp_path_factory) -> list[tuple[Clip, Path]]:
    def draw(folder: Path) -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(partial(write_clip, folder=folder), CLIPS))

    folder = made_once(tmp_path_factory, "planted", draw)
    return [(clip, folder / f"{clip.name}.mp4") for clip in CLIPS]


def check(totals: np.ndarray, names: Sequence[str] = ("nod_yes", "nod_no", "smile", "gaze")) -> None:
    scores = {name: f1(*row) for name, row in zip(names, totals.tolist(), strict=True)}
    assert scores["nod_yes"] >= NODS_F1, scores
    assert scores["nod_no"] >= NODS_F1, scores
    assert scores["smile"] >= SMILE_AND_GAZE_F1, scores
    assert scores["gaze"] >= SMILE_AND_GAZE_F1, scores


@pytest.mark.slow
@pytest.mark.parametrize("detector", ["yunet", "haar", "mesh"])
def test_planted_behaviour_is_found(clips, detector, request):
    assert len(clips) >= 30
    if detector == "mesh":
        request.getfixturevalue("mesh_here")
    model = shared("models/face_detection_yunet_2026may.onnx") if detector == "yunet" else None
    settings = FeatureSettings(detector=detector, yunet_model=model, emotion_model="none")
    totals, seen = np.zeros((4, 3), int), {}
    for clip, path in clips:
        frames = frames_of(path, settings)
        totals += tally(frames, clip)
        times, _ = series(frames, "smile_score")
        rate_hz = settings.mesh_rate_hz if detector == "mesh" else settings.expression_rate_hz
        seen[clip.name] = len(times) / (DURATION_S * rate_hz)
        if not clip.events:
            assert not events(frames, "nod_yes"), clip.name
            assert not events(frames, "nod_no"), clip.name
    assert totals[:, 1].min() > 40  # enough of everything to speak of an F1
    check(totals)
    for name, share in seen.items():
        # A hand before the face for 2 of 14 s is unobserved time, not a face that looks away.
        assert share == pytest.approx(12 / 14 if name.startswith("hidden") else 1.0, abs=0.03), name


def test_the_face_of_a_real_film_comes_and_goes_in_time():
    # face_noface.mov cuts between a man and a cartoon, at a variable frame rate. Its own frames tell when: the cut
    # is where the picture changes most from one to the next.
    path = shared("media/face_noface.mov")
    settings = FeatureSettings(emotion_model="none")
    times, _ = series(frames_of(path, settings), "nod_yes")
    cuts = cut_times(path)
    gaps = [(a, b) for a, b in itertools.pairwise(times) if b - a > 0.3]
    borders = [edge for gap in gaps for edge in gap]
    if times[-1] < cuts[-1]:
        borders.append(times[-1])
    assert len(cuts) >= 1
    for cut in cuts:
        # A sample holds half-way to the next: the border between face and no face is half a step beyond the last one.
        nearest = min(abs(border + step - cut) for border in borders for step in (0.05, -0.05))
        assert nearest <= 0.05 + 1e-6, (cut, borders)


def cut_times(path: Path) -> list[float]:
    import av

    times, pictures = [], []
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            times.append(frame.time)
            pictures.append(frame.reformat(width=64, height=36, format="gray", threads=1).to_ndarray().astype(int))
    changes = [float(np.abs(b - a).mean()) for a, b in itertools.pairwise(pictures)]
    found = [times[index + 1] for index, change in enumerate(changes) if change > 30]
    # A cut that the encoder spreads over two frames begins with the first.
    return [time_s for index, time_s in enumerate(found) if not index or time_s - found[index - 1] > 0.1]


@pytest.mark.slow
def test_what_is_planted_in_the_demo_is_found():
    demo = Path(__file__).resolve().parents[2] / "demo"
    truth = json.loads((demo / "ground_truth.json").read_text("utf-8"))["sessions"]
    happened = {entry["session_id"]: entry["events"] for entry in truth}
    totals = np.zeros((3, 3), int)
    for session in Corpus.open(demo / "corpus").iter_sessions():
        if not session.media:
            continue
        frames = extract_session(session, demo / "corpus", FeatureSettings(emotion_model="none"))[0]
        for person in sorted({media.speaker for media in session.media}):
            planted = {
                kind: [
                    (event["start_s"], event["end_s"])
                    for event in happened[session.session_id]
                    if (event["person"], event["kind"]) == (person, kind)
                ]
                for kind in ("nod_yes", "nod_no", "smile")
            }
            mine = frames.filter(pc.field("person") == person)
            for row, kind in enumerate(("nod_yes", "nod_no")):
                found = events(mine, kind)
                totals[row] += (matched(planted[kind], found), len(planted[kind]), len(found))
            times, values = series(mine, "smile")
            smiling = np.fromiter(truth_at(times, planted["smile"]), bool)
            totals[2] += ((smiling & (values > 0.5)).sum(), smiling.sum(), (values > 0.5).sum())
    assert totals[:, 1].min() >= 5
    scores = [f1(*row) for row in totals.tolist()]
    assert min(scores[:2]) >= NODS_F1, totals
    assert scores[2] >= SMILE_AND_GAZE_F1, totals


def test_a_recordings_offset_moves_everything_seen_by_itself(tmp_path):
    path = write_clip(Clip("offset", 3, fps=15.0), tmp_path)
    turns = (Turn(0, "a", "x", 0.0, DURATION_S),)
    settings = FeatureSettings(emotion_model="none")
    at = {}
    for offset_s in (0.0, 3.25):
        media = (Media("a", "video", path.name, offset_s),)
        frames = extract_session(Session("offset", turns, (), media), tmp_path, settings)[0]
        at[offset_s] = {kind: events(frames, kind) for kind in ("nod_yes", "nod_no")}
    for kind, moved in at[3.25].items():
        assert moved == [
            (pytest.approx(a + 3.25, abs=0.11), pytest.approx(b + 3.25, abs=0.11)) for a, b in at[0.0][kind]
        ]
    assert sum(map(len, at[0.0].values())) > 0
