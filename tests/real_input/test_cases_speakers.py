"""What strangers' transcripts say of who spoke, each as the last column of `../shared/cases/README.md` has it."""

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from tests.apportion.called import saying
from tests.shared import shared


@pytest.mark.parametrize(
    ("case", "turns", "told"),
    [
        ("t05_srt_two", ["alice: Is it ready?", "bob: No, it broke.", "bob: I am sorry"], ""),
        ("t36_vtt_zoomcont", ["alice: I think that we should go at 10: 30 maybe", "bob: Note: I disagree"], "are text"),
        ("t06_srt_ass", ["alice: Is it ready?", "bob: I am sorry", "alice: Never mind"], ""),
        ("t08_vtt_heart", ["alice: I <3 this, it is so > than that", "bob: 2 < 3 and 5 > 4 you know"], ""),
        ("t33_nfd", ["José: Is it ready?", "bob: No."], ""),
    ],
)
def test_who_spoke(case, turns, told, tmp_path):
    report = import_to("media", shared(f"cases/strangers/{case}"), tmp_path / "corpus")
    session = Corpus.open(tmp_path / "corpus").session("s1")
    assert [f"{turn.speaker}: {turn.text}" for turn in session.turns] == turns
    assert not report.left_out and not report.problems and told in " ".join(report.notes)
    assert {session.ratings[0].rater, session.ratings[0].target} == {turn.speaker for turn in session.turns}


def test_a_transcript_alone_is_refused_and_read_in_a_folder(tmp_path, capsys):
    transcript = shared("cases/newcomer/silent_rater.vtt")
    said = "Put it into FOLDER/silent_rater/ and name FOLDER."
    saying("import", "media").refuses(capsys, said, transcript, tmp_path / "corpus")
    folder = tmp_path / "calls" / "silent_rater"
    folder.mkdir(parents=True)
    (folder / transcript.name).symlink_to(transcript)
    assert [speaker.turns for speaker in import_to("media", folder.parent, tmp_path / "corpus").speakers] == [3, 3]
