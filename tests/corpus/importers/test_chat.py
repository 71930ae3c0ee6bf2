import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.corpus import account
from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.importers.chat import import_corpus
from apportion.foundation.errors import InputError

OPENAI = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}], "score": 4}
SHAREGPT = {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}], "score": 2}
SCALE = {"low": "1", "high": "5"}


def write(tmp_path, *chats, name="log.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(chat) + "\n" for chat in chats), encoding="utf-8")
    return path


def texts(imported):
    table = imported.tables["utterances"]
    return list(zip(table.column("speaker").to_pylist(), table.column("text").to_pylist(), strict=True))


def ratings(imported):
    return imported.tables["ratings"].to_pylist()


@pytest.mark.parametrize("chat", [OPENAI, SHAREGPT])
def test_both_shapes(tmp_path, chat):
    imported = import_corpus(write(tmp_path, chat), SCALE)
    assert texts(imported) == [("user", "hi"), ("assistant", "hello")]
    (row,) = ratings(imported)
    assert (row["rater"], row["target"], row["name"], row["score"], row["low"], row["high"]) == (
        ("user", "assistant", "score", float(chat["score"]), 1.0, 5.0)
    )
    assert row["annotator"] is None and row["session_id"] == "log-0001"


def test_a_json_array(tmp_path):
    path = tmp_path / "sharegpt.json"
    path.write_text(json.dumps([SHAREGPT, SHAREGPT], indent=1))
    assert import_corpus(path, SCALE).tables["sessions"].num_rows == 2


def test_messages_of_nobody_and_parts_without_text_are_in_the_account(tmp_path):
    messages = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "tool", "content": "42"},
        {"role": "assistant", "content": "a cat"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
    ]
    with account.opened() as book:
        imported = import_corpus(write(tmp_path, {"messages": messages}), {})
    assert texts(imported) == [("user", "look"), ("assistant", "a cat")] and imported.notes == ()
    place, nobody = ("log.jsonl, line 1",), "of the system, tools or functions"
    assert {line.what: (line.read, line.kept, line.left_out) for line in book.settled(imported)} == {
        "chats": (1, 1, {}),
        "messages": (
            *(6, 2),
            {nobody: (2, place), "tool calls without text": (1, place), "image_url without text": (1, place)},
        ),
        "parts of messages": (4, 1, {"image_url": (2, place), "tool calls": (1, place)}),
        "words": (6, 3, {nobody: (3, place)}),
    }


def test_id_name_and_scale_of_the_row(tmp_path):
    imported = import_corpus(write(tmp_path, OPENAI | {"id": "c7", "name": "csat", "low": 0, "high": 10}), {})
    (row,) = ratings(imported)
    assert (row["session_id"], row["name"], row["low"], row["high"]) == ("c7", "csat", 0.0, 10.0)


def test_a_chat_without_a_score_is_unrated(tmp_path):
    imported = import_corpus(write(tmp_path, OPENAI | {"score": None}, {"messages": OPENAI["messages"]}), {})
    assert ratings(imported) == [] and imported.tables["sessions"].num_rows == 2


def test_scores_without_any_scale(tmp_path):
    with pytest.raises(InputError, match=r"the scores have no scale.*-o low=1 -o high=5"):
        import_corpus(write(tmp_path, OPENAI), {})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"low": "1"}, "option high is missing"),
        ({"low": "one", "high": "5"}, "option low=one: a number is needed"),
        ({"low": "5", "high": "1"}, "low=5 is not below high=1"),
        ({"lo": "5"}, "unknown option 'lo'; did you mean 'low'"),
    ],
)
def test_bad_options(tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        import_corpus(write(tmp_path, OPENAI), options)


@pytest.mark.parametrize(
    ("chat", "words"),
    [
        (OPENAI | {"score": "four"}, "score = 'four': no score on a scale"),
        ({"score": 1}, 'no list "messages" or "conversations"'),
        ({"messages": ["hi"]}, 'message 1: an object with "role" and "content"'),
        ({"messages": [{"role": "boss", "content": "x"}]}, "message 1: role 'boss'; allowed: user, human"),
        (OPENAI | {"id": "a"}, "the id 'a' is there already"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "message 1: role ['user']; allowed: user, human"),
        (OPENAI | {"score": 10**400}, "score = inf: a finite number"),
        (OPENAI | {"score": 4, "id": ["a"]}, "id = ['a']: a text or a whole number"),
        (OPENAI | {"name": ["csat"]}, "name = ['csat']: a text is needed, got a list"),
    ],
)
def test_a_broken_chat_is_left_out_and_the_others_stay(tmp_path, chat, words):
    imported = import_corpus(write(tmp_path, OPENAI | {"id": "a"}, chat, OPENAI), SCALE)
    (left_out,) = imported.left_out
    assert words in left_out.message and "line 2" in left_out.message
    assert imported.tables["sessions"].num_rows == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (json.dumps(OPENAI)[:-3], "line 2: not valid JSON (Expecting"),
        ('{"score": ' + "9" * 5_000 + "}", 'line 2: no list "messages"'),
        ('{"messages": ' + "[" * 100_000, "line 2: not valid JSON"),
        ("[1, 2]", "line 2: a JSON object {…} is needed, got a list"),
        ("\0", "line 2: not valid JSON"),
    ],
)
def test_a_broken_line_costs_itself_alone_and_no_other_its_number(tmp_path, line, words):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([json.dumps(OPENAI), line, json.dumps(OPENAI)]))
    report = import_to("chat", path, tmp_path / "corpus", SCALE)
    (left_out,) = report.left_out
    assert left_out.session_id == "log-0002" and words in left_out.message
    assert Corpus.open(tmp_path / "corpus").session_ids() == ["log-0001", "log-0003"]


