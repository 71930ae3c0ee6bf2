"""Which back-end `auto` is."""

from __future__ import annotations

from pathlib import Path

import pytest

from apportion.features.face.backends.haar import HaarDetector
from apportion.features.face.choice import chosen_detector, decided, missing_mesh, named
from apportion.features.face.detector import open_detector
from apportion.features.face.mesh.detector import MeshDetector
from apportion.features.settings import FeatureSettings
from tests.features.face.mesh.networks_here import mesh_here  # noqa: F401

AUTO = FeatureSettings()


@pytest.fixture
def mesh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has the mesh, as far as the choice looks."""
    monkeypatch.setattr("apportion.features.face.choice.find_mesh", lambda: Path("there"))


def test_without_the_mesh_haar_stands_in_and_one_text_says_how_to_get_it():
    assert AUTO.detector == "auto" and chosen_detector(AUTO) == "haar"
    assert isinstance(open_detector(AUTO), HaarDetector)
    told = missing_mesh(AUTO)
    assert told is not None and "apportion models fetch mesh" in told and 'detector = "haar"' in told


@pytest.mark.usefixtures("mesh")
def test_with_the_mesh_it_is_taken_without_a_word():
    assert chosen_detector(AUTO) == "mesh" and missing_mesh(AUTO) is None


@pytest.mark.usefixtures("mesh_here")
def test_the_published_networks_are_taken():
    assert isinstance(open_detector(AUTO), MeshDetector)


@pytest.mark.parametrize("name", ["haar", "yunet", "mesh", "mediapipe"])
def test_what_was_named_stays(name):
    settings = FeatureSettings(detector=name)
    assert chosen_detector(settings) == name and missing_mesh(settings) is None
    assert decided(settings) == named(settings) == settings


def test_what_was_decided_holds_wherever_it_is_read(monkeypatch: pytest.MonkeyPatch):
    without = decided(AUTO)
    monkeypatch.setattr("apportion.features.face.choice.find_mesh", lambda: Path("there"))
    assert chosen_detector(without) == "haar" and missing_mesh(without) is not None
    assert decided(without) == without
    assert chosen_detector(decided(AUTO)) == "mesh"
    assert named(without) == FeatureSettings(detector="haar") and named(AUTO) == FeatureSettings(detector="mesh")
