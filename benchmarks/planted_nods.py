"""Nods and shakes planted in real faces, and what is found in films of people who speak and do not nod.

Run: python -m benchmarks.planted_nods FILM [FILM ...] [--still FILM ...] [--detector NAME ...]

Every film shows one face. Its first `LOOP_S` seconds, played to and fro, are the ground on which the head turns: the
pixels of an ellipsoid about the face move as those of a head that turns about its neck (a nod) or about itself (a
shake), the rest of the picture stays. A nod of one dip is turned in space: the mesh's own points bow about the neck and
the picture follows them, so that the face is foreshortened. A film named by --still is played as it is and should hold
no nod. Nothing is kept.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay

from apportion.corpus.session import Media, Session
from apportion.features.extract import observe
from apportion.features.face.detector import open_detector
from apportion.features.face.face import Face
from apportion.features.face.face_features import FaceMeasures
from apportion.features.face.mesh.detector import MeshDetector
from apportion.features.media_io.video import Picture
from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Span
from apportion.foundation.arrays import Floats

Frame = NDArray[np.uint8]
RATES_HZ = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5)
DEGREES = (6.0, 9.0, 12.0)
"""From one end to the other."""
CYCLES = (2, 3, 4)
DIPS_S = (0.32, 0.48, 0.64, 0.8)
PAUSE_S = 1.6
LOOP_S = 2.0
LARGEST_PX = 640
NECK = 0.72
"""From the face's surface back to the axis of a nod (the joint of the head), in face heights: 11 of 15 cm; and half the
depth of the head, which is that of a shake."""
DEPTH = 0.5
EASE = 0.25
"""Cycles in which the head gets going, and comes to rest."""


@dataclass(frozen=True)
class Planted:
    """A head that goes to and fro: ``kind``, from when to when in seconds, half its range in degrees, rate; or dips
    once, by ``degrees`` and for half a cycle."""

    kind: str
    span: Span
    degrees: float
    hz: float

    def angle(self, time_s: float) -> float:
        """Degrees at ``time_s``; a nod begins downwards."""
        start_s, end_s = self.span
        if not start_s <= time_s < end_s:
            return 0.0
        if self.kind == "nod_single":
            return self.degrees * math.sin(2 * math.pi * self.hz * (time_s - start_s))
        ease = min(1.0, min(time_s - start_s, end_s - time_s) * self.hz / EASE)
        return self.degrees * ease * math.sin(2 * math.pi * self.hz * (time_s - start_s))


def plan(kind: str) -> list[Planted]:
    """All sizes, rates and numbers of cycles, one after the other."""
    planned, clock_s = [], 1.0
    if kind == "nod_single":
        for degrees, length_s in itertools.product(DEGREES, DIPS_S):
            planned.append(Planted(kind, (clock_s, clock_s + length_s), degrees, 0.5 / length_s))
            clock_s += length_s + PAUSE_S
        return planned
    for number, (hz, degrees) in enumerate(itertools.product(RATES_HZ, DEGREES)):
        length_s = CYCLES[(number + number // 3) % len(CYCLES)] / hz
        planned.append(Planted(kind, (clock_s, clock_s + length_s), degrees / 2, hz))
        clock_s += length_s + PAUSE_S
    return planned


def frames_of(path: Path) -> tuple[list[Frame], float]:
    """The first seconds of a film, BGR, not larger than `LARGEST_PX`, and its rate."""
    frames: list[Frame] = []
    with av.open(str(path)) as container:
        rate = float(container.streams.video[0].average_rate or 25)
        for frame in container.decode(video=0):
            if len(frames) >= LOOP_S * rate:
                break
            image = frame.to_ndarray(format="bgr24")
            shrink = min(1.0, LARGEST_PX / max(image.shape[:2]))
            image = cv2.resize(image, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
            frames.append(np.asarray(image[: image.shape[0] // 2 * 2, : image.shape[1] // 2 * 2], dtype=np.uint8))
    return frames, rate


def face_of(frame: Frame) -> Face:
    """The largest face."""
    luma = np.asarray(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
    return open_detector(FeatureSettings(detector="mesh")).find(Picture(0.0, luma), luma, None)[0]


def turned(frame: Frame, face: Face, kind: str, degrees: float) -> Frame:
    """``frame`` with the head at ``face`` turned by ``degrees`` down (a nod) or to the right (a shake)."""
    height, width = frame.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float32)
    across, down = (x - face.centre[0]) / (0.62 * face.side), (y - face.centre[1]) / (0.85 * face.side)
    inside = np.clip(1.0 - across**2 - down**2, 0.0, 1.0)
    surface = np.sqrt(inside) * DEPTH
    # The head's edge fades into the room.
    near = np.clip(np.sqrt(inside) / 0.6, 0.0, 1.0)
    lever = near * (NECK - DEPTH + surface) if kind == "nod_yes" else surface
    shift = (math.tan(math.radians(degrees)) * face.side * lever).astype(np.float32)
    from_x, from_y = (x, y - shift) if kind == "nod_yes" else (x - shift, y)
    return np.asarray(cv2.remap(frame, from_x, from_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE), np.uint8)


def points_of(frame: Frame) -> Floats:
    """The mesh of the largest face [468, 3], pixels."""
    luma = np.asarray(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
    detector, picture = MeshDetector(FeatureSettings(detector="mesh")), Picture(0.0, luma)
    points = detector.points_at(picture, detector.find(picture, luma, None)[0])
    assert points is not None
    return points.points


def bowed(frame: Frame, points: Floats, degrees: float) -> Frame:
    """``frame`` with the face at ``points`` turned down in space by ``degrees`` about the neck."""
    height, width = frame.shape[:2]
    size = float(np.linalg.norm(points[10] - points[152]))
    neck = points.mean(axis=0) + np.array([0.0, 0.25, 0.55]) * size
    turn = math.radians(degrees)
    down, away = (points - neck)[:, 1], (points - neck)[:, 2]
    bent = np.column_stack([points[:, 0], neck[1] + down * math.cos(turn) - away * math.sin(turn)])
    around = np.linspace(0.0, 2 * math.pi, 40, endpoint=False)
    ring = points[:, :2].mean(axis=0) + size * np.column_stack([1.15 * np.cos(around), 1.25 * np.sin(around)])
    landed, from_where = np.vstack([bent, ring]), np.vstack([points[:, :2], ring])
    shift = LinearNDInterpolator(Delaunay(landed), from_where - landed, fill_value=0.0)
    grid_x, grid_y = np.meshgrid(np.arange(0, width, 4), np.arange(0, height, 4))
    moved = cv2.resize(shift(grid_x, grid_y).astype(np.float32), (width, height))
    y, x = np.mgrid[:height, :width].astype(np.float32)
    from_x, from_y = x + moved[..., 0], y + moved[..., 1]
    return np.asarray(cv2.remap(frame, from_x, from_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE), np.uint8)


def planted_film(path: Path, planned: Sequence[Planted], target: Path) -> None:
    """Write the film of ``path``'s first seconds, to and fro, with everything planned."""
    frames, rate = frames_of(path)
    face = face_of(frames[0])
    there_and_back = itertools.cycle([*range(len(frames)), *range(len(frames) - 2, 0, -1)])
    points: dict[int, Floats] = {}
    with av.open(str(target), "w") as container:
        video = container.add_stream("libx264", rate=round(rate))
        video.height, video.width = frames[0].shape[:2]
        video.pix_fmt, video.thread_count, video.options = "yuv420p", 1, {"crf": "20", "preset": "ultrafast"}
        for number in range(round((planned[-1].span[1] + 1.0) * round(rate))):
            time_s = number / round(rate)
            place = next(there_and_back)
            image = frames[place]
            for event in planned:
                if event.span[0] <= time_s < event.span[1] and event.kind == "nod_single":
                    if place not in points:
                        points[place] = points_of(frames[place])
                    image = bowed(image, points[place], event.angle(time_s))
                elif event.span[0] <= time_s < event.span[1]:
                    image = turned(image, face, event.kind, event.angle(time_s))
            container.mux(video.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        container.mux(video.encode())


def face_in(film: Path, settings: FeatureSettings) -> FaceMeasures:
    """What is seen in one film."""
    session = Session("s", (), (), (Media("seen", "video", film.name),))
    face = observe(session, film.parent, settings)["seen"].face
    assert face is not None
    return face


def missed(planned: Sequence[Planted], found: Sequence[Span]) -> Iterator[Planted]:
    """The planted events that meet no found one."""
    for event in planned:
        if not any(min(event.span[1], b) > max(event.span[0], a) for a, b in found):
            yield event


def main(films: Sequence[Path], still: Sequence[Path], detector: str) -> None:
    """Print what is found, film by film, and over all."""
    print(f"\n{detector}")
    settings = FeatureSettings(detector=detector, emotion_model="none")
    dips = ("nod_single",) if detector == "mesh" else ()
    for kind in ("nod_yes", "nod_no", *dips) if films else ():
        planned, hits, total, other = plan(kind), 0, 0, 0
        for film in films:
            with tempfile.TemporaryDirectory() as folder:
                target = Path(folder) / f"{film.stem}.mp4"
                planted_film(film, planned, target)
                events = face_in(target, settings).events
            others = {"nod_yes": events.no, "nod_no": events.yes, "nod_single": events.no}
            right, wrong = events.by_feature[kind], others[kind]
            lost = list(missed(planned, right))
            hits, total, other = hits + len(planned) - len(lost), total + len(planned), other + len(wrong)
            told = ", ".join(f"{2 * e.degrees:g} deg {e.hz:g} Hz" for e in lost)
            print(f"  {kind} in {film.name}: {len(planned) - len(lost)} of {len(planned)}; missed: {told or 'none'}")
        print(f"  {kind}: recall {hits / total:.3f} ({total} planted); {other} of the other kind")
    seconds, nods, single = 0.0, 0, 0
    for film in still:
        face = face_in(film, settings)
        seconds += float((face.seen.ends_s - face.seen.starts_s)[np.isfinite(face.seen.values)].sum())
        nods += len(face.events.yes)
        shown = [tuple(round(edge, 1) for edge in span) for span in face.events.yes]
        single += len(face.events.single or ())
        print(f"  {film.name}: nods {shown}, single {len(face.events.single or ())}, shakes {len(face.events.no)}")
    if still:
        print(f"  {nods} nods and {single} single ones in {seconds:.0f} s of faces without any")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("films", type=Path, nargs="*")
    parser.add_argument("--still", type=Path, action="append", default=[], help="a film of somebody who does not nod")
    parser.add_argument("--detector", action="append", choices=("mesh", "haar"))
    given = parser.parse_args()
    for name in given.detector or ["mesh", "haar"]:
        main(given.films, given.still, name)
