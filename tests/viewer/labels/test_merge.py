import json
import wave

import pyarrow as pa
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import MEDIA, TURN_LABELS
from apportion.corpus.validate import validate
from apportion.environments.episode_log import LOG
from apportion.foundation.errors import InputError
from apportion.viewer.labels.label_store import Overlay
from apportion.viewer.labels.merge import merge
from tests.viewer.labels.given import LANDING, corpus, label


@pytest.fixture
def made(tmp_path):
    return corpus(tmp_path / "corpus")


def overlay(path, *labels, question=LANDING):
    kept = Overlay(path)
    kept.ask(question)
    if labels:
        kept.add(*labels)
    return path


def labels_in(folder):
    rows = Corpus.open(folder).turn_labels.to_pylist()
    return {(row["session_id"], row["turn"], row["annotator"]): row["value"] for row in rows}


def with_labels(made, *rows):
    columns = [list(column) for column in zip(*rows, strict=True)]
    tables = {**made.tables, "turn_labels": pa.table(columns, schema=TURN_LABELS.arrow)}
    Corpus.of(made.root, tables).write(made.root)
    return Corpus.open(made.root)


def test_a_new_corpus_has_the_labels_and_the_old_one_stays(made, tmp_path):
    before = {path.name: path.read_bytes() for path in made.root.iterdir()}
    eve = overlay(tmp_path / "eve.jsonl", label(), label(turn=3, value=1.0), label("s1", 5, 2.0))
    kim = overlay(tmp_path / "kim.jsonl", label(annotator="kim", value=5.0), label(turn=5, annotator="kim", value=None))
    report = merge([eve, kim], made, tmp_path / "out")
    assert labels_in(tmp_path / "out") == {
        ("s0", 1, "eve"): 4.0, ("s0", 1, "kim"): 5.0, ("s0", 3, "eve"): 1.0, ("s1", 5, "eve"): 2.0,
    }  # fmt: skip
    assert "4 labels by 2 annotators (eve, kim)" in str(report)
    assert not [p for p in validate(Corpus.open(tmp_path / "out")) if p.severity == "error"]
    assert {path.name: path.read_bytes() for path in made.root.iterdir()} == before
    for name in ("sessions", "utterances", "ratings"):
        file = f"{name}.parquet"
        assert (tmp_path / "out" / file).read_bytes() == (made.root / file).read_bytes(), "other stages see no change"


def test_the_same_merge_may_be_done_again_and_takes_up_new_labels(made, tmp_path):
    path = overlay(tmp_path / "eve.jsonl", label())
    merge([path], made, tmp_path / "out")
    Overlay(path).add(label(turn=3, value=2.0), label(value=5.0))
    merge([path], made, tmp_path / "out")
    assert labels_in(tmp_path / "out") == {("s0", 1, "eve"): 5.0, ("s0", 3, "eve"): 2.0}
    with pytest.raises(InputError, match="the folder is not empty"):
        merge([overlay(tmp_path / "kim.jsonl", label(annotator="kim"))], made, tmp_path / "out")


def test_labels_of_the_corpus_stay_and_another_value_needs_to_be_asked_for(made, tmp_path):
    mine = with_labels(
        made, ("s0", 1, "eve", "landing", 2.0, 1.0, 5.0), ("s0", 1, None, "tone", 9.0, None, None),
        ("s0", 3, "computed:x", "worth", 0.5, 0.0, 1.0),
    )  # fmt: skip
    path = overlay(tmp_path / "eve.jsonl", label(value=4.0))
    with pytest.raises(InputError, match=r"session 's0', turn 1, annotator 'eve', label 'landing': 2 in .* and 4 in"):
        merge([path], mine, tmp_path / "out")
    report = merge([path], mine, tmp_path / "out", replace=True)
    assert labels_in(tmp_path / "out") == {("s0", 1, "eve"): 4.0, ("s0", 1, None): 9.0, ("s0", 3, "computed:x"): 0.5}
    assert "1 labels of" in str(report) and "replaced" in str(report)


def test_two_overlays_that_contradict_each_other_are_told(made, tmp_path):
    first, second = overlay(tmp_path / "a", label(value=1.0)), overlay(tmp_path / "b", label(value=2.0))
    with pytest.raises(InputError, match=r"annotator 'eve', label 'landing': 1 in .*/a and 2 in .*/b"):
        merge([first, second], made, tmp_path / "out")
    merge([first, second], made, tmp_path / "out", replace=True)
    assert labels_in(tmp_path / "out") == {("s0", 1, "eve"): 2.0}


