import math
import shutil
import subprocess

import pytest

from apportion.features.settings import FeatureSettings
from apportion.features.voice.voice_features import measure_voice
from tests.features.voice.test_voice_features import read
from tests.shared import shared

SCRIPT = """
form Prosody
  sentence file
  positive floor
  positive ceiling
endform
sound = Read from file: file$
Subtract mean
pitch = To Pitch: 0, floor, ceiling
f0 = Get mean: 0, 0, "Hertz"
selectObject: sound, pitch
To PointProcess (cc)
pulses = selected()
jitter = Get jitter (local): 0, 0, 0.0001, 0.02, 1.3
selectObject: sound, pulses
shimmer = Get shimmer (local): 0, 0, 0.0001, 0.02, 1.3, 1.6
selectObject: sound, pitch, pulses
report$ = Voice report: 0, 0, floor, ceiling, 1.3, 1.6, 0.03, 0.45
hnr = extractNumber (report$, "Mean harmonics-to-noise ratio: ")
selectObject: sound
To Intensity: floor, 0, "yes"
intensity = Get mean: 0, 0, "energy"
selectObject: sound
To Ltas: 100
tilt = Get slope: 0, 1000, 1000, 4000, "energy"
selectObject: sound
power = Get power: 0, 0
appendInfoLine: f0, newline$, intensity, newline$, jitter, newline$, power, newline$, shimmer
appendInfoLine: hnr, newline$, tilt
"""


@pytest.mark.parametrize("name", ["pyannote_sample.wav", "the_north_wind_and_the_sun.wav", "pyannote_trn01.wav"])
@pytest.mark.parametrize(("floor_hz", "ceiling_hz"), [(75.0, 500.0), (100.0, 400.0)])
def test_prosody_is_praats_to_four_digits(tmp_path, name, floor_hz, ceiling_hz):
    praat = shutil.which("praat")
    if praat is None:
        pytest.skip("the program praat is not installed: apt-get install praat")
    (tmp_path / "prosody.praat").write_text(SCRIPT)
    command = [praat, "--run", tmp_path / "prosody.praat", shared(f"media/{name}"), str(floor_hz), str(ceiling_hz)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    f0, intensity, jitter, power, shimmer, hnr, tilt = (float(line) for line in done.stdout.split())
    track = read(name)
    settings = FeatureSettings(pitch_floor_hz=floor_hz, pitch_ceiling_hz=ceiling_hz)
    found = measure_voice(track, settings).measure([(0.0, track.duration_s)], track.duration_s)
    assert found["f0_hz"][0] == pytest.approx(f0, rel=5e-5)
    assert found["intensity_db"][0] == pytest.approx(intensity, rel=5e-5)
    assert found["jitter_local"][0] == pytest.approx(jitter, rel=5e-5)
    assert found["log_energy_db"][0] == pytest.approx(10 * math.log10(power), rel=5e-5)
    assert found["shimmer_local"][0] == pytest.approx(shimmer, rel=5e-5)
    assert found["hnr_db"][0] == pytest.approx(hnr, rel=5e-4)
    assert found["spectral_tilt_db"][0] == pytest.approx(tilt, abs=0.2)
