from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from apportion.features.settings import FeatureSettings
from apportion.features.vocal_intensity_model.train import Clip, fit, judged, read_clips, train_intensity
from apportion.foundation.errors import InputError
from apportion.foundation.progress import silent
from tests.features.clips import flat, write_movie, write_wav
from tests.features.vocal_intensity_model.synthetic import write_clips

SETTINGS = FeatureSettings()


def drawn(clips: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    strong = np.arange(clips) % 2 == 0
    z = rng.normal(size=(clips, 5)) + 0.8 * strong[:, None] * np.array([1.0, 1.0, 0.0, 0.5, 0.0])
    return z, strong, np.array([f"{i % 6:02}" for i in range(clips)])


def test_the_fit_is_scikit_learn_s() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    z, strong, _ = drawn()
    oracle = linear.LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(z, strong)
    found = fit(z, strong)
    np.testing.assert_allclose(found.weights, oracle.coef_[0], atol=1e-4)
    assert found.bias == pytest.approx(oracle.intercept_[0], abs=1e-4)
    np.testing.assert_allclose(found.probability(z), oracle.predict_proba(z)[:, 1], atol=1e-4)


def test_held_out_figures_are_of_actors_left_out_once_each() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    linear, metrics = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.metrics")
    z, strong, actors = drawn()
    by_others = selection.cross_val_predict(
        linear.LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000),
        z,
        strong,
        groups=actors,
        cv=selection.LeaveOneGroupOut(),
        method="predict_proba",
    )[:, 1]
    found = judged(z, strong, actors)
    assert (found.actors, found.normal, found.strong, found.majority) == (6, 60, 60, 0.5)
    assert found.auc == pytest.approx(metrics.roc_auc_score(strong, by_others), abs=1e-6)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(strong, by_others >= 0.5), abs=0.01)


def test_synthetic_voices_with_a_planted_loudness_and_pitch_are_told_apart(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    folder = write_clips(tmp_path / "planted")
    model, found = train_intensity(folder, SETTINGS, lambda done, total, text: told.append((done, total)))
    assert (found.actors, found.normal, found.strong) == (4, 12, 12)
    assert found.auc >= 0.95 and found.accuracy >= 0.9
    assert model.weights[0] > 0 and model.weights[1] > 0
    assert told == [(i, 24) for i in range(1, 25)]


def test_synthetic_voices_without_anything_planted_are_not(tmp_path: Path) -> None:
    _, found = train_intensity(write_clips(tmp_path / "nothing", planted=False), SETTINGS, silent)
    assert 0.15 < found.auc < 0.85


def test_clips_that_cannot_be_heard(tmp_path: Path) -> None:
    folder = write_clips(tmp_path / "clips", statements=1)
    clip = next((folder / "Actor_02").iterdir())
    kept = clip.read_bytes()
    clip.write_bytes(b"no sound")
    with pytest.raises(InputError, match=f"{folder}: Actor_02/{clip.name}"):
        train_intensity(folder, SETTINGS, silent)
    write_wav(clip, np.zeros(0))
    with pytest.raises(InputError, match=clip.name):
        train_intensity(folder, SETTINGS, silent)
    clip.unlink()
    film = clip.with_name(f"01{clip.name[2:-4]}.mp4")
    write_movie(film, [flat()] * 5)
    with pytest.raises(InputError, match=r"no sound in the file"):
        train_intensity(folder, SETTINGS, silent)
    film.unlink()
    (tmp_path / "outside.wav").write_bytes(kept)
    clip.symlink_to(tmp_path / "outside.wav")
    with pytest.raises(InputError, match=r"leads outside"):
        train_intensity(folder, SETTINGS, silent)


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