def test_labels_of_one_name_on_two_scales_are_refused(made, tmp_path):
    first = overlay(tmp_path / "a", label())
    thumbs = type(LANDING)("landing", "?", 0.0, 1.0)
    second = overlay(tmp_path / "b", label(annotator="kim", value=1.0, low=0.0, high=1.0), question=thumbs)
    with pytest.raises(InputError, match="the labels 'landing' are on 2 scales"):
        merge([first, second], made, tmp_path / "out")
    mine = with_labels(made, ("s1", 1, "max", "landing", 0.0, 0.0, 1.0))
    with pytest.raises(InputError, match=r"the labels 'landing' are on 2 scales \(0.0 to 1.0, 1.0 to 5.0\)"):
        merge([first], mine, tmp_path / "out")


def test_foreign_sessions_turns_and_words_are_refused_by_name(made, tmp_path):
    unknown = overlay(tmp_path / "a", label(), label("s9"), label("s1", 77))
    with pytest.raises(
        InputError, match=r"2 of 3 labels are of turns that .* has not: .*'s9', turn 1; .*'s1', turn 77"
    ):
        merge([unknown], made, tmp_path / "out")
    other = overlay(tmp_path / "b", label(said="0" * 16))
    with pytest.raises(InputError, match=r"1 of 1 labels were given to other words than .* has: session 's0', turn 1"):
        merge([other], made, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_file_no_labels_and_the_corpus_itself_are_refused(made, tmp_path):
    with pytest.raises(InputError, match=r"no such file. The viewer's label page says"):
        merge([tmp_path / "gone"], made, tmp_path / "out")
    with pytest.raises(InputError, match=r"no labels. Give some"):
        merge([overlay(tmp_path / "none")], made, tmp_path / "out")
    with pytest.raises(InputError, match="is not written over"):
        merge([overlay(tmp_path / "a", label())], made, made.root)


def test_a_line_that_a_killed_process_left_is_told(made, tmp_path):
    path = overlay(tmp_path / "a", label())
    with path.open("ab") as file:
        file.write(b'{"kind":"la')
    Overlay(path).add(label(turn=3))
    report = merge([path], made, tmp_path / "out")
    assert "1 unfinished lines left out (line 3)" in str(report) and len(labels_in(tmp_path / "out")) == 2


def test_recordings_are_linked_and_what_sessions_are_played_on_from_comes_along(made, tmp_path):
    (made.root / "media").mkdir()
    with wave.open(str(made.root / "media/s0.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(b"\0\0" * 800)
    rows = [("s0", "bob", "audio", "media/s0.wav", None, None), ("s1", "bob", "audio", "media/gone.wav", None, None)]
    media = pa.table([list(column) for column in zip(*rows, strict=True)], schema=MEDIA.arrow)
    (made.root / LOG).write_text(json.dumps({"x": 1}))
    recorded = Corpus.of(made.root, {**made.tables, "media": media})
    merge([overlay(tmp_path / "a", label())], recorded, tmp_path / "out")
    assert (tmp_path / "out/media/s0.wav").samefile(made.root / "media/s0.wav")
    assert not (tmp_path / "out/media/gone.wav").exists()
    assert Corpus.open(tmp_path / "out").media.num_rows == 2
    assert (tmp_path / "out" / LOG).read_bytes() == (made.root / LOG).read_bytes()


def test_a_folder_that_cannot_take_the_recordings_is_said(made, tmp_path, monkeypatch):
    def full(file, place):
        raise OSError(28, "No space left on device")

    (made.root / "a.wav").write_bytes(b"x")
    rows = [("s0", "bob", "audio", "a.wav", None, None)]
    media = pa.table([list(column) for column in zip(*rows, strict=True)], schema=MEDIA.arrow)
    monkeypatch.setattr("apportion.viewer.labels.merge.link_or_copy", full)
    with pytest.raises(InputError, match=r"cannot be brought there \(No space left"):
        merge([overlay(tmp_path / "a", label())], Corpus.of(made.root, {**made.tables, "media": media}), tmp_path / "o")
