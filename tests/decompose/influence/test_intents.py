import json

import pytest

from apportion.decompose.influence.preflight import Intent, read_intents
from apportion.foundation.errors import InputError

ROW = {"session_id": "s1", "turn": 4, "desired": ["Yes.", "Sure\u2028!"], "undesired": ["No."]}


def written(folder, *rows):
    path = folder / "intents.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_intents_are_found_by_session_and_turn(tmp_path):
    found = read_intents(written(tmp_path, ROW, "", {**ROW, "turn": 6, "undesired": []}))
    assert found["s1", 4] == Intent(("Yes.", "Sure\u2028!"), ("No.",)) and found["s1", 6].undesired == ()
    assert Intent(("a",), ("b",)).told(str.upper) == Intent(("A",), ("B",))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["no json"], "line 1: no intent .JSONDecodeError"),
        (["[1]"], "no intent .TypeError"),
        ([{"session_id": "s1", "turn": 4, "desired": ["a"]}], "no intent .KeyError: 'undesired'"),
        ([ROW, {**ROW, "turn": "4"}], "line 2: an intent has a session, a turn's number"),
        ([{**ROW, "turn": True}], "a turn's number"),
        ([{**ROW, "desired": [" "]}], "one reply with text"),
        ([{**ROW, "desired": [], "undesired": []}], "at least one reply"),
        ([ROW, ROW], "line 2: session s1, turn 4 has an intent already"),
    ],
)
def test_what_is_no_intent_is_told_with_its_line(tmp_path, rows, words):
    with pytest.raises(InputError, match=words):
        read_intents(written(tmp_path, *rows))


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match=r"cannot be read \(No such file"):
        read_intents(tmp_path / "none.jsonl")