def test_a_file_without_a_chat_says_why(tmp_path):
    (tmp_path / "a.jsonl").write_text("Dear diary,\ntoday\n")
    with pytest.raises(InputError, match=r"no chat in it.*Found the keys: none. line 1: not valid JSON"):
        import_corpus(tmp_path / "a.jsonl", SCALE)
    with pytest.raises(InputError, match=r"no chat in it.*Found the keys: prompt"):
        import_corpus(write(tmp_path, {"prompt": "x"}), {})


def test_a_row_without_the_scale_that_others_have(tmp_path):
    imported = import_corpus(write(tmp_path, OPENAI | {"low": 1, "high": 5}, OPENAI), {})
    assert "its score has no scale" in imported.left_out[0].message


def test_array_items_that_are_no_objects(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([OPENAI, 3]))
    assert import_corpus(tmp_path / "a.json", SCALE).left_out[0].message.startswith("a.json, item 2")


def test_a_terminal_chooses_between_scores(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.corpus.importers.chats.keys.choose", lambda question, answers: answers[1])
    chat = {"messages": OPENAI["messages"], "csat": 2, "rating": 5}
    imported = import_corpus(write(tmp_path, chat), SCALE)
    assert [(row["name"], row["score"]) for row in ratings(imported)] == [("rating", 5.0)]
    assert "as you chose: -o score=rating" in imported.notes[0]


def arrow(path, table, *, stream):
    opened = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as file, opened(file, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("stream", [True, False])
def test_tables_as_datasets_and_feather_write_them(tmp_path, stream):
    arrow(tmp_path / "a.arrow", pa.table({"messages": [OPENAI["messages"]], "score": [4]}), stream=stream)
    imported = import_corpus(tmp_path / "a.arrow", SCALE)
    assert texts(imported) == [("user", "hi"), ("assistant", "hello")] and ratings(imported)[0]["score"] == 4


def test_a_small_file_of_many_rows_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.corpus.importers.chats.tables.MOST_ROWS", 1)
    table = pa.table({"messages": [OPENAI["messages"]] * 2, "score": [4, 4]})
    pq.write_table(table, tmp_path / "a.parquet")
    arrow(tmp_path / "a.arrow", table, stream=True)
    for name, words in (("a.parquet", "2 rows, more than 1"), ("a.arrow", "more than 1 rows")):
        with pytest.raises(InputError, match=words):
            import_corpus(tmp_path / name, SCALE)


messages = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.text(min_size=1)}),
    min_size=1,
)


@settings(max_examples=20)
@given(st.lists(st.tuples(messages, st.none() | st.floats(1, 5)), min_size=1, max_size=5))
def test_whatever_was_said_and_scored_comes_back(tmp_path_factory, chats):
    folder = tmp_path_factory.mktemp("chat")
    path = write(folder, *({"messages": said, "score": score} for said, score in chats))
    import_to("chat", path, folder / "corpus", SCALE if any(score is not None for _, score in chats) else {})
    for session, (said, score) in zip(Corpus.open(folder / "corpus").iter_sessions(), chats, strict=True):
        clean = [(m["role"], m["content"].encode("utf-8", "replace").decode()) for m in said]
        assert [(turn.speaker, turn.text) for turn in session.turns] == clean
        assert [rating.score for rating in session.ratings] == ([] if score is None else [score])
