import json

import pytest

from apportion.corpus.importers import import_to
from apportion.corpus.importers.conture import import_corpus
from apportion.foundation.errors import InputError
from tests.shared import shared

DIALOG = {
    "dialog_id": 7,
    "turns": [{"user": "User: hi", "chatbot": "Chatbot:hello", "overall impression": 2}],
    "dialog_ratings": [{"human (overall)": 4, "consistent": 1, "likeable": "N/A"}],
}


def write(tmp_path, value):
    (tmp_path / "data.json").write_text(json.dumps(value))
    return tmp_path / "data.json"


def test_a_dialogue(tmp_path):
    imported = import_corpus(write(tmp_path, [DIALOG]), {})
    assert imported.tables["utterances"].column("text").to_pylist() == ["hi", "hello"]
    ratings = imported.tables["ratings"].to_pylist()
    assert [(r["session_id"], r["name"], r["score"], r["low"], r["high"], r["annotator"]) for r in ratings] == [
        ("conture-0007", "overall", 4.0, 1.0, 5.0, "0"),
        ("conture-0007", "consistent", 1.0, 0.0, 1.0, "0"),
    ]
    (label,) = imported.tables["turn_labels"].to_pylist()
    assert (label["turn"], label["value"], label["low"], label["high"]) == (1, 2.0, 0.0, 2.0)


@pytest.mark.parametrize(
    "change",
    [
        {"turns": [{"user": "User: hi"}]},
        {"turns": 3},
        {"dialog_ratings": [{"consistent": "very"}]},
        {"turns": [{"user": "a", "chatbot": "b", "overall impression": "x"}]},
    ],
)
def test_a_broken_dialogue_is_left_out(tmp_path, change):
    imported = import_corpus(write(tmp_path, [DIALOG, DIALOG | {"dialog_id": "x"} | change]), {})
    assert imported.left_out[0].session_id == "conture-x" and "not in ConTurE's shape" in imported.left_out[0].message
    assert imported.tables["sessions"].num_rows == 1


def test_items_and_ids_that_are_none_cost_themselves_alone(tmp_path):
    items = [DIALOG, 3, DIALOG | {"dialog_id": [1]}, DIALOG, DIALOG | {"dialog_id": 9}]
    imported = import_corpus(write(tmp_path, items), {})
    assert imported.tables["sessions"].column("session_id").to_pylist() == ["conture-0007", "conture-0009"]
    assert [(item.session_id, item.message) for item in imported.left_out] == [
        ("conture-0001", "data.json, item 2: an object is needed, got 3."),
        ("conture-0002", "data.json, item 3: dialog_id = [1]: a text or a whole number is needed."),
        (
            "conture-0007",
            "data.json, item 4: the dialog_id 'conture-0007' is there already. Give each one of its own.",
        ),
    ]


@pytest.mark.parametrize("value", [{}, [], [3], [{"messages": []}]])
def test_another_file(tmp_path, value):
    with pytest.raises(InputError, match=r"not ConTurE's data.json"):
        import_corpus(write(tmp_path, value), {})


def test_conture_whole(tmp_path):
    report = import_to("conture", shared("data/conture/data.json.gz"), tmp_path / "corpus")
    assert report.rows["sessions"] == 119 and report.rows["turn_labels"] == 1066
    assert report.rows["utterances"] == 2 * 1066 and report.rows["ratings"] == 348 * 11 - 12
    assert report.problems == () and report.left_out == ()
