"""Long tracks are measured in blocks; the figures are those of the whole."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import apportion.features.media_io.chunks
from apportion.features.media_io.audio import Track
from apportion.features.media_io.chunks import MARGIN_S, WHOLE, Blocks
from apportion.features.settings import FeatureSettings
from apportion.features.voice.jitter import PraatJitter
from apportion.features.voice.pitch import pitch_range
from apportion.features.voice.voice_features import measure_blocks, measure_voice
from tests.features.clips import tone
from tests.features.voice.test_voice_features import read


def _pieces(track: Track, size: int = 1000) -> Iterator[Track]:
    for first in range(0, len(track.samples), size):
        yield Track(track.samples[first : first + size], track.rate_hz, track.start_s + first / track.rate_hz)


def _cut(track: Track, size: int = 1000) -> list[apportion.features.media_io.chunks.AudioBlock]:
    return list(Blocks(lambda: _pieces(track, size)))


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apportion.features.media_io.chunks, "BLOCK_S", 10.0)


def test_a_short_track_is_one_block_as_it_is_and_no_sound_none():
    track = Track(tone(1.0).astype(np.float32), 16000, 2.0)
    (block,) = _cut(track)
    assert block.core == WHOLE
    assert (block.track.rate_hz, block.track.start_s) == (16000, 2.0)
    np.testing.assert_allclose(block.track.samples, track.samples, rtol=0, atol=1e-15)
    (shifted,) = _cut(Track(track.samples + np.float32(0.25), 16000, 2.0))
    np.testing.assert_allclose(shifted.track.samples, track.samples, atol=1e-6)
    voice = measure_blocks(Blocks(lambda: iter(())), FeatureSettings())
    assert set(voice.measure([(0.0, 1.0)], 1.0).values()) == {(None, 0.0)}


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 400), st.sampled_from([100, 441]), st.floats(-5.0, 5.0), st.integers(1, 5000))
def test_cores_follow_one_another_and_hold_every_sample(seconds, rate_hz, start_s, size):
    centred = np.arange(seconds * rate_hz) - (seconds * rate_hz - 1) / 2
    track = Track(centred.astype(np.float32), rate_hz, start_s)
    found = _cut(track, size)
    if len(found) == 1:
        assert len(found[0].track.samples) == len(track.samples)
        return
    assert found[0].core[0] == pytest.approx(start_s)
    assert found[-1].core[1] == pytest.approx(start_s + seconds)
    assert all(a.core[1] == b.core[0] for a, b in itertools.pairwise(found))
    for block in found:
        first = round((block.track.start_s - start_s) * rate_hz)
        length = round((min(block.core[1] + MARGIN_S, start_s + seconds) - block.track.start_s) * rate_hz)
        np.testing.assert_array_equal(block.track.samples[:length], track.samples[first : first + length])
        assert block.core[0] - block.track.start_s >= min(MARGIN_S, block.core[0] - start_s) - 2 / rate_hz


HINGED = ("articulation_rate", "pause_fraction")
"""A silence of just 0.3 s is one, or none, and takes a syllable with it: no window of 2 s has to agree."""
LIMITS = {
    "shimmer_local": {"rel": 0.01},
    "hnr_db": {"abs": 0.1},
    "articulation_rate": {"rel": 0.02, "abs": 0.1},
    "pause_fraction": {"abs": 0.03},
}


@pytest.mark.parametrize(("name", "jitter"), [("pyannote_sample.wav", "praat"), ("pyannote_trn01.wav", "disvoice")])
@pytest.mark.usefixtures("short_blocks")
def test_figures_are_those_of_the_whole_track(name: str, jitter: str):
    chosen = FeatureSettings(jitter=jitter, pitch_floor_hz=75.0, pitch_ceiling_hz=500.0)
    track = read(name)
    cut = _cut(track)
    assert len(cut) == 3
    assert pitch_range(cut, FeatureSettings()) == pytest.approx(measure_voice(track, FeatureSettings()).range_hz, 0.005)
    whole, parts = measure_voice(track, chosen), measure_blocks(cut, chosen)
    for start_s, end_s in [(0.0, 30.0), *((float(s), s + 2.0) for s in range(28))]:
        wanted, found = (voice.measure([(start_s, end_s)], end_s - start_s) for voice in (whole, parts))
        for feature, (mean, coverage) in wanted.items():
            if feature in HINGED and end_s - start_s < 30.0:
                continue
            # Praat's frames stand elsewhere by up to half a frame.
            assert found[feature][1] == pytest.approx(coverage, abs=0.015)
            if mean is None or coverage < 0.02:
                continue
            limit = 0.01 if feature.startswith("jitter") else 0.002
            assert found[feature][0] == pytest.approx(mean, **LIMITS.get(feature, {"rel": limit})), (feature, start_s)
    for series in parts.series.values():
        assert (series.starts_s[1:] >= series.ends_s[:-1] - 1e-9).all()


@pytest.mark.usefixtures("short_blocks")
def test_what_is_quiet_in_the_whole_is_quiet_in_its_block():
    loud, hum = tone(8.0, 200.0, level=0.5), tone(22.0, 120.0, level=0.002)
    track = Track(np.concatenate([loud, hum]).astype(np.float32), 16000, 0.0)
    chosen = FeatureSettings()
    whole, parts = measure_voice(track, chosen), measure_blocks(_cut(track), chosen)
    alone = measure_voice(Track(hum.astype(np.float32), 16000, 8.0), chosen)
    span = [(12.0, 28.0)]
    assert alone.measure(span, 16.0)["f0_hz"][1] == pytest.approx(1.0)
    assert whole.measure(span, 16.0)["f0_hz"] == parts.measure(span, 16.0)["f0_hz"] == (None, 0.0)


def test_a_block_too_short_for_a_pitch_changes_nothing():
    known = measure_voice(Track(tone(1.0).astype(np.float32), 16000, 0.0), FeatureSettings()).jitter
    short = PraatJitter(None)
    assert known.then(short) is known
    assert short.then(known) is known
    assert short.then(short).over([(0.0, 1.0)]) is None
