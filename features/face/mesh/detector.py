"""Faces by the mesh: detected where none is known, followed by their points where one is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from apportion.features.face.face import Face
from apportion.features.face.mesh.crop import Crop, roll_of
from apportion.features.face.mesh.landmarks import AROUND, FacePoints, crop_of_face
from apportion.features.face.mesh.networks import CERTAIN, FACE_PX, Detection, mesh_networks
from apportion.features.media_io.video import Grey, Picture
from apportion.features.settings import FeatureSettings

MOST_FACES = 5
ZOOM = 2.5
"""A face found in a whole picture is looked for again in a square of this many times its size: it is small there."""
PASSES = 4
STEADY = 0.1
"""The points are looked for again where their crop moved by more than this share of its side."""
SAME_FACE = 0.3
"""Overlap of the squares below which the points have wandered to something else."""
LASTING_S, STRAYED = 1.0, 0.3
"""For so long points say where the next ones are, unless that is this share of the crop's side away from the square."""
WIDE = 1.2
"""Pictures wider than this many heights are searched in squares, too, in which faces are larger."""


@dataclass(frozen=True)
class Look:
    """The ``points`` of a ``picture``, and the ``face`` that was followed in it."""

    picture: Picture
    face: Face
    points: FacePoints

    def leads_to(self, picture: Picture) -> bool:
        """Whether ``picture`` follows in the same recording, so soon that its points lie near these."""
        after_s = picture.time_s - self.picture.time_s
        return 0.0 < after_s <= LASTING_S and picture.recording is self.picture.recording

    def crop_at(self, face: Face) -> Crop:
        """Where these points lie once their face has come to where ``face`` is now."""
        crop, grown = self.points.crop(), face.side / self.face.side
        (x, y), (before_x, before_y) = face.centre, self.face.centre
        place = x + grown * (crop.x - before_x), y + grown * (crop.y - before_y)
        return Crop(*place, grown * crop.side, crop.roll)


class MeshDetector:
    """MediaPipe's face detection, then its face mesh; the detection only where no face is known.

    It follows one person: what it remembers of a picture is nothing to other pictures of the same time, or to another
    recording's.
    """

    steady = False

    def __init__(self, settings: FeatureSettings) -> None:
        self._smallest = settings.face_min_fraction
        self.networks = mesh_networks()
        """Asked for once: that their files are still the published ones is looked up each time."""
        self._last: Look | None = None
        """Whoever asks for the points of the latest picture again gets these; the next ones are looked for where they
        went (MediaPipe's way): a crop that fits moves them less from look to look than one by the face's square."""

    def find(self, picture: Picture, small: Grey, near: Face | None) -> list[Face]:
        """See ``FaceDetector.find``; the largest first."""
        enlarge = picture.luma.shape[1] / small.shape[1]
        if near is not None:
            points = self.points_at(picture, near.scaled(enlarge))
            return [] if points is None else [points.face().scaled(1 / enlarge)]
        found = [self._settled(picture.luma, crop) for crop in self._search(small, enlarge, picture.luma)]
        faces = [points.face().scaled(1 / enlarge) for points in found if points is not None]
        large = [face for face in faces if face.side >= self._smallest * small.shape[1]]
        return sorted(large, key=lambda face: (-face.side, face.x, face.y))

    def points_at(self, picture: Picture, face: Face) -> FacePoints | None:
        """The points of a followed ``face`` in ``picture``, in its pixels; None where no face is seen there."""
        points = self.glance(picture, face)
        if points is not None and (self._last is None or self._last.points is not points):
            self._last = Look(picture, face, points)
        return points

    def glance(self, picture: Picture, face: Face) -> FacePoints | None:
        """The same, and later pictures are looked at as if nobody had asked."""
        last = self._last
        if last is not None and last.picture is picture and last.points.face().overlap(face) >= SAME_FACE:
            return last.points
        crop = crop_of_face(face)
        if last is not None and last.leads_to(picture):
            followed = last.crop_at(face)
            crop = followed if followed.moved_share(crop) < STRAYED else crop
        points = self._settled(picture.luma, crop)
        return None if points is None or points.face().overlap(face) < SAME_FACE else points

    def _settled(self, luma: Grey, crop: Crop) -> FacePoints | None:
        """The points, looked for until their crop stays where it is; None where the network sees no face."""
        for _ in range(PASSES):
            points = FacePoints(*self.networks.points(luma, crop))
            if points.certainty < CERTAIN:
                return None
            before, crop = crop, points.crop()
            if before.moved_share(crop) <= STEADY:
                break
        return points

    def _search(self, small: Grey, enlarge: float, luma: Grey) -> list[Crop]:
        """Where faces are in the whole picture, as crops of ``luma`` for the points."""
        height, width = small.shape
        hits = self._hits(small, Crop(width / 2, height / 2, float(max(width, height))))
        if not hits and width > WIDE * height:
            places = (height / 2, width / 2, width - height / 2)
            hits = [hit for x in places for hit in self._hits(small, Crop(x, height / 2, float(height)))]
        crops = []
        for rough in hits[:MOST_FACES]:
            zoomed = Crop(rough.x * enlarge, rough.y * enlarge, ZOOM * rough.side * enlarge, rough.roll)
            exact = self._hits(luma, zoomed)
            chosen = min(exact, key=lambda crop: math.hypot(crop.x - zoomed.x, crop.y - zoomed.y), default=None)
            if chosen is not None:
                crops.append(Crop(chosen.x, chosen.y, AROUND * chosen.side, chosen.roll))
        return crops

    def _hits(self, luma: Grey, crop: Crop) -> list[Crop]:
        """Faces in a crop of ``luma``, as squares of ``luma``."""
        return [_placed(hit, crop) for hit in self.networks.faces(crop.cut(luma, FACE_PX))]


def _placed(hit: Detection, crop: Crop) -> Crop:
    x, y = crop.back(np.array([hit.middle]), FACE_PX)[0]
    roll = crop.roll + roll_of(*hit.eyes)
    return Crop(float(x), float(y), max(hit.side * crop.side / FACE_PX, 1.0), roll)
