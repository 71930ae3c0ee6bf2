"""The recordings of ``shared/cases``: each comes out as the last column of its README says."""

import re

import pytest

from apportion.corpus.corpus import Corpus
from apportion.features.probe.probe import probe
from apportion.features.settings import FeatureSettings
from tests.apportion.called import called
from tests.shared import shared

SETTINGS = FeatureSettings(detector="haar", emotion_model="none")


@pytest.mark.parametrize(
    ("case", "says", "channel", "length_s"),
    [
        ("t87_mp3_vbr", r"alice: sound \d+ %, words 5 of 5 inside the recording", None, 20.1),
        ("t88_two_audio", "track1 .* is taken, the only one that sounds", "track1", 20.1),
    ],
)
def test_a_folder_is_imported(tmp_path, capsys, case, says, channel, length_s):
    assert called("import", "media", shared(f"cases/strangers/{case}"), tmp_path / "corpus") == 0
    assert called("inspect", tmp_path / "corpus") == 0
    assert len(re.findall(says, capsys.readouterr().out)) == 2
    session = Corpus.open(tmp_path / "corpus").session("s1")
    assert session.media[0].channel == channel and session.duration_s == pytest.approx(length_s, abs=0.1)


def test_the_only_track_that_sounds_is_measured():
    probed = probe(shared("cases/strangers/t88_two_audio/s1/alice.mkv"), SETTINGS)
    assert probed.line == "sound 100 %" and "track1 (aac, 1 channel) is taken" in probed.notes[0]


def test_a_mirrored_film_is_measured_as_the_other_is():
    plain, mirrored = (probe(shared(f"cases/strangers/{name}.mp4"), SETTINGS) for name in ("m_base", "m_hflip"))
    assert plain.line == mirrored.line == "face 100 %"
    smiles = [next(f.mean for f in probed.figures if f.feature == "smile") for probed in (plain, mirrored)]
    assert smiles[1] == pytest.approx(smiles[0], abs=0.1)
