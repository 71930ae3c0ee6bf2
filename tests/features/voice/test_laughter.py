"""Bouts of laughter: rows of bursts that are alike, and nothing else. The sounds are synthetic, or people who speak."""

import numpy as np
import pytest

from apportion.corpus.session import Media, Rating, Session, Turn
from apportion.features.extract import extract_session
from apportion.features.media_io.audio import Track
from apportion.features.media_io.chunks import AudioBlock
from apportion.features.settings import DescriptorSettings, FeatureSettings
from apportion.features.time_series import sampled
from apportion.features.verbalization.verbalize import describe_session
from apportion.features.voice.laughter import find_bouts, laughter
from apportion.features.voice.voice_features import measure_blocks, measure_voice
from tests.features.clips import write_wav
from tests.features.voice.test_voice_features import SETTINGS, read
from tests.features.voice.voices import spoken

RATE = 16000


def burst(pitch_hz: float = 300.0, size: float = 1.0, voice_s: float = 0.13, gap_s: float = 0.1):
    """A vowel that swells and fades, and a breath; ``size`` makes another vowel of it."""
    vowel = spoken(np.full(round(voice_s * RATE), pitch_hz), size)
    breath = 0.002 * np.random.default_rng(3).standard_normal(round(gap_s * RATE))
    return np.concatenate([vowel * np.hanning(len(vowel)), breath])


def laugh(bursts: int = 6, apart_s: float = 0.23, **more):
    return np.concatenate([burst(320.0 - 15.0 * i, voice_s=apart_s - 0.1, **more) for i in range(bursts)])


def syllables(count: int = 12, seed: int = 0):
    draw = np.random.default_rng(seed)
    return np.concatenate([burst(120.0, draw.uniform(0.6, 1.8), draw.uniform(0.09, 0.25)) for _ in range(count)])


def in_room(*sounds, silence_s: float = 1.0):
    """The sounds between silences of a quiet room."""
    quiet = 1e-4 * np.random.default_rng(4).standard_normal(round(silence_s * RATE))
    return np.concatenate([quiet, *(part for sound in sounds for part in (sound, quiet))])


def track(sound, rate_hz: int = RATE, start_s: float = 0.0) -> Track:
    return Track(sound.astype(np.float32), rate_hz, start_s)


@pytest.mark.parametrize("apart_s", [0.18, 0.23, 0.3])
def test_a_row_of_like_bursts_is_a_bout_where_it_sounds(apart_s: float):
    sound = in_room(laugh(apart_s=apart_s))
    ((span, bursts_s),) = find_bouts(track(sound, start_s=3.0))
    assert span == (pytest.approx(4.0, abs=0.1), pytest.approx(4.0 + 6 * apart_s, abs=0.15))
    assert np.diff(bursts_s) == pytest.approx(apart_s, abs=0.03) and len(bursts_s) == 6


def test_a_bout_ends_with_the_recording():
    sound = np.r_[in_room(laugh())[:RATE], laugh()[: -round(0.03 * RATE)]]
    ((span, _),) = find_bouts(track(sound, start_s=3.0))
    assert span[1] <= 3.0 + len(sound) / RATE


def test_a_burst_that_the_recording_cuts_off_does_not_hide_the_bout():
    sound = np.r_[laugh()[round(0.02 * RATE) :], in_room(laugh())[:RATE]]
    ((span, bursts_s),) = find_bouts(track(sound, start_s=3.0))
    assert span[0] == pytest.approx(3.0, abs=0.02) and len(bursts_s) == 6


