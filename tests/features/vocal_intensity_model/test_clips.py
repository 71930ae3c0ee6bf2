from __future__ import annotations

from pathlib import Path

import pytest

from apportion.features.vocal_intensity_model.clips import Clip, read_clips
from apportion.foundation.errors import InputError

TWO = ("03-01-05-01-01-01-01", "03-01-05-02-01-01-01", "03-01-05-01-01-01-02", "03-01-05-02-01-01-02")


def of(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        path = folder / (name if "." in name else f"{name}.wav")
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return folder


def test_a_name_says_who_speaks_and_how_strongly(tmp_path: Path) -> None:
    folder = of(tmp_path / "c", "Actor_12/03-01-06-01-02-01-12", "Actor_12/03-01-06-02-02-01-12", *TWO)
    clips = read_clips(folder)
    assert Clip("Actor_12/03-01-06-01-02-01-12.wav", "12", False) in clips
    assert Clip("Actor_12/03-01-06-02-02-01-12.wav", "12", True) in clips
    assert len(clips) == 6


def test_songs_pictures_and_what_is_no_recording_are_left_out_and_a_clip_counts_once(tmp_path: Path) -> None:
    others = ("03-02-05-01-01-01-01", "02-01-05-01-01-01-01.mp4", "LICENCE.txt", "list.csv", "._03-01-05.wav")
    folder = of(tmp_path / "c", *TWO, *others, "01-01-05-01-01-01-01.mp4", "01-01-05-01-02-01-01.mp4")
    assert [clip.path for clip in read_clips(folder)] == [
        "03-01-05-01-01-01-01.wav",
        "03-01-05-01-01-01-02.wav",
        "01-01-05-01-02-01-01.mp4",
        "03-01-05-02-01-01-01.wav",
        "03-01-05-02-01-01-02.wav",
    ]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "no clip of speech in it. Its files are to be named as RAVDESS's are: modality-channel-emotion"),
        (("LICENCE.txt", "03-02-05-01-01-01-01"), "no clip of speech"),
        ((*TWO, "hello"), "hello.wav: its name is not in RAVDESS's layout"),
        ((*TWO, "03-01-05-03-01-01-01"), "its name is not in .* intensity 01 \\(normal\\) or 02 \\(strong\\)"),
        ((*TWO, "04-01-05-01-01-01-01"), "its name is not in .* modality is 01 to 03"),
        (TWO[:2], "all 2 clips of speech are of actor 01. Add another actor's"),
        (TWO[::2], "the intensity of all 1 clips of actor 01 is normal"),
        (TWO[:3], "the intensity of all 1 clips of actor 02 is normal \\(01\\). Add clips of the other one"),
        ((*TWO[:2], TWO[3]), "of actor 02 is strong \\(02\\)"),
    ],
)
def test_folders_that_cannot_be_used(tmp_path: Path, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_clips(of(tmp_path / "c", *names))


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none: no such folder\. Name the folder of the clips"):
        read_clips(tmp_path / "none")
    (tmp_path / "a").touch()
    with pytest.raises(InputError, match=r"a: a file\. Name the folder"):
        read_clips(tmp_path / "a")
