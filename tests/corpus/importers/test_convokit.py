import json

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.importers.convokit import import_corpus
from apportion.foundation.errors import InputError
from tests.shared import shared

SCALE = {"low": "1", "high": "5"}


def utterance(id_, speaker, reply_to=None, **values):
    row = {"id": id_, "conversation_id": "a", "text": f"text {id_}", "speaker": speaker, "meta": {}}
    return row | {"reply-to": reply_to, "timestamp": None} | values


@pytest.fixture
def folder(tmp_path):
    def write(meta=None, utterances=None, speakers=None):
        path = tmp_path / "kit"
        path.mkdir(exist_ok=True)
        said = utterances or [utterance("a", "u"), utterance("b", "v", "a")]
        (path / "utterances.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
        (path / "conversations.json").write_text(json.dumps({"a": {"meta": meta or {}, "vectors": []}}))
        people = speakers or {"u": {"meta": {"role": "user"}}, "v": {"meta": {"role": "bot"}}}
        (path / "speakers.json").write_text(json.dumps(people))
        return path

    return write


def ratings(imported):
    columns = ("rater", "target", "name", "annotator", "score")
    return [tuple(row[name] for name in columns) for row in imported.tables["ratings"].to_pylist()]


def texts(imported):
    return imported.tables["utterances"].column("text").to_pylist()


def test_answers_inside_a_list_or_by_speaker(folder):
    path = folder({"dialog.ratings": [{"human (overall)": 3}, {"human (overall)": "4"}, {}]})
    imported = import_corpus(path, {"score": "dialog.ratings.human (overall)", "name": "overall"} | SCALE)
    assert ratings(imported) == [("u", "v", "overall", "0", 3.0), ("u", "v", "overall", "1", 4.0)]
    imported = import_corpus(folder({"fun": {"u": 2, "v": 5}}), {"score": "fun"} | SCALE)
    assert ratings(imported) == [("u", "v", "fun", None, 2.0), ("v", "u", "fun", None, 5.0)]


@pytest.mark.parametrize("given", [{"rater": "bot"}, {"target": "u"}, {"rater": "v", "target": "user"}])
def test_rater_and_target_by_id_or_role(folder, given):
    imported = import_corpus(folder({"stars": 4}), {"score": "stars"} | SCALE | given)
    assert ratings(imported)[0][:2] == ("v", "u")


def test_a_conversation_or_a_corpus_without_the_score_is_unrated(folder):
    imported = import_corpus(folder({"stars": 4}), {})
    assert ratings(imported) == [] and "-o score=KEY" in imported.notes[0]
    path = folder({"stars": 4})
    (path / "conversations.json").write_text(json.dumps({"x": {"meta": {"stars": 4}}, "a": {"meta": {"stars": None}}}))
    imported = import_corpus(path, {"score": "stars"} | SCALE)
    assert ratings(imported) == [] and imported.tables["sessions"].num_rows == 1


@pytest.mark.parametrize("key", ["reply-to", "reply_to"])
def test_nothing_comes_before_what_it_replies_to(folder, key):
    said = [utterance("a", "u"), utterance("c", "u"), utterance("b", "v")]
    said[1][key], said[2][key] = "b", "a"
    assert texts(import_corpus(folder(utterances=said), {})) == ["text a", "text b", "text c"]


def test_a_circle_of_replies_and_the_same_id_twice_lose_nothing(folder):
    said = [utterance("a", "u", "b"), utterance("b", "v", "a"), utterance("c", "u", "c")]
    assert sorted(texts(import_corpus(folder(utterances=said), {}))) == ["text a", "text b", "text c"]
    assert len(texts(import_corpus(folder(utterances=[utterance("a", "u"), utterance("a", "v")]), {}))) == 2


def stamped(*rows):
    """Utterances a, b, ... by (id, timestamp, what it replies to), each the other speaker's turn."""
    return [utterance(id_, "uv"[at % 2], reply, timestamp=stamp) for at, (id_, stamp, reply) in enumerate(rows)]


@pytest.mark.parametrize(
    ("rows", "order", "told"),
    [
        ([("b", 1, "a"), ("a", 1, None), ("c", 1, "b")], "abc", "stand elsewhere in the file"),
        ([("a", 1, None), ("b", 1, "a")], "ab", ""),
        ([("b", "20", "a"), ("a", "3", None)], "ab", "stand elsewhere in the file"),
        ([("a", " 3 ", None), ("b", 20.5, "a"), ("c", "1e2", "b")], "abc", ""),
        ([("b", "2024-05-01T10:00:00Z", "a"), ("a", "2024-05-01T11:59:00+02:00", None)], "ab", "elsewhere"),
        ([("a", 1, None), ("b", None, "a"), ("c", 3, "b")], "abc", "without a timestamp"),
        ([("c", 3, "b"), ("b", None, "a"), ("a", 1, None)], "abc", "without a timestamp"),
        ([("b", None, None), ("c", 3, "b"), ("a", 1, None), ("d", 4, "c")], "bacd", "without a timestamp"),
        ([("a", 1, None), ("c", 3, "b"), ("d", 4, "c"), ("b", None, "a")], "abcd", "without a timestamp"),
        ([("a", 1, None), ("b", None, None), ("c", 3, None)], "abc", "without a timestamp"),
        ([("a", 5, None), ("b", 2, "a")], "ba", "before that of what they reply to"),
        ([("a", "soon", None), ("b", 2, "a")], "ab", "no number and no date"),
        ([("a", True, None), ("b", float("inf"), "a")], "ab", "no number and no date"),
        ([("a", "nan", None), ("b", "1e999", "a")], "ab", "no number and no date"),
        ([("a", 1, "gone"), ("b", 2, "a")], "ab", "what is not in their conversation: 1 in 1 session (a)"),
        ([("a", None, "b"), ("b", None, "a"), ("c", None, "b")], "bac", "in a circle"),
    ],
)
def test_utterances_are_put_in_order_and_what_was_out_of_it_is_told(folder, rows, order, told):
    imported = import_corpus(folder(utterances=stamped(*rows)), {})
    assert "".join(text[-1] for text in texts(imported)) == order
    notes = [note for note in imported.notes if "-o score" not in note]
    assert told in " ".join(notes) and bool(told) == bool(notes)


def test_the_same_id_twice_is_told(folder):
    imported = import_corpus(folder(utterances=stamped(("a", 1, None), ("a", 1, None))), {})
    assert "ids that another utterance of the conversation has" in imported.notes[-1]


def test_a_long_thread_without_timestamps_is_put_in_order(folder):
    rows = [(f"{n}", None, f"{n - 1}" if n else None) for n in range(3000)]
    assert len(texts(import_corpus(folder(utterances=stamped(*reversed(rows))), {}))) == 3000


def test_a_conversation_says_its_language(folder):
    made = import_corpus(folder({"language": "de"}), {})
    assert made.tables["sessions"]["language"].to_pylist() == ["de"]


def test_times(folder):
    said = [
        utterance("a", "u", timestamp=5.0, meta={"stop": 7.0}),
        utterance("b", "v", timestamp=1.0, meta={"stop": 2.0}),
        utterance("c", "v", timestamp=9),
    ]
    table = import_corpus(folder(utterances=said), {}).tables["utterances"]
    assert table.column("start_s").to_pylist() == [1.0, 5.0, None]
    assert table.column("end_s").to_pylist() == [2.0, 7.0, None]


def test_old_names_and_keys(tmp_path):
    said = [{"id": "a", "root": "a", "user": "u", "text": "x"}, {"id": "b", "root": "a", "user": "v", "text": "y"}]
    (tmp_path / "utterances.json").write_text(json.dumps(said))
    (tmp_path / "users.json").write_text(json.dumps({"u": {"role": "user"}, "v": {"role": "bot"}}))
    (tmp_path / "conversations.json").write_text(json.dumps({"a": {"stars": 3}}))
    imported = import_corpus(tmp_path, {"score": "stars", "rater": "bot"} | SCALE)
    assert ratings(imported) == [("v", "u", "stars", None, 3.0)]


def test_a_role_that_nobody_has(folder):
    imported = import_corpus(folder({"stars": 4}), {"score": "stars", "rater": "boss"} | SCALE)
    assert "0 of its speakers" in imported.left_out[0].message


def test_turn_labels(folder):
    said = [utterance("a", "u"), utterance("b", "v", "a", meta={"good": 2})]
    (label,) = import_corpus(folder(utterances=said), {"label": "good"}).tables["turn_labels"].to_pylist()
    assert (label["turn"], label["name"], label["value"], label["low"]) == (1, "good", 2.0, None)


@pytest.mark.parametrize(
    ("meta", "said", "words"),
    [
        ({"stars": "many"}, None, "answer 'many': a number is needed"),
        ({"stars": True}, None, "answer True"),
        ({"stars": {"w": 2}}, None, "'w'"),
        ({"stars": 4}, [utterance("a", "u")], "who rates whom"),
        ({"stars": 4}, [utterance("a", "u"), utterance("b", None)], "no speaker or no text"),
        ({"stars": 10**400}, None, "answer inf: a number is needed"),
        ({"stars": 4}, [utterance("a", "u"), utterance(["b"], "v")], "id = ['b']: a text or a whole number"),
        ({"stars": 4}, [utterance("a", "u"), utterance("b", "v", {"a": 1})], "reply-to = {'a': 1}: a text"),
        ({"stars": 4}, [utterance("a", "u", meta=[1]), utterance("b", "v")], "its meta is a list, [1]; an object"),
    ],
)
def test_a_broken_conversation_is_left_out(folder, meta, said, words):
    imported = import_corpus(folder(meta, said), {"score": "stars"} | SCALE)
    assert words in imported.left_out[0].message and imported.tables["sessions"].num_rows == 0


@pytest.mark.parametrize("meta", [[1], "x", 3])
def test_metadata_of_a_conversation_that_is_no_object_costs_that_one_alone(folder, meta):
    path = folder(utterances=[utterance("a", "u"), utterance("b", "v", "a"), utterance("c", "u", conversation_id="c")])
    (path / "conversations.json").write_text(json.dumps({"a": {"meta": meta}, "c": {"meta": {"stars": 1}}}))
    imported = import_corpus(path, {"score": "stars", "rater": "u", "target": "u"} | SCALE)
    (left_out,) = imported.left_out
    assert left_out.session_id == "a" and "its metadata in conversations.json is a" in left_out.message


@pytest.mark.parametrize("meta", [[1], "user", None, {"role": ["user"]}])
def test_metadata_of_a_speaker_that_are_no_object_say_nothing_of_a_role(folder, meta):
    path = folder({"stars": 4}, speakers={"u": {"meta": meta}, "v": {"meta": {"role": "bot"}}})
    imported = import_corpus(path, {"score": "stars", "rater": "bot"} | SCALE)
    assert ratings(imported)[0][:2] == ("v", "u")


def test_a_broken_line_costs_the_conversations_that_it_names(folder):
    said = [utterance(f"{id_}{turn}", "uv"[turn % 2], conversation_id=id_) for id_ in "abc" for turn in range(3)]
    path = folder(utterances=said)
    lines = (path / "utterances.jsonl").read_text().splitlines()
    lines[4] = lines[4][:-4]
    (path / "utterances.jsonl").write_text("\n".join([*lines, "3", '{"text": "x"}', '{"id": []}']))
    imported = import_corpus(path, {})
    assert imported.tables["sessions"].column("session_id").to_pylist() == ["a", "c"]
    assert {item.session_id: item.message.partition(" (")[0].partition(",")[0] for item in imported.left_out} == {
        "utterances.jsonl, line 5": "not valid JSON",
        "b": "utterances.jsonl",
        "utterances.jsonl, line 10": "a JSON object {…} is needed",
        "utterances.jsonl, line 11": "no conversation_id",
        "utterances.jsonl, line 12": "id = []: a text or a whole number is needed.",
    }


def test_a_folder_in_which_no_utterance_can_be_read(folder):
    path = folder()
    (path / "utterances.jsonl").write_text("x\n")
    with pytest.raises(InputError, match=r"no utterance in it can be read. utterances.jsonl, line 1: not valid JSON"):
        import_corpus(path, {})


def test_the_dump_of_the_real_library(tmp_path):
    options = {"score": "dialog_ratings.human (overall)", "rater": "user", "label": "overall_impression"} | SCALE
    report = import_to("convokit", shared("data/convokit_fixture/conture-fixture"), tmp_path / "corpus", options)
    assert report.rows["sessions"] == 5 and report.rows["ratings"] == 15 and report.rows["turn_labels"] == 45
    first = Corpus.open(tmp_path / "corpus").session("c0_0")
    assert (first.ratings[0].rater, first.ratings[0].target, first.ratings[0].score) == ("user_0", "chatbot_0", 2.0)
    assert report.problems == ()


@pytest.mark.parametrize(
    ("meta", "options", "words"),
    [
        ({"stars": 4}, {"score": "star"} | SCALE, r"no conversation has score=star .*Found the keys: stars"),
        ({"stars": 4}, {"score": "stars.inner"} | SCALE, "no conversation has score"),
        ({"stars": 4}, {"score": "stars"}, "score=stars has no scale"),
        ({"stars": "<##bin{0}&&@**>"}, {"score": "stars"} | SCALE, "never read"),  # It is pickled in a file beside.
    ],
)
def test_a_score_that_cannot_be_read(folder, meta, options, words):
    path = folder(meta)
    (path / "stars-convo-bin.p").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(InputError, match=words):
        import_corpus(path, options)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, r"no utterances.jsonl in it"),
        ({"utterances.json": '"x"'}, "a list of objects"),
        ({"utterances.json": "[]", "speakers.json": '"x"'}, "by id"),
    ],
)
def test_files_of_another_shape(tmp_path, files, words):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=words):
        import_corpus(tmp_path, {})
