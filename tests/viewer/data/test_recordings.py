import numpy as np
import pytest

from apportion.corpus.session import Media
from apportion.foundation.errors import UnitError
from apportion.viewer.data import recordings
from apportion.viewer.data.recordings import MOST_PEAKS, PEAKS_HZ, PeakReader, content_type, read_peaks
from tests.features.clips import flat, tone, write_movie, write_wav


def test_peaks_are_where_the_sound_is(tmp_path):
    quiet = np.zeros(16000, np.float32)
    write_wav(tmp_path / "a.wav", np.concatenate([quiet, 0.5 * np.ones(16000, np.float32), quiet]))
    peaks = read_peaks(tmp_path, Media("ann", "audio", "a.wav"))
    assert peaks is not None and peaks.length_s == 3.0 and len(peaks.values) == 3 * PEAKS_HZ
    assert set(peaks.values[:PEAKS_HZ]) == {0.0} and set(peaks.values[PEAKS_HZ : 2 * PEAKS_HZ]) == {0.5}


def test_one_channel_is_one_persons(tmp_path):
    both = np.stack([0.25 * np.ones(1600, np.float32), np.ones(1600, np.float32)])
    write_wav(tmp_path / "a.wav", both)
    found = [read_peaks(tmp_path, Media("ann", "audio", "a.wav", 0.0, side)) for side in ("L", "R")]
    assert [peaks.values[0] for peaks in found if peaks] == [0.25, 1.0]


def test_a_film_without_sound_has_no_peaks(tmp_path):
    write_movie(tmp_path / "a.mp4", [flat()] * 5)
    assert read_peaks(tmp_path, Media("ann", "video", "a.mp4")) is None


def test_long_recordings_have_no_more_peaks_than_can_be_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "MOST_PEAKS", 7)
    write_wav(tmp_path / "a.wav", tone(2.0))
    peaks = read_peaks(tmp_path, Media("ann", "audio", "a.wav"))
    assert peaks is not None and len(peaks.values) == 7 and MOST_PEAKS > 7 and min(peaks.values) > 0


def test_what_was_read_is_remembered_until_the_file_changes(tmp_path, monkeypatch):
    read = []
    whole = recordings.read_peaks
    monkeypatch.setattr(recordings, "read_peaks", lambda *given: read.append(given) or whole(*given))
    write_wav(tmp_path / "a.wav", tone(1.0))
    reader, media = PeakReader(), Media("ann", "audio", "a.wav")
    first = reader.peaks(tmp_path, media)
    assert reader.peaks(tmp_path, media) is first and len(read) == 1
    write_wav(tmp_path / "a.wav", tone(2.0))
    again = reader.peaks(tmp_path, media)
    assert again is not None and again.length_s == 2.0 and len(read) == 2


def test_a_file_that_is_no_recording_is_told(tmp_path):
    (tmp_path / "a.wav").write_text("no sound", encoding="utf-8")
    with pytest.raises(UnitError, match="cannot be opened as a recording"):
        read_peaks(tmp_path, Media("ann", "audio", "a.wav"))


def test_only_recordings_are_called_something_that_a_browser_opens(tmp_path):
    assert content_type(tmp_path / "a.MP4") == "video/mp4"
    assert content_type(tmp_path / "a.html") == content_type(tmp_path / "a.svg") == "application/octet-stream"
