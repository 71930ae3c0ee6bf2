import numpy as np
import pytest

from apportion.corpus.recordings import presentation
from apportion.corpus.recordings.container import promised_bytes
from apportion.corpus.recordings.presentation import present
from apportion.foundation.errors import UnitError
from tests.features.clips import flat, tone, write_movie, write_tracks, write_wav

VOICE = tone(1.0)


def test_what_a_film_shows_and_plays(tmp_path):
    film = present(write_movie(tmp_path / "a.mp4", [flat()] * 25, sound=VOICE), "a film")
    assert (film.name, film.videos, film.end_s) == ("a film", 1, pytest.approx(1.0, abs=0.1))
    track = film.sound()
    assert (track.number, track.channels, track.sounds, track.whole) == (0, 1, True, True) and track.share() > 0.9
    assert film.chosen(track) is None
    silent = present(write_movie(tmp_path / "b.mp4", [flat()] * 25), "b")
    assert silent.sounds == () and silent.sound() is None


@pytest.mark.parametrize(
    ("samples", "share"),
    [(VOICE, 1.0), (0 * VOICE, 0.0), (0 * VOICE + 0.5, 0.0), (1e-4 * VOICE, 0.0), (0.01 * VOICE, 1.0)],
    ids=["voice", "zeros", "a constant", "hiss", "a quiet voice"],
)
def test_what_is_silence(tmp_path, samples, share):
    assert present(write_wav(tmp_path / "a.wav", samples), "a.wav").sound().share() == share


def test_a_long_recording_that_sounds_is_not_decoded_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(presentation, "ENOUGH_S", 2.0)
    track = present(write_wav(tmp_path / "a.wav", np.tile(VOICE, 4)), "a.wav").sound()
    assert not track.whole and 2 <= track.heard_s < 2.5
    late = np.concatenate([0 * VOICE, 0 * VOICE, 0 * VOICE, VOICE])
    track = present(write_wav(tmp_path / "b.wav", late), "b.wav").sound()
    assert track.whole and track.share() == pytest.approx(1 / 4, rel=0.1)


@pytest.mark.parametrize(
    ("levels", "asked", "taken"),
    [((0, 1), None, 1), ((1, 0), None, 0), ((0, 0), None, 0), ((0.005, 1), None, 1), ((1, 1), 1, 1), ((1, 0), 1, 1)],
)
def test_the_track_that_a_person_hears(tmp_path, levels, asked, taken):
    found = present(write_tracks(tmp_path / "a.mkv", [level * VOICE for level in levels]), "a.mkv")
    assert found.sound(asked).number == taken


def test_several_that_sound_are_asked_for(tmp_path):
    found = present(write_tracks(tmp_path / "a.mkv", [VOICE, 0.1 * VOICE]), "a.mkv")
    with pytest.raises(UnitError, match=r"a\.mkv: 2 of its sound tracks sound.*track0 \(aac, 1 channel\).*Say 0!"):
        found.sound(remedy="Say {0}!")
    with pytest.raises(UnitError, match=r"sound track 2 was asked for; allowed: track0 .*, track1"):
        found.sound(2)


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(UnitError, match="b: cannot be read"):
        present(tmp_path / "b", "b")
    (tmp_path / "b").write_bytes(b"")
    with pytest.raises(UnitError, match="b: the file has zero bytes"):
        present(tmp_path / "b", "b")
    (tmp_path / "b").write_bytes(b"no film" * 99)
    with pytest.raises(UnitError, match="b: cannot be opened as a recording"):
        present(tmp_path / "b", "b")


@pytest.mark.parametrize(
    ("size", "promised"),
    [(1000, 1008), (0, None), (2**32 - 1, None), (2**31 - 1, None), (0x7FFFF024, None), (0x80000024, None)],
)
def test_what_a_wav_promises(size, promised):
    assert promised_bytes(b"RIFF" + size.to_bytes(4, "little") + b"WAVEfmt ") == promised
    assert promised_bytes(b"OggS" + size.to_bytes(4, "little") + b"WAVEfmt ") is None


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts", "a.wav", "a.mp3"])
def test_damage_is_left_to_who_measures(tmp_path, name):
    sound = np.tile(VOICE, 2)
    write = (
        write_wav if name.endswith("wav") else (lambda path, samples: write_movie(path, [flat()] * 50, sound=samples))
    )
    data = write(tmp_path / name.replace("mp3", "mkv"), sound).read_bytes()
    rng = np.random.default_rng(3)
    for trial in range(12):
        broken = bytearray(data)
        for place in rng.integers(0, len(data), size=20):
            broken[place] = rng.integers(256)
        path = tmp_path / f"{trial}-{name}"
        path.write_bytes(broken if trial % 2 else broken[: len(broken) * 2 // 3])
        try:
            found = present(path, name)
        except UnitError as error:
            assert str(error).startswith(name)
        else:
            assert found.end_s is None or found.end_s == found.end_s
