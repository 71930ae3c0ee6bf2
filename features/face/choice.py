"""Which back-end finds and reads faces: the one that is named, or the best that is here."""

from __future__ import annotations

from typing import Literal

from apportion.features.settings import AUTO, FeatureSettings
from apportion.foundation.model_hub.mesh import MESH, find_mesh

Backend = Literal["haar", "yunet", "mesh", "mediapipe"]


def chosen_detector(settings: FeatureSettings) -> Backend:
    """The back-end that ``settings.detector`` means.

    ``auto`` is what ``settings.auto_detector`` has been decided to be; before that `mesh` where its files are in the
    user's cache and verified, else `haar`, which needs none.
    """
    if settings.detector != AUTO:
        return settings.detector
    return settings.auto_detector or ("mesh" if find_mesh() is not None else "haar")


def decided(settings: FeatureSettings) -> FeatureSettings:
    """A copy in which ``auto`` is decided by the files of this machine, for all who measure for the same run."""
    if settings.detector != AUTO or settings.auto_detector is not None:
        return settings
    return settings.model_copy(update={"auto_detector": chosen_detector(settings)})


def named(settings: FeatureSettings) -> FeatureSettings:
    """A copy that names the back-end instead of ``auto``: the same faces, measured the same way, have the same."""
    return settings.model_copy(update={"detector": chosen_detector(settings), "auto_detector": None})


def missing_mesh(settings: FeatureSettings) -> str | None:
    """A warning where `haar` stands in for `mesh`; None where `mesh` is here, or where a back-end was named."""
    if settings.detector != AUTO or chosen_detector(settings) == MESH:
        return None
    return (
        "the face mesh is not here, or damaged: faces are found and read by haar, which tells less of real people "
        f"(fewer smiles and glances, no closed eyes). Get it with `apportion models fetch {MESH}` and run again, or "
        'set detector = "haar".'
    )


def picture_rate_hz(settings: FeatureSettings) -> float:
    """Pictures that are looked at a second: the mesh tells fast nods, too, and needs more of them."""
    mesh = chosen_detector(settings) == "mesh"
    return max(settings.video_rate_hz, settings.head_rate_hz) if mesh else settings.video_rate_hz