@pytest.mark.parametrize(
    ("sound", "why"),
    [
        (laugh(3), "too short"),
        (laugh(apart_s=0.5), "too slow"),
        (np.concatenate([syllables(seed=seed) for seed in range(5)]), "other vowels"),
        (burst(voice_s=2.0), "one vowel"),
        (
            np.tile(np.r_[np.random.default_rng(5).standard_normal(1000) * np.hanning(1000), np.zeros(2500)], 8),
            "knocks",
        ),
        (np.zeros(0), "nothing"),
        (np.zeros(RATE), "silence"),
    ],
)
def test_else_there_is_none(sound: np.ndarray, why: str):
    assert find_bouts(track(sound if len(sound) <= RATE and not sound.any() else in_room(sound))) == [], why


@pytest.mark.parametrize("name", ["pyannote_sample.wav", "pyannote_trn01.wav", "the_north_wind_and_the_sun.wav"])
def test_people_who_speak_do_not_laugh(name: str):
    assert measure_voice(read(name), SETTINGS).laughter == ()


def test_what_another_s_headphones_leave_is_not_the_person_s():
    own, other = syllables(), 0.005 * laugh()
    assert measure_voice(track(in_room(own, laugh())), SETTINGS).laughter
    assert measure_voice(track(in_room(own, other)), SETTINGS).laughter == ()


def test_bouts_that_meet_are_one_and_blocks_lose_none():
    times_s = np.arange(0.05, 5.0, 0.1)
    sounding = sampled(times_s, np.zeros_like(times_s), 0.1)
    bouts = [((2.0, 3.0), np.array([2.2, 2.8])), ((0.0, 2.1), np.array([0.1, 1.9])), ((4.0, 4.5), np.array([4.2]))]
    assert laughter(bouts, sounding) == ((0.0, 3.0), (4.0, 4.5))
    sound = in_room(laugh(16))  # from 1 to 4.7 s, over the edge of two blocks
    whole = measure_voice(track(sound), SETTINGS).laughter
    edge = round(2.5 * RATE)
    blocks = [
        AudioBlock(track(sound[: edge + RATE]), (0.0, 2.5)),
        AudioBlock(track(sound[edge - RATE :], start_s=1.5), (2.5, 6.0)),
    ]
    ((start_s, end_s),) = measure_blocks(blocks, SETTINGS).laughter
    assert (start_s, end_s) == (pytest.approx(whole[0][0], abs=0.05), pytest.approx(whole[0][1], abs=0.05))


def test_a_listener_s_laughter_reaches_events_figures_and_words(tmp_path):
    write_wav(tmp_path / "bob.wav", in_room(laugh(), syllables(), laugh(5), laugh(5)).astype(np.float32))
    turns = (Turn(0, "ann", "Look!", 0.0, 3.0), Turn(1, "bob", "Well.", 3.0, 6.4), Turn(2, "ann", "So.", 6.5, 11.5))
    ratings = (Rating("bob", "ann", "r", 1.0, 0.0, 1.0),)
    session = Session("s", turns, ratings, (Media("bob", "audio", "bob.wav"),))
    _, means, events = extract_session(session, tmp_path, FeatureSettings())
    found = [row for row in events.to_pylist() if row["kind"] == "laughter"]
    assert [row["person"] for row in found] == ["bob"] * 3
    assert (found[0]["start_s"], found[0]["end_s"]) == (pytest.approx(1.0, abs=0.1), pytest.approx(2.4, abs=0.15))
    counts = {r["turn"]: r["mean"] for r in means.to_pylist() if r["feature"] == "laughs" and r["window"] == "during"}
    assert counts == {0: 1.0, 1: 0.0, 2: 2.0}
    told = {r["turn"]: r["text"] for r in describe_session(session, means, DescriptorSettings()).to_pylist()}
    assert told[0] == "laughs" and told[2] == "laughs twice"
    shared = Session("s", turns, ratings, (Media("bob", "audio", "bob.wav"), Media("ann", "audio", "bob.wav")))
    _, means, events = extract_session(shared, tmp_path, FeatureSettings())
    assert not [row for row in events.to_pylist() if row["kind"] == "laughter"]
    assert {r["mean"] for r in means.to_pylist() if r["feature"] == "laughs"} == {None}
