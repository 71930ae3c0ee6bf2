import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.rlhf.stackelberg.instances.instance import (
    LONGEST_SPEECH,
    Instance,
    read_instances,
    with_intents,
    write_instances,
)
from tests.rlhf.stackelberg.round_table import round_table


def test_instances_are_read_as_they_were_written(tmp_path):
    turns = round_table(3)
    write_instances(tmp_path / "turns.jsonl", turns)
    assert read_instances(tmp_path / "turns.jsonl") == turns


@given(st.text(max_size=200))
def test_a_candidate_stands_in_what_the_follower_reads_as_json_text_that_nothing_ends(words):
    (turn,) = round_table(1)
    shown = turn.after(words)
    before, after = turn.follower_sees.split(turn.mark)
    assert shown.startswith(before) and shown.endswith(after)
    inside = shown[len(before) : len(shown) - len(after)]
    assert "<" not in inside and ">" not in inside and "\n" not in inside
    # Half a surrogate pair, which is no text, becomes another character.
    assert json.loads(f'"{inside}"') == words or any("\ud800" <= letter <= "\udfff" for letter in words)


def test_a_speech_of_thousands_of_words_is_cut():
    (turn,) = round_table(1)
    assert turn.after("a" * 30_000) == turn.after("a" * LONGEST_SPEECH)


def test_what_comes_before_the_candidate_is_the_same_for_all():
    (turn,) = round_table(1)
    assert turn.after("One.").startswith(turn.before_candidate) and turn.mark not in turn.before_candidate


def rows(**changes):
    (turn,) = round_table(1)
    return {**{name: getattr(turn, name) for name in Instance.__dataclass_fields__}, **changes}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "is no JSON object"),
        (json.dumps(rows(said=3)), "'said' is '3', not a text"),
        (json.dumps(rows(more=1)), "unknown keys more"),
        (json.dumps(rows(desired=["a", " "])), "'desired' is no list of texts"),
        (json.dumps(rows(backends=["a"])), "'backends' are not two names"),
        (json.dumps(rows(desired=["a", "b"])), "2 desired and 3 undesired answers"),
        (json.dumps(rows(mark="player 1")), "'mark' does not stand in 'follower_sees' alone"),
        ("", "no instance in it"),
        (json.dumps(rows()) + "\n" + json.dumps(rows()), "is there twice"),
    ],
)
def test_a_file_that_holds_something_else_is_told(tmp_path, line, told):
    path = tmp_path / "turns.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=told):
        read_instances(path)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match=r"cannot be read .* `train refiner-data`"):
        read_instances(tmp_path / "none.jsonl")


def test_turns_of_which_none_has_intents_teach_nothing():
    with pytest.raises(InputError, match="none of its 2 turns has desired and undesired answers"):
        with_intents(round_table(2, intents=False), "turns.jsonl")
    mixed = (*round_table(1), *round_table(1, seed=1, intents=False))
    assert with_intents(mixed, "turns.jsonl") == mixed[:1]
