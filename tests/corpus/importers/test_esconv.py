import json

import pytest

from apportion.corpus.importers import import_to
from apportion.corpus.importers.esconv import import_corpus
from apportion.foundation.errors import InputError
from tests.shared import shared

HF = {
    "survey_score": {"seeker": {"empathy": "5", "final_emotion_intensity": "2", "relevance": ""}},
    "dialog": [{"text": "Hello. ", "speaker": "usr"}, {"text": "Hi", "speaker": "sys", "strategy": "Question"}],
}
RELEASE = {
    "survey_score": {"seeker": {"empathy": "4"}},
    "dialog": [
        {"speaker": "seeker", "annotation": {"feedback": "5"}, "content": "sad"},
        {"speaker": "supporter", "annotation": {"strategy": "Question"}, "content": "why?"},
        {"speaker": "seeker", "annotation": {"feedback": "4"}, "content": "job"},
    ],
}

FAILED = {  # made up, in the layout of FailedESConv.json
    "survey_score": {"seeker": {"initial_emotion_intensity": "5", "empathy": "2"}, "supporter": {"relevance": "4"}},
    "dialog": [
        {"speaker": "speaker", "annotation": {}, "content": "Anybody there?\n"},
        {"speaker": "listener", "annotation": {"strategy": "Other"}, "content": "hello"},
        {"speaker": "listener", "annotation": {"strategy": "Questions"}, "content": "how is it going"},
        {"speaker": "speaker", "annotation": {"feedback": "1"}, "content": "I lost my job"},
    ],
}


def test_the_jsonl_of_the_split(tmp_path):
    (tmp_path / "t.jsonl").write_text(json.dumps(HF) + "\n")
    imported = import_corpus(tmp_path / "t.jsonl", {})
    assert imported.tables["utterances"].column("text").to_pylist() == ["Hello.", "Hi"]
    rows = imported.tables["ratings"].to_pylist()
    assert [(r["rater"], r["target"], r["name"], r["score"], r["higher_is_better"]) for r in rows] == [
        ("seeker", "supporter", "empathy", 5.0, True),
        ("seeker", "supporter", "final_emotion_intensity", 2.0, False),
    ]


def test_the_release_with_feedback(tmp_path):
    (tmp_path / "ESConv.json").write_text(json.dumps([RELEASE]))
    imported = import_corpus(tmp_path / "ESConv.json", {})
    (label,) = imported.tables["turn_labels"].to_pylist()
    assert (label["session_id"], label["turn"], label["name"], label["value"]) == ("esconv-0001", 1, "feedback", 4.0)


def test_the_failed_dialogues_name_their_sides_otherwise(tmp_path):
    (tmp_path / "FailedESConv.json").write_text(json.dumps([FAILED]))
    imported = import_corpus(tmp_path / "FailedESConv.json", {})
    assert imported.left_out == ()
    assert imported.tables["utterances"].column("speaker").to_pylist() == ["seeker", "supporter", "supporter", "seeker"]
    ratings = imported.tables["ratings"].to_pylist()
    assert [(row["rater"], row["target"], row["name"], row["score"]) for row in ratings] == [
        ("seeker", "supporter", "empathy", 2.0),
        ("seeker", "supporter", "initial_emotion_intensity", 5.0),
    ]
    (label,) = imported.tables["turn_labels"].to_pylist()
    assert (label["turn"], label["name"], label["value"]) == (2, "feedback", 1.0)


def test_no_survey_at_all(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"dialog": HF["dialog"], "survey_score": None}) + "\n")
    assert import_corpus(tmp_path / "a.jsonl", {}).tables["ratings"].num_rows == 0


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (
            {"dialog": [{"speaker": "boss", "text": "x"}]},
            "dialog, entry 1: speaker = 'boss'; allowed are usr, seeker, sys, supporter, speaker, listener",
        ),
        ({"dialog": [HF["dialog"][0], {"speaker": ["usr"], "text": "x"}]}, "entry 2: speaker = "),
        ({"dialog": [{"speaker": "usr"}]}, "a text is needed"),
        ({"dialog": [{"text": "x"}]}, "it has no 'speaker'"),
        ({"dialog": [{"speaker": "usr", "text": "x", "annotation": {"feedback": "five"}}]}, "feedback = 'five'"),
        ({"survey_score": {"seeker": {"empathy": "much"}}}, "empathy = 'much'"),
        ({"survey_score": [1]}, "AttributeError"),
    ],
)
def test_a_broken_dialogue_is_left_out(tmp_path, broken, why):
    (tmp_path / "a.json").write_text(json.dumps([RELEASE, HF | broken]))
    imported = import_corpus(tmp_path / "a.json", {})
    assert imported.tables["sessions"].num_rows == 1
    assert imported.left_out[0].message.startswith("a.json, item 2: not in ESConv's shape (")
    assert why in imported.left_out[0].message


def test_an_item_or_a_line_that_is_no_object_costs_itself_alone(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([RELEASE, 3]))
    (left_out,) = import_corpus(tmp_path / "a.json", {}).left_out
    assert left_out.message == "a.json, item 2: an object is needed, got a number."
    (tmp_path / "b.jsonl").write_text(f"{json.dumps(HF)}\n{json.dumps(HF)[:-9]}\n{json.dumps(HF)}\n")
    imported = import_corpus(tmp_path / "b.jsonl", {})
    assert imported.tables["sessions"].column("session_id").to_pylist() == ["b-0001", "b-0003"]
    assert (
        imported.left_out[0].session_id == "b-0002"
        and "b.jsonl, line 2: not valid JSON" in imported.left_out[0].message
    )


def test_another_file(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"messages": []}\n')
    with pytest.raises(InputError, match="no object has 'dialog': not ESConv"):
        import_corpus(tmp_path / "a.jsonl", {})


def test_esconv_whole(tmp_path):
    report = import_to("esconv", shared("data/esconv/esconv_hf_train.jsonl.gz").parent, tmp_path / "corpus")
    assert report.rows["sessions"] == 1105 and report.rows["utterances"] == 16845 + 15481
    assert report.problems == () and len(report.left_out) == 0
