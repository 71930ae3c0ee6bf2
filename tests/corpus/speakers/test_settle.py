"""What is settled is looked at whole in `tests/corpus/strangers/speakers_rows.py`; here is what holds of all of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.corpus.speakers.doubt import Doubt, UnsureSpeakersError
from apportion.corpus.speakers.labels import said_in
from apportion.corpus.speakers.names import clean_name, name_key, same_name
from apportion.corpus.speakers.settle import Known, settle
from apportion.corpus.speakers.settled import Speaker, merged, speaker_lines
from apportion.corpus.speakers.speakers_file import SpeakersFile, read_speakers

words = st.text(st.characters(categories=["Ll", "Nd"]), min_size=1, max_size=5)
lines = st.tuples(st.sampled_from(["", "ann: ", "ben: ", "<i>ann</i>: "]), st.lists(words, min_size=1, max_size=4))


@settings(max_examples=50)
@given(st.lists(st.lists(lines, max_size=3), max_size=5))
def test_every_word_is_somebodys_or_comes_before_anybody(cues):
    said = [
        piece
        for i, cue in enumerate([[("ann: ", ["so"])], *cues])
        for piece in said_in(f"cue {i}", "\n".join(label + " ".join(text) for label, text in cue), i, i + 1)
    ]
    settled = settle(said, known=Known(rated=["ann", "ben"]))
    expected = ["so", *(word for cue in cues for _, text in cue for word in text)]
    assert " ".join(cue.text for cue in settled.cues).split() == expected
    assert sum(speaker.words for speaker in settled.speakers) == len(expected)
    assert all(cue.start_s < cue.end_s for cue in settled.cues)


@settings(max_examples=50)
@given(st.text("aA\u00c4e\u0301\u200d\u00a0 \u00df\x1b\u4f60", max_size=9))
def test_a_clean_name_stays_as_it_is(name):
    once = clean_name(name)
    assert clean_name(once) == once and name_key(once) == name_key(name)
    assert same_name(name, ["somebody", once]) == once


def test_a_row_a_person_and_what_is_too_much_for_a_terminal(tmp_path):
    ann = Speaker("ann", ("S0",), 1, 2, ("file of speakers",))
    both = merged([ann, Speaker("Ann", ("S1",), 3, 4, ("ratings",))])
    assert both == (Speaker("ann", ("S0", "S1"), 4, 6, ("file of speakers", "ratings"), 2),)
    many = speaker_lines([ann] * 30, "all are there")
    assert len(many) == 22 and many[-1] == "(10 more: all are there)"
    doubt = Doubt("s1", "Eve", 1, "cue 1", "Eve: \x1b[2Jhi")
    told = str(UnsureSpeakersError([doubt] * 30))
    assert told.count("Eve: [2Jhi") == 20 and "(10 more)" in told


def test_answers_are_written_as_they_are_read(tmp_path):
    answers = SpeakersFile({("s1", "s0"): "Ann, the first", (None, "note"): ""})
    (tmp_path / "who.csv").write_text(answers.to_csv(), encoding="utf-8")
    found = read_speakers(tmp_path / "who.csv")
    assert found == answers and found.name_of("s1", "S0") == "Ann, the first" and found.name_of("s2", "S0") is None


@pytest.mark.parametrize(
    ("line", "label", "text"),
    [
        ("ann: hi", "ann", "hi"),
        ("Speaker 1: 30 minutes", "Speaker 1", "30 minutes"),
        ("Dr. X: it is 12:30", "Dr. X", "it is 12:30"),
        ("安:好", "安", "好"),
        ("12:30 is good", None, "12:30 is good"),
        ("http://x.org", None, "http://x.org"),
        ("...: hi", None, "...: hi"),
        ("x" * 61 + ": hi", None, "x" * 61 + ": hi"),
    ],
)
def test_which_beginnings_are_candidates(line, label, text):
    (piece,) = said_in("cue 1", line, 0.0, 1.0)
    assert (piece.label, piece.text, piece.sure) == (label, text, False)
