"""Syllables and pauses, against the steps of de Jong and Wempe's script, which Praat itself runs."""

import numpy as np
import pytest

from apportion.features.media_io.audio import Track
from apportion.features.settings import FeatureSettings
from apportion.features.voice.pitch import praat_sound
from apportion.features.voice.speech_rate import articulation_rate, contour_series, pause_series
from apportion.features.voice.voice_features import measure_voice
from tests.features.voice.test_voice_features import SETTINGS, read
from tests.features.voice.voices import melody, spoken, with_noise
from tests.shared import shared

SCRIPT = """
sound = Read from file: "FILE"
intensity = To Intensity: 50, 0, "yes"
loudest = Get maximum: 0, 0, "Parabolic"
high = Get quantile: 0, 0, 0.99
silences = To TextGrid (silences): -25 - (loudest - high), 0.3, 0.1, "silent", "sounding"
selectObject: intensity
matrix = Down to Matrix
asSound = To Sound (slice): 1
points = To PointProcess (extrema): "Left", "yes", "no", "Sinc70"
n = Get number of points
count = 0
for i to n
  selectObject: points
  t = Get time from index: i
  selectObject: intensity
  value = Get value at time: t, "Cubic"
  if value > high - 25
    count += 1
    peak[count] = value
    at[count] = t
  endif
endfor
selectObject: sound
pitch = To Pitch: 0, 75, 500
nuclei = 0
for i to count - 1
  selectObject: intensity
  dip = Get minimum: at[i], at[i + 1], "None"
  if peak[i] - dip > 2
    selectObject: silences
    k = Get interval at time: 1, at[i]
    label$ = Get label of interval: 1, k
    selectObject: pitch
    f0 = Get value at time: at[i], "Hertz", "Linear"
    if f0 <> undefined and label$ = "sounding"
      nuclei += 1
    endif
  endif
endfor
selectObject: silences
paused = 0
k = Get number of intervals: 1
for i to k
  label$ = Get label of interval: 1, i
  if label$ = "silent"
    start = Get start time of interval: 1, i
    end = Get end time of interval: 1, i
    paused += end - start
  endif
endfor
appendInfoLine: nuclei, newline$, paused
"""


@pytest.mark.parametrize("name", ["pyannote_sample.wav", "the_north_wind_and_the_sun.wav", "pyannote_trn01.wav"])
def test_syllables_and_pauses_are_those_of_the_script(name: str):
    from parselmouth.praat import run

    nuclei, paused_s = run(SCRIPT.replace("FILE", str(shared(f"media/{name}"))), capture_output=True)[1].split()
    voice = measure_voice(read(name), SETTINGS)
    assert len(voice.syllables) == int(nuclei)
    pauses = voice.series["pause_fraction"]
    # The contour begins and ends half a window within the sound.
    assert (pauses.ends_s - pauses.starts_s) @ pauses.values == pytest.approx(float(paused_s), abs=0.13)


@pytest.mark.parametrize("snr_db", [None, 20.0, 10.0])
@pytest.mark.parametrize("rate", [3.0, 4.0, 6.0])
def test_synthetic_syllables_are_counted(rate: float, snr_db: float | None):
    voice = spoken(melody(8.0, 150.0, 0.5), syllables_hz=rate)
    heard = voice if snr_db is None else with_noise(voice, snr_db)
    found = measure_voice(Track(heard.astype(np.float32), 16000, 0.0), FeatureSettings()).measure([(0.0, 8.0)], 8.0)
    assert found["articulation_rate"] == (pytest.approx(rate, rel=0.05), pytest.approx(1.0, abs=0.02))
    assert found["pause_fraction"][0] == 0.0


def test_a_pause_is_no_slower_speech():
    voice = spoken(melody(4.0, 150.0, 0.5), syllables_hz=5.0)
    gap = 1e-3 * np.random.default_rng(0).standard_normal(32000)
    heard = np.concatenate([voice, gap, voice])
    found = measure_voice(Track(heard.astype(np.float32), 16000, 3.0), FeatureSettings())
    whole = found.measure([(3.0, 13.0)], 10.0)
    assert whole["pause_fraction"][0] == pytest.approx(0.2, abs=0.02)
    assert whole["articulation_rate"][0] == pytest.approx(5.0, rel=0.05)
    assert found.measure([(7.2, 8.8)], 1.6)["pause_fraction"] == (1.0, pytest.approx(1.0))
    # Two stretches are one; less than a second of sound has no rate.
    both = found.measure([(3.0, 7.0), (9.0, 13.0)], 8.0)
    assert both["articulation_rate"][0] == pytest.approx(5.0, rel=0.05)
    assert found.measure([(3.0, 3.9)], 0.9)["articulation_rate"] == (None, 0.0)


@pytest.mark.parametrize("sound", [np.zeros(0), np.zeros(160), np.zeros(16000)])
def test_nothing_has_neither_syllables_nor_pauses(sound: np.ndarray):
    pauses = pause_series(contour_series(praat_sound(Track(sound.astype(np.float32), 16000, 0.0))))
    assert len(pauses.values) == 0
    assert articulation_rate(np.zeros(0), pauses, [(0.0, 1.0)], 1.0) is None
