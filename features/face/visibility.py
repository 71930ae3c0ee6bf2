"""A picture about which it is decided whether the face is in it."""

from __future__ import annotations

from dataclasses import dataclass

from apportion.features.face.face import Face
from apportion.features.media_io.video import Picture


@dataclass(frozen=True)
class FaceVisibility:
    """A picture about which all is decided: the face in ``picture``, in its own pixels, or None."""

    picture: Picture
    face: Face | None
