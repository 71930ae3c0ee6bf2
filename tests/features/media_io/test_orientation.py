"""A picture is laid out as a player does, whatever its display matrix and its pixels."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from apportion.features.media_io.media import open_recording
from apportion.features.media_io.video import Picture, read_pictures
from tests.features.clips import flat, laid_out, write_movie
from tests.shared import shared

CORNERS = np.vstack(
    [np.hstack([flat(20, 32, 24), flat(90, 32, 24)]), np.hstack([flat(160, 32, 24), flat(230, 32, 24)])]
)
"""Dark to bright: top left, top right, bottom left, bottom right."""
EIGHT = [
    (sx, 0, 0, sy) if straight else (0, sx, sy, 0) for straight in (True, False) for sx in (1, -1) for sy in (1, -1)
]


def first(path: Path) -> Picture:
    with open_recording(path.parent, path.name, 1.0) as recording:
        return next(iter(read_pictures(recording, recording.stream("video"), 10.0)))


def quarters(picture: np.ndarray) -> np.ndarray:
    """The brightness of the middle of each quarter [2, 2]."""
    height, width = picture.shape[:2]
    return np.array([[picture[height * y // 4, width * x // 4].mean() for x in (1, 3)] for y in (1, 3)])


@pytest.mark.parametrize("matrix", EIGHT, ids=str)
def test_all_turns_and_mirrors_of_a_display_matrix(tmp_path: Path, matrix: tuple[int, int, int, int]):
    picture = first(laid_out(write_movie(tmp_path / "a.mp4", [CORNERS] * 5), matrix, tmp_path / "b.mp4"))
    a, b, c, d = matrix
    expected = np.zeros((2, 2))
    for x in (-1, 1):
        for y in (-1, 1):
            # x' = ax + cy, y' = bx + dy, about the middle.
            expected[(b * x + d * y + 1) // 2, (a * x + c * y + 1) // 2] = CORNERS[12 + (y + 1) * 12, 16 + (x + 1) * 16]
    assert np.argsort(quarters(picture.luma), axis=None).tolist() == np.argsort(expected, axis=None).tolist()
    assert np.abs(quarters(picture.colours()) - expected).max() < 12
    assert picture.luma.shape == ((48, 64) if a else (64, 48)) == picture.colours().shape[:2]


@pytest.mark.parametrize(
    ("aspect", "shape"),
    [
        (Fraction(2), (48, 128)),
        (Fraction(1, 2), (96, 64)),
        (Fraction(64, 45), (48, 91)),
        (Fraction(1000, 1001), (48, 64)),
        (Fraction(60), (48, 64)),
    ],
    ids=str,
)
def test_pixels_become_square(tmp_path: Path, aspect: Fraction, shape: tuple[int, int]):
    with av.open(str(tmp_path / "a.mkv"), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.sample_aspect_ratio = aspect
        for _ in range(5):
            colours = np.stack([CORNERS] * 3, axis=2)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(colours, format="rgb24")))
        container.mux(stream.encode())
    picture = first(tmp_path / "a.mkv")
    assert picture.luma.shape == shape == picture.colours().shape[:2]
    assert np.abs(quarters(picture.colours()) - [[20, 90], [160, 230]]).max() < 12


def test_a_mirrored_film_of_a_real_face_shows_what_the_other_shows():
    base, mirrored = (first(shared(f"cases/strangers/{name}.mp4")) for name in ("m_base", "m_hflip"))
    difference = np.abs(base.luma[:, ::-1].astype(int) - mirrored.luma)
    assert difference.max() == 0
