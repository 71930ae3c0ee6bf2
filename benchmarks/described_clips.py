"""What descriptors say of real films, beside frames of the film, for somebody to look whether it is true.

Run: python benchmarks/described_clips.py FOLDER CLIP ... --page PAGE.html [--window 2] [--detector mesh]

Each clip is cut into windows of `--window` seconds, the turns of a conversation of two: in the even ones somebody else
speaks and the person of the film listens, in the odd ones that person replies, so that voice and face are described as
in `apportion run --only verbalize`. PAGE.html has a row for each window, its descriptor and six of its frames. It is
one file,
without scripts and without requests to anywhere; it holds the frames, so mind their licence. The descriptors go
to standard output, too.
"""

from __future__ import annotations

import argparse
import base64
import html
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import cv2
import numpy as np
from numpy.typing import NDArray

from apportion.corpus.session import Media, Rating, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.media_io.media import open_recording
from apportion.features.media_io.video import read_pictures
from apportion.features.settings import DescriptorSettings, FeatureSettings
from apportion.features.turn_windows import DURING
from apportion.features.verbalization.verbalize import describe_session

SEEN, OTHER = "seen", "other"
FRAMES, FRAME_WIDTH = 6, 300
STYLE = "body{font:15px sans-serif}td{vertical-align:top;padding:4px}img{display:inline-block;margin:1px}"
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
Colours = NDArray[np.uint8]


@dataclass(frozen=True)
class Window:
    """A stretch of a clip in seconds, what is said of it (None: nothing), and some of its pictures (RGB)."""

    start_s: float
    end_s: float
    speaks: bool
    words: str | None
    pictures: Sequence[Colours]


def conversation(clip: str, length_s: float, window_s: float) -> Session:
    """The clip as a session in which two people take turns of ``window_s`` seconds, the one of the film second."""
    starts = np.arange(0.0, length_s - window_s / 2, window_s)
    turns = tuple(
        Turn(i, (OTHER, SEEN)[i % 2], "...", float(start), float(min(start + window_s, length_s)))
        for i, start in enumerate(starts)
    )
    # Nobody gave this score: the rating only says whose behaviour is described towards whom.
    nobody = Rating(SEEN, OTHER, "none", 0.0, 0.0, 0.0)
    return Session(clip, turns, (nobody,), (Media(SEEN, "video", clip),))


def pictures(folder: Path, clip: str, rate_hz: float) -> Iterator[tuple[float, Colours]]:
    """Time in seconds and RGB of ``rate_hz`` pictures a second, on the clock of the features."""
    with open_recording(folder, clip, tolerance_s=5.0) as recording:
        for picture in read_pictures(recording, recording.stream("video"), rate_hz, thrifty=False):
            yield picture.time_s, picture.colours()


def described(
    folder: Path, clip: str, window_s: float, features: FeatureSettings, words: DescriptorSettings
) -> list[Window]:
    """The windows of one clip with what is said of them."""
    seen = list(pictures(folder, clip, FRAMES / window_s))
    session = conversation(clip, seen[-1][0] + window_s / FRAMES, window_s)
    _, measured = extract_session(session, folder, features)
    rows = describe_session(session, measured, words, features.detector).to_pylist()
    # A listener's window is the `during` of the turn it lies in, a speaker's the `reply` to the turn before it.
    said = {row["turn"] + (row["window"] != DURING): row["text"] for row in rows}
    windows = []
    for turn in session.turns:
        assert turn.start_s is not None and turn.end_s is not None
        inside = [image for time_s, image in seen if turn.start_s <= time_s < turn.end_s]
        windows.append(Window(turn.start_s, turn.end_s, turn.speaker == SEEN, said.get(turn.turn), inside))
    return windows


def image(picture: Colours) -> str:
    """A picture as an element of a page."""
    height = round(picture.shape[0] * FRAME_WIDTH / picture.shape[1])
    small = cv2.resize(picture, (FRAME_WIDTH, height), interpolation=cv2.INTER_AREA)
    _, jpeg = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR))
    return f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(jpeg.tobytes()).decode()}">'


def page(clips: dict[str, list[Window]]) -> str:
    """The page of all clips; every text is escaped."""
    parts = [f'<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">']
    parts.append(f"<title>Described clips</title><style>{STYLE}</style>")
    for clip, windows in clips.items():
        parts.append(f"<h2>{html.escape(clip)}</h2><table>")
        for window in windows:
            told = html.escape(window.words or "(nothing is said)")
            times = f"{window.start_s:.1f} to {window.end_s:.1f} s, {'replies' if window.speaks else 'listens'}"
            images = "".join(image(picture) for picture in window.pictures)
            parts.append(f"<tr><td>{times}<br><b>{told}</b></td><td>{images}</td></tr>")
        parts.append("</table>")
    return "\n".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("clips", nargs="+", metavar="CLIP")
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--window", type=float, default=2.0, help="seconds of a turn")
    parser.add_argument("--detector", default="mesh", choices=("mesh", "haar", "yunet", "mediapipe"))
    parser.add_argument("--yunet", type=Path, help="YuNet's ONNX file")
    parser.add_argument("--landmarker", type=Path, help="MediaPipe's FaceLandmarker file")
    parser.add_argument("--variant", default="words", choices=("words", "numeric", "json"))
    given = parser.parse_args()
    features = FeatureSettings.model_validate(
        {
            "detector": given.detector,
            "emotion_model": "none",
            "yunet_model": given.yunet,
            "landmarker_model": given.landmarker,
        }
    )
    words = DescriptorSettings(variant=given.variant)
    clips = {clip: described(given.folder, clip, given.window, features, words) for clip in given.clips}
    for clip, windows in clips.items():
        print(clip)
        for window in windows:
            kind = "replies" if window.speaks else "listens"
            print(f"  {window.start_s:5.1f} to {window.end_s:5.1f} s {kind}: {window.words}")
    given.page.write_text(page(clips), encoding="utf-8")
